"""Files that a command writes are always new files; this is checked before the work begins."""

from __future__ import annotations

from pathlib import Path

from glassformer.errors import SettingsError


def check_new_file(path: Path) -> None:
    """Raises an error unless `path` can be created as a new file."""
    if path.exists():
        raise SettingsError(f"{path} already exists. Name a new file, or remove it first.")
    if not path.parent.is_dir():
        raise SettingsError(f"{path}: there is no folder {path.parent}. Create it first, or name another file.")
