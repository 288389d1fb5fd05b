"""A time budget: what it chooses, what it leaves alone, and that it is spent once."""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Callable
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import to_toml, validate
from glassformer.errors import RunError, SettingsError
from glassformer.models.transformer import TransformerConfig
from glassformer.store.run import RunFolder
from glassformer.tasks.training import forecast_training, train_translator
from glassformer.tasks.translation.recipe import TranslationRecipe, read_recipe
from glassformer.tasks.translation.task import Translation
from glassformer.training import budget_rules, prepare
from glassformer.training.budget import believed, inner_weights
from glassformer.training.budget_rules import (
    BudgetRules,
    Work,
    usual_vocabulary,
    with_more_validation,
    with_steps,
    with_validation,
)
from glassformer.training.plan import Forecast
from glassformer.training.settings import seconds_of
from glassformer.training.threads import ThreadTiming, best_timing
from glassformer.training.watching import Silent

TASK = Translation()
RULES = TASK.rules
SMALL = {"N": 1, "d": 16, "h": 2, "d_ff": 24}


def counted_weights(config: TransformerConfig) -> tuple[int, ...]:
    return weights_of(config.model_dump_json())


@cache
def weights_of(config: str) -> tuple[int, ...]:
    """Models are made to count their weights, and most tests ask for the same ones."""
    return inner_weights(TASK, TransformerConfig.model_validate_json(config))


def ticking() -> Callable[[], float]:
    """A clock on which 5 seconds pass whenever it is read: a budget is used soon, however fast the machine is."""
    return partial(next, count(0.0, 5.0))


CORPUS = Work((400_000, 450_000), 5000, counted_weights, speed=2e10)


def recipe(**sections: Any) -> TranslationRecipe:
    return validate(TranslationRecipe, sections)


def with_model(given: TranslationRecipe, work: Work = CORPUS, *, seconds: float) -> TranslationRecipe:
    return budget_rules.with_model(given, RULES, TASK.ladder(given), work, seconds=seconds)


def with_training(
    given: TranslationRecipe, work: Work = CORPUS, *, seconds: float, ranks: int = 1
) -> TranslationRecipe:
    return budget_rules.with_training(given, RULES, work, seconds=seconds, ranks=ranks)


def with_vocabulary(given: TranslationRecipe, examples: int) -> TranslationRecipe:
    return budget_rules.with_vocabulary(given, RULES, examples)


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


@pytest.mark.parametrize("text", ["", "soon", "0m", "-5m", "m", "30 min", "1m1h", "\uff13\uff10m", "\u0663\u0660"])
def test_what_is_not_a_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"train.budget: a (length of time, such as 30m|budget is more than 0)"):
        recipe(train={"budget": text})


def test_the_weights_inside_are_those_of_the_matrices() -> None:
    config = TransformerConfig.model_validate({"size": "tiny"})
    encoder, decoder = counted_weights(config)
    assert encoder == 4 * (4 * 128 * 128 + 2 * 128 * 256)
    assert decoder == 4 * (8 * 128 * 128 + 2 * 128 * 256)


def test_an_epoch_is_every_token_once_through_its_side() -> None:
    config = TransformerConfig.model_validate({"size": "tiny"})
    encoder, decoder = counted_weights(config)
    work = CORPUS.of_an_epoch(config)
    assert work == 400_000 * encoder + 450_000 * (decoder + 5000 * 128)
    assert CORPUS.epochs_in(10, config) == pytest.approx(10 * 2e10 / work)


def chosen_size(seconds: float, work: Work = CORPUS) -> str:
    return with_model(recipe(), work, seconds=seconds).model.size


def test_more_time_means_a_larger_model_as_long_as_there_is_enough_to_learn_from() -> None:
    assert chosen_size(20) == "nano"
    assert chosen_size(1800) == "tiny"
    assert chosen_size(10**6) == "tiny", "a larger one would learn these few sentences by heart"
    much = Work((40_000_000, 45_000_000), 16_000, counted_weights, speed=2e10)
    assert [chosen_size(t, much) for t in (10, 600, 2 * 10**4, 10**6)] == ["nano", "tiny", "small", "base"]


def test_a_shape_that_was_set_stays() -> None:
    given = recipe(model={"d": 96, "h": 4})
    assert with_model(given, seconds=10**7).model == given.model
    assert with_model(recipe(model={"size": "base"}), seconds=1).model.size == "base"


