"""report.html during training, when it is stopped, and at its end."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.errors import RunError
from glassformer.store.run import RunFolder
from glassformer.training.watching import Silent


def page_of(run: Path) -> dict[str, Any]:
    text = (run / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


class Reading(Silent):
    """Keeps the page as it stands when a step begins to be looked at; may ask to stop."""

    def __init__(self, run: Path, stop_at: int = 0) -> None:
        self.run, self.stop_at = run, stop_at
        self.pages: list[dict[str, Any]] = []

    def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
        if progress.step > 1:
            self.pages.append(page_of(self.run))
        if progress.step == self.stop_at:
            signal.raise_signal(signal.SIGINT)


def test_the_page_follows_the_training_and_ends_with_it(toy: Any, tmp_path: Path) -> None:
    watcher = Reading(tmp_path / "run")
    gf.train_translator(toy.recipe(), tmp_path / "run", watcher=watcher)
    steps = [page["progress"]["step"] for page in watcher.pages]  # as seen at steps 2 to 6
    assert steps == [1, 2, 2, 4, 4]
    assert all(page["progress"]["steps"] == 6 and page["progress"]["refresh"] > 0 for page in watcher.pages)
    assert "watched" not in watcher.pages[0]
    assert [len(page["watched"]) for page in watcher.pages[1:]] == [4] * 4
    assert watcher.pages[-1]["progress"]["best"].startswith("kept: step 4, validation loss ")
    final = page_of(tmp_path / "run")
    assert "progress" not in final
    assert {version["until"] for one in final["watched"] for version in one["versions"]} >= {6}
    assert [point["step"] for point in final["curves"] if "valid_bleu" in point] == [2, 4, 6]


def test_the_history_of_the_samples_survives_a_stop(toy: Any, tmp_path: Path) -> None:
    gf.train_translator(toy.recipe(), tmp_path / "straight")
    gf.train_translator(toy.recipe(), tmp_path / "halted", watcher=Reading(tmp_path / "halted", stop_at=3))
    stopped = page_of(tmp_path / "halted")["progress"]
    assert (stopped["step"], stopped["refresh"]) == (3, 0)
    gf.train_translator(toy.recipe(), tmp_path / "halted")
    straight, halted = page_of(tmp_path / "straight"), page_of(tmp_path / "halted")
    assert halted["watched"] == straight["watched"]
    assert [p["train_loss"] for p in halted["curves"] if "train_loss" in p] == [
        p["train_loss"] for p in straight["curves"] if "train_loss" in p
    ]


def test_a_page_that_cannot_be_written_ends_no_training(
    toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise RunError("No space left on device")

    monkeypatch.setattr(RunFolder, "show_report", full)
    assert gf.train_translator(toy.recipe(), tmp_path / "run").stopped == "all steps done"
    assert "progress" not in page_of(tmp_path / "run")
