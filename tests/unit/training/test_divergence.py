"""A loss that is not a number: no update, the batch named and kept. A batch with nothing to learn: skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from test_loop import Listener, make_job, metrics

from faults import FULL, breaking_disk
from glassformer.data.batches import Batch, EncodedPairs
from glassformer.errors import DataError
from glassformer.store.weights import weights_of
from glassformer.training.job import Job
from glassformer.training.loop import train_loop
from glassformer.training.step import Diverged

SCORES = [1.0, 2.0, 3.0, 4.0, 5.0]


def diverging(path: Path, *, at: int = 4, infinite_once: bool = False, **given: Any) -> Job:
    """The loss of update `at` is not a number; if only once, it is one when the step is made again."""
    job = make_job(path, SCORES, **given)
    listener = job.watcher
    assert isinstance(listener, Listener)
    hit: list[Batch] = []

    def loss(batch: Batch) -> tuple[torch.Tensor, int]:
        summed, tokens = job.loss(batch)
        if len(listener.losses) != at - 1 or (infinite_once and hit):
            return summed, tokens
        hit.append(batch)
        return summed * float("inf"), tokens

    return replace(
        job, loss=loss, show=lambda batch: [{"source": f"source {i}", "target": f"target {i}"} for i in batch.index]
    )


def test_the_step_is_named_with_its_batch_and_kept_to_look_at(tmp_path: Path) -> None:
    job = diverging(tmp_path, accumulate=2)
    with pytest.raises(Diverged) as caught:
        train_loop(job)
    told = str(caught.value)
    assert told.startswith("Update 4: the loss is inf and the gradient's norm ")
    assert "--accept-changes" in told
    assert str(tmp_path / "diverged") in told
    assert "\n" not in told
    found = json.loads((tmp_path / "diverged" / "diverged.json").read_text())
    assert found["update"] == 4
    assert len(found["batches"]) == 2
    examples = [example for batch in found["batches"] for example in batch["examples"]]
    assert f"Its batch of {len(examples)} examples begins with" in told
    assert f'"source {examples[0]["index"]}" → "target {examples[0]["index"]}"' in told
    assert examples[0]["source"] == f"source {examples[0]['index']}"
    assert found["gradient_norms"].keys() == weights_of(job.model).keys()
    assert {batch["loss"] for batch in found["batches"]} == {"inf"}
    assert found["weights_not_finite"] == []
    assert "load_file" in (tmp_path / "diverged" / "README.txt").read_text()


def test_the_weights_before_the_step_are_kept_and_were_not_touched(tmp_path: Path) -> None:
    straight = make_job(tmp_path / "straight", SCORES, steps=3, valid_every=3, schedule="constant")
    train_loop(straight)
    job = diverging(tmp_path / "diverging", schedule="constant")
    with pytest.raises(Diverged):
        train_loop(job)
    kept = load_file(tmp_path / "diverging" / "diverged" / "model.safetensors")
    for name, weight in weights_of(straight.model).items():
        assert torch.equal(weight, kept[name])
        assert torch.equal(weight, weights_of(job.model)[name])
    assert job.run.steps == [2]


def test_weights_that_are_not_finite_are_named(tmp_path: Path) -> None:
    job = make_job(tmp_path, SCORES)
    name, weight = next(iter(job.model.named_parameters()))
    weight.data.fill_(float("nan"))
    with pytest.raises(Diverged):
        train_loop(job)
    found = json.loads((tmp_path / "diverged" / "diverged.json").read_text())
    assert found["weights_not_finite"] == [name]
    assert found["gradient_norms"][name] == "nan"


def test_the_norms_are_of_gradients_made_again_not_of_what_the_step_left(tmp_path: Path) -> None:
    """Not a number only the first time: made again, the step has the gradients that it would have had."""
    job = make_job(tmp_path, SCORES)
    calls = iter(range(1, 100))

    def loss(batch: Batch) -> tuple[torch.Tensor, int]:
        summed, tokens = job.loss(batch)
        return summed * (float("nan") if next(calls) == 4 else 1.0), tokens

    with pytest.raises(Diverged):
        train_loop(replace(job, loss=loss))
    norms = json.loads((tmp_path / "diverged" / "diverged.json").read_text())["gradient_norms"]
    assert all(isinstance(norm, float) for norm in norms.values())
    assert max(norms.values()) > 0


def test_the_norms_are_those_that_the_update_would_have_had(tmp_path: Path) -> None:
    """Of several batches together, each token weighing the same."""
    first = make_job(tmp_path / "first", SCORES, accumulate=3, steps=1, clip=1e9)
    train_loop(first)
    listener = first.watcher
    assert isinstance(listener, Listener)
    with pytest.raises(Diverged):
        train_loop(diverging(tmp_path / "second", at=1, accumulate=3, steps=1, infinite_once=True, clip=1e9))
    told = json.loads((tmp_path / "second" / "diverged" / "diverged.json").read_text())
    whole = sum(norm**2 for norm in told["gradient_norms"].values()) ** 0.5
    assert whole == pytest.approx(listener.norms[0], rel=1e-5)


def test_diverging_again_replaces_what_was_kept(tmp_path: Path) -> None:
    for session in ({"at": 4}, {"at": 1}):  # the second resumes after update 2
        with pytest.raises(Diverged):
            train_loop(diverging(tmp_path, **session))
    assert json.loads((tmp_path / "diverged" / "diverged.json").read_text())["update"] == 3


def test_a_full_disk_does_not_hide_that_it_diverged(tmp_path: Path) -> None:
    job = diverging(tmp_path, at=1)
    with breaking_disk(5, FULL), pytest.raises(Diverged) as caught:  # the first four cut the metrics
        train_loop(job)
    assert "begins with" in str(caught.value)
    assert "are in" not in str(caught.value)
    assert not (tmp_path / "diverged").exists()


class WithEmpty:
    """A corpus some batches of which have no target tokens."""

    def __init__(self, pairs: EncodedPairs, empty: set[int]) -> None:
        self.whole, self.empty, self.made = pairs, empty, 0

    def __len__(self) -> int:
        return len(self.whole)

    def pools(self, *, seed: int, epoch: int) -> Iterator[Any]:
        self.epoch = epoch
        assert seed
        yield self

    @property
    def lengths(self) -> Any:
        return self.whole.lengths

    def batch(self, index: Any, random: Any = None) -> Batch:
        self.made += 1
        batch = self.whole.batch(index, random)
        return replace(batch, target_lengths=0 * batch.target_lengths) if self.made in self.empty else batch


def emptied(path: Path, empty: set[int], **given: Any) -> Job:
    job = make_job(path, SCORES, **given)
    return replace(job, examples=WithEmpty(job.examples, empty))  # type: ignore[arg-type]


def test_a_batch_with_nothing_to_learn_is_skipped_and_counted(tmp_path: Path) -> None:
    job = emptied(tmp_path, {1, 4, 5})
    progress = train_loop(job)
    assert (progress.step, progress.skipped, progress.batches) == (10, 3, 13)
    lines = [record for record in metrics(job.run) if "train_loss" in record]
    assert [record.get("skipped") for record in lines[:4]] == [1, 1, 3, 3]


def test_an_empty_batch_among_others_adds_nothing_to_the_update(tmp_path: Path) -> None:
    progress = train_loop(emptied(tmp_path, {1, 4}, accumulate=2))
    assert (progress.step, progress.skipped, progress.batches) == (10, 0, 20)


def test_if_no_batch_at_all_has_anything_to_learn_that_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to learn"):
        train_loop(emptied(tmp_path, set(range(1000))))
