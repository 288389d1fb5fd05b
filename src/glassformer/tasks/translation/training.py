"""Training a translator: prepare, train, choose the best, report; or go on where an earlier run stood."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from glassformer.config import to_toml, validate
from glassformer.data.token_cache import TokenCache
from glassformer.errors import RunError, SettingsError
from glassformer.store.checkpoints import Checkpoint
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_weights
from glassformer.tasks.translation.alignment import best_alignment_head
from glassformer.tasks.translation.budget import within_budget
from glassformer.tasks.translation.going_on import (
    accept,
    changed_settings,
    changes_of,
    marks_of,
    refuse_changes,
    set_aside_damaged,
    still_open_as,
    yardstick,
)
from glassformer.tasks.translation.live import LiveReport
from glassformer.tasks.translation.material import Held, Material, changed_files
from glassformer.tasks.translation.preparing import Prepared, Rehearsal, give_first_vectors, loss_by, prepare, untrained
from glassformer.tasks.translation.recipe import TranslationRecipe, as_begun, read_recipe
from glassformer.tasks.translation.report import Measured, learnt_from, make_report, shown_phrase
from glassformer.tasks.translation.sharing import brief, briefed
from glassformer.tasks.translation.starting import Start, check_vocabulary, read_start, started_from
from glassformer.tasks.translation.translator import SHARED, SOURCE, TARGET, Translator, load, load_tokenizers
from glassformer.tasks.translation.validation import validate_translator
from glassformer.tasks.translation.watching import Silent, TrainingWatcher
from glassformer.train.loop import Job, Progress, train_loop
from glassformer.train.plan import Forecast
from glassformer.train.profile import Profile, profile
from glassformer.train.ranks import ALONE, Ranks, joined
from glassformer.train.settings import seconds_of


def train_translator(
    recipe: TranslationRecipe | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    watcher: TrainingWatcher | None = None,
    accept_changes: bool = False,
) -> Progress:
    """Trains by the recipe into the folder `out`; goes on where an earlier, stopped training of it stood.

    Other settings, sentences, code or threads than those it was begun with are refused, unless `accept_changes`.
    Of several processes (torchrun) the first one does this, and the others train with it.
    """
    recipe = recipe if isinstance(recipe, TranslationRecipe) else validate(TranslationRecipe, recipe)
    run = RunFolder(_folder(recipe, out))
    with joined() as ranks:
        if not ranks.is_writer:
            return _follow(run, ranks)
        with run.lock():
            return _train(recipe, run, watcher or Silent(), ranks, accept_changes)


def _train(
    recipe: TranslationRecipe, run: RunFolder, watcher: TrainingWatcher, ranks: Ranks, accept_changes: bool
) -> Progress:
    if run.exists and run.finished:
        then = read_recipe(run)
        changes = changed_settings(still_open_as(then, recipe), then)
        changes.possible += changed_files(recipe.data, run.about().get("data", {}))
        refuse_changes(run, changes, finished=True)
        watcher.on_stage(f"{run.path} is finished already; nothing to do. For another training choose another --out.")
        ranks.told(None)
        return Progress(stopped="finished before", step=read_recipe(run).train.steps or 0)
    if not run.exists:
        run.refuse_foreign()
    elif run.lost_its_weights:
        raise RunError(run.describe_no_weights())
    return _train_locked(recipe, run, watcher, ranks, accept_changes)


def _follow(run: RunFolder, ranks: Ranks) -> Progress:
    """Trains with the writer, touching none of its files."""
    prepared, watcher = briefed(ranks), Silent()
    if prepared is None:
        return Progress(stopped="finished before")
    rehearsal = Rehearsal(prepared, watcher)
    if not prepared.recipe.train.budget:
        rehearsal.forecast()  # the writer times its steps now: it shall find the machine as busy as it will be
    return train_loop(make_job(prepared, rehearsal, run, watcher))


def forecast_training(
    recipe: TranslationRecipe | Mapping[str, Any], *, watcher: TrainingWatcher | None = None
) -> Forecast:
    """The memory and the time that a training by the recipe would take here. Makes no run."""
    recipe = recipe if isinstance(recipe, TranslationRecipe) else validate(TranslationRecipe, recipe)
    watcher = watcher or Silent()
    prepared = planned_anew(recipe, start_of(recipe), watcher)
    return prepared.timed or Rehearsal(prepared, watcher).forecast()


def profile_training(
    recipe: TranslationRecipe | Mapping[str, Any], *, watcher: TrainingWatcher | None = None
) -> Profile:
    """Where the time of a step of a training by the recipe goes. Makes no run."""
    recipe = recipe if isinstance(recipe, TranslationRecipe) else validate(TranslationRecipe, recipe)
    watcher = watcher or Silent()
    prepared = planned_anew(recipe, start_of(recipe), watcher)
    watcher.on_stage("Looking at some steps")
    settings = prepared.recipe.train
    return profile(untrained(prepared).model, prepared.pairs, settings, loss=partial(loss_by, settings))


def _folder(recipe: TranslationRecipe, out: str | Path | None) -> Path:
    folder = out or recipe.out
    if not folder:
        raise SettingsError('Where to? Give the run a folder: --out runs/NAME, or out = "runs/NAME" in the recipe.')
    return Path(folder)


def _train_locked(
    recipe: TranslationRecipe, run: RunFolder, watcher: TrainingWatcher, ranks: Ranks, accept_changes: bool
) -> Progress:
    start = None if run.steps else start_of(recipe)
    prepared = planned(recipe, run, start, watcher, ranks)
    if run.exists:  # before a model is made: another recipe may not fit these tokenizers
        changes = changes_of(run, prepared, start)
        refuse_changes(run, changes, accepted=accept_changes)
        set_aside_damaged(run, watcher)
        if changes:
            accept(run, prepared, changes, watcher, start=start)
    rehearsal = Rehearsal(prepared, watcher)
    if not run.exists:
        begin_run(run, prepared, start)
    if start:
        load_weights(rehearsal.translator.model, start.weights, origin=str(start.path))
    elif not run.steps:
        give_first_vectors(rehearsal.translator.model, prepared, watcher)
    brief(prepared)
    live = LiveReport(watcher, run, rehearsal)
    job = make_job(prepared, rehearsal, run, live)
    done = run.steps[-1] if run.steps else 0
    forecast = prepared.timed or rehearsal.forecast(done)
    live.on_plan(prepared.recipe, parameters=rehearsal.parameters, resumed_at=done, forecast=forecast)
    progress = train_loop(job)
    live.on_end(progress)
    if progress.stopped:
        finish(run, job.model, progress, watcher)
        watcher.on_stage("Measuring, and writing the report")
        translator = load(run.path, device=str(prepared.device))
        write_report(translator, run, prepared.material, pairs=prepared.pairs, watcher=watcher, valid=rehearsal.sample)
        run.checkpoints.drop()
    return progress


def planned(
    recipe: TranslationRecipe, run: RunFolder, start: Start | None, watcher: TrainingWatcher, ranks: Ranks
) -> Prepared:
    """Everything decided: as it was when the run was begun, or now."""
    if not run.exists:
        return planned_anew(recipe, start, watcher, ranks)
    if recipe.train.budget or recipe.train.start_from:
        begun = as_begun(read_recipe(run), recipe)  # but how many processes there are is no choice of a recipe
        recipe = begun.decided({"train": begun.train.decided({"ranks": recipe.train.ranks})})
    return prepare(recipe, watcher, tokenizers=load_tokenizers(run), ranks=ranks)


def start_of(recipe: TranslationRecipe) -> Start | None:
    return read_start(recipe.train.start_from) if recipe.train.start_from else None


def planned_anew(
    recipe: TranslationRecipe, start: Start | None, watcher: TrainingWatcher, ranks: Ranks = ALONE
) -> Prepared:
    """Everything decided for a new run."""
    began = time.monotonic()
    if start:
        prepared = prepare(started_from(start, recipe), watcher, tokenizers=start.tokenizers, ranks=ranks)
        check_vocabulary(start, prepared.recipe, prepared.material, watcher)
    else:
        prepared = prepare(recipe, watcher, ranks=ranks)
    if not recipe.train.budget:
        return prepared
    prepared = within_budget(prepared, watcher, until=began + seconds_of(recipe.train.budget))
    validate(TranslationRecipe, prepared.recipe.model_dump(), origin="what the budget chose")
    return prepared


# The run


def begin_run(run: RunFolder, prepared: Prepared, start: Start | None) -> None:
    """Writes all that is decided before the first step, with the fingerprints of the sentences."""
    source, target = prepared.source, prepared.target
    texts = {SHARED: source} if source is target else {SOURCE: source, TARGET: target}
    run.begin(
        config=to_toml(prepared.recipe),
        texts={name: tokenizer.to_json().encode() for name, tokenizer in texts.items()},
        about=marks_of(prepared, start),
    )


def make_job(prepared: Prepared, rehearsal: Rehearsal, run: RunFolder, watcher: TrainingWatcher) -> Job:
    """Binds model, objective and validation together for the loop."""
    translator, settings, ranks = rehearsal.translator, prepared.recipe.train, prepared.ranks
    return Job(
        model=translator.model,
        pairs=prepared.pairs,
        settings=settings,
        loss=loss_by(settings, translator.model),
        validate=lambda: validate_translator(translator, rehearsal.held_pairs, rehearsal.sample, ranks),
        run=run,
        watcher=watcher,
        device=prepared.device,
        show=translator.sentences_of,
        measured_by=yardstick(prepared),
        ranks=ranks,
        time=prepared.training_seconds,
    )


def finish(run: RunFolder, model: nn.Module, progress: Progress, watcher: TrainingWatcher) -> None:
    """The best weights become the run's own."""
    best = chosen_checkpoint(run, progress, watcher)
    load_weights(model, best.weights, origin=f"checkpoint {best.step}")
    ended = {"stopped": progress.stopped, "best_step": best.step, "steps": progress.step}
    clocks = {"seconds": progress.seconds, "elapsed_seconds": progress.seconds + progress.validating}
    clocks = {name: round(seconds, 1) for name, seconds in clocks.items()}
    run.finish(best.weights, about={"training": {**ended, **clocks}})


