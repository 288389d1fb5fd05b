"""What the words of a text say about its class: counted without the text itself, added to the logits."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.columns import Columns, Ragged
from glassformer.data.labelled_batches import LabelledTexts
from glassformer.errors import ModelError, SettingsError
from glassformer.models.bert import Bert, BertConfig
from glassformer.nn.word_odds import SURE, WordOdds, rows_of_pairs, rows_of_words
from glassformer.tasks.label_start import HIDDEN_TUNED, starting_from_labels, with_odds_of
from glassformer.tasks.sentence_classes import ClassRecipe
from glassformer.tasks.sentence_scores import SentenceScores
from glassformer.training import count_words
from glassformer.training.count_words import counted_table, folds_of, log_odds

ROWS = 1 << 16  # few collisions


def texts_where_seven_means_one(count: int = 300) -> tuple[list[list[int]], list[int]]:
    """Token 7 is in nine of ten texts of class 1 and one of ten of class 0; the other tokens say nothing."""
    source = np.random.default_rng(1)
    labels = source.integers(0, 2, count)
    has = source.random(count) < np.where(labels == 1, 0.9, 0.1)
    return [[1, *source.integers(10, 30, 6).tolist(), *([7] * bool(h)), 2] for h in has], labels.tolist()


def pool_of(texts: list[list[int]], labels: list[int]) -> LabelledTexts:
    first, label = Ragged.of([[len(text)] for text in texts]), Ragged.of([[one] for one in labels])
    return LabelledTexts(Columns({"text": Ragged.of(texts), "first": first, "label": label}), 0)


def table_of(texts: list[list[int]], labels: list[int]) -> torch.Tensor:
    pools: Any = SimpleNamespace(pools=lambda **_: iter([pool_of(texts, labels)]))
    return counted_table(pools, rows=ROWS, classes=2, seed=1)[0]


def odds_with(table: torch.Tensor) -> WordOdds:
    made = WordOdds(ROWS, 2)
    made.fill(table, torch.zeros(2))
    return made.eval()


def test_no_more_texts_are_read_than_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_words, "MOST_TEXTS", 5)

    def pools(**_: Any) -> Iterator[LabelledTexts]:
        yield pool_of([[1, 7, 2]] * 8, [0] * 8)
        pytest.fail("the second pool is not needed")

    examples: Any = SimpleNamespace(pools=pools)
    assert sum(map(len, count_words.some_texts(examples, 1))) == 5


def test_log_odds_by_hand() -> None:
    """Class 0 has twice as many words; a word is expected to be in it twice as often."""
    counts = np.array([[4.0, 0.0], [0.0, 0.0], [2.0, 3.0]])
    logs = np.log([[(4 + 3) / (8 / 3 + 3), 3 / (4 / 3 + 3)], [1, 1], [(2 + 3) / (10 / 3 + 3), (3 + 3) / (5 / 3 + 3)]])
    np.testing.assert_allclose(log_odds(counts), logs - logs.mean(axis=1, keepdims=True))


def test_words_that_mean_something_count_and_others_do_not() -> None:
    table = table_of(*texts_where_seven_means_one())
    seven, other = table[rows_of_words(7, ROWS)], table[rows_of_words(np.arange(10, 30), ROWS)]
    assert seven[1] - seven[0] > 0.5
    assert (other[:, 1] - other[:, 0]).abs().max() < 0.5 * (seven[1] - seven[0])


@pytest.mark.parametrize("rare", [0.5, 0.1, 0.02])
def test_labels_that_no_word_predicts_give_an_empty_table(rare: float) -> None:
    """Also if one class is rare: that is no reason to believe words."""
    source = np.random.default_rng(3)
    texts, _ = texts_where_seven_means_one(1000)
    table = table_of(texts, (source.random(1000) < rare).astype(int).tolist())
    assert table.abs().max() < 0.25


def test_a_model_that_has_learned_only_the_shares_of_the_classes_keeps_them() -> None:
    source = np.random.default_rng(5)
    texts, _ = texts_where_seven_means_one(1000)
    labels = (source.random(1000) < 0.05).astype(int)
    pools: Any = SimpleNamespace(pools=lambda **_: iter([pool_of(texts, labels.tolist())]))
    _, shares = counted_table(pools, rows=ROWS, classes=2, seed=1)
    torch.testing.assert_close(shares.softmax(0)[1], torch.tensor(labels.mean()).float(), rtol=0.03, atol=0.0)
    odds, table = WordOdds(ROWS, 2).eval(), torch.zeros(ROWS, 2)
    table[0, 0] = 1.0  # of a word that the text does not have
    odds.fill(table, shares)
    batch = pool_of([[5]], [0]).batch(np.array([0]))
    torch.testing.assert_close(odds.mixed(shares[None], batch), shares[None])


def test_a_rare_class_is_found_by_its_words() -> None:
    source = np.random.default_rng(4)
    labels = source.random(1000) < 0.1
    texts = [[1, *source.integers(10, 30, 6).tolist(), *([7] * bool(one)), 2] for one in labels]
    pool, odds = pool_of(texts, labels.astype(int).tolist()), odds_with(table_of(texts, labels.astype(int).tolist()))
    found = odds(pool.batch(np.arange(1000)))
    said = (found[:, 1] - found[:, 0]).detach().numpy()
    assert said[labels].min() > said[~labels].max()


def test_equal_texts_are_in_the_same_fold_and_empty_ones_are_counted() -> None:
    columns = pool_of([[5, 6], [9], [5, 6], [], [6, 5], []], [0, 1, 0, 1, 0, 1]).columns
    folds = folds_of(columns).tolist()
    assert folds[0] == folds[2] == folds[4] == 11 % 5
    assert folds[3] == folds[5] == 0


def test_padding_says_nothing_and_neighbours_count() -> None:
    table = torch.zeros(ROWS, 2)
    table[rows_of_pairs(5, 6, ROWS), 1] = 1.0
    table[rows_of_words(0, ROWS)] = 7.0  # the padding's own row
    found = odds_with(table)(pool_of([[5, 6], [5, 6, 5, 8, 9]], [0, 1]).batch(np.array([0, 1])))
    torch.testing.assert_close(found, torch.tensor([[0.0, 1.0], [0.0, 1.0]]))


def test_the_table_is_read_when_the_model_is_used_and_not_in_training() -> None:
    torch.manual_seed(1)
    values = {"vocabulary": 40, "N": 1, "d": 8, "h": 2, "d_ff": 8, "head": "sentence", "pooling": "mean"}
    model = Bert(BertConfig.model_validate({**values, "pooler": False, "word_odds": ROWS, "dropout": 0.0})).eval()
    batch = pool_of([[1, 7, 2]], [1]).batch(np.array([0]))
    before = model(batch)
    assert model.word_odds is not None
    shares = torch.tensor([1.5, -1.5])
    model.word_odds.fill(torch.zeros(ROWS, 2), shares)
    assert torch.equal(model(batch), before), "an empty table changes nothing"
    table = torch.zeros(ROWS, 2)
    table[rows_of_words(7, ROWS), 1] = 2.0
    model.word_odds.fill(table, shares)
    mixed = shares + SURE * (before - shares) + torch.tensor([[0.0, 2.0]])
    torch.testing.assert_close(model(batch), mixed)
    torch.testing.assert_close(model.train()(batch), before)


def test_only_classes_of_texts_have_such_a_table() -> None:
    with pytest.raises(ValueError, match="power of two"):
        BertConfig.model_validate({"head": "sentence", "word_odds": 1000})
    with pytest.raises(ModelError, match="whole texts"):
        Bert(BertConfig.model_validate({"head": "tokens", "word_odds": 8, "vocabulary": 5}))
    recipe: Any = SimpleNamespace(train=SimpleNamespace(first_vectors="random"), model=SimpleNamespace(word_odds=8))
    with pytest.raises(SettingsError, match="cannot say scores"):
        SentenceScores().decided(recipe, SimpleNamespace(facts={}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "train", "rows"),
    [
        ({"pooling": "mean"}, {"budget": "5m", "start_from": "there"}, 1 << 15),
        ({"pooling": "mean", "word_odds": 0}, {"budget": "5m", "start_from": "there"}, 0),
        ({"pooling": "mean", "word_odds": 64}, {"budget": "5m", "start_from": "there"}, 64),
        ({"pooling": "first"}, {"budget": "5m", "start_from": "there"}, None),  # it can be exported
        ({"pooling": "mean"}, {"start_from": "there"}, None),
        ({"pooling": "mean"}, {"budget": "5m"}, None),  # from scratch it starts as naive Bayes
    ],
)
def test_when_a_pretrained_model_gets_one(model: dict[str, Any], train: dict[str, Any], rows: int | None) -> None:
    recipe, material = recipe_with(model, train), material_of(1200)
    found = starting_from_labels(recipe, 2, material)
    assert found.model.word_odds == rows
    assert (found.data.hidden_words == HIDDEN_TUNED) == ("there" in train.values() and rows is not None)


def test_many_classes_have_smaller_tables_or_none() -> None:
    recipe = recipe_with({"pooling": "mean"}, {"budget": "5m", "start_from": "there"})
    assert starting_from_labels(recipe, 100, material_of(10**6)).model.word_odds == 1 << 13
    assert starting_from_labels(recipe, 1000, material_of(10**6)).model.word_odds is None


def test_a_continued_run_keeps_its_table() -> None:
    none, some, zero = (
        recipe_with({"pooling": "mean", **more}, {}) for more in ({}, {"word_odds": 64}, {"word_odds": 0})
    )
    assert with_odds_of(some, some).model.word_odds == 64
    assert with_odds_of(none, none).model.word_odds == 0
    assert with_odds_of(zero, none).model.word_odds == 0
    for now, base in ((zero, some), (some, none)):
        with pytest.raises(SettingsError, match="which is kept"):
            with_odds_of(now, base)


def recipe_with(model: dict[str, Any], train: dict[str, Any]) -> ClassRecipe:
    values = {"data": {"files": "texts.tsv"}, "model": {"kind": "bert", **model}, "train": train}
    return ClassRecipe.model_validate(values)


def material_of(count: int) -> Any:
    findings = SimpleNamespace(characters=5, words=1)
    return SimpleNamespace(facts={"columns": ("text", "label"), "findings": findings}, count=count)
