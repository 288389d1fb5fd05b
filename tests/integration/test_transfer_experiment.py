"""The transfer experiment: every variant with every seed, a table with intervals, a page, JSON; it can be continued."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.errors import SettingsError
from glassformer.models.registry import values_of
from glassformer.store.run import RunFolder
from glassformer.tasks.experiments.constructions import table
from glassformer.tasks.experiments.repeated import Repeated, aligned, shown
from glassformer.tasks.experiments.transfer import (
    GPT,
    LSTM,
    VARIANTS,
    TransferData,
    lengths_of,
    options_of,
    pretrained,
    twin,
)
from glassformer.tasks.loading import load_bundle
from toy_texts import sentences

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transfer")
    for name, count, seed in (("few.tsv", 24, 1), ("test.tsv", 30, 2)):
        rows = sentences(count, seed, years=False)
        (folder / name).write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    (folder / "texts.tsv").write_text("text\n" + "".join(f"{text}\n" for text, _ in sentences(80, 3, years=False)))
    return folder


def arguments(folder: Path) -> list[Any]:
    files = ["--data", folder / "few.tsv", "--test", folder / "test.tsv", "--texts", folder / "texts.tsv"]
    named = ["--columns", "text,label", "--text-column", "text", "--out", folder / "out"]
    return ["experiment", "transfer", *files, *named, "--steps", 6, "--seeds", 2, "--size", "nano"]


def test_all_variants_are_measured_and_finished_runs_are_not_repeated(done: Path, command: Command) -> None:
    first = command(*arguments(done), "--json")
    assert first.code == 0, first.err
    found = json.loads(first.out)
    assert [one["variant"] for one in found["variants"]] == [one.key for one in VARIANTS]
    assert all(len(one["scores"]["accuracy"]["values"]) == 2 for one in found["variants"])
    assert found["tested_on"] == 30
    assert [one["published"] for one in found["variants"]] == [74.7, 59.9, 75.0, 69.1, None, None]
    weights = (done / "out" / "full-1" / "model.safetensors").stat().st_mtime_ns
    again = command(*arguments(done))
    assert again.code == 0, again.err
    assert (done / "out" / "full-1" / "model.safetensors").stat().st_mtime_ns == weights
    assert "pre-training and auxiliary loss" in again.out
    assert "What pre-training and the auxiliary loss give" in (done / "out" / "transfer.html").read_text()
    assert json.loads((done / "out" / "transfer.json").read_text()) == found


def test_a_folder_with_another_experiment_is_refused(done: Path, command: Command) -> None:
    if not (done / "out" / "transfer.json").exists():
        command(*arguments(done))
    before = {path: path.stat().st_mtime_ns for path in sorted((done / "out").rglob("*"))}
    (done / "other.tsv").write_text((done / "test.tsv").read_text())
    given = arguments(done)
    for name, value, told in (
        ("--test", done / "other.tsv", f"--test was {done / 'test.tsv'}, now {done / 'other.tsv'}"),
        ("--steps", 7, "--steps was 6, now 7"),
        ("--size", None, "--size was nano, now not given"),
    ):
        place = given.index(name)
        refused = command(*given[:place], *([] if value is None else [name, value]), *given[place + 2 :])
        assert refused.code == 2
        assert f"different settings: {told}. Give the same" in refused.err
        assert "choose another --out for a new experiment" in refused.err
    content = (done / "test.tsv").read_text()
    (done / "test.tsv").write_text(content + "One more dog.\tanimal\n")
    refused = command(*given)
    (done / "test.tsv").write_text(content)
    assert f"the content of --test {done / 'test.tsv'} has changed" in refused.err
    assert before == {path: path.stat().st_mtime_ns for path in sorted((done / "out").rglob("*"))}


def test_a_budget_is_shared_by_the_seeds_and_may_be_written_in_several_ways() -> None:
    data = TransferData(("a",), ("b",), ("c",))
    options = partial(options_of, data, size=None)
    assert options(budget="10m", seeds=3, steps=None) == options(budget="600s", seeds=3, steps=None)
    assert options(budget="10m", seeds=3, steps=None) != options(budget="10m", seeds=5, steps=None)
    assert options(budget="10m", seeds=3, steps=9) == options(budget="5m", seeds=5, steps=9)


def test_only_the_weights_of_the_twin_differ(done: Path, command: Command) -> None:
    if not (done / "out" / "pretrained").exists():
        command(*arguments(done))
    trained, fresh = load_bundle(done / "out" / "pretrained"), load_bundle(twin(done / "out", 1))
    assert values_of(fresh.model) == values_of(trained.model)
    assert fresh.tokenizer is not None
    assert trained.tokenizer is not None
    assert fresh.tokenizer.fingerprint() == trained.tokenizer.fingerprint()
    recurrent = load_bundle(pretrained(done / "out", LSTM))
    assert recurrent.kind == LSTM
    assert recurrent.tokenizer is not None
    assert recurrent.tokenizer.fingerprint() == trained.tokenizer.fingerprint()
    pairs = zip(fresh.model.parameters(), trained.model.parameters(), strict=True)
    assert not any(torch.equal(a, b) for a, b in pairs if a.dim() == 2)
    settings = [RunFolder(done / "out" / f"{one.key}-1").config_text() for one in VARIANTS if one.kind == GPT]
    own = ("start_from", "auxiliary", "size")  # a folder without a run has no name for its size
    named = [[line for line in text.splitlines() if not line.startswith(own)] for text in settings]
    assert named[0] == named[1] == named[2]


def test_means_and_intervals_over_seeds() -> None:
    found = Repeated((90.0, 92.0, 94.0))
    assert found.mean == 92.0
    assert found.half_width == pytest.approx(4.303 * 2 / 3**0.5)
    assert shown(found) == "92.0 ± 5.0"
    assert found.minus(Repeated((89.0, 91.0, 93.0))).interval == (1.0, 1.0)
    assert Repeated((1.0,)).interval is None
    assert shown(Repeated((1.0,))) == "1.0"
    assert aligned(("", "a"), [("xy", "10.0")]) == ["       a", "xy  10.0"]


def test_the_time_is_divided_and_too_little_is_refused() -> None:
    assert lengths_of("10m", 9) == ({"budget": "240s"}, {"budget": "40s"})
    assert lengths_of("10m", 9, kinds=2)[0] == {"budget": "120s"}
    with pytest.raises(SettingsError, match="need at least 3m"):
        lengths_of("2m", 9)


def test_half_of_the_files_is_refused(tmp_path: Path, command: Command) -> None:
    refused = command("experiment", "transfer", "--data", "few.tsv", "--out", tmp_path / "out")
    assert refused.code == 2
    assert "--test is missing" in refused.err


def test_labelled_sentences_become_a_table() -> None:
    assert table([]) == "text\tlabel\n"
