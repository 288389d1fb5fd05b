"""What the words of a text say about its class: counted without the text itself, added to the logits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.columns import Columns, Ragged
from glassformer.data.labelled_batches import LabelledTexts
from glassformer.errors import SettingsError
from glassformer.models.bert import Bert, BertConfig
from glassformer.nn.word_priors import PARTS, WordPriors, rows_of_pairs, rows_of_words
from glassformer.tasks.label_start import HIDDEN_TUNED, starting_from_labels
from glassformer.tasks.sentence_classes import ClassRecipe
from glassformer.tasks.sentence_scores import SentenceScores
from glassformer.training.count_words import counted_tables, log_odds

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


def tables_of(texts: list[list[int]], labels: list[int]) -> torch.Tensor:
    pools: Any = SimpleNamespace(pools=lambda **_: iter([pool_of(texts, labels)]))
    return counted_tables(pools, rows=ROWS, classes=2, seed=1)


def priors_with(tables: torch.Tensor) -> WordPriors:
    made = WordPriors(ROWS, 2)
    with torch.no_grad():
        made.tables.copy_(tables)
    return made


def test_log_odds_by_hand() -> None:
    counts = np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 3.0]])
    found = log_odds(counts)
    np.testing.assert_allclose(found[0], [np.log(2) / 2, -np.log(2) / 2])  # (3 + 1) / (1 + 1), both sizes the same
    np.testing.assert_allclose(found[1], 0, atol=1e-12)
    np.testing.assert_allclose(found[0], -found[2])


def test_an_unseen_word_says_nothing_though_classes_differ_in_size() -> None:
    np.testing.assert_allclose(log_odds(np.array([[90.0, 1.0], [0.0, 0.0]]))[1], 0, atol=1e-12)


def test_words_that_mean_something_count_and_others_do_not() -> None:
    tables = tables_of(*texts_where_seven_means_one()).mean(0)
    seven, other = tables[rows_of_words(7, ROWS)], tables[rows_of_words(np.arange(10, 30), ROWS)]
    assert seven[1] - seven[0] > 0.5
    assert (other[:, 1] - other[:, 0]).abs().max() < 0.5 * (seven[1] - seven[0])


def test_shuffled_labels_say_nothing() -> None:
    """Counted without the text itself, nothing predicts them: the best factor is 0 or tiny."""
    texts, labels = texts_where_seven_means_one()
    shuffled = np.random.default_rng(5).permutation(labels).tolist()
    assert tables_of(texts, shuffled).abs().max() < 0.1 * tables_of(texts, labels).abs().max()


def test_in_training_a_text_reads_the_table_that_does_not_know_it() -> None:
    """A text whose words are in no other text gets no hint from its own label."""
    texts, labels = texts_where_seven_means_one()
    texts[0], labels[0] = [901, 902, 903, 904], 1
    pool, priors = pool_of(texts, labels), priors_with(tables_of(texts, labels))
    batch = pool.batch(np.array([0, 1]))
    seen = rows_of_words(torch.arange(30), ROWS)
    alone = torch.isin(rows_of_words(torch.tensor(texts[0]), ROWS), seen)
    assert not alone.any(), "no collision of the hash"
    assert priors.train()(batch)[0].abs().max() < 1e-6
    assert priors.eval()(batch)[0, 1] > 0.01


def test_padding_says_nothing_and_neighbours_count() -> None:
    texts = [[5, 6], [5, 6, 5, 8, 9]]
    pool, tables = pool_of(texts, [0, 1]), torch.zeros(PARTS, ROWS, 2)
    tables[:, rows_of_pairs(5, 6, ROWS), 1] = 1.0
    tables[:, rows_of_words(0, ROWS)] = 7.0  # the padding's own row
    found = priors_with(tables).eval()(pool.batch(np.array([0, 1])))
    torch.testing.assert_close(found, torch.tensor([[0.0, 1.0], [0.0, 1.0]]))


def test_the_table_is_added_to_the_logits_and_not_trained() -> None:
    torch.manual_seed(1)
    values = {"vocabulary": 40, "N": 1, "d": 8, "h": 2, "d_ff": 8, "head": "sentence", "pooling": "mean"}
    model = Bert(BertConfig.model_validate({**values, "pooler": False, "word_priors": ROWS})).eval()
    assert model.priors is not None
    assert not model.priors.tables.any()
    batch = pool_of([[1, 7, 2]], [1]).batch(np.array([0]))
    before = model(batch)
    with torch.no_grad():
        model.priors.tables[:, rows_of_words(7, ROWS), 1] = 2.0
    torch.testing.assert_close(model(batch), before + torch.tensor([[0.0, 2.0]]))


@pytest.mark.parametrize("rows", [3, 1000])
def test_rows_that_are_no_power_of_two_are_refused(rows: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        BertConfig.model_validate({"head": "sentence", "word_priors": rows})


def test_only_classes_of_texts_have_such_a_table() -> None:
    with pytest.raises(ValueError, match="classes of texts"):
        BertConfig.model_validate({"head": "tokens", "word_priors": 8})
    recipe: Any = SimpleNamespace(train=SimpleNamespace(first_vectors="random"), model=SimpleNamespace(word_priors=8))
    with pytest.raises(SettingsError, match="cannot say scores"):
        SentenceScores().decided(recipe, SimpleNamespace(facts={}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "train", "rows"),
    [
        ({"pooling": "mean"}, {"budget": "5m", "start_from": "there"}, 1 << 15),
        ({"pooling": "mean", "word_priors": 0}, {"budget": "5m", "start_from": "there"}, 0),
        ({"pooling": "first"}, {"budget": "5m", "start_from": "there"}, None),  # it can be exported
        ({"pooling": "mean"}, {"start_from": "there"}, None),
        ({"pooling": "mean"}, {"budget": "5m"}, None),  # from scratch it starts as naive Bayes
    ],
)
def test_when_a_pretrained_model_gets_one(model: dict[str, Any], train: dict[str, Any], rows: int | None) -> None:
    values = {"data": {"files": "texts.tsv"}, "model": {"kind": "bert", **model}, "train": train}
    findings = SimpleNamespace(characters=5, words=1)
    material: Any = SimpleNamespace(facts={"columns": ("text", "label"), "findings": findings}, count=2000)
    found = starting_from_labels(ClassRecipe.model_validate(values), 2, material)
    assert found.model.word_priors == rows
    assert (found.data.hidden_words == HIDDEN_TUNED) == ("there" in train.values() and rows is not None)
