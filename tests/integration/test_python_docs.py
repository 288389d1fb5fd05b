"""docs/python.md is a session that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import glassformer as gf

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_session_runs(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = gf.load
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gf, "load", lambda _: load(trained), raising=False)
    session = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S))
    known: dict[str, object] = {}
    exec(compile(session, str(PAGE), "exec"), known)
    assert "beam = 0: it must be a whole number from 1 to 1,000." in capsys.readouterr().out
    assert known["text"] == known["model"].candidates("the dog has me.", beam=1, guard=False)[0].text  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["Translator", "LanguageModel", "TextEncoder", "ImageModel"])
def test_the_methods_that_it_names_are_there(kind: str) -> None:
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `gf.{kind}`"))
    for method in re.findall(r"`(\w+)`", row.rpartition("|")[0].rpartition("|")[2]):
        assert callable(getattr(getattr(gf, kind), method))
