"""Files made by others: only regular files of a bounded size are read, and only unambiguous JSON.

The caller chooses which error a bad file raises (`error`).
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from glassformer.errors import GlassformerError, TokenizerError

JSON_BYTES = 1 << 28  # the largest vocabularies have tens of MB
NO_LIMIT = 1 << 62
HOLES = 100_000  # unused ids that are allowed, in addition to one per token
MOST_DIGITS = 1000  # of a whole number; Python itself reads a few thousand
# Without waiting: opening a pipe would wait for a writer. Not every system has all of them.
FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


def read_regular(path: str | Path, *, limit: int = NO_LIMIT, error: type[GlassformerError] = TokenizerError) -> bytes:
    """The bytes of a regular file. Anything else is an error in words."""
    try:
        return regular_bytes(path, limit=limit, error=error)
    except FileNotFoundError:
        raise error(f"{path} is missing: there is no such file.") from None
    except IsADirectoryError:
        raise error(f"{path} is a folder, not a file.") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        raise error(f"{path}: cannot be read ({getattr(problem, 'strerror', None) or problem}).") from None


def regular_bytes(path: str | Path, *, limit: int, error: type[GlassformerError]) -> bytes:
    """The same, but errors of the system are left as they are.

    Pipes and devices are refused: reading them may never end, or never start.
    """
    opened = os.open(path, FLAGS)
    with open(opened, "rb") as file:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            raise error(f"{path} is {kind_of(about.st_mode)}, not a regular file.")
        if about.st_size > limit:
            raise error(f"{path} has {about.st_size:,} bytes; such files have at most {limit:,}.")
        return file.read()


def read_text_file(path: str | Path) -> str:
    """The content of a file of a tokenizer."""
    if not os.path.lexists(path):
        raise TokenizerError(
            f"there is no file {path}; expected a tokenizer file: train a tokenizer first or check the path"
        )
    try:
        return read_regular(path, limit=JSON_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{path} cannot be read as a UTF-8 file: {error}; expected a tokenizer file") from error


def kind_of(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def parse_json(content: bytes | str, *, origin: str | Path, error: type[GlassformerError] = TokenizerError) -> Any:
    """The value of a JSON text in UTF-8. A key given twice is an error, since readers disagree on which one counts."""
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        value = json.loads(text, object_pairs_hook=each_once, parse_int=whole_number)
        if "\\ud" in text.lower():  # half of a surrogate pair is not a character
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise error(f"{origin} is not JSON that can be read: it is nested too deeply. Fetch the file again.") from None
    except ValueError as problem:  # also what is not UTF-8, and numbers of thousands of digits
        raise error(f"{origin} is not JSON ({problem}). Fetch the file again.") from None
    return value


def whole_number(digits: str) -> int:
    """A whole number of a JSON text. Python does not read numbers with thousands of digits."""
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number in it has {len(digits):,} digits; at most {MOST_DIGITS:,} are allowed")
    return int(digits)


def each_once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in items:
        if name in found:
            raise ValueError(f"it has {name!r} twice")
        found[name] = value
    return found


# Ids


def refuse_far_ids(largest: int, entries: int, *, origin: str | Path) -> None:
    """Ids may have gaps, but a table of all ids up to the largest must not be far longer than the vocabulary."""
    if largest >= 2 * entries + HOLES:
        raise TokenizerError(
            f"{origin}: a vocabulary of {entries:,} tokens has the id {largest:,}; allowed are ids below "
            f"{2 * entries + HOLES:,}. Fetch the file again."
        )


def ids_in(content: dict[str, Any]) -> tuple[int, int]:
    """The largest id in a tokenizer.json, and how many tokens it has."""
    vocabulary, added = content["model"].get("vocab") or {}, content.get("added_tokens") or []
    ids = list(vocabulary.values()) if isinstance(vocabulary, dict) else [len(vocabulary) - 1]
    ids += [token["id"] for token in added]
    return max(ids, default=0), len(vocabulary) + len(added)
