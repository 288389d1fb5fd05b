"""All that is decided and made before the first step of a training: sentences, vocabulary, tokens, plan, forecast."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial

import torch

from glassformer.data.batches import Pools, count_batches
from glassformer.data.token_cache import TokenCache, build_cache, cache_folder, sweep
from glassformer.errors import SettingsError
from glassformer.models.transformer import Transformer
from glassformer.store.weights import parameter_count
from glassformer.tasks.translation.budget_rules import with_vocabulary
from glassformer.tasks.translation.material import Material, read_material
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.translator import Translator, marks_of
from glassformer.tasks.translation.validation import check_positions, encode_held, rehearse_validation, tell_left_out
from glassformer.tasks.translation.watching import TrainingWatcher
from glassformer.text import Tokenizer, train_tokenizer
from glassformer.train.first_vectors import turn_towards, vectors_of_pairs
from glassformer.train.machine import device_of_rank, give_back_memory, keep_freed_memory, thread_count
from glassformer.train.objective import loss_of
from glassformer.train.plan import Forecast, forecast, refuse_too_large
from glassformer.train.ranks import ALONE, Ranks
from glassformer.train.settings import TrainSettings
from glassformer.train.step import Loss


@dataclass(frozen=True)
class Prepared:
    """A training with everything decided."""

    recipe: TranslationRecipe  # resolved
    material: Material
    source: Tokenizer
    target: Tokenizer
    pairs: TokenCache
    device: torch.device
    ranks: Ranks = ALONE
    timed: Forecast | None = None  # by a budget, which has measured it all

    @property
    def training_seconds(self) -> float:
        """What a budget leaves for steps and validations; 0 where the number of steps is fixed."""
        train = self.recipe.train
        fixed = "steps" in train.model_fields_set or train.average_last
        return 0.0 if self.timed is None or fixed else self.timed.seconds - self.timed.closing_seconds


def prepare(
    recipe: TranslationRecipe,
    watcher: TrainingWatcher,
    *,
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
    ranks: Ranks = ALONE,
) -> Prepared:
    """Reads, tokenises and plans. `tokenizers` are those of a run that goes on; without, they are trained."""
    refuse_other_ranks(recipe.train.ranks, ranks)
    keep_freed_memory()
    torch.set_num_threads(thread_count(recipe.train.threads, processes=ranks.local_world))
    device = device_of_rank(recipe.train.device, ranks)
    watcher.on_stage("Reading the sentences")
    material = read_material(recipe.data, seed=recipe.train.seed, listener=watcher)
    if recipe.train.budget and not tokenizers:
        recipe = with_vocabulary(recipe, material.pairs)
    source, target = tokenizers or make_tokenizers(recipe, material, watcher)
    pairs = encode(recipe, material, source, target, watcher)
    give_back_memory()
    return Prepared(resolve(recipe, pairs, device, ranks), material, source, target, pairs, device, ranks)


def refuse_other_ranks(wanted: int | None, ranks: Ranks) -> None:
    """Only who starts the processes decides how many they are."""
    if wanted is not None and wanted != ranks.world:
        started = "1 process was" if ranks.world == 1 else f"{ranks.world} processes were"
        raise SettingsError(
            f"train.ranks = {wanted}, but {started} started. Start as many as that, "
            f"`torchrun --nproc-per-node {wanted} -m glassformer train ...`, or leave train.ranks open."
        )


def make_tokenizers(
    recipe: TranslationRecipe, material: Material, watcher: TrainingWatcher
) -> tuple[Tokenizer, Tokenizer]:
    """Trains one tokenizer on both sides, or one on each."""
    watcher.on_stage("Learning the vocabulary")
    text = recipe.text
    if text.kind == "imported":
        raise SettingsError("text.kind = 'imported' is that of a model made by others: go on from it with --from.")
    learn = partial(
        train_tokenizer,
        text.kind,
        vocab_size=text.vocab_size,
        lowercase=text.lowercase,
        normalization=text.normalization,
        progress=watcher.on_count,
    )
    if text.shared:
        shared = learn(material.sentences())
        return shared, shared
    return learn(source for source, _ in material.train()), learn(target for _, target in material.train())


def encode(
    recipe: TranslationRecipe, material: Material, source: Tokenizer, target: Tokenizer, watcher: TrainingWatcher
) -> TokenCache:
    """The sentences to learn from as ids on disk: made now, or by an earlier run on the same sentences."""
    watcher.on_stage("Turning sentences into tokens")
    most, root = recipe.data.max_tokens, cache_folder()
    parts = [material.fingerprints["train"], source.fingerprint(), target.fingerprint(), str(most)]
    folder = root / hashlib.sha256(" ".join(parts).encode()).hexdigest()[:32]
    build_cache(
        folder,
        material.train(),
        source,
        target,
        most=most,
        progress=lambda done: watcher.on_count(done, material.pairs),
        on_wait=lambda: watcher.on_stage("Another run is turning the same sentences into tokens; waiting for it"),
    )
    sweep(root)
    marks = [marks_of(tokenizer, recipe.text.start) for tokenizer in (source, target)]
    pairs = TokenCache(folder, source_marks=marks[0], target_marks=marks[1])
    tell_left_out(pairs.left_out, len(pairs), limit=f"data.max_tokens = {most}", watcher=watcher)
    return pairs


def resolve(recipe: TranslationRecipe, pairs: Pools, device: torch.device, ranks: Ranks = ALONE) -> TranslationRecipe:
    """The recipe with everything decided that depends on the data and the machine."""
    batches = count_batches(pairs, tokens=recipe.train.batch_tokens, seed=recipe.train.seed)
    settings = recipe.train.resolved(
        batches_per_epoch=batches,
        threads=torch.get_num_threads(),
        device=str(device) if ranks.world == 1 else device.type,  # each rank has a GPU of its own
        ranks=ranks.world,
    )
    return recipe.decided({"train": settings, "out": None})


class Rehearsal:
    """The model before its first step, and what it will be measured with: enough to train, or to forecast only."""

    def __init__(self, prepared: Prepared, watcher: TrainingWatcher) -> None:
        recipe, held = prepared.recipe, prepared.material.valid
        self.prepared = prepared
        self.translator = untrained(prepared)
        for part in (held, prepared.material.measured()):
            check_positions(self.translator, part)
        most = 10 * recipe.data.max_tokens
        self.held_pairs = encode_held(
            held, prepared.source, prepared.target, most=most, watcher=watcher, start=recipe.text.start
        )
        self.sample = held.first(recipe.train.valid_sentences)

    @property
    def parameters(self) -> int:
        return parameter_count(self.translator.model)

    def forecast(self, done: int = 0, *, patience: float | None = None) -> Forecast:
        """What the steps after the `done` ones will take, from steps timed for `patience` seconds."""
        prepared, settings = self.prepared, self.prepared.recipe.train

        def validation(model: Transformer) -> None:
            rehearse_validation(self.translator.with_model(model), self.held_pairs, len(self.sample.sources))

        return forecast(
            self.translator.model,
            prepared.pairs,
            settings,
            loss=lambda model: loss_by(settings, model),
            validation=validation,
            closing_validations=len(prepared.material.measured().sources) / len(self.sample.sources),
            done=done,
            patience=patience,
        )


def loss_by(settings: TrainSettings, model: Transformer) -> Loss:
    return loss_of(model, label_smoothing=settings.label_smoothing, compiled=settings.compile)


def untrained(prepared: Prepared) -> Translator:
    """The model with its first weights, which are a function of the seed; refused where it cannot fit."""
    recipe, vocabularies = prepared.recipe, (len(prepared.source), len(prepared.target))
    make = partial(Transformer, recipe.model, source_vocabulary=vocabularies[0], target_vocabulary=vocabularies[1])
    if prepared.device.type == "cpu":
        with torch.device("meta"):  # shapes alone, no memory
            parameters = parameter_count(make())
        tokens, model = recipe.train.batch_tokens, recipe.model
        refuse_too_large(
            parameters, batch_tokens=tokens, width=model.d, blocks=min(model.N, model.N_decoder or model.N)
        )
    torch.manual_seed(recipe.train.seed)
    return Translator(make().to(prepared.device), prepared.source, prepared.target, recipe)


def give_first_vectors(model: Transformer, prepared: Prepared, watcher: TrainingWatcher) -> None:
    """Lets translations of each other start out alike, if the recipe wants it."""
    recipe, (first, second) = prepared.recipe, (len(prepared.source), len(prepared.target))
    if recipe.train.first_vectors == "random":
        return
    watcher.on_stage("Making first word vectors from the sentence pairs")
    shared = recipe.model.tied == "all"
    vectors = vectors_of_pairs(
        prepared.pairs,
        width=recipe.model.d,
        vocabularies=(first, 0) if shared else (first, second),
        seed=recipe.train.seed,
    ).to(prepared.device)
    turn_towards(model.encoder.inputs.embedding.weight, vectors[:first], seed=recipe.train.seed)
    if not shared:
        turn_towards(model.decoder.inputs.embedding.weight, vectors[first:], seed=recipe.train.seed)
