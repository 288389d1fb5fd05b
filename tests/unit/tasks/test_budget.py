"""A time budget: what it chooses, what it leaves alone, and that it is spent once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import to_toml, validate
from glassformer.errors import RunError, SettingsError
from glassformer.models.transformer import TransformerConfig
from glassformer.store.run import RunFolder
from glassformer.tasks.translation import preparing
from glassformer.tasks.translation.budget_rules import (
    Work,
    inner_weights,
    vocabulary_for,
    with_model,
    with_open,
    with_steps,
    with_training,
    with_vocabulary,
)
from glassformer.tasks.translation.recipe import TranslationRecipe, as_begun, read_recipe
from glassformer.tasks.translation.training import forecast_training, train_translator
from glassformer.tasks.translation.watching import Silent
from glassformer.train.plan import Forecast
from glassformer.train.settings import seconds_of

CORPUS = Work(source=400_000, target=450_000, vocabulary=5000, speed=2e10)


def recipe(**sections: Any) -> TranslationRecipe:
    return validate(TranslationRecipe, sections)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("1h30m", 5400),
        ("90s", 90),
        ("2h", 7200),
        ("1.5h", 5400),
        ("1h 5m 10s", 3910),
        (30, 1800),
        ("7", 420),
    ],
)
def test_lengths_of_time(text: Any, seconds: float) -> None:
    budget = recipe(train={"budget": text}).train.budget
    assert budget is not None
    assert seconds_of(budget) == seconds


@pytest.mark.parametrize("text", ["", "soon", "0m", "-5m", "m", "30 min", "1m1h"])
def test_what_is_no_length_of_time_is_told(text: str) -> None:
    with pytest.raises(SettingsError, match=r"train.budget: a (length of time, such as 30m|budget is longer)"):
        recipe(train={"budget": text})


def test_the_weights_inside_are_those_of_the_matrices() -> None:
    config = TransformerConfig.model_validate({"size": "tiny"})
    encoder, decoder = inner_weights(config)
    assert encoder == 4 * (4 * 128 * 128 + 2 * 128 * 256)
    assert decoder == 4 * (8 * 128 * 128 + 2 * 128 * 256)


def test_an_epoch_is_every_token_once_through_its_side() -> None:
    config = TransformerConfig.model_validate({"size": "tiny"})
    encoder, decoder = inner_weights(config)
    work = CORPUS.of_an_epoch(config)
    assert work == 400_000 * encoder + 450_000 * (decoder + 5000 * 128)
    assert CORPUS.epochs_in(10, config) == pytest.approx(10 * 2e10 / work)


def chosen_size(seconds: float, work: Work = CORPUS) -> str:
    return with_model(recipe(), work, seconds=seconds).model.size


def test_more_time_means_a_larger_model_as_long_as_there_is_enough_to_learn_from() -> None:
    assert chosen_size(20) == "nano"
    assert chosen_size(1800) == "tiny"
    assert chosen_size(10**6) == "tiny", "a larger one would learn these few sentences by heart"
    much = Work(source=40_000_000, target=45_000_000, vocabulary=16_000, speed=2e10)
    assert [chosen_size(t, much) for t in (10, 600, 2 * 10**4, 10**6)] == ["nano", "tiny", "small", "base"]


def test_a_shape_that_was_set_stays() -> None:
    given = recipe(model={"d": 96, "h": 4})
    assert with_model(given, CORPUS, seconds=10**7).model == given.model
    assert with_model(recipe(model={"size": "base"}), CORPUS, seconds=1).model.size == "base"


def test_the_size_fills_in_what_was_not_set() -> None:
    model = with_model(recipe(model={"dropout": 0.4}), CORPUS, seconds=20).model
    assert (model.size, model.N, model.d, model.dropout) == ("nano", 2, 64, 0.4)


def test_longer_training_has_more_dropout_and_larger_batches() -> None:
    short, long = (with_training(recipe(), CORPUS, seconds=t) for t in (100, 50_000))
    assert short.model.dropout < long.model.dropout <= 0.3
    assert short.train.batch_tokens < long.train.batch_tokens
    assert short.train.optimiser == "muon"


def test_what_the_user_set_stays_and_what_was_chosen_does_not_count_as_set() -> None:
    given = recipe(train={"lr": 1e-4}, text={"vocab_size": 77})
    chosen = with_training(with_vocabulary(given, 10**6), CORPUS, seconds=100)
    assert chosen.train.lr == 1e-4
    assert chosen.text.vocab_size == 77
    assert "batch_tokens" not in chosen.train.model_fields_set
    again = with_open(chosen, "train", {"batch_tokens": 123})
    assert again.train.batch_tokens == 123


def test_vocabularies_grow_slowly_with_the_data() -> None:
    sizes = [vocabulary_for(pairs) for pairs in (10, 1000, 29_000, 10**6, 10**9)]
    assert sizes == sorted(sizes)
    assert sizes[0] >= 500
    assert sizes[-1] <= 32_000


def test_steps_validations_and_the_end_fill_the_time() -> None:
    forecast = Forecast(
        steps=1, step_seconds=0.1, validations=1, validation_seconds=2.0, closing_seconds=10.0, memory=0
    )
    settings = with_steps(recipe(), forecast, seconds=1000).train
    assert settings.steps is not None
    assert settings.valid_every is not None
    validations = -(-settings.steps // settings.valid_every)
    spent = settings.steps * 0.1 + validations * 2.0 + 10.0
    assert 950 < spent <= 1000
    assert validations * 2.0 <= 0.035 * 1000
    assert 1 / (1 - settings.ema) == pytest.approx(settings.steps / 15, rel=0.02)


@pytest.mark.parametrize("seconds", [1, 10, 225, 1800, 86_400, 10**7])
@pytest.mark.parametrize("step_seconds", [1e-3, 0.3, 10.0])
@pytest.mark.parametrize("train", [{}, {"valid_every": 100}, {"steps": 500}, {"average_last": 3}], ids=str)
def test_whatever_a_budget_chooses_is_a_recipe(seconds: float, step_seconds: float, train: dict[str, Any]) -> None:
    forecast = Forecast(
        steps=1, step_seconds=step_seconds, validations=1, validation_seconds=2.0, closing_seconds=3.0, memory=0
    )
    chosen = with_training(with_model(recipe(train=train), CORPUS, seconds=seconds), CORPUS, seconds=seconds)
    chosen = with_steps(chosen, forecast, seconds=seconds)
    assert validate(TranslationRecipe, tomllib.loads(to_toml(chosen))) == chosen
    assert all(getattr(chosen.train, name) == value for name, value in train.items())


def test_validations_that_were_set_are_paid_for() -> None:
    forecast = Forecast(
        steps=1, step_seconds=0.05, validations=1, validation_seconds=2.0, closing_seconds=10.0, memory=0
    )
    settings = with_steps(recipe(train={"valid_every": 100}), forecast, seconds=1800).train
    assert settings.steps is not None
    assert 0.95 * 1800 < settings.steps * 0.05 + settings.steps / 100 * 2.0 + 10 <= 1800


def test_steps_that_were_set_decide_the_rest() -> None:
    forecast = Forecast(
        steps=1, step_seconds=0.05, validations=1, validation_seconds=2.0, closing_seconds=10.0, memory=0
    )
    settings = with_steps(recipe(train={"steps": 500}), forecast, seconds=1800).train
    assert settings.valid_every is not None
    assert settings.valid_every <= 50
    assert 1 / (1 - settings.ema) == pytest.approx(500 / 15, rel=0.02)


def test_words_and_characters_are_as_many_as_they_are() -> None:
    given = recipe(text={"kind": "word"})
    assert with_vocabulary(given, 10).text == given.text


def test_several_processes_and_accumulation_take_smaller_batches() -> None:
    alone, many = (with_training(recipe(), CORPUS, seconds=300, ranks=n).train.batch_tokens for n in (1, 4))
    assert many < alone


def test_fine_tuning_keeps_the_vectors_that_there_are() -> None:
    assert with_training(recipe(train={"start_from": "x"}), CORPUS, seconds=100).train.first_vectors == "random"


def test_there_is_always_a_step() -> None:
    forecast = Forecast(
        steps=1, step_seconds=5.0, validations=1, validation_seconds=2.0, closing_seconds=10.0, memory=0
    )
    assert with_steps(recipe(), forecast, seconds=1).train.steps == 1


def test_what_was_chosen_once_holds_when_the_run_goes_on() -> None:
    then = recipe(train={"budget": "30m", "steps": 123, "lr": 0.5}, model={"size": "nano"}, text={"vocab_size": 99})
    now = recipe(train={"budget": "30m"})
    assert as_begun(then, now) == then
    other = recipe(train={"budget": "30m", "lr": 0.25}, model={"dropout": 0.5})
    both = as_begun(then, other)
    assert (both.train.lr, both.train.steps, both.model.dropout, both.model.d) == (0.25, 123, 0.5, 64)


def test_a_run_within_a_budget(toy: Any, tmp_path: Path) -> None:
    """Ends, writes what it chose before the first step, and is not planned anew when the command comes again."""
    given = {
        "data": {"source": [str(toy.source)], "target": [str(toy.target)]},
        "train": {"budget": "6s", "threads": 1},
    }
    train_translator(given, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    chosen = read_recipe(run)
    assert chosen.train.budget == "6s"
    assert chosen.train.steps
    assert chosen.train.optimiser == "muon"
    assert train_translator(given, tmp_path / "run").stopped == "finished before"
    with pytest.raises(RunError, match=r"train\.budget was '6s', now '7s'"):
        train_translator({**given, "train": {"budget": "7s", "threads": 1}}, tmp_path / "run")


def test_a_budget_with_a_vocabulary_for_each_side(toy: Any, tmp_path: Path) -> None:
    """Of different sizes: nothing may be tied between them, also not in the model that is timed."""
    data = {"source": [str(toy.source)], "target": [str(toy.target)]}
    given = {"data": data, "text": {"kind": "word", "shared": False}, "train": {"budget": "5s", "threads": 1}}
    train_translator(given, tmp_path / "run")
    assert read_recipe(RunFolder(tmp_path / "run")).model.tied == "output"


def test_a_forecast_of_a_budget_is_of_what_it_chooses(toy: Any) -> None:
    data = {"source": [str(toy.source)], "target": [str(toy.target)]}
    given = {"data": data, "train": {"budget": "1000s", "steps": 7, "threads": 1}}
    heard: list[str] = []

    class Listener(Silent):
        def on_stage(self, text: str) -> None:
            heard.append(text)

    assert forecast_training(given, watcher=Listener()).steps == 7
    assert any(text.startswith("Chosen for") for text in heard)


def test_a_run_within_a_budget_does_not_time_its_steps_again(toy: Any, tmp_path: Path) -> None:
    given = {
        "data": {"source": [str(toy.source)], "target": [str(toy.target)]},
        "train": {"budget": "1000s", "steps": 3, "threads": 1, "valid_sentences": 2},
    }
    told: list[Any] = []

    class Listener(Silent):
        def on_plan(self, *_: Any, forecast: Any, **__: Any) -> None:
            told.append(forecast)

    with pytest.MonkeyPatch.context() as patch:
        calls: list[Any] = []
        real = preparing.forecast
        patch.setattr(preparing, "forecast", lambda *a, **k: calls.append(a) or real(*a, **k))
        train_translator(given, tmp_path / "run", watcher=Listener())
    assert len(calls) == 1
    assert (told[0].steps, told[0].validations) == (
        3,
        -(-3 // read_recipe(RunFolder(tmp_path / "run")).train.valid_every),
    )
