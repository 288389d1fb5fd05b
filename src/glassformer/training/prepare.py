"""Everything that happens before the first step: data, vocabulary, tokens, plan, forecast."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from glassformer.config import is_set, value_of
from glassformer.data.batches import count_batches
from glassformer.data.columns import Pools
from glassformer.data.mixing import Mixture, mixed
from glassformer.data.token_cache import TokenCache, build_cache, cache_folder, sweep
from glassformer.errors import SettingsError
from glassformer.store.weights import parameter_count
from glassformer.training.budget_rules import R, reported_in, with_vocabulary
from glassformer.training.machine import device_of_rank, give_back_memory, keep_freed_memory, thread_count
from glassformer.training.objective import compiled
from glassformer.training.old_examples import old_materials, wanted_share
from glassformer.training.plan import PATIENCE, Forecast, forecast, refuse_too_large
from glassformer.training.ranks import ALONE, Ranks
from glassformer.training.step import Loss
from glassformer.training.task import Example, Material, Setup, Task, Tokenizers
from glassformer.training.threads import thread_options
from glassformer.training.timekeeper import TimeLimit
from glassformer.training.tuning import frozen_names
from glassformer.training.validate import Held, held_pool, rehearse_validation, report_left_out
from glassformer.training.watching import Silent, TrainingWatcher

CLOSING = 1.5  # seconds at the end, without the predictions for the report: choosing, loading, writing, exiting
REPORTED = 1000  # the most validation examples that the report of a run is measured on
MOST_KNOWN = 300  # examples of the base run that fine-tuning is measured on: enough to see a clear loss


@dataclass(frozen=True)
class Prepared:
    """A run with everything decided."""

    task: Task
    recipe: Any  # resolved
    material: Material
    tokenizers: Tokenizers
    examples: TokenCache | Mixture
    device: torch.device
    ranks: Ranks = ALONE
    timed: Forecast | None = None  # set by a budget, which has timed everything
    keeps_time: bool = False  # the clock decides the number of steps
    limit: TimeLimit | None = None  # the same, once everything is timed
    threads: tuple[int, ...] = ()  # numbers of threads to choose from
    baseline: bool = False  # the first weights come from a run of this task, heads included: they are measured too

    @property
    def setup(self) -> Setup:
        return Setup(self.recipe, self.tokenizers)

    @property
    def reported(self) -> list[Example]:
        """The examples that the report is measured on: the test examples, or validation examples if there are none."""
        test = self.material.test
        chosen = self.material.valid[:REPORTED] if test is None else test
        return list(chosen[: reported_in(self.recipe.train, self.task.rules)])


def prepare(
    task: Task,
    recipe: Any,
    watcher: TrainingWatcher,
    *,
    tokenizers: Tokenizers | None = None,
    ranks: Ranks = ALONE,
) -> Prepared:
    """Reads, tokenises and plans. `tokenizers` come from a run to resume or start from; None: they are trained."""
    refuse_other_ranks(recipe.train.ranks, ranks)
    keep_freed_memory()
    torch.set_num_threads(thread_count(recipe.train.threads, processes=ranks.local_world))
    device = device_of_rank(recipe.train.device, ranks)
    watcher.on_stage("Reading the data")
    material = task.read(recipe, watcher)
    asked, recipe = recipe, task.decided(recipe, material)
    if recipe.train.budget and tokenizers is None:
        recipe = with_vocabulary(recipe, task.rules_for(recipe), task.sentences(material))
    if tokenizers is None:
        tokenizers = make_tokenizers(task, recipe, material, watcher)
    recipe = task.fitted(recipe, tokenizers)
    refuse_decided(task, asked, recipe)
    new = encode(task, Setup(recipe, tokenizers), material, watcher)
    recipe, material, examples = with_old_examples(task, recipe, material, new, tokenizers, watcher)
    give_back_memory()
    options = thread_options(recipe.train.threads, processes=ranks.world) if device.type == "cpu" else ()
    resolved = resolve(recipe, examples, device, ranks)
    return Prepared(task, resolved, material, tokenizers, examples, device, ranks, threads=options)


def make_tokenizers(task: Task, recipe: Any, material: Material, watcher: TrainingWatcher) -> Tokenizers:
    if recipe.text.kind == "imported":
        raise SettingsError(
            "text.kind = 'imported' is the vocabulary of an imported model: fine-tune that model with --from."
        )
    if not task.has_text:
        return {}
    watcher.on_stage("Learning the vocabulary")
    return task.make_tokenizers(recipe, material, watcher)


def refuse_decided(task: Task, asked: Any, recipe: Any) -> None:
    """Raises an error if the user set something that the data decides, and the data decides differently."""
    for name in task.decided_names:
        wanted, got = value_of(asked, name), value_of(recipe, name)
        inherited = asked.train.start_from is not None and name.startswith("model.")  # the shape of the start model
        if is_set(asked, name) and wanted != got and not inherited:
            raise SettingsError(f"{name} = {wanted!r}, but data and task decide it: {got!r}. Leave {name} out.")


def refuse_other_ranks(wanted: int | None, ranks: Ranks) -> None:
    """Raises an error if `train.ranks` is not the number of processes that were started."""
    if wanted is not None and wanted != ranks.world:
        started = "1 process was" if ranks.world == 1 else f"{ranks.world} processes were"
        raise SettingsError(
            f"train.ranks = {wanted}, but {started} started. Start {wanted} with "
            f"`torchrun --nproc-per-node {wanted} -m glassformer train ...`, or leave train.ranks unset."
        )


def encode(task: Task, setup: Setup, material: Material, watcher: TrainingWatcher) -> TokenCache:
    """The training examples as ids on disk; reused if an earlier run made them from the same data."""
    watcher.on_stage(f"Turning the data into {task.tokens}")
    marks = [tokenizer.fingerprint() for tokenizer in setup.tokenizers.values()]
    parts = [task.name, material.fingerprints["train"], *marks, task.encoding(setup.recipe)]
    root = cache_folder()
    folder = root / hashlib.sha256(" ".join(parts).encode()).hexdigest()[:32]
    build_cache(
        folder,
        task.stream(setup, material),
        partial(task.encode, setup),
        progress=lambda done: watcher.on_count(done, material.count),
        on_wait=lambda: watcher.on_stage("Waiting for another run that prepares the same data"),
        on_damage=watcher.on_stage,
    )
    sweep(root)
    examples = TokenCache(folder, partial(task.pool, setup))
    report_left_out(task, setup.recipe, examples.left_out, len(examples), watcher)
    if examples.cut:
        watcher.on_stage(
            f"Cut {examples.cut:,} {task.unit if examples.cut == 1 else task.units} to {task.cut_to(setup.recipe)}"
        )
    return examples


def with_old_examples(
    task: Task,
    recipe: Any,
    material: Material,
    new: TokenCache,
    tokenizers: Tokenizers,
    watcher: TrainingWatcher,
) -> tuple[Any, Material, TokenCache | Mixture]:
    """Mixes the base run's examples into those of fine-tuning; sets `train.old_share` to 0 if there are none."""
    if recipe.train.start_from is None:
        return recipe, material, new
    found = old_materials(task, recipe, material, watcher)
    caches = [encode(task, Setup(then, tokenizers), old, Silent()) for then, old in found]
    share = wanted_share(recipe) if found else 0.0
    recipe = recipe.decided({"train": recipe.train.decided({"old_share": share})})
    if not found:
        return recipe, material, new
    watcher.on_stage(
        f"Mixed with {sum(map(len, caches)):,} old {task.units} of {recipe.train.start_from}: {share:.0%} of the "
        "tokens, different ones in every epoch"
    )
    shares = [wanted_share(one) for one in (recipe, *(then for then, _ in found[:-1]))]
    marks = {**material.fingerprints, "old": " ".join(old.fingerprints["train"] for _, old in found)}
    return recipe, replace(material, fingerprints=marks), mixed([new, *caches], shares)


