"""The user's cache folder: where token caches and the compiled kernel are kept."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache_folder() -> Path:
    """$XDG_CACHE_HOME/glassformer if that is an absolute path, else ~/.cache/glassformer. It may not exist yet.

    FileNotFoundError where the user has no home folder: it is never created here, even where root could.
    """
    asked = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if asked.is_absolute():
        return asked / "glassformer"
    try:
        home = Path.home()
    except RuntimeError:
        raise FileNotFoundError("this user has no home folder. Set XDG_CACHE_HOME to a folder for caches") from None
    if not home.is_dir():
        raise FileNotFoundError(f"the home folder {home} does not exist. Set XDG_CACHE_HOME to a folder for caches")
    return home / ".cache" / "glassformer"
