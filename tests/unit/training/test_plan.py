"""The forecast: what a training will take, measured on a copy of the model."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from glassformer.data.batches import EncodedPairs, Marks, epoch_batches
from glassformer.data.columns import Ragged
from glassformer.errors import ModelError
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.training import plan
from glassformer.training.objective import token_loss
from glassformer.training.plan import (
    Forecast,
    available_memory,
    duration,
    forecast,
    peak_memory,
    refuse_too_large,
)
from glassformer.training.settings import TrainSettings
from glassformer.training.trial import largest_batches

MARKS = Marks(pad=0, bos=2, eos=3)
SETTINGS = TrainSettings(batch_tokens=64, steps=30, valid_every=7, warmup=1)


def pairs() -> EncodedPairs:
    rows = [[5 + i % 3] * (1 + i % 11) for i in range(70)]
    return EncodedPairs(Ragged.of(rows), Ragged.of(rows[::-1]), MARKS, MARKS)


def model() -> Transformer:
    torch.manual_seed(3)
    return Transformer(TransformerConfig(size="nano", dropout=0.1), source_vocabulary=11, target_vocabulary=11)


def test_a_forecast_adds_steps_validations_and_the_end() -> None:
    found = Forecast(
        steps=100, step_seconds=0.5, validations=4, validation_seconds=3.0, closing_seconds=8.0, memory=3 << 30
    )
    assert found.seconds == 70.0
    assert str(found) == "about 70 s and 3.0 GB of memory"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5340, "89 min"), (5400, "1 h 30 min")]
)
def test_durations_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_forecasting_counts_what_is_left_and_leaves_the_model_as_it_was() -> None:
    ready = model()
    before = {name: value.clone() for name, value in ready.state_dict().items()}
    seen: list[Transformer] = []

    def validation(twin: Transformer) -> float:
        seen.append(twin)
        return 2.5

    found = forecast(
        ready,
        pairs(),
        SETTINGS,
        loss=lambda twin: partial(token_loss, twin, label_smoothing=0.1),
        validation=validation,
        closing_validations=3.0,
        done=16,
        patience=0.0,
    )
    assert (found.steps, found.validations) == (14, 2)
    assert found.step_seconds > 0
    assert (found.validation_seconds, found.closing_seconds) == (2.5, 7.5)
    assert found.memory >= peak_memory() * 0.9
    assert [twin is not ready for twin in seen] == [True]
    assert not seen[0].training
    assert all(torch.equal(value, before[name]) for name, value in ready.state_dict().items())
    assert all(parameter.grad is None for parameter in ready.parameters())


def test_the_largest_batches_are_those_with_most_targets_and_the_longest_sentences() -> None:
    most_targets, longest = largest_batches(pairs(), SETTINGS)
    everything = [pairs().batch(index) for index in epoch_batches(pairs().lengths, tokens=64, seed=1, epoch=0)]
    assert int(most_targets.target_lengths.sum()) == max(int(batch.target_lengths.sum()) for batch in everything)
    squares = [b.source.size(0) * (b.source.size(1) ** 2 + b.target_in.size(1) ** 2) for b in (*everything, longest)]
    assert squares[-1] == max(squares)


def test_what_cannot_fit_is_refused_with_numbers_and_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "available_memory", lambda: 2 << 30)
    refuse_too_large(10_000_000, batch_tokens=4096, width=512, blocks=6)
    with pytest.raises(ModelError, match=r"at least 14\.9 GB.* 2\.0 GB of memory are free.*model\.size"):
        refuse_too_large(1_000_000_000, batch_tokens=1024, width=8, blocks=1)
    with pytest.raises(ModelError, match=r"train\.batch_tokens"):
        refuse_too_large(1, batch_tokens=1_000_000, width=512, blocks=6)


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_meminfo", lambda _: None)
    monkeypatch.setattr(plan, "_cgroup_left", lambda: None)
    assert available_memory() is None
    refuse_too_large(10**15, batch_tokens=1024, width=8, blocks=1)


def test_a_container_s_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_meminfo", lambda _: 100)
    monkeypatch.setattr(plan, "_cgroup_left", lambda: 7)
    assert available_memory() == 7