def resolve(recipe: R, examples: Pools, device: torch.device, ranks: Ranks = ALONE) -> R:
    """The recipe with all settings decided that depend on the data and the machine."""
    batches = count_batches(examples, tokens=recipe.train.batch_tokens, seed=recipe.train.seed)
    settings = recipe.train.resolved(
        batches_per_epoch=batches,
        threads=torch.get_num_threads(),
        device=str(device) if ranks.world == 1 else device.type,  # each rank has its own GPU
        ranks=ranks.world,
    )
    return recipe.decided({"train": settings, "out": None})


class Rehearsal:
    """The model before its first step and its validation examples: enough to train, or only to forecast."""

    def __init__(self, prepared: Prepared, watcher: TrainingWatcher) -> None:
        task, material, recipe = prepared.task, prepared.material, prepared.recipe
        self.prepared = prepared
        self.model = untrained(prepared)
        frozen_names(self.model, recipe.train.freeze)  # a wrong name is an error before anything is written
        self.user = task.user(prepared.setup, self.model)
        for part in (material.valid, prepared.reported):
            task.check_held(prepared.setup, part)
        pool = held_pool(task, prepared.setup, material.valid, watcher)
        self.held = Held(pool, material.valid[: recipe.train.valid_sentences])

    @property
    def parameters(self) -> int:
        return parameter_count(self.model)

    @property
    def closing_examples(self) -> int:
        """Predictions at the end: for the report; after a run of the same task, also with that run's weights."""
        train, reported = self.prepared.recipe.train, len(self.prepared.reported)
        return (
            2 * (reported + min(MOST_KNOWN, reported_in(train, self.prepared.task.rules)))
            if self.prepared.baseline
            else reported
        )

    def forecast(self, done: int = 0, *, patience: float | None = None) -> Forecast:
        """Forecasts the rest of the run after `done` steps, from steps timed for `patience` seconds."""
        prepared, task = self.prepared, self.prepared.task
        predicting = 0.0

        def validation(model: Any) -> float:
            nonlocal predicting
            limit = PATIENCE if patience is None else patience
            losses, predicting = rehearse_validation(task, prepared.setup, model, self.held, patience=limit)
            return losses + predicting

        found = forecast(
            self.model,
            prepared.examples,
            prepared.recipe.train,
            loss=partial(loss_by, task, prepared.setup),
            validation=validation,
            done=done,
            patience=patience,
        )
        each = task.closing_cost(prepared.recipe) * predicting / max(1, len(self.held.sample))
        return replace(found, closing_seconds=CLOSING + self.closing_examples * each)


def loss_by(task: Task, setup: Setup, model: Any) -> Loss:
    """The task's loss as a function of a batch, for this model."""
    return partial(task.loss, setup, compiled(model) if setup.recipe.train.compile else model)


def untrained(prepared: Prepared) -> Any:
    """The model with its first weights, a function of the seed; an error if it cannot fit into memory."""
    task, recipe = prepared.task, prepared.recipe
    if prepared.device.type == "cpu":
        with torch.device("meta"):  # shapes alone, no memory
            parameters = parameter_count(task.build(prepared.setup))
        model = recipe.model
        blocks = min(model.N, getattr(model, "N_decoder", None) or model.N)
        blocks = 1 if recipe.train.recompute else blocks
        refuse_too_large(parameters, batch_tokens=recipe.train.batch_tokens, width=model.d, blocks=blocks)
    torch.manual_seed(recipe.train.seed)
    return task.build(prepared.setup).to(prepared.device)
