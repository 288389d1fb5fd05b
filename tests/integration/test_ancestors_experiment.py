"""The ancestors experiment: every model is trained and measured, a page with charts, JSON; it can be continued."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.errors import SettingsError
from glassformer.tasks.experiments import ancestors
from glassformer.tasks.experiments.ancestors import VARIANTS, from_files, joined, length_of, unaligned
from glassformer.training.watching import Silent
from toy_corpus import Toy

Command = Callable[..., Any]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speeds and gradients at small sizes."""
    for name, value in (("PACE_TOKENS", 32), ("PACE_TEXTS", 1), ("REACH", 5), ("BATCH", 128)):
        monkeypatch.setattr(ancestors, name, value)
    monkeypatch.setattr("glassformer.tasks.experiments.pace.PASSES", 1)


@pytest.mark.usefixtures("quick")
def test_all_models_are_measured_and_finished_runs_are_not_repeated(toy: Toy, command: Command) -> None:
    out = toy.folder / "out"
    toy.source.write_text(toy.source.read_text() * 4)
    toy.target.write_text(toy.target.read_text() * 4)
    given = ["experiment", "ancestors", "--source", toy.source, "--target", toy.target, "--out", out]
    given += ["--steps", 1, "--seeds", 1, "--size", "nano"]
    first = command(*given, "--json")
    assert first.code == 0, first.err
    found = json.loads(first.out)
    assert [one["variant"] for one in found["variants"]] == [one.key for one in VARIANTS]
    for one in found["variants"]:
        assert one["by_length"][0]["words"] == [1, 10]
        assert len(one["gradient_by_distance"]["first"]) == 5
        assert all(value > 0 for value in one["tokens_per_second"]["training"].values())
        assert one["updates"] == 1
    weights = (out / "lstm-1" / "model.safetensors").stat().st_mtime_ns
    again = command(*given)
    assert again.code == 0, again.err
    assert (out / "lstm-1" / "model.safetensors").stat().st_mtime_ns == weights
    assert "LSTM, reversed source" in again.out
    assert "factor per token" in again.out
    assert '"across":"source words"' in (out / "ancestors.html").read_text()
    other = command(*given[:-4], "--seeds", 1, "--size", "tiny", "--steps", 1)
    assert other.code == 2
    assert "--size was nano, now tiny" in other.err


def test_one_side_alone_is_refused(tmp_path: Path, command: Command) -> None:
    refused = command("experiment", "ancestors", "--source", "a.en", "--out", tmp_path / "out")
    assert refused.code == 2
    assert "--target is missing" in refused.err


def test_the_time_is_divided_and_too_little_is_refused() -> None:
    assert length_of("10m", 12, steps=None) == {"budget": "40s"}
    assert length_of("10m", 12, steps=7)["steps"] == 7
    with pytest.raises(SettingsError, match="need at least 3m"):
        length_of("1m", 12, steps=None)


def test_sentences_are_joined_to_longer_texts() -> None:
    phrases = [unaligned(f"s{i}", f"t{i}") for i in range(5)]
    found = joined(phrases, 6, seed=1, most=3)
    assert [len(one.source.split()) for one in found] == [1, 2, 3, 1, 2, 3]
    for one in found:
        assert one.source.replace("s", "t") == one.references[0]


def test_own_sentences_are_divided(toy: Toy) -> None:
    data = from_files([str(toy.source)], [str(toy.target)], join=1, listener=Silent())
    tested = {one.source for one in data.test}
    assert tested
    assert not tested & {source for source, _ in data.train}
    assert len(data.train) + len(data.test) + len(data.valid) == len(toy.pairs)
