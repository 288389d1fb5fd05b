"""What classifiers of texts learn from counting words, and how a time budget is spent on them.

From scratch they start as naive Bayes (training/label_vectors.py). A pretrained model gets a table of words beside it
(nn/word_odds.py); hidden words keep it from memorising the few texts.

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
HIDDEN_TUNED = 0.12  # the same for a pretrained model
ROWS_PER_TEXT = 32  # of the table of words
FEWEST_ROWS, MOST_NUMBERS = 1 << 12, 1 << 20  # its rows, its rows times classes
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
    if train.start_from and train.budget and single and getattr(model, "pooling", "first") == "mean":
        return for_a_pretrained_model(recipe, classes, material.count)
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


def for_a_pretrained_model(recipe: R, classes: int, texts: int) -> R:
    """The recipe with a table of words beside the model, and hidden words, unless they were set."""
    return with_word_odds(recipe, classes, texts).with_open("data", {"hidden_words": HIDDEN_TUNED})


def with_word_odds(recipe: R, classes: int, texts: int) -> R:
    """Only for a model that reads the mean of its tokens: one that reads the first token can be exported as it is."""
    rows = min(MOST_NUMBERS // max(1, classes), max(FEWEST_ROWS, ROWS_PER_TEXT * texts))
    if recipe.model.word_odds is not None or rows < FEWEST_ROWS:
        return recipe
    return recipe.decided({"model": recipe.model.decided({"word_odds": 1 << (rows.bit_length() - 1)})})


def with_odds_of(recipe: R, base: R) -> R:
    """A run that continues another one keeps its table; if that had none, it has none either."""
    if not hasattr(base.model, "word_odds"):
        return recipe
    then, now = base.model.word_odds, recipe.model.word_odds
    if (now or 0) != (then or 0):
        raise SettingsError(
            f"model.word_odds = {now}: the run to start from has {then or 'no table'}, which is kept. Leave it out."
        )
    return recipe.decided({"model": recipe.model.decided({"word_odds": then or 0})})


def refuse_impossible(recipe: Recipe, *, possible: bool) -> None:
    if recipe.train.first_vectors == LABELS and not (possible and recipe.model.pooling == "mean"):
        raise SettingsError(
            "train.first_vectors = 'labels' needs a bert model with model.pooling = mean, single texts, and at most a "
            "quarter as many classes as model.d. Change these settings, or leave train.first_vectors out."
        )
