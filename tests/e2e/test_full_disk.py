"""A full disk: one line, exit code 2, what was saved loads, and with free space the same command resumes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import glassformer as gf
from faults import FULL, breaking_disk
from glassformer.store.run import RunFolder
from glassformer.tasks import live_report

SETTINGS = ("train.steps=3", "train.valid_every=1", "train.valid_sentences=1")
PLACES = {
    "a checkpoint": lambda name, path: (name, path.name, "checkpoints" in path.parts) == ("write", "state.json", True),
    "the measurements": lambda name, _: name == "append",
    "the chosen weights": lambda name, path: name == "write" and ".model.safetensors" in path.name,
    "the last report": lambda name, path: name == "flush" and ".report.html" in path.name,
}


@pytest.fixture(autouse=True, scope="module")
def _no_page_by_the_clock() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(live_report, "EVERY", math.inf)  # the effects on the disk are counted
        yield


@pytest.fixture(scope="module")
def effects(shared_toy: Any, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any]]:
    train = {"steps": 3, "valid_every": 1, "valid_sentences": 1}
    with breaking_disk() as counted:
        gf.train_translator(shared_toy.recipe(train=train), tmp_path_factory.mktemp("runs") / "counted")
    return counted.done


@pytest.mark.parametrize("place", PLACES)
def test_a_full_disk_is_one_line_and_the_same_command_resumes_when_there_is_space(
    toy: Any, command: Callable[..., Any], effects: list[tuple[str, Any]], place: str
) -> None:
    at = max(number for number, effect in enumerate(effects, 1) if PLACES[place](*effect))
    arguments, run = toy.arguments(toy.folder / "run", *SETTINGS), RunFolder(toy.folder / "run")
    with breaking_disk(at, FULL):
        outcome = command(*arguments)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"glassformer: {run.path}")
    assert "cannot be written (No space left on device). " in last
    assert last.endswith("Free some space and run the same command again.")
    assert command("translate", run.path, "the dog").code == 0  # from the checkpoint before
    again = command(*arguments)
    assert again.code == 0, again.err
    assert run.finished
    assert len(run.metrics()) == 3 * 2 + 1
