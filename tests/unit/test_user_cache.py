"""Where the user's caches are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassformer.user_cache import user_cache_folder


def test_an_absolute_xdg_cache_home_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache_folder() == tmp_path / "glassformer"


@pytest.mark.parametrize("asked", ["", "relative/folder"])
def test_otherwise_it_is_below_the_home_folder(asked: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", asked)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache_folder() == tmp_path / ".cache" / "glassformer"


def test_a_missing_home_folder_is_an_error_and_is_not_created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nonexistent"))
    with pytest.raises(FileNotFoundError, match=r"nonexistent does not exist\. Set XDG_CACHE_HOME"):
        user_cache_folder()
    assert not (tmp_path / "nonexistent").exists()
