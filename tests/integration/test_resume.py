"""Stopped, killed and run again: the same bytes. With other settings or sentences: refused, nothing changed."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from faults import DEATH_WITHIN, FULL, Killed, breaking_disk
from glassformer.errors import RunError
from glassformer.store.run import RunFolder
from glassformer.tasks import live_report
from glassformer.training.plan import Forecast
from glassformer.training.prepare import Rehearsal

CLOCKS = {"seconds", "validation_seconds", "elapsed_seconds", "tokens_per_second"}
STEPS = {"train": {"steps": 9, "valid_every": 3}}


class Watching:
    """A watcher that may interfere: `at_step` is called after every update."""

    def __init__(self, at_step: Callable[[int], None] = lambda _: None) -> None:
        self.at_step = at_step
        self.stages: list[str] = []
        self.resumed_at: int | None = None

    def on_stage(self, text: str) -> None:
        self.stages.append(text)

    def on_count(self, done: int, total: int) -> None: ...

    def on_plan(self, recipe: Any, *, parameters: int, resumed_at: int, forecast: Any, task: Any) -> None:  # noqa: ARG002
        self.resumed_at = resumed_at

    def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
        self.at_step(progress.step)

    def on_validation(self, record: Any) -> None: ...


def interrupting(step: int, how: Callable[[], None]) -> Watching:
    return Watching(lambda now: how() if now == step else None)


def kill() -> None:
    raise Killed


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def weights_digest(run: Path) -> str:
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


def losses(run: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in record.items() if key not in CLOCKS} for record in records]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def recipe(shared_toy: Any) -> dict[str, Any]:
    recipe: dict[str, Any] = shared_toy.recipe(**STEPS)
    assert recipe["model"]["dropout"] > 0  # the random numbers must continue exactly, too
    return recipe


@pytest.fixture(scope="module")
def whole(recipe: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that was never stopped."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    gf.train_translator(recipe, folder)
    return folder


def assert_same_run(one: Path, other: Path) -> None:
    assert weights_digest(one) == weights_digest(other)
    assert losses(one) == losses(other)
    assert (one / "config.toml").read_bytes() == (other / "config.toml").read_bytes()
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in other.iterdir())


@pytest.mark.parametrize("how", [kill, interrupt])
@pytest.mark.parametrize("step", [1, 3, 4, 8])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(
    recipe: dict[str, Any], whole: Path, tmp_path: Path, how: Callable[[], None], step: int
) -> None:
    out = tmp_path / "halted"
    try:
        progress = gf.train_translator(recipe, out, watcher=interrupting(step, how))
        assert (progress.step, progress.stopped) == (step, "")
    except Killed:
        assert how is kill
    assert not RunFolder(out).finished
    again = Watching()
    gf.train_translator(recipe, out, watcher=again)
    assert again.resumed_at == (step if how is interrupt else 3 * ((step - 1) // 3))
    assert RunFolder(out).finished
    assert_same_run(out, whole)


def test_stopped_at_every_step_it_is_still_the_same_run(recipe: dict[str, Any], whole: Path, tmp_path: Path) -> None:
    for step in range(1, 10):
        assert not gf.train_translator(recipe, tmp_path / "halted", watcher=interrupting(step, interrupt)).stopped
    gf.train_translator(recipe, tmp_path / "halted")
    assert_same_run(tmp_path / "halted", whole)


@pytest.mark.parametrize(
    "train",
    [
        {"optimiser": "muon"},
        {"ema": 0.7},
        {"average_last": 2},
        {"first_vectors": "pairs", "schedule": "stable-decay", "accumulate": 2},
    ],
    ids=str,
)
def test_every_way_of_training_resumes_exactly(recipe: dict[str, Any], tmp_path: Path, train: dict[str, Any]) -> None:
    other = {**recipe, "train": {**recipe["train"], **train}}
    gf.train_translator(other, tmp_path / "whole")
    for step in (2, 5, 7):
        assert not gf.train_translator(other, tmp_path / "halted", watcher=interrupting(step, interrupt)).stopped
    gf.train_translator(other, tmp_path / "halted")
    assert_same_run(tmp_path / "halted", tmp_path / "whole")


@pytest.mark.parametrize("how", [FULL, DEATH_WITHIN])
def test_whatever_befalls_its_beginning_and_its_end_it_is_still_the_same_run(
    shared_toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Every effect on the disk outside of the saves, which have a test of their own: begin, finish, report, drop."""
    monkeypatch.setattr(live_report, "EVERY", math.inf)  # no page by the clock: the effects are counted
    monkeypatch.setattr(Rehearsal, "forecast", lambda *_: Forecast(1, 1.0, 1, 1.0, 1.0, 1))  # takes most of the time
    held = [tmp_path / "held.en", tmp_path / "held.de"]  # few, for this trains a hundred times
    for path, side in zip(held, zip(*shared_toy.pairs[:2], strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in side), encoding="utf-8")
    few = {"steps": 1, "valid_every": 1, "valid_sentences": 1}
    recipe = shared_toy.recipe(data={"valid": [str(path) for path in held]}, train=few)
    with breaking_disk() as counted:
        gf.train_translator(recipe, tmp_path / "whole")
    told = {FULL: RunError, DEATH_WITHIN: Killed}
    last_page = max(
        at for at, effect in enumerate(counted.done, 1) if effect[0] == "write" and "html" in effect[1].name
    )
    for at, (name, path) in enumerate(counted.done, 1):
        if "checkpoints" in path.parts[:-1] or (name, path) == ("flush", tmp_path / "whole"):
            continue  # flushing a folder's names leaves what renaming left
        out = tmp_path / str(at)
        live_page = "report.html" in path.name and at < last_page  # of a run that continues: the next one comes
        with breaking_disk(at, how), nullcontext() if how == FULL and live_page else pytest.raises(told[how]):
            gf.train_translator(recipe, out)
        gf.train_translator(recipe, out)
        assert_same_run(out, tmp_path / "whole")
        assert not list(out.rglob(".*.tmp")), (name, path)


