"""Stopped, killed and run again: the same bytes. With other settings or sentences: refused, nothing changed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.errors import RunError
from glassformer.store import files
from glassformer.store.run import RunFolder

CLOCKS = {"seconds", "validation_seconds", "elapsed_seconds", "tokens_per_second"}
STEPS = {"train": {"steps": 9, "valid_every": 3}}


class Killed(BaseException):
    """Stands for a power cut: nothing catches it."""


class Watching:
    """A watcher that may interfere: `at_step` is called after every update."""

    def __init__(self, at_step: Callable[[int], None] = lambda _: None) -> None:
        self.at_step = at_step
        self.stages: list[str] = []
        self.resumed_at: int | None = None

    def on_stage(self, text: str) -> None:
        self.stages.append(text)

    def on_count(self, done: int, total: int) -> None: ...

    def on_plan(self, recipe: Any, *, parameters: int, resumed_at: int, forecast: Any) -> None:  # noqa: ARG002
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
    assert recipe["model"]["dropout"] > 0  # the random numbers must go on exactly, too
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
    assert_same_run(out, whole)


def test_stopped_at_every_step_it_is_still_the_same_run(recipe: dict[str, Any], whole: Path, tmp_path: Path) -> None:
    for step in range(1, 10):
        gf.train_translator(recipe, tmp_path / "halted", watcher=interrupting(step, interrupt))
    assert_same_run(tmp_path / "halted", whole)


def cut_off_at(write: int) -> Callable[[Path, bytes], None]:
    """Writing that is cut in the middle of the `write`-th file, counted from 1."""
    calls, original = iter(range(1, 1000)), files.write_through

    def write_through(path: Path, content: bytes) -> None:
        if next(calls) == write:
            path.write_bytes(content[: len(content) // 2])
            raise Killed
        original(path, content)

    return write_through


def test_killed_at_any_write_it_is_still_the_same_run(
    shared_toy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Manifest, tokenizer, settings, metrics, the 4 files of a checkpoint, manifest, weights, report."""
    recipe = shared_toy.recipe(train={"steps": 3, "valid_every": 3})
    gf.train_translator(recipe, tmp_path / "whole")
    for write in range(1, 12):
        out = tmp_path / f"cut-{write}"
        with monkeypatch.context() as patched:
            patched.setattr(files, "write_through", cut_off_at(write))
            with pytest.raises(Killed):
                gf.train_translator(recipe, out)
        assert not RunFolder(out).finished
        gf.train_translator(recipe, out)
        assert_same_run(out, tmp_path / "whole")
    with monkeypatch.context() as patched:
        patched.setattr(files, "write_through", cut_off_at(12))
        gf.train_translator(recipe, tmp_path / "uncut")  # there is no twelfth
    assert_same_run(tmp_path / "uncut", tmp_path / "whole")


def test_killed_just_before_its_end_a_run_is_measured_once(
    recipe: dict[str, Any], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "drop_checkpoints", lambda _: kill())
        with pytest.raises(Killed):
            gf.train_translator(recipe, tmp_path / "cut")
    gf.train_translator(recipe, tmp_path / "cut")
    assert_same_run(tmp_path / "cut", whole)


