"""Recipes as TOML text: read into plain values, and plain values as text."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from glassformer.errors import SettingsError

Tree = dict[str, Any]
DEEPEST = 16  # sections and lists inside each other; settings have 3
LONGEST = 1 << 20  # bytes of a recipe


def read_toml(path: Path) -> Tree:
    """The recipe at `path` as a tree of plain values."""
    try:
        with path.open("rb") as file:  # a pipe is allowed, an endless device is not read to its end
            content = file.read(LONGEST + 1)
        if len(content) > LONGEST:
            raise SettingsError(f"{path} has more than {LONGEST:,} bytes. A recipe is a short TOML file.")
        tree = tomllib.loads(content.decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        raise SettingsError(f"{path}: no such recipe. `glassformer recipe > {path}` writes one.") from None
    except IsADirectoryError:
        raise SettingsError(f"{path} is a folder; a recipe is a TOML file.") from None
    except PermissionError:
        raise SettingsError(f"{path}: not readable. Check its permissions.") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 text (byte {error.start}). A recipe is a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}.") from None
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets in thousands of brackets
        raise SettingsError(
            f"{path}: not a recipe: a number in it is too long, or a list is nested too deeply."
        ) from None
    if not _is_flat(tree):
        raise SettingsError(f"{path}: not a recipe: its sections are nested more than {DEEPEST} deep.")
    return tree


def _is_flat(tree: Tree) -> bool:
    """Whether no value is nested more deeply than settings are."""
    level: list[Any] = [tree]
    for _ in range(DEEPEST):
        groups = [
            value.values() if isinstance(value, dict) else value for value in level if isinstance(value, dict | list)
        ]
        level = [below for group in groups for below in group]
    return not level


def toml_literal(value: Any) -> str:
    """One value as TOML text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_literal(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(name)} = {toml_literal(one)}" for name, one in value.items()) + "}"
    if any("\ud800" <= sign <= "\udfff" for sign in str(value)):
        raise SettingsError(f"{value!r} is not text, since its bytes are not UTF-8: rename the file.")
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007F")


def tree_to_toml(tree: Mapping[str, Any]) -> str:
    """A tree of plain values as TOML: single values before sections, None left out."""
    return "\n".join(_tree_lines(tree, ())).strip() + "\n"


def _tree_lines(tree: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
    for name, value in tree.items():
        if value is not None and not isinstance(value, Mapping):
            yield f"{toml_key(name)} = {toml_literal(value)}"
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield f"\n[{'.'.join(toml_key(part) for part in (*place, name))}]"
            yield from _tree_lines(value, (*place, name))


def toml_key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else toml_literal(name)
