"""The run folder: beginning, checkpoints, metrics, finishing, the lock."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import glassformer
from glassformer.errors import RunError
from glassformer.store import files
from glassformer.store.run import Checkpoint, RunFolder

TEXTS = {"tokenizer.json": b"{}"}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def begun(path: Path) -> RunFolder:
    run = RunFolder(path)
    with run.lock():
        run.begin(config="a = 1\n", texts=TEXTS, about={"glassformer": "0", "data": {"train": "x"}})
    return run


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(
        step=step,
        weights={"w": torch.full((2, 3), float(step))},
        optimiser={"w/step": torch.tensor(float(step))},
        state={"step": step},
    )


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return begun(tmp_path / "run")


# Beginning


def test_a_begun_run_has_its_settings_its_texts_and_a_manifest(run: RunFolder) -> None:
    assert run.exists
    assert not run.finished
    assert run.config_text() == "a = 1\n"
    assert run.text("tokenizer.json") == b"{}"
    assert run.about() == {"glassformer": "0", "data": {"train": "x"}}
    assert set(files.read_manifest(run.path)["files"]) == {"config.toml", "tokenizer.json"}


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "tokenizer.json", "manifest.json", "model.safetensors"])
def test_a_folder_with_other_things_is_refused_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    run = RunFolder(tmp_path)
    with pytest.raises(RunError, match=rf"not empty and not a run \(it has {re.escape(name)}\)"), run.lock():
        run.begin(config="a = 1\n", texts=TEXTS, about={})
    assert contents(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("cut_at", [1, 2, 3])
def test_a_beginning_that_was_cut_off_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_at: int
) -> None:
    """Manifest, tokenizer, settings: killed at any of these renames, the same command works."""
    renames = iter(range(1, 100))
    original = Path.replace

    def killed(path: Path, target: Path) -> Path:
        if next(renames) == cut_at:
            raise KeyboardInterrupt
        return original(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)  # a killed process tidies nothing up
    with pytest.raises(KeyboardInterrupt):
        begun(tmp_path)
    monkeypatch.undo()
    assert list(tmp_path.glob(".*.tmp"))
    assert not RunFolder(tmp_path).exists
    assert begun(tmp_path).config_text() == "a = 1\n"
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize("name", ["config.toml", "tokenizer.json"])
def test_a_changed_text_is_refused_by_name(run: RunFolder, name: str) -> None:
    (run.path / name).write_bytes(b"a = 2\n")
    with pytest.raises(RunError, match=rf"{re.escape(name)} is damaged or was changed"):
        run.text(name)


def test_what_is_no_run_says_how_to_make_one(tmp_path: Path) -> None:
    assert "does not exist" in RunFolder(tmp_path / "none").describe_missing()
    told = RunFolder(tmp_path).describe_missing()
    assert "no config.toml" in told
    assert f"glassformer train --corpus phrasebook --out {tmp_path}" in told


# The lock


def test_a_second_holder_is_refused_and_the_lock_is_free_afterwards(run: RunFolder) -> None:
    with run.lock(), pytest.raises(RunError, match="in use by another training"), RunFolder(run.path).lock():
        pass
    with RunFolder(run.path).lock():
        pass


def test_another_process_is_refused_too(run: RunFolder) -> None:
    code = f"import fcntl; fcntl.flock(open({str(run.path / '.lock')!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with run.lock():
        held = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "BlockingIOError" in held.stderr
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_lock_under_which_nothing_began_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunFolder(tmp_path / "runs" / "new").lock():
        _ = 1 / 0
    assert not list(tmp_path.iterdir())


def test_folders_that_were_there_before_stay(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with RunFolder(tmp_path / "runs" / "new").lock():
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["runs"]


def test_a_file_called_lock_of_someone_else_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_bytes(b"mine")
    with RunFolder(tmp_path).lock():
        pass
    assert contents(tmp_path) == {".lock": b"mine"}


def test_a_lock_whose_holder_gave_up_meanwhile_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening the file and locking it, its holder may have removed it: it would keep nobody out."""
    monkeypatch.setattr("fcntl.flock", lambda *_: (tmp_path / ".lock").unlink())
    with pytest.raises(RunError, match="in use"), RunFolder(tmp_path).lock():
        pass


def test_a_folder_that_cannot_be_made_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RunError, match=r"cannot be made or written .*Choose another --out"), RunFolder(path).lock():
            pass
    assert contents(tmp_path) == {"file": b""}


# Checkpoints


def test_a_checkpoint_comes_back_as_it_was(run: RunFolder) -> None:
    run.save_checkpoint(checkpoint(7), keep=set())
    found = run.checkpoint(7)
    assert torch.equal(found.weights["w"], torch.full((2, 3), 7.0))
    assert torch.equal(found.optimiser["w/step"], torch.tensor(7.0))
    assert found.state == {"step": 7}


def test_the_best_and_the_last_checkpoint_are_kept_in_order(run: RunFolder) -> None:
    for step, best in ((5, 5), (20, 20), (100, 20), (1000, 20)):
        run.save_checkpoint(checkpoint(step), keep={best})
    assert run.steps == [20, 1000]
    run.save_checkpoint(checkpoint(1005), keep={1005})
    assert run.steps == [1005]


