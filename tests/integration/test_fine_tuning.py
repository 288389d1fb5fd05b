"""`--from`: training that starts from the weights of another run, on other sentences."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.data.mixing import Mixture
from glassformer.errors import DataError, RunError, SettingsError
from glassformer.store.run import RunFolder
from glassformer.tasks.comparing import compare_runs
from glassformer.tasks.training import HOOKS, train_translator
from glassformer.tasks.translation import starting
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.recipe import TranslationRecipe, read_recipe
from glassformer.tasks.translation.task import Translation
from glassformer.training.prepare import Prepared, prepare
from glassformer.training.reading import read_tokenizers
from glassformer.training.run import Work, clock_from_now, planned_new
from glassformer.training.task import Setup
from glassformer.training.watching import Silent


def recipe(toy: Any, start: Path, **train: Any) -> dict[str, Any]:
    data = {"source": str(toy.source), "target": str(toy.target), "valid": [str(toy.source), str(toy.target)]}
    few = {"steps": 2, "batch_tokens": 150, "valid_sentences": 4, "threads": 1, "device": "cpu"}
    return {"data": data, "train": {**few, "start_from": str(start), **train}}


def test_it_starts_where_the_other_ended(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator(recipe(toy, trained, steps=1, lr=1e-30), tmp_path / "run")
    old, new = RunFolder(trained).weights()[0], RunFolder(tmp_path / "run").weights()[0]
    assert old.keys() == new.keys()
    assert all(torch.allclose(old[name], new[name], atol=1e-7) for name in old)


def test_it_keeps_vocabulary_and_shape_and_is_gentler(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator(recipe(toy, trained), tmp_path / "run")
    old, new = read_recipe(RunFolder(trained)), read_recipe(RunFolder(tmp_path / "run"))
    assert (new.model, new.text) == (old.model, old.text)
    assert new.train.lr == old.train.lr / 10
    tokenizer = "tokenizer.json"
    assert (tmp_path / "run" / tokenizer).read_bytes() == (trained / tokenizer).read_bytes()


def test_the_same_command_again_finds_it_finished(toy: Any, trained: Path, tmp_path: Path) -> None:
    given = recipe(toy, trained)
    train_translator(given, tmp_path / "run")
    assert train_translator(given, tmp_path / "run").stopped == "finished before"


def test_dropout_may_be_another(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator({**recipe(toy, trained), "model": {"dropout": 0.3}}, tmp_path / "run")
    assert read_recipe(RunFolder(tmp_path / "run")).model.dropout == 0.3


def test_another_shape_or_vocabulary_is_refused_with_the_way_out(toy: Any, trained: Path, tmp_path: Path) -> None:
    given = {**recipe(toy, trained), "model": {"d": 32}, "text": {"vocab_size": 99}}
    with pytest.raises(
        SettingsError, match=r"text.vocab_size is 60 there, 99 here; model.d is 16 there, 32 here.*leave"
    ):
        train_translator(given, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sentences_that_the_vocabulary_does_not_know_are_refused(toy: Any, trained: Path, tmp_path: Path) -> None:
    toy.source.write_text("".join(f"всё иначе {i}\n" for i in range(60)), encoding="utf-8")
    with pytest.raises(DataError, match=r"does not fit your source texts: \d+% of their tokens are unknown.*new run"):
        train_translator(recipe(toy, trained), tmp_path / "run")


def test_a_folder_that_is_not_a_run_is_refused(toy: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--from: .*nowhere: no such folder"):
        train_translator(recipe(toy, tmp_path / "nowhere"), tmp_path / "run")


def test_a_damaged_start_is_refused(toy: Any, run_copy: Path, tmp_path: Path) -> None:
    path = run_copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(RunError, match="damaged"):
        train_translator(recipe(toy, run_copy), tmp_path / "run")


def test_other_weights_than_those_it_was_begun_with_are_refused(toy: Any, run_copy: Path, tmp_path: Path) -> None:
    """Stopped before its first checkpoint, the run would otherwise begin from somewhere else."""
    given, out = recipe(toy, run_copy), tmp_path / "run"
    train_translator(given, out)
    begun = RunFolder(out)
    (out / "model.safetensors").unlink()
    (out / "report.html").unlink()
    about = begun.about()
    begun.change(config=begun.config_text(), about=about)  # as it was when it had begun: without weights
    other = RunFolder(run_copy)
    other.finish({name: weight + 1 for name, weight in other.weights()[0].items()}, about={})
    with pytest.raises(RunError, match=r"the weights of .*copied-run have changed"):
        train_translator(given, out)
    assert train_translator(given, out, accept_changes=True).stopped


def validations(run: Path) -> list[dict[str, Any]]:
    return [record for record in RunFolder(run).metrics() if "valid_loss" in record]


def test_the_first_weights_are_measured_before_step_1(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator(recipe(toy, trained), tmp_path / "run")
    first, last = validations(tmp_path / "run")
    assert (first["step"], last["step"]) == (0, 2)
    assert first["seconds"] == 0


def test_the_first_weights_are_kept_if_nothing_is_better(toy: Any, trained: Path, tmp_path: Path) -> None:
    given = recipe(toy, trained, lr=3.0, warmup=1, best_by="loss", schedule="constant")
    progress = train_translator(given, tmp_path / "run")
    loss = validations(tmp_path / "run")[0]["valid_loss"]
    assert (progress.best_step, progress.best_score) == (0, pytest.approx(-loss))
    old, new = RunFolder(trained).weights()[0], RunFolder(tmp_path / "run").weights()[0]
    assert all(torch.equal(old[name], new[name]) for name in old)
    assert RunFolder(tmp_path / "run").about()["training"]["best_step"] == 0


def test_what_was_known_is_measured_before_and_after(toy: Any, trained: Path, tmp_path: Path) -> None:
    train_translator(recipe(toy, trained), tmp_path / "run")
    known = RunFolder(tmp_path / "run").metrics()[-1]["known"]
    assert known["before"] == pytest.approx(RunFolder(trained).metrics()[-1]["measured"]["bleu"])
    assert {"after", "decoding", "sentences"} < set(known)


def test_the_other_direction_is_refused_by_the_languages(toy: Any, trained: Path, tmp_path: Path) -> None:
    given = recipe(toy, trained)
    data: dict[str, Any] = {"source": given["data"]["target"], "target": given["data"]["source"]}
    data["valid"] = [data["source"], data["target"]]
    with pytest.raises(SettingsError, match=r"it translates en to de, but this data is de to en. Swap --source"):
        train_translator({**given, "data": data}, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_swapped_sides_are_found_by_their_losses(toy: Any, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator, task = load(trained), Translation()
    setup = Setup(translator.recipe, read_tokenizers(RunFolder(trained)))
    monkeypatch.setattr(starting, "GAIN", 0.01)  # the toy model has learned for 40 steps only
    starting.refuse_reversed(task, setup, translator.model, [(s, (t,)) for s, t in toy.pairs], "--from it")
    with pytest.raises(DataError, match=r"--from it: .*far more likely in the other direction"):
        starting.refuse_reversed(task, setup, translator.model, [(t, (s,)) for s, t in toy.pairs], "--from it")


# Old pairs beside the new ones


class Stages(Silent):
    """Keeps what is said, and may stop the training at a step."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.said: list[str] = []
        self.stop_at = stop_at

    def on_stage(self, text: str) -> None:
        self.said.append(text)

    def on_step(self, progress: Any, report: Any, seconds: float) -> None:  # noqa: ARG002
        if progress.step == self.stop_at:
            signal.raise_signal(signal.SIGINT)


