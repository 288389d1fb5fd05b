"""The recipes that come with the package, by their names."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from glassformer.config import read_toml
from glassformer.errors import SettingsError


def shipped_recipes() -> dict[str, str]:
    """The text of each, by name."""
    folder = files("glassformer") / "recipes"
    found = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in found}


def recipe_named(name: Path) -> dict[str, Any]:
    """The recipe in a file, or the shipped one of that name where there is no such file."""
    if not name.exists() and (text := shipped_recipes().get(str(name))):
        return tomllib.loads(text)
    return read_toml(name)


def recipe_titles() -> dict[str, str]:
    """The first line of each, which says what it is for."""
    return {name: text.partition("\n")[0].removeprefix("# ") for name, text in sorted(shipped_recipes().items())}


def shipped_recipe(name: str) -> str:
    """The text of one; an error names the others."""
    known = shipped_recipes()
    if name not in known:
        raise SettingsError(f"No recipe {name!r} comes along. There are: {', '.join(sorted(known))}.")
    return known[name]
