"""Which classifiers start as naive Bayes (training/label_vectors.py), and how a time budget is spent on them.

Found on 8,000 short reviews, on texts held out of them: such a start, whole words, much dropout, hidden words, a low
rate and few passes gave 80.4% where TF-IDF with logistic regression has 77.9%.
"""

from __future__ import annotations

from typing import TypeVar

from glassformer.errors import SettingsError
from glassformer.training.budget_rules import BudgetRules
from glassformer.training.label_vectors import fits
from glassformer.training.recipe import Recipe
from glassformer.training.task import Material

LABELS = "labels"  # train.first_vectors
LONGEST_WORDS = 12  # characters of a word on average; in texts without spaces there are far more
HIDDEN = 0.3  # share of the words that are hidden
R = TypeVar("R", bound=Recipe)


def nearly_all_words(examples: int) -> int:
    """The most words of the vocabulary for this many texts; each has a vector of its own from the start."""
    return int(min(32_000, max(4000, round(16_000 * (examples / 10_000) ** 0.5, -2))))


LABEL_RULES = BudgetRules(
    rate=3e-4,
    train={"optimiser": "adamw"},
    batch_tokens=(512, 1024),
    weights_per_token=4,
    updates=1000,
    dropout=((0.0, 0.3), (1.0, 0.3)),
    vocabulary=nearly_all_words,
    passes=(4.0, 20.0),
    quick_predictions=True,
)


def starting_from_labels(recipe: R, classes: int, material: Material) -> R:
    """With a budget, a classifier of single texts starts from the labels; what the user has set stays as it is."""
    model, train, facts = recipe.model, recipe.train, material.facts
    single = facts["columns"] is None or len(facts["columns"]) == 2
    possible = model.kind == "bert" and single and fits(model.d, classes)
    if "first_vectors" in train.model_fields_set or train.start_from or not train.budget:
        refuse_impossible(recipe, possible=possible)
        return recipe
    if not possible or ("pooling" in model.model_fields_set and model.pooling != "mean"):
        return recipe
    recipe = recipe.with_open("model", {"pooling": "mean"}).with_open("train", {"first_vectors": LABELS})
    found = facts["findings"]
    if found.characters > LONGEST_WORDS * found.words:  # no spaces between words: pieces of them are the tokens
        return recipe
    words = {"kind": "word", "lowercase": True, "vocab_size": nearly_all_words(material.count)}
    return recipe.with_open("text", words).with_open("data", {"hidden_words": HIDDEN})


def refuse_impossible(recipe: Recipe, *, possible: bool) -> None:
    if recipe.train.first_vectors == LABELS and not (possible and recipe.model.pooling == "mean"):
        raise SettingsError(
            "train.first_vectors = 'labels' needs a bert model with model.pooling = mean, single texts, and at most a "
            "quarter as many classes as model.d. Change these settings, or leave train.first_vectors out."
        )
