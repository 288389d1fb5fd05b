"""The recipes included in the package, by name."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from glassformer.errors import SettingsError
from glassformer.toml_text import read_toml


def shipped_recipes() -> dict[str, str]:
    """The text of each included recipe, by name."""
    folder = files("glassformer") / "recipes"
    found = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in found}


def recipe_named(name: Path) -> dict[str, Any]:
    """The recipe in a file, or the included recipe of that name if there is no such file; a folder is no recipe."""
    if (not name.exists() or name.is_dir()) and (text := shipped_recipes().get(str(name))):
        return tomllib.loads(text)
    return read_toml(name)


def which_recipe(name: Path) -> str:
    """Which recipe a name means, in words, if it is the name of an included one and also of something here."""
    if not name.exists() or str(name) not in shipped_recipes():
        return ""
    if name.is_dir():
        return f"using the included recipe {name}, not the folder {name}/ (to train on its files: --data {name})"
    return f"using the file {name}, not the included recipe of that name (`glassformer recipe {name}` prints that one)"


def recipe_titles() -> dict[str, str]:
    """The first line of each included recipe, which says what it is for."""
    return {name: text.partition("\n")[0].removeprefix("# ") for name, text in sorted(shipped_recipes().items())}


def shipped_recipe(name: str) -> str:
    """The text of one included recipe; the error for an unknown name lists them all."""
    known = shipped_recipes()
    if name not in known:
        raise SettingsError(f"There is no included recipe {name!r}. Included: {', '.join(sorted(known))}.")
    return known[name]