def test_the_checkpoint_before_goes_only_when_the_new_one_is_safe(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.save_checkpoint(checkpoint(5), keep=set())

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="step-00000006: cannot be written"):
        run.save_checkpoint(checkpoint(6), keep=set())
    assert run.steps == [5]
    assert run.checkpoint(5).state == {"step": 5}
    assert [path.name for path in (run.path / "checkpoints").iterdir()] == ["step-00000005"]


def test_a_checkpoint_that_is_there_is_not_written_again(run: RunFolder) -> None:
    run.save_checkpoint(checkpoint(5), keep=set())
    before = contents(run.path)
    run.save_checkpoint(checkpoint(5), keep=set())
    assert contents(run.path) == before


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json", "manifest.json"])
def test_a_cut_checkpoint_is_refused_by_the_name_of_its_file(run: RunFolder, name: str) -> None:
    run.save_checkpoint(checkpoint(5), keep=set())
    path = run.path / "checkpoints" / "step-00000005" / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match=re.escape(name)):
        run.checkpoint(5)


def test_what_is_no_checkpoint_is_not_taken_for_one(run: RunFolder) -> None:
    run.save_checkpoint(checkpoint(5), keep=set())
    (run.path / "checkpoints" / "step-old").mkdir()
    (run.path / "checkpoints" / ".step-00000006.1.tmp").mkdir()
    assert run.steps == [5]


def test_what_a_killed_process_left_half_written_goes_with_the_next_lock(run: RunFolder) -> None:
    before = contents(run.path)
    (run.path / "checkpoints" / ".step-00000006.1.tmp").mkdir(parents=True)
    (run.path / "checkpoints" / ".step-00000006.1.tmp" / "model.safetensors").write_bytes(b"half")
    (run.path / ".metrics.jsonl.1.tmp").write_bytes(b"half")
    with run.lock():
        assert contents(run.path) == before


# Weights


def test_before_the_first_checkpoint_there_are_no_weights(run: RunFolder) -> None:
    with pytest.raises(RunError, match=r"no weights yet.*Run the same train command again"):
        run.weights()


def test_an_unfinished_run_gives_the_weights_of_its_latest_checkpoint(run: RunFolder) -> None:
    run.save_checkpoint(checkpoint(5), keep={5})
    run.save_checkpoint(checkpoint(1200), keep={5})
    weights, origin = run.weights()
    assert torch.equal(weights["w"], torch.full((2, 3), 1200.0))
    assert origin == "checkpoint at step 1,200"


def test_a_finished_run_gives_the_chosen_weights(run: RunFolder) -> None:
    run.save_checkpoint(checkpoint(5), keep=set())
    run.finish({"w": torch.ones(3)}, about={"training": {"steps": 5}})
    assert not run.finished  # the report is still to come
    run.drop_checkpoints()
    assert run.finished
    weights, origin = run.weights()
    assert torch.equal(weights["w"], torch.ones(3))
    assert origin == "finished training"
    assert run.about() == {"glassformer": "0", "data": {"train": "x"}, "training": {"steps": 5}}
    assert sorted(contents(run.path)) == [
        ".lock",
        "config.toml",
        "manifest.json",
        "model.safetensors",
        "tokenizer.json",
    ]


def test_finishing_that_was_cut_off_is_done_again(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the new manifest and the weights, the run still has its checkpoint and can finish."""
    run.save_checkpoint(checkpoint(5), keep=set())
    original = files.write_atomically

    def killed(path: Path, content: bytes) -> None:
        if path.name == "model.safetensors":
            raise KeyboardInterrupt
        original(path, content)

    monkeypatch.setattr(files, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        run.finish({"w": torch.ones(3)}, about={})
    monkeypatch.undo()
    assert run.weights()[1] == "checkpoint at step 5"
    run.finish({"w": torch.ones(3)}, about={})
    run.drop_checkpoints()
    assert run.weights()[1] == "finished training"


# Metrics


def test_measurements_are_appended_in_order(run: RunFolder) -> None:
    assert run.metrics() == []
    for step in (1, 2, 3):
        run.append_metrics({"step": step, "name": "Äpfel"})
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
    assert run.metrics()[0]["name"] == "Äpfel"


def test_a_last_line_cut_by_a_crash_is_left_out(run: RunFolder) -> None:
    for step in (1, 2):
        run.append_metrics({"step": step})
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "train_lo')
    assert run.metrics() == [{"step": 1}, {"step": 2}]
    run.cut_metrics(9)
    run.append_metrics({"step": 3})
    assert [json.loads(line)["step"] for line in (run.path / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3]


def test_a_run_that_goes_on_forgets_what_came_after_its_checkpoint(run: RunFolder) -> None:
    for step in (1, 2, 3, 4):
        run.append_metrics({"step": step})
    run.cut_metrics(2)
    assert run.metrics() == [{"step": 1}, {"step": 2}]


# No code in files


def test_nothing_is_ever_pickled() -> None:
    for path in Path(glassformer.__file__).parent.rglob("*.py"):
        assert not re.search(r"\bpickle\b|torch\.load|torch\.save|\bshelve\b|\bmarshal\b", path.read_text()), path