@pytest.fixture
def few(toy: Any) -> Any:
    """Other pairs than those of the run: the last ones of its sentences."""
    for path in (toy.source, toy.target):
        path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[-20:]), encoding="utf-8")
    return toy


def test_pairs_of_the_base_run_are_mixed_in(few: Any, trained: Path, tmp_path: Path) -> None:
    watcher = Stages()
    train_translator(recipe(few, trained), tmp_path / "run", watcher=watcher)
    run = RunFolder(tmp_path / "run")
    assert read_recipe(run).train.old_share == 0.5
    assert run.about()["data"]["old"] == RunFolder(trained).about()["data"]["train"]
    assert any("Mixed with 60 old pairs" in text and "50% of the tokens" in text for text in watcher.said)


def test_none_are_mixed_in_where_the_user_wants_none(few: Any, trained: Path, tmp_path: Path) -> None:
    train_translator(recipe(few, trained, old_share=0), tmp_path / "run")
    assert "old" not in RunFolder(tmp_path / "run").about()["data"]


def test_its_own_pairs_are_not_mixed_in_twice(shared_toy: Any, trained: Path) -> None:
    given = TranslationRecipe.model_validate(recipe(shared_toy, trained))
    prepared = prepare(Translation(), given, Silent(), tokenizers=read_tokenizers(RunFolder(trained)))
    assert prepared.recipe.train.old_share == 0
    assert not isinstance(prepared.examples, Mixture)


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_missing_or_changed_data_is_reported_in_one_line(few: Any, run_copy: Path, tmp_path: Path, how: str) -> None:
    base, text = RunFolder(run_copy), RunFolder(run_copy).config_text()
    data = read_recipe(base).data
    for path, name in zip((tmp_path / "old.en", tmp_path / "old.de"), (data.source[0], data.target[0]), strict=True):
        if how == "changed":
            path.write_text(Path(name).read_text(encoding="utf-8") + "us.\n", encoding="utf-8")
        text = text.replace(f'["{name}"]', f'["{path}"]')
    weights, about = base.weights()[0], base.about()
    base.change(config=text, about=about)
    base.finish(weights, about={})
    watcher = Stages()
    train_translator(recipe(few, run_copy), tmp_path / "run", watcher=watcher)
    told = [text for text in watcher.said if "Old examples cannot be mixed in" in text]
    assert len(told) == 1
    assert ("has changed" if how == "changed" else "old.en") in told[0]
    assert read_recipe(RunFolder(tmp_path / "run")).train.old_share == 0


