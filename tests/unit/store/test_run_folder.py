"""The run folder: beginning, checkpoints, metrics, finishing, the lock."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

import glassformer
from faults import DEATH_WITHIN, FULL, Killed, breaking_disk
from glassformer import train_translator
from glassformer.errors import RunError
from glassformer.store import files
from glassformer.store.checkpoints import Checkpoint
from glassformer.store.run import RunFolder

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


def test_a_folder_with_a_config_of_someone_elses_is_no_run(tmp_path: Path) -> None:
    mine = {"config.toml": b"a = 1\n", "model.safetensors": b"mine"}
    for name, content in mine.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError, match=r"not empty and not a run \(it has config.toml, model.safetensors\)"):
        train_translator({}, tmp_path)
    assert contents(tmp_path) == mine


def test_a_refused_command_leaves_no_lock_in_a_run(run: RunFolder) -> None:
    (run.path / ".lock").unlink(missing_ok=True)
    before = contents(run.path)
    with pytest.raises(RunError, match="refused"), run.lock():
        raise RunError("refused")
    assert contents(run.path) == before


def test_a_beginning_that_was_cut_off_is_begun_again(tmp_path: Path) -> None:
    """The folder, then manifest, tokenizer, settings: killed at any effect of these, the same command works."""
    with breaking_disk() as counted:
        begun(tmp_path / "whole")
    wanted = contents(tmp_path / "whole")
    for at in range(1, len(counted.done) + 1):
        path = tmp_path / str(at)
        with breaking_disk(at, DEATH_WITHIN), pytest.raises(Killed):
            begun(path)
        with RunFolder(path).lock() if RunFolder(path).exists else nullcontext():
            pass
        if not RunFolder(path).exists:
            begun(path)
        assert contents(path) == wanted


@pytest.mark.parametrize("name", ["config.toml", "tokenizer.json"])
def test_a_changed_text_is_refused_by_name(run: RunFolder, name: str) -> None:
    (run.path / name).write_bytes(b"a = 2\n")
    with pytest.raises(RunError, match=rf"{re.escape(name)} is damaged or was changed"):
        run.text(name)


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
        with pytest.raises(RunError, match=r"cannot be created or written .*another --out"), RunFolder(path).lock():
            pass
    assert contents(tmp_path) == {"file": b""}


# Checkpoints


def test_a_checkpoint_comes_back_as_it_was(run: RunFolder) -> None:
    run.checkpoints.save(checkpoint(7), keep=set())
    found = run.checkpoints.read(7)
    assert torch.equal(found.weights["w"], torch.full((2, 3), 7.0))
    assert torch.equal(found.optimiser["w/step"], torch.tensor(7.0))
    assert found.state == {"step": 7}


def test_the_best_and_the_last_checkpoint_are_kept_in_order(run: RunFolder) -> None:
    for step, best in ((5, 5), (20, 20), (100, 20), (1000, 20)):
        run.checkpoints.save(checkpoint(step), keep={best})
    assert run.steps == [20, 1000]
    run.checkpoints.save(checkpoint(1005), keep={1005})
    assert run.steps == [1005]


def test_the_checkpoint_before_goes_only_when_the_new_one_is_safe(tmp_path: Path) -> None:
    with breaking_disk() as counted:
        run = begun(tmp_path / "counted")
        before = len(counted.done)
        run.checkpoints.save(checkpoint(5), keep=set())
    for at in range(1, len(counted.done) - before + 1):
        run = begun(tmp_path / str(at))
        run.checkpoints.save(checkpoint(4), keep=set())
        with breaking_disk(at, FULL), pytest.raises(RunError, match=r"cannot be (written|removed) \(No space left"):
            run.checkpoints.save(checkpoint(5), keep=set())
        assert run.steps[0] == 4 or run.steps == [5]
        for step in run.steps:
            assert run.checkpoints.read(step).state == {"step": step}


def flipped(content: bytes, random: Random) -> bytes:
    """One bit turned over."""
    place, bit = random.randrange(len(content)), 1 << random.randrange(8)
    return content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]


def cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content))]


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json", "manifest.json"])
@pytest.mark.parametrize("harm", [flipped, cut])
def test_a_flipped_bit_or_a_cut_anywhere_in_a_checkpoint_is_noticed_and_the_one_before_used(
    run: RunFolder, name: str, harm: Callable[[bytes, Random], bytes]
) -> None:
    run.checkpoints.save(checkpoint(4), keep=set())
    run.checkpoints.save(checkpoint(5), keep={4})
    path, random = run.checkpoints.folder(5) / name, Random(name)
    sound = path.read_bytes()
    for _ in range(60):
        path.write_bytes(harm(sound, random))
        assert name in run.checkpoints.damage(5)
        if name in ("model.safetensors", "manifest.json"):
            weights, origin = run.weights()
            assert torch.equal(weights["w"], torch.full((2, 3), 4.0))
            assert origin == "checkpoint at step 4, because the one at step 5 is damaged"
    assert name in run.checkpoints.set_aside_damaged()[5]
    assert run.steps == [4]
    run.checkpoints.save(checkpoint(5), keep={4})
    assert run.steps == [4, 5]
    assert not run.checkpoints.damage(5)


def test_damaged_again_the_same_checkpoint_is_set_aside_again(run: RunFolder) -> None:
    run.checkpoints.save(checkpoint(4), keep=set())
    for _ in range(2):
        run.checkpoints.save(checkpoint(5), keep={4})
        (run.checkpoints.folder(5) / "state.json").unlink()
        assert list(run.checkpoints.set_aside_damaged()) == [5]
    assert sorted(path.name for path in run.checkpoints.path.iterdir()) == ["damaged-step-00000005", "step-00000004"]


def test_if_every_checkpoint_is_damaged_nothing_is_touched_and_the_error_says_what_to_do(run: RunFolder) -> None:
    for step in (4, 5):
        run.checkpoints.save(checkpoint(step), keep={4})
        (run.checkpoints.folder(step) / "model.safetensors").write_bytes(b"")
    before = contents(run.path)
    with pytest.raises(RunError, match=r"No checkpoint of .* can be used: .*step-00000004.* remove .*checkpoints"):
        run.checkpoints.set_aside_damaged()
    with pytest.raises(RunError, match="damaged"):
        run.weights()
    assert contents(run.path) == before


def test_a_renamed_checkpoint_is_not_taken_for_another_step(run: RunFolder) -> None:
    run.checkpoints.save(checkpoint(4), keep=set())
    run.checkpoints.folder(4).rename(run.checkpoints.folder(9))
    assert "is the checkpoint of step 4" in run.checkpoints.damage(9)


def test_going_over_to_other_settings_may_be_cut_off_anywhere(tmp_path: Path) -> None:
    """Before, within and after: the manifest fits the settings that are there, old or new."""
    with breaking_disk() as counted:
        run = begun(tmp_path / "counted")
        before = len(counted.done)
        run.change(config="a = 2\n", about={"noted": 1})
    assert (run.config_text(), run.about()) == ("a = 2\n", {"noted": 1})
    assert "before" not in (run.path / "manifest.json").read_text()
    for at in range(1, len(counted.done) - before + 1):
        cut_off = begun(tmp_path / str(at))
        with breaking_disk(at, DEATH_WITHIN), pytest.raises(Killed):
            cut_off.change(config="a = 2\n", about={"noted": 1})
        assert cut_off.config_text() in ("a = 1\n", "a = 2\n")
        with cut_off.lock():
            cut_off.change(config="a = 2\n", about={"noted": 1})
        assert contents(cut_off.path) == contents(run.path)


def test_a_checkpoint_that_is_there_is_not_written_again(run: RunFolder) -> None:
    run.checkpoints.save(checkpoint(5), keep=set())
    before = contents(run.path)
    run.checkpoints.save(checkpoint(5), keep=set())
    assert contents(run.path) == before


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json", "manifest.json"])
def test_a_cut_checkpoint_is_refused_by_the_name_of_its_file(run: RunFolder, name: str) -> None:
    run.checkpoints.save(checkpoint(5), keep=set())
    path = run.path / "checkpoints" / "step-00000005" / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match=re.escape(name)):
        run.checkpoints.read(5)


def test_what_is_no_checkpoint_is_not_taken_for_one(run: RunFolder) -> None:
    run.checkpoints.save(checkpoint(5), keep=set())
    (run.path / "checkpoints" / "step-old").mkdir()
    (run.path / "checkpoints" / ".step-00000006.1.tmp").mkdir()
    assert run.steps == [5]


DEAD = 2**31 - 1  # no process has this number


def test_what_a_killed_process_left_half_written_is_swept_away(run: RunFolder) -> None:
    before = contents(run.path)
    half = run.path / "checkpoints" / f".step-00000006.{DEAD}.tmp"
    half.mkdir(parents=True)
    (half / "model.safetensors").write_bytes(b"half")
    for name in (
        "metrics.jsonl",
        "plan.jsonl",
        "tokenizer.json",
        "source.tokenizer.json",
        "checkpoints",
        "diverged",
        "report.html",
    ):
        (run.path / f".{name}.{DEAD}.tmp").write_bytes(b"half")
    (run.path / f".config.toml.{os.getpid()}.tmp").write_bytes(b"half")  # of an earlier process with our number
    run.sweep()
    assert contents(run.path) == before


@pytest.mark.parametrize("name", [".mine.tmp", ".mine.12.tmp", ".config.toml.tmp", f".config.toml.{os.getppid()}.tmp"])
@pytest.mark.parametrize("where", [".", "checkpoints"])
def test_what_others_named_so_or_a_living_process_writes_stays(run: RunFolder, name: str, where: str) -> None:
    theirs = run.path / where / name
    theirs.mkdir(parents=True)
    (theirs / "thesis.txt").write_text("years of work")
    run.sweep()
    with run.lock():
        pass
    assert (theirs / "thesis.txt").read_text() == "years of work"


def test_a_folder_with_somebody_elses_temporary_file_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / ".mine.tmp").write_text("mine")
    with pytest.raises(RunError, match=r"is not empty.*\.mine\.tmp"):
        RunFolder(tmp_path).refuse_foreign()


def test_holding_a_run_removes_nothing_before_the_command_is_accepted(run: RunFolder) -> None:
    (run.path / f".config.toml.{DEAD}.tmp").write_bytes(b"half")
    before = contents(run.path)
    with run.lock():
        assert {**contents(run.path)}.keys() >= before.keys()


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\r"])
def test_measurements_with_any_sign_in_a_sentence_come_back(run: RunFolder, sign: str) -> None:
    records = [{"step": 1, "sample": f"Ja.{sign}Nein."}, {"step": 2}]
    for record in records:
        run.append_metrics(record)
    assert run.metrics() == records


def test_bytes_that_are_no_text_lose_their_own_line_only(run: RunFolder) -> None:
    run.append_metrics({"step": 1})
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(
            b'{"step": 2, "sample": "\xff"}\n' + b"[" * 100_000 + b"\n" + b"3\n" + b'{"step": ' + b"9" * 5000 + b"}\n"
        )
    run.append_metrics({"step": 4})
    assert [record["step"] for record in run.metrics()] == [1, 4]


# Weights


def test_before_the_first_checkpoint_there_are_no_weights(run: RunFolder) -> None:
    with pytest.raises(RunError, match=r"no weights yet.*Run the same train command again"):
        run.weights()


def test_an_unfinished_run_gives_the_weights_of_its_latest_checkpoint(run: RunFolder) -> None:
    run.checkpoints.save(checkpoint(5), keep={5})
    run.checkpoints.save(checkpoint(1200), keep={5})
    weights, origin = run.weights()
    assert torch.equal(weights["w"], torch.full((2, 3), 1200.0))
    assert origin == "checkpoint at step 1,200"


def test_a_finished_run_gives_the_chosen_weights(run: RunFolder) -> None:
    run.checkpoints.save(checkpoint(5), keep=set())
    run.finish({"w": torch.ones(3)}, about={"training": {"steps": 5}})
    assert not run.finished  # the report is still to come
    run.checkpoints.drop()
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


def test_finishing_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    """Killed at any effect of it, the run gives its checkpoint's weights or the chosen ones, and can finish."""

    def finish(run: RunFolder) -> None:
        run.finish({"w": torch.ones(3)}, about={})
        run.checkpoints.drop()

    def made(name: str) -> RunFolder:
        run = begun(tmp_path / name)
        run.checkpoints.save(checkpoint(5), keep=set())
        return run

    whole = made("whole")
    with breaking_disk() as counted:
        finish(whole)
    for at in range(1, len(counted.done) + 1):
        run = made(str(at))
        with breaking_disk(at, DEATH_WITHIN), pytest.raises(Killed):
            finish(run)
        assert run.weights()[1] in ("checkpoint at step 5", "finished training")
        with run.lock():
            run.sweep()
            if not run.finished:
                finish(run)
        assert contents(run.path) == contents(whole.path)


