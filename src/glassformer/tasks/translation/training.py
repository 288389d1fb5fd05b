"""Training a translator: read, tokenise, plan, train, choose the best, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from glassformer import __version__
from glassformer.config import to_toml, validate, walk
from glassformer.data.batches import EncodedPairs, Ragged, count_batches, epoch_batches
from glassformer.data.pairs import Corpus, all_sides, hold_out, read_aligned, read_pair_files, read_tsv
from glassformer.data.phrasebook import Phrase, Phrasebook, phrasebook
from glassformer.data.settings import DataSettings
from glassformer.errors import DataError, RunError, SettingsError
from glassformer.evaluate.translation import bleu_and_chrf
from glassformer.models.transformer import Transformer
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_weights
from glassformer.tasks.translation.alignment import best_alignment_head
from glassformer.tasks.translation.recipe import TranslationRecipe, read_recipe
from glassformer.tasks.translation.report import Measured, make_report, shown_phrase
from glassformer.tasks.translation.translator import SHARED, SOURCE, TARGET, Translator, load, load_tokenizers, marks_of
from glassformer.text import Tokenizer, train_tokenizer
from glassformer.train.loop import Job, Progress, Watcher, train_loop
from glassformer.train.machine import choose_device, keep_freed_memory, thread_count
from glassformer.train.objective import token_loss

REPORTED = 1000  # sentences that the report of a run is measured on, at most


class TrainingWatcher(Watcher, Protocol):
    """Someone who also wants to hear what happens before and after the steps."""

    def on_stage(self, text: str) -> None:
        """A part of the work begins, or something worth knowing was found."""

    def on_count(self, done: int, total: int) -> None:
        """How far the part that began last has come."""

    def on_plan(self, recipe: TranslationRecipe, *, parameters: int, resumed_at: int) -> None:
        """Everything is decided; the steps begin."""


class Silent:
    """A watcher that looks away."""

    def on_stage(self, text: str) -> None: ...
    def on_count(self, done: int, total: int) -> None: ...
    def on_plan(self, recipe: TranslationRecipe, *, parameters: int, resumed_at: int) -> None: ...
    def on_step(self, progress: Progress, report: Any, seconds: float) -> None: ...
    def on_validation(self, record: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True)
class Held:
    """Held-out sentences, each with all its references."""

    sources: list[str]
    references: list[tuple[str, ...]]

    def first(self, count: int) -> Held:
        return Held(self.sources[:count], self.references[:count])

    def corpus(self) -> Corpus:
        return Corpus(self.sources, [options[0] for options in self.references])


@dataclass(frozen=True)
class Corpora:
    """What a run learns from and is measured with; the phrasebook also knows which word comes from which."""

    train: Corpus
    valid: Held
    gold: Phrasebook | None = None

    def measured(self) -> Held:
        """What the report is measured on: the phrasebook's test part, or the validation part of other data."""
        return held_phrases(self.gold.test) if self.gold else self.valid.first(REPORTED)


def train_translator(
    recipe: TranslationRecipe | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    watcher: TrainingWatcher | None = None,
) -> Progress:
    """Trains by the recipe into the folder `out`; goes on where an earlier, stopped training of it stood."""
    recipe = recipe if isinstance(recipe, TranslationRecipe) else validate(TranslationRecipe, recipe)
    run = RunFolder(_folder(recipe, out))
    watcher = watcher or Silent()
    with run.lock():
        if run.exists and run.finished:
            then = read_recipe(run)
            refuse_changes(run, changed_settings(still_open_as(then, recipe), then))
            watcher.on_stage(
                f"{run.path} is finished already; nothing to do. For another training choose another --out."
            )
            return Progress(stopped="finished before", step=read_recipe(run).train.steps or 0)
        if not run.exists:
            run.refuse_foreign()
        return _train_locked(recipe, run, watcher)


def _folder(recipe: TranslationRecipe, out: str | Path | None) -> Path:
    folder = out or recipe.out
    if not folder:
        raise SettingsError('Where to? Give the run a folder: --out runs/NAME, or out = "runs/NAME" in the recipe.')
    return Path(folder)