def test_a_mixed_run_that_was_stopped_ends_with_the_same_bytes(few: Any, trained: Path, tmp_path: Path) -> None:
    given = {**recipe(few, trained, steps=9, valid_every=3), "model": {"dropout": 0.1}}
    train_translator(given, tmp_path / "whole")
    assert train_translator(given, tmp_path / "halted", watcher=Stages(stop_at=5)).stopped == ""
    train_translator(given, tmp_path / "halted")
    whole, halted = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "halted"))
    assert whole == halted


def test_a_named_corpus_is_mixed_in_too(few: Any, tmp_path: Path) -> None:
    """As base data; a run that is fine-tuned again has the pairs of both runs before it."""
    first, second = tmp_path / "first", tmp_path / "second"
    book = {"data": {"corpus": "phrasebook", "corpus_size": 8000}}
    small = {"size": "nano", "N": 1, "d": 16, "h": 2, "d_ff": 24}
    few_steps = {"steps": 1, "batch_tokens": 150, "valid_sentences": 4, "threads": 1, "device": "cpu"}
    train_translator(
        {**book, "text": {"kind": "char"}, "model": small, "train": few_steps, "decode": {"beam": 1}}, first
    )
    train_translator(recipe(few, first, steps=1), second)
    mark = RunFolder(first).about()["data"]["train"]
    assert RunFolder(second).about()["data"]["old"] == mark
    third = recipe(few, second)
    third["data"] |= {"source": str(few.target), "target": str(few.source)}  # other pairs than those of the second
    checked = TranslationRecipe.model_validate(third)
    planned = prepare(Translation(), checked, Silent(), tokenizers=read_tokenizers(RunFolder(second)))
    marks = [RunFolder(run).about()["data"]["train"] for run in (second, first)]
    assert planned.material.fingerprints["old"].split() == marks


def test_a_run_that_took_the_place_of_its_base_ends_the_search(few: Any, run_copy: Path, tmp_path: Path) -> None:
    train_translator(recipe(few, run_copy), tmp_path / "run")
    shutil.rmtree(run_copy)
    (tmp_path / "run").rename(run_copy)  # its base is now itself
    few.source.write_text("the dog eats.\nmy boy has us.\n", encoding="utf-8")
    few.target.write_text("der Hund isst.\nmein Junge hat uns.\n", encoding="utf-8")
    assert train_translator(recipe(few, run_copy, steps=1), tmp_path / "again").stopped


def test_without_a_base_run_there_is_no_old_share(toy: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"old_share = 0.3 needs a run to start from \(--from RUN\)"):
        train_translator(toy.recipe(train={"old_share": 0.3}), tmp_path / "run")


# How long, and how fast


def planned(given: TranslationRecipe) -> Prepared:
    work = Work(Translation(), HOOKS, Silent(), clock_from_now())
    return planned_new(work, given, work.start_of(given))


def test_few_pairs_are_gone_through_more_often(few: Any, trained: Path) -> None:
    given = recipe(few, trained)
    del given["train"]["steps"], given["train"]["batch_tokens"]
    checked = TranslationRecipe.model_validate(given)
    train = planned(checked).recipe.train
    assert (train.batch_tokens, train.epochs) == (1024, 20.0)
    chosen = TranslationRecipe.model_validate(recipe(few, trained, epochs=2, batch_tokens=100))
    kept = planned(chosen).recipe.train
    assert (kept.batch_tokens, kept.epochs) == (100, 2)


def test_a_budget_fine_tunes_gently_and_ends_when_more_would_not_help(few: Any, trained: Path, tmp_path: Path) -> None:
    given = recipe(few, trained, budget="1000s", batch_tokens=150, epochs=3)
    del given["train"]["steps"]
    clock = iter(range(100_000))
    progress = train_translator(given, tmp_path / "run", clock=lambda: next(clock) / 100)
    train, then = read_recipe(RunFolder(tmp_path / "run")).train, read_recipe(RunFolder(trained)).train
    assert (train.optimiser, train.schedule) == ("adamw", "linear")
    assert train.lr == then.lr / 10
    assert (progress.step, progress.stopped) == (train.steps, "all steps done")
    assert progress.epoch <= 4


# Both scores


def test_both_scores_are_said_noted_shown_and_compared(few: Any, trained: Path, tmp_path: Path) -> None:
    watcher = Stages()
    train_translator(recipe(few, trained), tmp_path / "run", watcher=watcher)
    last = RunFolder(tmp_path / "run").metrics()[-1]
    assert last["new"]["after"] == last["measured"]["bleu"]
    for key, part in (("new", "New validation sentences"), ("known", f"Validation sentences of {trained}")):
        words = f"BLEU {last[key]['before']:.1f} before, {last[key]['after']:.1f} after"
        assert any(text.startswith(f"{part}: {words}") for text in watcher.said)
        assert words in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    held = [(s, (t,)) for s, t in few.pairs]
    found = compare_runs([str(trained), str(tmp_path / "run")], held, listener=Silent())
    row = dict(found.settings)["fine-tuning, the base run's validation sentences"]
    assert row == [None, f"BLEU {last['known']['before']:.1f} to {last['known']['after']:.1f}"]
