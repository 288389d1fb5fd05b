"""Two processes train as one would: the same losses and weights, one writer, and exactly on after any end of one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
import rank_work

from two_ranks import PATIENCE, run_ranks, spec_of

CLOCKS = {"seconds", "validation_seconds", "elapsed_seconds", "tokens_per_second"}


# The arithmetic


@pytest.fixture(scope="module")
def two(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What two ranks find."""
    folder = tmp_path_factory.mktemp("two")
    spec = {"folder": str(folder), "run": str(trained), "result": str(folder / "result.json")}
    ended = run_ranks("arithmetic", spec, folder)
    assert ended.codes == [0, 0], ended.err
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


@pytest.fixture(scope="module")
def one(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What this process finds alone."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_work.validation, "BATCH_TOKENS", 0)  # put back afterwards
        return rank_work.arithmetic({"folder": str(tmp_path_factory.mktemp("one")), "run": str(trained)})


def test_two_ranks_report_the_losses_of_one_process(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert len(two["single"]["losses"]) == 100
    assert two["single"]["losses"] == pytest.approx(one["single"]["losses"], rel=1e-5)
    assert two["single"]["losses"][-1] < 0.8 * two["single"]["losses"][0]  # and it has learnt


@pytest.mark.parametrize("training", ["double", "four"])
def test_in_float64_two_ranks_have_the_weights_of_one_process(
    one: dict[str, Any], two: dict[str, Any], training: str
) -> None:
    alone, together = (torch.tensor(found[training]["weights"], dtype=torch.float64) for found in (one, two))
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-10)
    assert two[training]["losses"] == pytest.approx(one[training]["losses"], rel=1e-10)


def test_the_writers_clock_decides_for_all_ranks(two: dict[str, Any], tmp_path: Path) -> None:
    """All ranks make the same changes of plan, and one process that repeats the changes has the same weights."""
    found = two["kept to time"]
    assert found["step"][0] == found["step"][1]
    assert 30 <= found["step"][0] <= 40  # 20 were planned, at 2 seconds each
    assert len(set(found["digests"])) == 1
    folder = tmp_path / "alone"
    folder.mkdir()
    (folder / "plan.jsonl").write_text("".join(json.dumps(change) + "\n" for change in found["changes"]))
    alone = rank_work.kept_to_time(folder, rank_work.ALONE)
    assert alone["step"] == found["step"][:1]
    expected, weights = (torch.tensor(one["weights"], dtype=torch.float64) for one in (alone, found))
    torch.testing.assert_close(weights, expected, rtol=0, atol=1e-10)


def test_all_ranks_have_the_same_weights_to_the_bit(two: dict[str, Any]) -> None:
    for training in ("single", "double", "four"):
        assert len(set(two[training]["digests"])) == 1
        assert len(two[training]["digests"]) == 2


def test_two_ranks_count_as_one_process(one: dict[str, Any], two: dict[str, Any]) -> None:
    for training in ("single", "double", "four"):
        assert two[training]["progress"] == one[training]["progress"]


def test_seven_items_are_validated_by_two_ranks_exactly_as_by_one(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert one["validated"]["batches"] >= 3  # both ranks have work, and not the same amount
    assert any(one["validated"]["hypotheses"])
    assert two["validated"] == one["validated"]


def test_a_loss_that_is_not_finite_stops_all_ranks_and_the_writer_reports_it(two: dict[str, Any]) -> None:
    (kind, message), other = two["diverged"]["said"]
    assert kind == "Diverged"
    assert message.startswith("Update 1: the loss is nan")
    assert other == ["RankError", ""]
    mine, theirs = two["diverged"]["losses"]
    assert mine > 0  # the batches of both ranks are there, each with its loss
    assert theirs == "nan"


def test_shares_come_back_in_their_order(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert two["ragged"] == [0, 1, 2, 3, 4, 5, 6]
    assert two["told"] == one["told"] == [None, "äääää", ""]


# Whole runs


@pytest.fixture(scope="module")
def recipe(shared_toy: Any) -> dict[str, Any]:
    recipe: dict[str, Any] = shared_toy.recipe(
        train={"steps": 9, "valid_every": 3, "accumulate": 2, "optimiser": "muon", "ema": 0.9}
    )
    assert recipe["model"]["dropout"] > 0
    return recipe


@pytest.fixture(scope="module")
def whole(recipe: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of two ranks that was never stopped, each on a machine of its own."""
    folder = tmp_path_factory.mktemp("whole")
    ended = run_ranks("train", spec_of(recipe, folder), folder, apart=True)
    assert ended.codes == [0, 0], ended.err
    return folder


def losses(run: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in record.items() if key not in CLOCKS} for record in records]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_only_the_first_rank_writes(whole: Path) -> None:
    assert (whole / "run" / "report.html").is_file()
    assert (whole / "run" / "model.safetensors").is_file()
    assert not (whole / "other").exists()
    steps = [record["step"] for record in losses(whole / "run") if "train_loss" in record]
    assert steps == list(range(1, 10))  # every line once


def test_a_rank_on_another_machine_is_sent_the_tokens(whole: Path) -> None:
    caches = [sorted((whole / f"cache-{rank}" / "tokens").glob("*/*.*")) for rank in (0, 1)]
    assert [path.name for path in caches[0]] == [path.name for path in caches[1]]
    assert any(path.suffix == ".safetensors" for path in caches[1])
    assert [digest(path) for path in caches[0]] == [digest(path) for path in caches[1]]


def test_the_number_of_ranks_is_a_setting_of_the_run(whole: Path) -> None:
    assert "ranks = 2\n" in (whole / "run" / "config.toml").read_text()


def test_killed_and_stopped_on_the_way_two_ranks_end_with_the_same_bytes(
    recipe: dict[str, Any], whole: Path, tmp_path: Path
) -> None:
    """One rank is killed, then the other is asked to stop; each time the run resumes."""
    killed = run_ranks("train", spec_of(recipe, tmp_path, strike=[1, 4, signal.SIGKILL]), tmp_path)
    assert killed.codes[1] == -signal.SIGKILL
    assert killed.codes[0] not in (0, -signal.SIGKILL)  # it ended by itself
    assert [line for line in killed.err[0].splitlines() if "Traceback" in line] == []
    assert "Lost contact with another process" in killed.err[0]
    assert "Run the same command again to resume from the last checkpoint" in killed.err[0]

    stopped = run_ranks("train", spec_of(recipe, tmp_path, strike=[1, 4, signal.SIGTERM]), tmp_path)
    assert stopped.codes == [0, 0], stopped.err
    assert [stopped.said(rank) for rank in (0, 1)] == [{"rank": rank, "step": 5, "stopped": ""} for rank in (0, 1)]
    assert (tmp_path / "run" / "checkpoints" / "step-00000005").is_dir()

    ended = run_ranks("train", spec_of(recipe, tmp_path), tmp_path)
    assert ended.codes == [0, 0], ended.err
    assert digest(tmp_path / "run" / "model.safetensors") == digest(whole / "run" / "model.safetensors")
    assert losses(tmp_path / "run") == losses(whole / "run")
    assert not (tmp_path / "other").exists()


def test_an_error_ends_all_ranks_with_one_message(recipe: dict[str, Any], tmp_path: Path) -> None:
    wrong = {**recipe, "train": {**recipe["train"], "ranks": 3}}
    failed = run_ranks("train", spec_of(wrong, tmp_path), tmp_path)
    assert 0 not in failed.codes
    assert failed.err[0].startswith(
        "glassformer: train.ranks = 3, but 2 processes were started. Start 3 with `torchrun"
    )
    assert failed.err[1] == ""
    assert not (tmp_path / "run").exists()


# By torchrun, from the command line


def torchrun(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*launcher, "-m", "glassformer", *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLASSFORMER_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_torchrun_trains_and_one_process_talks(shared_toy: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = torchrun(*shared_toy.arguments(out), cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Reading the data") == 1
    assert done.stderr.count("Done (all steps done)") == 1
    assert (out / "report.html").is_file()


def test_a_run_of_two_ranks_does_not_go_on_with_one(
    recipe: dict[str, Any], tmp_path: Path, whole: Path, command: Any, shared_toy: Any
) -> None:
    shutil.copytree(whole / "run", tmp_path / "run")
    (tmp_path / "run" / "checkpoints").mkdir()  # as if it had not ended
    given = [f"train.{name}={value}" for name, value in recipe["train"].items()]
    refused = command(*shared_toy.arguments(tmp_path / "run", *given, "decode.beam=2"))
    assert refused.code == 2
    assert "train.ranks was 2, now 1" in refused.err