def _train_locked(recipe: TranslationRecipe, run: RunFolder, watcher: TrainingWatcher) -> Progress:
    keep_freed_memory()
    torch.set_num_threads(thread_count(recipe.train.threads))
    device = choose_device(recipe.train.device)
    watcher.on_stage("Reading the sentences")
    corpora = read_corpora(recipe.data, seed=recipe.train.seed, watcher=watcher)
    source, target = load_tokenizers(run) if run.exists else make_tokenizers(recipe, corpora.train, watcher)
    watcher.on_stage("Turning sentences into tokens")
    most = recipe.data.max_tokens
    pairs = encode(corpora.train, source, target, most=most, limit=f"data.max_tokens = {most}", watcher=watcher)
    recipe = resolve(recipe, pairs, device)
    data = {"train": corpora.train.fingerprint(), "valid": corpora.valid.corpus().fingerprint()}
    if run.exists:  # before a model is made: another recipe may not fit these tokenizers
        refuse_changes(run, [*changed_settings(recipe, read_recipe(run)), *changed_data(run, data)])
        tell_versions(run, watcher)
    job = make_job(recipe, run, source, target, pairs, corpora, device, watcher)
    if not run.exists:
        begin_run(run, recipe, source, target, data)
    parameters = sum(p.numel() for p in job.model.parameters())
    watcher.on_plan(recipe, parameters=parameters, resumed_at=run.steps[-1] if run.steps else 0)
    progress = train_loop(job)
    if progress.stopped:
        finish(run, job.model, progress)
        watcher.on_stage("Measuring, and writing the report")
        write_report(load(run.path, device=str(device)), run, corpora, pairs=len(pairs), watcher=watcher)
        run.drop_checkpoints()
    return progress


# Data


def read_corpora(data: DataSettings, *, seed: int, watcher: TrainingWatcher) -> Corpora:
    """The sentences to learn from and those to validate with."""
    if data.corpus == "phrasebook":
        book = phrasebook(train=data.corpus_size, progress=watcher.on_count)
        learned = Corpus([p.source for p in book.train], [p.references[0] for p in book.train])
        return Corpora(learned, held_phrases(book.valid), gold=book)
    corpus = read_training(data)
    for reason, count in corpus.dropped.items():
        watcher.on_stage(f"Left out {count:,} of {len(corpus) + count:,} pairs: {reason}")
    if data.valid:
        held = read_pair_files([Path(name) for name in data.valid])
        for reason, count in held.dropped.items():
            watcher.on_stage(f"Left out {count:,} of {len(held) + count:,} held-out pairs: {reason}")
    else:
        corpus, held = hold_out(corpus, seed=seed)
        watcher.on_stage(f"No --valid given: {len(held):,} pairs are held out for validation")
    return Corpora(corpus, Held(held.sources, [(text,) for text in held.targets]))


def read_training(data: DataSettings) -> Corpus:
    if data.source and data.target:
        return read_aligned(Path(data.source), Path(data.target))
    if data.pairs:
        return read_tsv(Path(data.pairs))
    raise SettingsError(
        "No sentences to learn from. Give --source FILE and --target FILE, or --pairs FILE.tsv, or --corpus phrasebook."
    )


def held_phrases(phrases: Sequence[Phrase]) -> Held:
    return Held([p.source for p in phrases], [p.references for p in phrases])


def make_tokenizers(recipe: TranslationRecipe, corpus: Corpus, watcher: TrainingWatcher) -> tuple[Tokenizer, Tokenizer]:
    """Trains one tokenizer on both sides, or one on each."""
    watcher.on_stage("Learning the vocabulary")
    text = recipe.text
    learn = partial(
        train_tokenizer,
        text.kind,
        vocab_size=text.vocab_size,
        lowercase=text.lowercase,
        normalization=text.normalization,
        progress=watcher.on_count,
    )
    if text.shared:
        shared = learn(all_sides(corpus))
        return shared, shared
    return learn(corpus.sources), learn(corpus.targets)