# Damaged checkpoints


@pytest.fixture
def halted(recipe: dict[str, Any], tmp_path: Path) -> Path:
    gf.train_translator(recipe, tmp_path / "halted", watcher=interrupting(4, interrupt))
    return tmp_path / "halted"


def damage(folder: Path, step: int, name: str = "optimiser.safetensors") -> None:
    path = folder / "checkpoints" / f"step-{step:08d}" / name
    path.write_bytes(path.read_bytes()[:-5] + b"wrong")


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json", "manifest.json"])
def test_if_the_last_checkpoint_is_damaged_the_one_before_is_used_to_the_same_end(
    recipe: dict[str, Any], halted: Path, whole: Path, name: str
) -> None:
    damage(halted, 4, name)
    assert gf.load(halted).origin.startswith("checkpoint at step ")
    again = Watching()
    gf.train_translator(recipe, halted, watcher=again)
    assert again.resumed_at == 3
    told = next(text for text in again.stages if "is damaged" in text)
    assert told.startswith("The checkpoint at step 4 is damaged and was set aside: ")
    assert f"step-00000004/{name}" in told
    assert told.endswith("Training resumes from step 3")
    assert_same_run(halted, whole)


@pytest.fixture(scope="module")
def unlearning(shared_toy: Any) -> dict[str, Any]:
    """It unlearns: the rate is far too high and grows, so the first validation stays the best."""
    train = {"lr": 3.0, "warmup": 9, "schedule": "constant", "best_by": "loss", "weight_decay": 0.0}
    recipe: dict[str, Any] = shared_toy.recipe(train={**STEPS["train"], **train})
    return recipe


def test_if_the_best_checkpoint_is_damaged_the_best_is_chosen_again(unlearning: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "run"
    gf.train_translator(unlearning, out, watcher=interrupting(8, interrupt))
    assert RunFolder(out).steps == [3, 6, 8]
    damage(out, 3)
    again = Watching()
    progress = gf.train_translator(unlearning, out, watcher=again)
    assert again.resumed_at == 8
    assert any("step 3 is damaged" in text and text.endswith("It will not be chosen") for text in again.stages)
    assert progress.best_step == 9
    assert RunFolder(out).about()["training"]["best_step"] == 9


def test_if_the_best_is_damaged_at_the_end_the_last_is_used_and_reported(
    unlearning: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    watcher = interrupting(9, lambda: damage(out, 3))
    gf.train_translator(unlearning, out, watcher=watcher)
    assert any("using those of step 9 instead" in text and "damaged" in text for text in watcher.stages)
    assert RunFolder(out).about()["training"]["best_step"] == 9


def test_if_all_checkpoints_are_damaged_it_stops_and_says_what_can_be_done(
    recipe: dict[str, Any], halted: Path, whole: Path
) -> None:
    for step in RunFolder(halted).steps:
        damage(halted, step)
    before = contents(halted)
    with pytest.raises(RunError, match=r"No checkpoint of .* can be used: .*train from step 1 again"):
        gf.train_translator(recipe, halted)
    assert contents(halted) == before
    shutil.rmtree(halted / "checkpoints")
    gf.train_translator(recipe, halted)
    assert_same_run(halted, whole)


def test_a_finished_run_that_lost_its_weights_is_not_trained_again_unasked(
    recipe: dict[str, Any], whole: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    (run / "model.safetensors").unlink()
    before = contents(run)
    with pytest.raises(RunError, match=r"model\.safetensors is missing, although training had finished"):
        gf.train_translator(recipe, run)
    assert contents(run) == before


# Finished, or in use


def test_a_finished_run_says_so_and_changes_nothing(recipe: dict[str, Any], whole: Path) -> None:
    before, watcher = contents(whole), Watching()
    progress = gf.train_translator(recipe, whole, watcher=watcher)
    assert progress.stopped == "finished before"
    assert "is already finished; nothing to do" in watcher.stages[0]
    assert contents(whole) == before


def test_a_second_training_at_the_same_time_is_refused(recipe: dict[str, Any], tmp_path: Path) -> None:
    refusals: list[str] = []

    def try_too() -> None:
        with pytest.raises(RunError, match="in use by another training") as caught:
            gf.train_translator(recipe, tmp_path / "run")
        refusals.append(str(caught.value))

    gf.train_translator(recipe, tmp_path / "run", watcher=interrupting(5, try_too))
    assert len(refusals) == 1
    assert RunFolder(tmp_path / "run").finished


def test_the_checkpoint_translates_meanwhile(recipe: dict[str, Any], halted: Path) -> None:
    translator = gf.load(halted)
    assert translator.origin == "checkpoint at step 4"
    assert isinstance(translator.translate("the dog has me."), str)
    assert recipe["decode"]["beam"] == translator.recipe.decode.beam


def test_a_finished_run_notices_that_its_files_have_changed(toy: Any, tmp_path: Path) -> None:
    recipe = toy.recipe(train={"steps": 2, "valid_every": 2})
    gf.train_translator(recipe, tmp_path / "run")
    assert gf.train_translator(recipe, tmp_path / "run").stopped == "finished before"
    source = Path(recipe["data"]["source"])
    content = source.read_text(encoding="utf-8")
    source.write_text(content.replace("dog", "cow"), encoding="utf-8")
    with pytest.raises(RunError, match="the training files have changed"):
        gf.train_translator(recipe, tmp_path / "run")
    source.unlink()
    assert gf.train_translator(recipe, tmp_path / "run").stopped == "finished before"
