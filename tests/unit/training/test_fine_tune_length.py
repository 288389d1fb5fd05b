"""The rules of fine-tuning: rate by width, batches of some dozen examples, more passes over fewer examples."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.columns import Columns, Ragged
from glassformer.data.labelled_batches import LabelledTexts
from glassformer.tasks.sentence_classes import ClassRecipe, SentenceClasses
from glassformer.tasks.text_to_text import TextToText
from glassformer.training.budget_rules import BudgetRules, Work, smaller_batch, with_training
from glassformer.training.fine_tune_length import most_steps, rate_for, with_fine_tuning
from glassformer.training.prepare import Prepared
from glassformer.training.ranks import ALONE


class Texts:
    """A corpus of `count` texts of 20 tokens."""

    def __init__(self, count: int) -> None:
        flat, lengths = np.zeros(20 * count, dtype=np.int32), np.full(count, 20, dtype=np.int64)
        single = Ragged.of([[0]] * count)
        self.pool = LabelledTexts(Columns({"text": Ragged(flat, lengths), "first": single, "label": single}), 0)

    def __len__(self) -> int:
        return len(self.pool)

    def pools(self, **_: Any) -> Any:
        yield self.pool


def prepared(count: int, **train: Any) -> Prepared:
    recipe = ClassRecipe.model_validate({"train": {"start_from": "body", **train}, "model": {"kind": "bert"}})
    recipe = recipe.with_open("train", {"epochs": 3.0})
    texts: Any = Texts(count)
    nothing: Any = SimpleNamespace()
    return Prepared(SentenceClasses(), recipe, nothing, {}, texts, torch.device("cpu"), ALONE)


@pytest.mark.parametrize(("width", "rate"), [(128, 3e-4), (384, 1e-4), (768, 5e-5), (1024, 3.8e-5), (16384, 1e-5)])
def test_narrow_models_take_higher_rates(width: int, rate: float) -> None:
    assert rate_for(width) == rate


@pytest.mark.parametrize(("width", "rate"), [(32, 4e-3), (64, 4e-3), (512, 5e-4), (1024, 2.5e-4)])
def test_models_of_text_to_text_take_higher_ones(width: int, rate: float) -> None:
    assert rate_for(width, TextToText.rate_factor, TextToText.highest_rate) == rate


@pytest.mark.parametrize(
    ("count", "texts", "epochs"),
    [(200, 16, 19.2), (2000, 24, 3.0), (10_000, 48, 3.0), (300_000, 48, 3.0)],
)
def test_few_examples_get_small_batches_and_many_passes(count: int, texts: int, epochs: float) -> None:
    train = with_fine_tuning(prepared(count)).recipe.train
    assert train.batch_tokens == 20 * texts
    assert train.epochs == epochs
    assert most_steps(with_fine_tuning(prepared(count))) >= 250


def test_what_is_set_stays() -> None:
    train = with_fine_tuning(prepared(200, batch_tokens=500, epochs=2.0)).recipe.train
    assert (train.batch_tokens, train.epochs) == (500, 2.0)


def test_the_warm_up_is_a_tenth() -> None:
    train = with_fine_tuning(prepared(10_000)).recipe.train
    assert train.warmup == train.steps // 10


def test_a_short_time_makes_the_batches_smaller_not_the_updates_fewer() -> None:
    assert smaller_batch(960, 1e9) == 960
    assert smaller_batch(960, 150_000) == 600
    assert smaller_batch(960, 0) == 320


def test_a_budget_of_less_than_a_pass_keeps_the_rate() -> None:
    start = with_fine_tuning(prepared(300_000, lr=1e-4)).recipe
    work = Work([6_000_000], 0, lambda config: [config.d**2], speed=1.0)
    speed = 150_000 * 128**2 / 10  # 150,000 tokens in 10 s
    chosen = with_training(start, BudgetRules(), Work(work.tokens, 0, work.weights, speed), seconds=10.0).train
    assert (chosen.batch_tokens, chosen.lr, chosen.schedule) == (600, 1e-4, "linear")