def test_weights_that_were_removed_from_a_finished_run_are_missed(run: RunFolder) -> None:
    run.finish({"w": torch.ones(3)}, about={})
    (run.path / "model.safetensors").unlink()
    assert run.lost_its_weights
    with pytest.raises(RunError, match=r"model\.safetensors is missing, although training had finished\. Restore it"):
        run.weights()


def test_a_checkpoint_that_is_replaced_while_it_is_read_is_no_damage(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the list of checkpoints and the reading of one, a training may have gone on by two."""
    run.checkpoints.save(checkpoint(5), keep=set())
    original = files.read_manifest

    def late(folder: Path, **options: bool) -> dict[str, Any]:
        if run.steps == [5]:
            run.checkpoints.save(checkpoint(6), keep=set())
        return original(folder, **options)

    monkeypatch.setattr(files, "read_manifest", late)
    assert run.weights()[1] == "checkpoint at step 6"


def test_a_training_that_ends_while_its_weights_are_looked_for_gives_the_chosen_ones(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.checkpoints.save(checkpoint(5), keep=set())
    original = files.read_manifest

    def late(folder: Path, **options: bool) -> dict[str, Any]:
        if run.steps:
            with monkeypatch.context() as undone:
                undone.setattr(files, "read_manifest", original)
                run.finish({"w": torch.ones(3)}, about={})
                run.checkpoints.drop()
        return original(folder, **options)

    monkeypatch.setattr(files, "read_manifest", late)
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
    run.cut_metrics(1000)
    run.append_metrics({"step": 3})
    assert [json.loads(line)["step"] for line in (run.path / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3]


def test_a_resumed_run_drops_what_came_after_its_checkpoint(run: RunFolder) -> None:
    assert run.flush_metrics() == 0
    for step in (1, 2):
        run.append_metrics({"step": step})
    size = run.flush_metrics()
    for step in (2, 3):
        run.append_metrics({"step": step})
    run.cut_metrics(size)
    assert run.metrics() == [{"step": 1}, {"step": 2}]


# No code in files


def test_nothing_is_ever_pickled() -> None:
    for path in Path(glassformer.__file__).parent.rglob("*.py"):
        used = r"import pickle|pickle\.\w|torch\.load|torch\.save|\bshelve\b|\bmarshal\b"  # a message may name one
        assert not re.search(used, path.read_text()), path


# Pipes and devices


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)], ids=["pipe", "device"])
@pytest.mark.parametrize("name", [files.MANIFEST, "tokenizer.json", "model.safetensors", "metrics.jsonl"])
def test_pipes_and_devices_in_a_run_are_refused(run: RunFolder, make: Callable[[Path], None], name: str) -> None:
    """Reading them would never start, or never end."""
    if name == "model.safetensors":
        run.finish({"w": torch.ones(2)}, about={})
    (run.path / name).unlink(missing_ok=True)
    make(run.path / name)
    with pytest.raises(RunError, match=rf"{name} is (missing|a (pipe|device), not a regular file)"):
        run.metrics() if name == "metrics.jsonl" else run.weights() if name == "model.safetensors" else run.text(name)


def test_a_pipe_as_lock_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(RunError, match="is not a regular file"), RunFolder(tmp_path).lock():
        pass


def test_a_file_far_larger_than_recorded_is_refused(run: RunFolder) -> None:
    with (run.path / "tokenizer.json").open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(RunError, match="such files have at most"):
        run.text("tokenizer.json")