def start(arguments: list[str]) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "glassformer", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_process_that_was_killed_for_good_goes_on_to_the_same_bytes(toy: Any, tmp_path: Path) -> None:
    settings = ("train.steps=200", "train.valid_every=20", "train.valid_sentences=1")
    run = RunFolder(tmp_path / "killed")
    process = start(toy.arguments(run.path, *settings))
    wait_for(lambda: len(run.steps) > 0, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not run.finished
    tree = toy.recipe(train={"steps": 200, "valid_every": 20, "valid_sentences": 1})
    del tree["decode"]
    again = Watching()
    gf.train_translator(tree, run.path, watcher=again)
    assert again.resumed_at
    gf.train_translator(tree, tmp_path / "whole")
    assert_same_run(run.path, tmp_path / "whole")


# Other settings, other sentences


@pytest.fixture
def halted(recipe: dict[str, Any], tmp_path: Path) -> Path:
    gf.train_translator(recipe, tmp_path / "halted", watcher=interrupting(4, interrupt))
    return tmp_path / "halted"


@pytest.mark.parametrize(
    ("section", "name", "value", "told"),
    [
        ("train", "lr", 0.5, "train.lr was 0.01, now 0.5"),
        ("train", "seed", 7, "train.seed was 1, now 7"),
        ("model", "dropout", 0.2, "model.dropout was 0.1, now 0.2"),
        ("text", "kind", "char", "text.kind was 'word', now 'char'"),
        ("data", "max_tokens", 99, "data.max_tokens was 200, now 99"),
        ("decode", "beam", 3, "decode.beam was 2, now 3"),
    ],
)
def test_going_on_with_another_setting_is_refused_by_its_name(
    recipe: dict[str, Any], halted: Path, section: str, name: str, value: object, told: str
) -> None:
    before = contents(halted)
    with pytest.raises(RunError, match="was started otherwise") as caught:
        gf.train_translator({**recipe, section: {**recipe[section], name: value}}, halted)
    assert told in str(caught.value)
    assert contents(halted) == before


def test_one_vocabulary_instead_of_two_is_refused_before_a_model_is_made(toy: Any, tmp_path: Path) -> None:
    apart = toy.recipe(text={"shared": False}, **STEPS)
    gf.train_translator(apart, tmp_path / "run", watcher=interrupting(4, interrupt))
    with pytest.raises(RunError, match=r"text\.shared was False, now True; model\.tied was 'output', now 'all'"):
        gf.train_translator(toy.recipe(**STEPS), tmp_path / "run")


def test_another_torch_than_the_one_that_began_is_told(
    recipe: dict[str, Any], halted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watching()
    monkeypatch.setattr(torch, "__version__", "9.9")
    gf.train_translator(recipe, halted, watcher=watcher)
    assert any("Begun with torch" in text and "now 9.9" in text for text in watcher.stages)


def test_several_changes_are_told_at_once(recipe: dict[str, Any], halted: Path) -> None:
    changed = {"model": {**recipe["model"], "dropout": 0.3}, "train": {**recipe["train"], "lr": 1.0}}
    with pytest.raises(RunError, match=r"model\.dropout was .*; train\.lr was "):
        gf.train_translator({**recipe, **changed}, halted)


@pytest.mark.parametrize(("side", "part"), [("source", "train"), ("target", "valid")])
def test_going_on_with_other_sentences_is_refused(toy: Any, tmp_path: Path, side: str, part: str) -> None:
    recipe, halted = toy.recipe(**STEPS), tmp_path / "halted"
    gf.train_translator(recipe, halted, watcher=interrupting(4, interrupt))
    before = contents(halted)
    path: Path = getattr(toy, side)
    path.write_text(path.read_text().replace("dog", "cow").replace("Hund", "Kuh"))
    with pytest.raises(RunError, match=rf"started otherwise: .*the {part} sentences have changed"):
        gf.train_translator(recipe, halted)
    assert contents(halted) == before


def test_a_damaged_checkpoint_is_refused_by_name_and_stays(recipe: dict[str, Any], halted: Path) -> None:
    path = halted / "checkpoints" / "step-00000004" / "optimiser.safetensors"
    path.write_bytes(path.read_bytes()[:-5] + b"wrong")
    before = contents(halted)
    with pytest.raises(RunError, match=r"step-00000004/optimiser\.safetensors is damaged"):
        gf.train_translator(recipe, halted)
    assert contents(halted) == before


# Finished, or in use


def test_a_finished_run_says_so_and_changes_nothing(recipe: dict[str, Any], whole: Path) -> None:
    before, watcher = contents(whole), Watching()
    progress = gf.train_translator(recipe, whole, watcher=watcher)
    assert progress.stopped == "finished before"
    assert "is finished already; nothing to do" in watcher.stages[0]
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
    with pytest.raises(RunError, match="the files to learn from have changed"):
        gf.train_translator(recipe, tmp_path / "run")
    source.unlink()
    assert gf.train_translator(recipe, tmp_path / "run").stopped == "finished before"