def encode(
    corpus: Corpus, source: Tokenizer, target: Tokenizer, *, most: int, limit: str, watcher: TrainingWatcher
) -> EncodedPairs:
    """The corpus as ids, without pairs that have a side of no or more than `most` tokens; `limit` names that bound."""
    both = zip(source.encode_batch(corpus.sources), target.encode_batch(corpus.targets), strict=True)
    kept = [(s, t) for s, t in both if s and t and max(len(s), len(t)) <= most]
    if len(kept) < len(corpus):
        watcher.on_stage(f"Left out {len(corpus) - len(kept):,} pairs: longer than {limit} tokens, or empty")
    if not kept:
        raise DataError(f"All {len(corpus):,} pairs are longer than {limit} tokens. Raise it.")
    return EncodedPairs(Ragged.of([s for s, _ in kept]), Ragged.of([t for _, t in kept]), marks_of(source), marks_of(target))


# Plan and run


def resolve(recipe: TranslationRecipe, pairs: EncodedPairs, device: torch.device) -> TranslationRecipe:
    """The recipe with everything decided that depends on the data and the machine."""
    batches = count_batches(pairs, tokens=recipe.train.batch_tokens, seed=recipe.train.seed)
    settings = recipe.train.resolved(
        batches_per_epoch=batches, threads=torch.get_num_threads(), device=str(device)
    )
    return recipe.model_copy(update={"train": settings, "out": None})


def begin_run(
    run: RunFolder, recipe: TranslationRecipe, source: Tokenizer, target: Tokenizer, data: Mapping[str, str]
) -> None:
    """Writes all that is decided before the first step; `data` are the fingerprints of the sentences."""
    texts = {SHARED: source} if source is target else {SOURCE: source, TARGET: target}
    run.begin(
        config=to_toml(recipe),
        texts={name: tokenizer.to_json().encode() for name, tokenizer in texts.items()},
        about={**versions(), "data": data},
    )


def versions() -> dict[str, str]:
    return {"glassformer": __version__, "torch": torch.__version__}


def tell_versions(run: RunFolder, watcher: TrainingWatcher) -> None:
    """Says when this is not the code that began the run: going on is then no longer exact."""
    begun = run.about()
    for name, now in versions().items():
        if begun.get(name) != now:
            watcher.on_stage(f"Begun with {name} {begun.get(name)}, now {now}: the last digits may come out otherwise")


def refuse_changes(run: RunFolder, changes: Sequence[str]) -> None:
    """Going on with other settings or sentences would make a run that no recipe describes."""
    if changes:
        raise RunError(
            f"{run.path} was started otherwise: {'; '.join(changes)}. "
            "Give the same settings and sentences to go on, or another --out for a new run."
        )


def changed_settings(now: TranslationRecipe, then: TranslationRecipe) -> list[str]:
    values = ((name, _value(then, name), _value(now, name)) for name, _ in walk(TranslationRecipe) if name != "out")
    return [f"{name} was {old!r}, now {new!r}" for name, old, new in values if old != new]


def still_open_as(then: TranslationRecipe, now: TranslationRecipe) -> TranslationRecipe:
    """`now` with what it leaves open (steps, threads, device, ...) decided as it was `then`."""
    train = {name: value for name, value in now.train if value is not None and value != "auto"}
    return now.model_copy(update={"train": then.train.model_copy(update=train)})


def _value(settings: Any, name: str) -> Any:
    for part in name.split("."):
        settings = getattr(settings, part)
    return settings


def changed_data(run: RunFolder, data: Mapping[str, str]) -> list[str]:
    begun = run.about().get("data", {})
    changed = [part for part, fingerprint in data.items() if begun.get(part) != fingerprint]
    return [f"the {part} sentences have changed" for part in changed]


