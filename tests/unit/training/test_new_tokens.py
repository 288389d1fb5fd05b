"""A vocabulary that grows: old tokens keep ids and rows, new rows are the mean of the pieces."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import glassformer as gf
from glassformer.errors import SettingsError
from glassformer.store.run import RunFolder
from glassformer.text import train_tokenizer
from glassformer.text.extending import extended
from glassformer.training import fine_tune
from glassformer.training.new_tokens import added_in_words, grown
from glassformer.training.reading import read_tokenizers
from toy_texts import settings, write_running


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    files = write_running(folder / "train.txt", years=False)
    sections = {**settings({"kind": "gpt"}, {"steps": 2, "valid_every": 2}), "text": {"kind": "bpe", "vocab_size": 290}}
    gf.train(task="generate", data={"files": str(files), "max_tokens": 24}, out=folder / "base", **sections)
    return folder / "base"


def test_old_tokens_keep_their_ids_and_new_ones_are_whole(base: Path) -> None:
    (old,) = read_tokenizers(RunFolder(base)).values()
    assert len(old.encode("zebra")) > 1
    new, pieces = extended(old, ["zebra", "quagga"])
    assert pieces == {len(old): old.encode("zebra"), len(old) + 1: old.encode("quagga")}
    assert new.encode("zebra") == [len(old)]
    for text in ("the film was good", "zebras are not one"):
        assert new.encode(text) == old.encode(text)
    assert new.decode(new.encode("the zebra was good")) == "the zebra was good"


@pytest.mark.parametrize("kind", ["word", "wordpiece"])
def test_unknown_words_become_tokens_too(kind: str) -> None:
    old = train_tokenizer(kind, ["the film was good", "the film was dull"], vocab_size=60, extra=["<mask>"])
    assert old.encode("zebra") == [old.unk_id]
    new, pieces = extended(old, ["zebra", "film"])
    assert pieces == {len(old): []}
    assert new.encode("the zebra") == [*old.encode("the"), len(old)]
    assert new.decode(new.encode("the zebra was the film")) == "the zebra was the film"
    assert new.encode("quagga") == [old.unk_id]
    assert new.encode("the film was good") == old.encode("the film was good")
    assert extended(old, ["New York"]).pieces == {}


def test_what_was_added_is_reported() -> None:
    old = train_tokenizer("word", ["the film was good", "the film was dull"])
    new, pieces = extended(old, ["zebra", "film", "quagga"])
    said = added_in_words(new, pieces, ["zebra", "film", "quagga"])
    assert said == "Added 2 tokens to the vocabulary: zebra, quagga; as before: film"


def test_the_vector_of_an_unknown_word_is_the_mean_of_all() -> None:
    weight = torch.randn(4, 3)
    found = grown(weight, 6, {4: [1, 2], 5: []})
    torch.testing.assert_close(found, torch.cat([weight, weight[1:3].mean(0)[None], weight.mean(0)[None]]))


def test_rows_of_old_tokens_stay_and_new_ones_are_means(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fine_tune, "MOST_UNKNOWN", 1.0)
    train = {"start_from": str(base), "extend_vocabulary": "zebra", "freeze": "inputs", "steps": 1, "old_share": 0.0}
    files = str(base.parent / "train.txt")
    gf.train(task="generate", data={"files": files, "max_tokens": 24}, out=tmp_path / "run", train=train)
    before, after = (RunFolder(folder).weights()[0]["inputs.embedding.weight"] for folder in (base, tmp_path / "run"))
    (old,) = read_tokenizers(RunFolder(base)).values()
    assert len(after) == len(before) + 1
    assert torch.equal(after[:-1], before)
    assert torch.equal(after[-1], before[old.encode("zebra")].mean(dim=0))
    assert gf.load(tmp_path / "run").generate("the zebra", max_new=3)


@pytest.mark.parametrize(("words", "why"), [(["e"], "tokens already"), (["  "], "not a word")])
def test_what_cannot_be_added_is_refused(base: Path, tmp_path: Path, words: list[str], why: str) -> None:
    train = {"start_from": str(base), "extend_vocabulary": words, "steps": 1}
    with pytest.raises(SettingsError, match=why):
        gf.train(task="generate", data={"files": str(base.parent / "train.txt")}, out=tmp_path / "run", train=train)
    assert not (tmp_path / "run").exists()
