"""Validating a translator while it trains: loss on all held-out sentences, BLEU and chrF on some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glassformer.data.batches import EncodedPairs, Ragged, epoch_batches
from glassformer.decode import search
from glassformer.errors import DataError
from glassformer.evaluate.translation import bleu_and_chrf
from glassformer.tasks.translation.material import Held
from glassformer.tasks.translation.requests import Request, Sentences
from glassformer.tasks.translation.translator import Translator, marks_of
from glassformer.tasks.translation.watching import TrainingWatcher
from glassformer.text import Tokenizer
from glassformer.train.objective import token_loss
from glassformer.train.ranks import ALONE, Ranks

BATCH_TOKENS = 8192  # of the pairs whose loss is measured
WATCHED = 6  # sentences whose translation can be read as it improves


def encode_held(
    held: Held,
    source: Tokenizer,
    target: Tokenizer,
    *,
    most: int,
    watcher: TrainingWatcher,
    start: str | None = None,
) -> EncodedPairs:
    """The sentences to validate with as ids, without pairs that have a side of no or more than `most` tokens."""
    rows = [
        tokenizer.encode_batch(side)
        for tokenizer, side in zip((source, target), zip(*held.pairs(), strict=True), strict=True)
    ]
    kept = [(s, t) for s, t in zip(*rows, strict=True) if s and t and max(len(s), len(t)) <= most]
    limit = f"10 x data.max_tokens = {most}"
    tell_left_out(len(held.sources) - len(kept), len(kept), limit=limit, watcher=watcher)
    marks = [marks_of(tokenizer, start) for tokenizer in (source, target)]
    return EncodedPairs(Ragged.of([s for s, _ in kept]), Ragged.of([t for _, t in kept]), *marks)


def tell_left_out(left_out: int, kept: int, *, limit: str, watcher: TrainingWatcher) -> None:
    if not kept:
        raise DataError(f"All {left_out:,} pairs are longer than {limit} tokens. Raise it.")
    if left_out:
        watcher.on_stage(f"Left out {left_out:,} pairs: longer than {limit} tokens, or empty")


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


def validate_translator(
    translator: Translator, pairs: EncodedPairs, sample: Held, ranks: Ranks = ALONE
) -> dict[str, Any]:
    """Loss per token on all held-out pairs; BLEU and chrF of greedy translations of a part of them, some to be read.

    Several ranks share the batches that one would make, so that each comes out as it would there.
    """
    hypotheses = greedy_translations(translator, sample.sources, ranks)
    bleu, chrf = bleu_and_chrf(hypotheses, sample.references, language=translator.target_language)
    shown = [hypotheses[i] for i in watched_places(sample)]
    return {"loss": held_loss(translator, pairs, ranks), "bleu": bleu, "chrf": chrf, "samples": shown}


def greedy_translations(translator: Translator, sources: Sequence[str], ranks: Ranks = ALONE) -> list[str]:
    """The translation of each text by greedy search, batch by batch, each on one rank."""
    rows = translator.source.encode_batch([text.strip() for text in sources])
    request = Request(translator.recipe.decode, beam=1)
    batches = list(request.batches_of(rows))
    own = [greedy_texts(translator, request, rows, index) for index in ranks.own(batches)]
    found = {
        i: text
        for index, texts in zip(batches, ranks.united(own), strict=True)
        for i, text in zip(index, texts, strict=True)
    }
    return [found.get(i, "") for i in range(len(sources))]  # a blank text is in no batch


def greedy_texts(
    translator: Translator, request: Request, rows: Sequence[Sequence[int]], index: Sequence[int]
) -> list[str]:
    """Of one batch, as they come: what has gone wrong shall count."""
    batch = Sentences.of_ids([rows[i] for i in index])
    return [options[0].text for options in translator.translated(batch, request, guard=False)]


def watched_places(sample: Held) -> list[int]:
    """Which held-out sentences are shown again at every validation: a few of good length, from all over the sample."""
    fitting = [i for i, source in enumerate(sample.sources) if 5 <= len(source.split()) <= 16]
    places = fitting if len(fitting) >= WATCHED else list(range(len(sample.sources)))
    return [places[i * len(places) // WATCHED] for i in range(WATCHED)] if len(places) > WATCHED else places


@torch.inference_mode()
def held_loss(translator: Translator, pairs: EncodedPairs, ranks: Ranks = ALONE) -> float:
    """Cross-entropy per target token, without label smoothing."""
    own = []
    for index in ranks.own(epoch_batches(pairs.lengths, tokens=BATCH_TOKENS, seed=0, epoch=0)):
        batch = pairs.batch(index).to(translator.device)
        loss, tokens = token_loss(translator.model, batch, label_smoothing=0.0)
        own.append((loss.item(), tokens))
    losses, counts = zip(*ranks.united(own), strict=True)
    return float(sum(losses)) / int(sum(counts))


@torch.inference_mode()
def rehearse_validation(translator: Translator, pairs: EncodedPairs, sentences: int) -> None:
    """The work of one validation by a model that is not trained yet: it writes as much as the references have."""
    held_loss(translator, pairs)
    rows = [pairs.sources[i].tolist() for i in range(min(sentences, len(pairs)))]
    request = Request(translator.recipe.decode, beam=1)
    for index in request.batches_of(rows):
        batch = Sentences.of_ids([rows[i] for i in index])
        search(translator.task(batch, request, limits=pairs.lengths[index, 1]))