def test_the_size_fills_in_what_was_not_set() -> None:
    model = with_model(recipe(model={"dropout": 0.4}), seconds=20).model
    assert (model.size, model.N, model.d, model.dropout) == ("nano", 2, 64, 0.4)


def test_longer_training_has_more_dropout_and_larger_batches() -> None:
    short, long = (with_training(recipe(), seconds=t) for t in (100, 50_000))
    assert short.model.dropout < long.model.dropout <= 0.3
    assert short.train.batch_tokens < long.train.batch_tokens
    assert short.train.optimiser == "muon"


def test_what_the_user_set_stays_and_what_was_chosen_does_not_count_as_set() -> None:
    given = recipe(train={"lr": 1e-4}, text={"vocab_size": 77})
    chosen = with_training(with_vocabulary(given, 10**6), seconds=100)
    assert chosen.train.lr == 1e-4
    assert chosen.text.vocab_size == 77
    assert "batch_tokens" not in chosen.train.model_fields_set
    again = chosen.with_open("train", {"batch_tokens": 123})
    assert again.train.batch_tokens == 123


def test_vocabularies_grow_slowly_with_the_data() -> None:
    sizes = [usual_vocabulary(pairs) for pairs in (10, 1000, 29_000, 10**6, 10**9)]
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


@pytest.mark.parametrize("seconds", [1, 225, 10**7])
@pytest.mark.parametrize("step_seconds", [1e-3, 10.0])
@pytest.mark.parametrize("train", [{}, {"valid_every": 100}, {"steps": 500}, {"average_last": 3}], ids=str)
def test_whatever_a_budget_chooses_is_a_recipe(seconds: float, step_seconds: float, train: dict[str, Any]) -> None:
    forecast = Forecast(
        steps=1, step_seconds=step_seconds, validations=1, validation_seconds=2.0, closing_seconds=3.0, memory=0
    )
    chosen = with_training(with_model(recipe(train=train), seconds=seconds), seconds=seconds)
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
    alone, many = (with_training(recipe(), seconds=300, ranks=n).train.batch_tokens for n in (1, 4))
    assert many < alone


def test_a_fine_tuning_keeps_its_vectors_its_rate_and_its_batches() -> None:
    given = recipe(train={"start_from": "x"})
    planned = given.decided({"train": given.train.decided({"lr": 1e-4, "batch_tokens": 1024})})
    train = with_training(planned, seconds=100).train
    assert (train.first_vectors, train.optimiser, train.lr, train.batch_tokens) == ("random", "adamw", 1e-4, 1024)


@pytest.mark.parametrize(
    ("validation", "held", "sentences"), [(0.05, 2000, 1000), (0.05, 300, 300), (0.41, 2000, 146), (9.0, 2000, 100)]
)
def test_fast_decoding_validates_with_more_sentences(validation: float, held: int, sentences: int) -> None:
    """Six validations within 3% of the time; 1,000 sentences are enough."""
    forecast = Forecast(
        steps=1, step_seconds=0.1, validations=1, validation_seconds=validation, closing_seconds=1.0, memory=0
    )
    small = with_validation(recipe(), BudgetRules(), seconds=120, held=held)
    grown, known = with_more_validation(small, forecast, seconds=120, held=held)
    assert grown.train.valid_sentences == sentences
    assert known.validation_seconds == pytest.approx(validation * grown.train.valid_sentences / 100)
    planned = with_steps(grown, known, seconds=120).train
    assert planned.steps
    assert planned.valid_every
    share = planned.steps / planned.valid_every * known.validation_seconds / 120
    assert share <= 0.05 or planned.steps == planned.valid_every
    mine = recipe(train={"valid_sentences": 7})
    assert with_more_validation(mine, forecast, seconds=120, held=held)[0].train.valid_sentences == 7


def test_there_is_always_a_step() -> None:
    forecast = Forecast(
        steps=1, step_seconds=5.0, validations=1, validation_seconds=2.0, closing_seconds=10.0, memory=0
    )
    assert with_steps(recipe(), forecast, seconds=1).train.steps == 1


def test_what_was_chosen_once_holds_when_the_run_is_resumed() -> None:
    then = recipe(train={"budget": "30m", "steps": 123, "lr": 0.5}, model={"size": "nano"}, text={"vocab_size": 99})
    now = recipe(train={"budget": "30m"})
    assert now.as_begun(then) == then
    other = recipe(train={"budget": "30m", "lr": 0.25}, model={"dropout": 0.5})
    both = other.as_begun(then)
    assert (both.train.lr, both.train.steps, both.model.dropout, both.model.d) == (0.25, 123, 0.5, 64)