def make_job(
    recipe: TranslationRecipe,
    run: RunFolder,
    source: Tokenizer,
    target: Tokenizer,
    pairs: EncodedPairs,
    corpora: Corpora,
    device: torch.device,
    watcher: TrainingWatcher,
) -> Job:
    """Binds model, objective and validation together for the loop."""
    held = corpora.valid
    torch.manual_seed(recipe.train.seed)
    model = Transformer(recipe.model, source_vocabulary=len(source), target_vocabulary=len(target)).to(device)
    translator = Translator(model, source, target, recipe)
    for part in (held, corpora.measured()):
        check_positions(translator, part)
    most = 10 * recipe.data.max_tokens
    limit = f"10 x data.max_tokens = {most}"
    held_pairs = encode(held.corpus(), source, target, most=most, limit=limit, watcher=watcher)
    return Job(
        model=model,
        pairs=pairs,
        settings=recipe.train,
        loss=partial(token_loss, model, label_smoothing=recipe.train.label_smoothing),
        validate=lambda: validate_translator(translator, held_pairs, held.first(recipe.train.valid_sentences)),
        run=run,
        watcher=watcher,
        device=device,
    )


def check_positions(translator: Translator, held: Held) -> None:
    """A held-out sentence that the model has no positions for would end the training at its first validation."""
    if translator.longest is None:
        return
    sides = (translator.source, held.sources), (translator.target, [options[0] for options in held.references])
    for tokenizer, texts in sides:
        needed, text = max((len(row) + 1, text) for row, text in zip(tokenizer.encode_batch(texts), texts, strict=True))
        if needed > translator.longest:
            raise DataError(
                f"model.max_length = {translator.longest} is too small for a held-out sentence of {needed} tokens: "
                f"{text[:40]!r}... Raise it, or take other positions than learned ones."
            )


def validate_translator(translator: Translator, pairs: EncodedPairs, sample: Held) -> dict[str, float]:
    """Loss per token on all held-out pairs; BLEU and chrF of greedy translations of a part of them."""
    hypotheses = translator.translate(sample.sources, beam=1)
    bleu, chrf = bleu_and_chrf(hypotheses, sample.references)
    return {"loss": held_loss(translator, pairs), "bleu": bleu, "chrf": chrf}


@torch.inference_mode()
def held_loss(translator: Translator, pairs: EncodedPairs) -> float:
    """Cross-entropy per target token, without label smoothing."""
    total, count = 0.0, 0
    for index in epoch_batches(pairs.lengths, tokens=8192, seed=0, epoch=0):
        batch = pairs.batch(index).to(translator.device)
        loss, tokens = token_loss(translator.model, batch, label_smoothing=0.0)
        total, count = total + loss.item(), count + tokens
    return total / count


def finish(run: RunFolder, model: nn.Module, progress: Progress) -> None:
    """The best weights become the run's own."""
    best = run.checkpoint(progress.best_step)
    load_weights(model, best.weights, origin=f"checkpoint {best.step}")
    ended = {"stopped": progress.stopped, "best_step": progress.best_step, "steps": progress.step}
    run.finish(best.weights, about={"training": {**ended, "seconds": round(progress.seconds, 1)}})


def write_report(
    translator: Translator, run: RunFolder, corpora: Corpora, *, pairs: int, watcher: TrainingWatcher
) -> None:
    """report.html, and what it measured as the last line of the metrics."""
    gold, held = corpora.gold, corpora.measured()
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        watcher.on_count(done, len(held.sources))

    scores, hypotheses = translator.evaluate(held.sources, held.references, beam=1, progress=count)
    head = best_alignment_head(translator, gold.valid, gold.test) if gold else None
    part = "unseen sentences" if gold else "validation sentences"
    measured = Measured(scores, held.sources, held.references, hypotheses, part=part)
    shown = shown_phrase(gold.test) if gold else None
    run.write_report(make_report(translator, run, measured, train_pairs=pairs, alignment=head, phrase=shown))
    # Without a step: it is of the chosen weights, and made again should the run be cut off before its very end.
    values = {score.name: score.value for score in scores}
    run.append_metrics({"measured": values, "alignment": None if head is None else asdict(head)})