def chosen_checkpoint(run: RunFolder, progress: Progress, watcher: TrainingWatcher) -> Checkpoint:
    """The best one; the last one, said so, if the best was damaged meanwhile."""
    try:
        return run.checkpoints.read(progress.best_step or progress.step)
    except RunError as error:
        last = run.checkpoints.read(progress.step)
        watcher.on_stage(f"The best weights cannot be used, those of step {last.step:,} are taken instead: {error}")
        return last


def write_report(
    translator: Translator,
    run: RunFolder,
    material: Material,
    *,
    pairs: TokenCache,
    watcher: TrainingWatcher,
    valid: Held,
) -> None:
    """report.html, and what it measured as the last line of the metrics."""
    gold, held = material.gold, material.measured()
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        watcher.on_count(done, len(held.sources))

    scores, hypotheses = translator.evaluate(held.sources, held.references, beam=1, progress=count)
    head = best_alignment_head(translator, gold.valid, gold.test) if gold else None
    part = "unseen sentences" if material.test else "validation sentences"
    measured = Measured(scores, held.sources, held.references, hypotheses, part=part)
    shown = shown_phrase(gold.test) if gold else None
    data = learnt_from(material.findings, pairs, translator.recipe.data) if material.findings else None
    page = make_report(
        translator, run, measured, train_pairs=len(pairs), valid=valid, alignment=head, phrase=shown, data=data
    )
    run.write_report(page)
    # Without a step: it is of the chosen weights, and made again should the run be cut off before its very end.
    values = {score.name: score.value for score in scores}
    run.append_metrics({"measured": values, "alignment": None if head is None else asdict(head)})
