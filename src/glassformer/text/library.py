"""Calls into the `tokenizers` library. Its errors are plain `Exception`s or, after a Rust panic, a `BaseException`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from glassformer.errors import GlassformerError, TokenizerError

PANIC = "PanicException"  # of pyo3: a BaseException whose class cannot be imported


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turns whatever the library raises into a TokenizerError that begins with `what`."""
    try:
        yield
    except (GlassformerError, MemoryError, RecursionError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise  # Ctrl-C and the like
        reason = " ".join(str(error).split())
        raise TokenizerError(f"{what}: {reason[:300]}") from error


def check_character_table(table: bytes, *, origin: str) -> None:
    """Refuses a bad character table of SentencePiece, which is: the size of a tree in bytes, the tree, texts.

    The library allocates as much memory as the size says before it looks at the rest.
    """
    size = int.from_bytes(table[:4], "little")
    if len(table) < 4 or size % 4 or size > len(table) - 4:
        raise TokenizerError(
            f"{origin}: a character table of {len(table):,} bytes claims a tree of {size:,} bytes. Fetch it again."
        )


def check_character_tables(part: Any, *, origin: str) -> None:
    """The same for every table in a part of a tokenizer.json."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
            if isinstance(table := one.get("precompiled_charsmap"), str):
                check_character_table(decoded(table, origin=origin), origin=origin)
        elif isinstance(one, list):
            waiting += one


def decoded(table: str, *, origin: str) -> bytes:
    try:
        return base64.b64decode(table, validate=True)
    except (ValueError, binascii.Error):
        raise TokenizerError(f"{origin}: a character table is not in base64. Fetch it again.") from None
