"""A classifier that starts from the labels starts as naive Bayes; when it does, and what is refused."""

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
from glassformer.tasks.label_start import starting_from_labels
from glassformer.tasks.sentence_classes import ClassRecipe
from glassformer.training.label_vectors import centred, label_ratios, start_as_naive_bayes

TEXTS = [[1, 5, 6, 2], [1, 5, 5, 5, 2], [1, 7, 6, 2], [1, 7, 2]]
LABELS = [0, 0, 1, 2]


def pool(**more: Any) -> LabelledTexts:
    first, label = Ragged.of([[len(text)] for text in TEXTS]), Ragged.of([[label] for label in LABELS])
    return LabelledTexts(Columns({"text": Ragged.of(TEXTS), "first": first, "label": label}), 0, **more)


def pools() -> Any:
    return SimpleNamespace(pools=lambda **_: iter([pool()]))


def test_the_ratios_are_counted_once_per_text() -> None:
    counts = np.ones((9, 3))
    for text, label in zip(TEXTS, LABELS, strict=True):
        for token in set(text):
            counts[token, label] += 1
    shares = np.log(counts / counts.sum(axis=0))
    expected = shares - shares.mean(axis=1, keepdims=True)
    found = label_ratios(pools(), vocabulary=9, classes=3, seed=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(centred(counts), expected)


def test_the_model_orders_texts_as_naive_bayes_does() -> None:
    torch.manual_seed(1)
    values = {"vocabulary": 40, "N": 2, "d": 64, "h": 2, "d_ff": 64, "head": "sentence", "pooling": "mean"}
    model = Bert(BertConfig.model_validate({**values, "pooler": False, "classes": 2})).eval()
    half = torch.randn(40, 1)
    ratios = torch.cat([-half, half], dim=1)
    start_as_naive_bayes(model, ratios, seed=1)
    ids = torch.randint(0, 40, (200, 12))
    batch: Any = SimpleNamespace(ids=ids, lengths=torch.full((200,), 12), segments=None)
    with torch.no_grad():
        logits = model(batch)
    found, expected = logits[:, 1] - logits[:, 0], half[ids].sum(dim=(1, 2))
    assert torch.corrcoef(torch.stack([found, expected]))[0, 1] > 0.95
    assert ((found > 0) == (expected > 0)).float().mean() > 0.8


def material(each: int = 1, *, words: int = 100) -> Any:
    columns = (*("text" * each), "label")[-each - 1 :]
    facts = {"columns": columns, "findings": SimpleNamespace(characters=500, words=words)}
    return SimpleNamespace(facts=facts, count=10_000)


def recipe(model: dict[str, Any] | None = None, **train: Any) -> ClassRecipe:
    tree = {"task": "classify", "train": train, "model": {"kind": "bert", "size": "tiny", **(model or {})}}
    return ClassRecipe.model_validate(tree)


def test_a_budget_chooses_it_for_single_texts() -> None:
    chosen = starting_from_labels(recipe(budget="5m"), 2, material())
    assert (chosen.train.first_vectors, chosen.model.pooling, chosen.text.kind) == ("labels", "mean", "word")
    assert (chosen.data.hidden_words, chosen.text.vocab_size, chosen.text.lowercase) == (0.3, 16_000, True)


def test_texts_without_spaces_are_not_cut_into_words() -> None:
    chosen = starting_from_labels(recipe(budget="5m"), 2, material(words=5))
    assert (chosen.train.first_vectors, chosen.text.kind, chosen.data.hidden_words) == ("labels", "bpe", 0.0)


@pytest.mark.parametrize(
    ("given", "classes", "each"),
    [
        (recipe(), 2, 1),  # no budget
        (recipe(budget="5m"), 2, 2),  # pairs
        (recipe(budget="5m"), 100, 1),  # too many classes for the width
        (recipe({"pooling": "first"}, budget="5m"), 2, 1),
        (recipe(budget="5m", start_from="body"), 2, 1),
        (recipe(budget="5m", first_vectors="random"), 2, 1),
    ],
)
def test_otherwise_nothing_changes(given: ClassRecipe, classes: int, each: int) -> None:
    assert starting_from_labels(given, classes, material(each)) == given


def test_where_it_is_impossible_it_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"needs a bert model with model\.pooling = mean"):
        starting_from_labels(recipe(first_vectors="labels"), 2, material())
    starting_from_labels(recipe({"pooling": "mean"}, first_vectors="labels"), 2, material())


def test_hidden_words_are_inside_the_text_and_others_each_time() -> None:
    texts, index = pool(hidden=0.5, unknown=3), np.arange(4)
    plain = pool().batch(index).ids
    assert torch.equal(texts.batch(index).ids, plain)  # without a generator nothing is hidden
    seen = torch.zeros_like(plain, dtype=torch.bool)
    for seed in range(30):
        found = texts.batch(index, np.random.default_rng(seed)).ids
        assert torch.equal(found, texts.batch(index, np.random.default_rng(seed)).ids)
        changed = found != plain
        assert bool((found[changed] == 3).all())
        seen |= changed
    lengths = torch.tensor([len(text) for text in TEXTS])
    places = torch.arange(plain.size(1))
    assert torch.equal(seen, (places > 0) & (places < lengths[:, None] - 1))