def test_a_run_within_a_budget(toy: Any, tmp_path: Path) -> None:
    """Ends, writes what it chose before the first step, and is not planned again when the command is repeated."""
    given = {
        "data": {"source": [str(toy.source)], "target": [str(toy.target)]},
        "train": {"budget": "1000s", "threads": 1},
    }
    first = train_translator(given, tmp_path / "run", clock=ticking())
    assert first.stopped == "the time is used"
    run = RunFolder(tmp_path / "run")
    chosen = read_recipe(run)
    assert chosen.train.budget == "1000s"
    assert run.plan_changes()
    assert chosen.train.steps
    assert chosen.train.optimiser == "muon"
    again = train_translator(given, tmp_path / "run")
    assert (again.stopped, again.step) == ("finished before", first.step)
    with pytest.raises(
        RunError,
        match=r"now '7s'.*new run .*--budget 7s --out NEW.*fine-tune .*--from \S+run --out NEW",
    ):
        train_translator({**given, "train": {"budget": "7s", "threads": 1}}, tmp_path / "run")


def test_a_stopped_run_can_be_given_more_time(toy: Any, tmp_path: Path) -> None:
    data = {"source": [str(toy.source)], "target": [str(toy.target)]}
    given = {"data": data, "model": SMALL, "train": {"budget": "1000s", "threads": 1}}

    class Interrupting(Silent):
        def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
            if progress.step == 5:
                signal.raise_signal(signal.SIGINT)

    assert not train_translator(given, tmp_path / "run", clock=ticking(), watcher=Interrupting()).stopped
    more = {"data": data, "model": SMALL, "train": {"budget": "2000s", "threads": 1}}
    with pytest.raises(RunError, match=r"train\.budget was '1000s', now '2000s'.*--accept-changes"):
        train_translator(more, tmp_path / "run", clock=ticking())
    progress = train_translator(more, tmp_path / "run", clock=ticking(), accept_changes=True)
    assert progress.stopped == "the time is used"
    assert progress.limit == 2000
    assert read_recipe(RunFolder(tmp_path / "run")).train.budget == "2000s"


def test_a_budget_too_short_is_refused_before_anything_is_trained(toy: Any, tmp_path: Path) -> None:
    given = {"data": {"source": [str(toy.source)], "target": [str(toy.target)]}, "train": {"budget": "15s"}}
    with pytest.raises(SettingsError, match=r"train\.budget = 15s is too short .* Give at least \d+ (s|min)"):
        train_translator(given, tmp_path / "run", clock=lambda: 14.9)
    assert not (tmp_path / "run").exists()


def test_one_busy_moment_does_not_decide_the_speed() -> None:
    calm, busy = ThreadTiming(1, 1e-4, 1e-4), ThreadTiming(2, 9e-3, 2e-4)
    assert best_timing([calm, busy]) == calm
    slow = ThreadTiming(1, 1e-2, 1e-4)
    assert believed(slow, [slow]) == pytest.approx(4e-4)
    assert best_timing([ThreadTiming(1, 1.0, 1.0), ThreadTiming(2, 1.05, 1.0)]).threads == 2  # no clear gain


def test_a_budget_with_a_vocabulary_for_each_side(toy: Any, tmp_path: Path) -> None:
    """Of different sizes: nothing may be tied between them, also not in the model that is timed."""
    data = {"source": [str(toy.source)], "target": [str(toy.target)]}
    given: dict[str, Any] = {"data": data, "text": {"kind": "word", "shared": False}, "model": SMALL}
    given["train"] = {"budget": "1000s", "steps": 2, "threads": 1}
    train_translator(given, tmp_path / "run", clock=ticking())
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
        real = prepare.forecast
        patch.setattr(prepare, "forecast", lambda *a, **k: calls.append(a) or real(*a, **k))
        train_translator(given, tmp_path / "run", watcher=Listener())
    assert len(calls) == 1
    assert (told[0].steps, told[0].validations) == (
        3,
        -(-3 // read_recipe(RunFolder(tmp_path / "run")).train.valid_every),
    )


@pytest.mark.parametrize(("share", "chosen"), [(0.02, 0.0), (0.03, 0.03), (0.2, 0.2)])
def test_a_dropout_that_drops_next_to_nothing_is_none(share: float, chosen: float) -> None:
    """Its masks would take time all the same."""
    rules = BudgetRules(dropout=((0.0, share), (1e9, share)))
    assert budget_rules.with_training(recipe(), rules, CORPUS, seconds=100).model.dropout == chosen
