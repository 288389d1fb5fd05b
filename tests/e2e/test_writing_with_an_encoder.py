"""`glassformer generate` with an encoder that finds masked words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import encoder_models
import glassformer as gf
from glassformer.errors import DataError, ModelError, SettingsError
from glassformer.store.bundle import save_bundle
from glassformer.tasks.embedding import TextEncoder

Command = Callable[..., Any]
TEXT = "the [MASK] runs [MASK] the [MASK]."


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(5)
    folder = tmp_path_factory.mktemp("encoder") / "bert"
    save_bundle(encoder_models.bert(), folder)
    return folder


def test_one_round_finds_what_fill_finds(bert: Path, command: Command) -> None:
    found = command("generate", bert, TEXT, "--rounds", 1, "--json")
    assert found.code == 0, found.err
    result = json.loads(found.out)
    model = gf.load(bert)
    assert isinstance(model, TextEncoder)
    special = range(5)
    best = [next(word for word in gap if word.id not in special) for gap in model.fill(TEXT, top=20).gaps]
    assert result["ids"] == [word.id for word in best]
    assert result["why"] == "length"
    plain = command("generate", bert, TEXT, "--rounds", 1)
    assert plain.out.strip() == result["text"]
    assert plain.out.startswith("the")


def test_from_left_to_right_is_one_fill_after_the_other(bert: Path, command: Command) -> None:
    found = command("generate", bert, "the dog", "--max-new", 3, "--left-to-right", "--json")
    assert found.code == 0, found.err
    model, text, ids = gf.load(bert), "the dog", list[int]()
    for left in (3, 2, 1):
        gap = model.fill(text + " [MASK]" * left, top=20).gaps[0]
        word = next(word for word in gap if word.id >= 5)
        ids.append(word.id)
        text = model.tokenizer.decode([*model.tokenizer.encode("the dog"), *ids])
    assert json.loads(found.out)["ids"] == ids
    shown = command("generate", bert, "the dog", "--max-new", 3, "--left-to-right").out.rstrip("\n")
    assert shown == "the dog" + json.loads(found.out)["text"]


def test_from_python_one_or_many_greedy_or_sampled(bert: Path) -> None:
    model = gf.load(bert)
    one = model.generate(TEXT)
    assert isinstance(one, str)
    assert "[MASK]" not in one
    assert model.generate([TEXT, "a cat"]) == [one, model.generate("a cat")]  # alone or beside others
    drawn = [model.generate("a cat", sampling=gf.Sampling(seed=seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert model.generate("the dog", max_new=0) == ""


def test_samples_are_ranked_and_reproducible(bert: Path, command: Command) -> None:
    given = ["generate", bert, "a cat", "the dog", "--samples", 3, "--seed", 4, "--max-new", 5]
    found = command(*given)
    assert found.code == 0, found.err
    assert command(*given).out == found.out
    scores = [float(line.split("\t")[1]) for line in found.lines]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert len(found.lines) == 6


def test_lines_from_stdin_and_the_last_position(bert: Path, command: Command) -> None:
    found = command("generate", bert, "--max-new", 30, "--json", stdin=b"a cat\nthe dog runs\n")
    assert found.code == 0, found.err
    ends = [json.loads(line) for line in found.lines]
    assert [len(one["ids"]) for one in ends] == [23 - 2 - 2, 23 - 2 - 3]  # what is left of its 23 positions
    assert [one["why"] for one in ends] == ["positions", "positions"]
    assert "ended at the last position" in found.err


def test_what_it_cannot_do_is_refused_in_one_line(bert: Path, tmp_path: Path, command: Command) -> None:
    save_bundle(encoder_models.bert(head="none"), tmp_path / "none")
    save_bundle(encoder_models.gpt(), tmp_path / "gpt")
    cases = [
        ([tmp_path / "none", "a dog"], "no head for words. Train one with `glassformer train --task fill`"),
        ([bert, "a dog", "--beam", 3], "beam = 3: only for models that write from left to right"),
        ([bert, "a dog", "--stream"], "--stream: an encoder fills all gaps"),
        ([bert, "a " * 40], "reads at most 23"),
        ([tmp_path / "gpt", "a dog", "--rounds", 3], "--rounds and --left-to-right are for encoders"),
    ]
    for given, words in cases:
        refused = command("generate", *given)
        assert (refused.code, words in refused.err) == (2, True), refused.err
    model = gf.load(bert)
    with pytest.raises(SettingsError, match="rounds"):
        model.generate("a dog", rounds=0)
    with pytest.raises(DataError, match="reads at most"):
        model.generate("a " * 40)
    with pytest.raises(ModelError, match=r"as a TextEncoder: gf.load\(...\).generate"):
        gf.load(bert, kind=gf.LanguageModel)
