"""The report of a run: what it learned, how well, and one sentence opened up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from glassformer.data.checks.findings import Findings
from glassformer.data.phrasebook import Phrase
from glassformer.data.settings import DataSettings
from glassformer.data.token_cache import TokenCache
from glassformer.evaluate.score import Score
from glassformer.explain.data_report import Learning, shown_data
from glassformer.explain.page import render_report
from glassformer.explain.progress import ShownProgress, Watched, watched
from glassformer.explain.report import Report, Sample, ShownAlignment, ShownData, shown_sentence
from glassformer.explain.trace import Explanation
from glassformer.explain.verdict import verdict
from glassformer.nn.positions import FixedPositions, LearnedPositions
from glassformer.store.run import RunFolder
from glassformer.tasks.translation.alignment import AlignmentHead, piece_links
from glassformer.tasks.translation.going_on import noted_changes
from glassformer.tasks.translation.material import Held
from glassformer.tasks.translation.translator import Translator
from glassformer.tasks.translation.validation import watched_places

SAMPLES, POSITIONS = 24, 64


@dataclass(frozen=True)
class Measured:
    """A translator measured on held-out sentences."""

    scores: list[Score]
    sources: Sequence[str]
    references: Sequence[Sequence[str]]
    hypotheses: list[str]
    part: str  # what they are, for a reader: unseen, or those that training was steered by


def make_report(
    translator: Translator,
    run: RunFolder,
    measured: Measured,
    *,
    train_pairs: int | None = None,
    valid: Held | None = None,
    alignment: AlignmentHead | None = None,
    phrase: Phrase | None = None,
    data: ShownData | None = None,
) -> str:
    """The page as HTML. A short held-out sentence is opened up: `phrase`, whose alignment is known, if there is one.

    `valid` are the sentences that were translated at each validation.
    """
    curves = course(run)
    explained = translator.explain(phrase.source if phrase else shown_by_default(measured.sources))
    vocabulary = len(translator.target)
    report = Report(
        title=f"Run {run.path.name}",
        subtitle=f"A Transformer trained to translate, from {translator.origin}",
        facts=facts(translator, run, train_pairs),
        verdict=verdict(
            curves,
            measured.scores,
            train_pairs=train_pairs,
            vocabulary=vocabulary,
            dropout=translator.recipe.model.dropout,
            part=measured.part,
        ),
        part=measured.part,
        scores=measured.scores,
        curves=curves,
        watched=[] if valid is None else watched_sentences(valid, curves),
        samples=samples(measured),
        sentence=shown_sentence(explained, trace=traces(translator, explained.text)),
        positions=position_table(translator),
        alignment=None if alignment is None else shown_alignment(translator, alignment, explained, phrase),
        data=data,
    )
    return render_report(report)


def make_live_report(
    translator: Translator, run: RunFolder, progress: ShownProgress, *, train_pairs: int, valid: Held
) -> str:
    """The page of a training that goes on: nothing is computed for it but what training has measured anyway."""
    curves = course(run)
    report = Report(
        title=f"Run {run.path.name}",
        subtitle="A Transformer that learns to translate",
        facts=facts(translator, run, train_pairs),
        progress=progress,
        curves=curves,
        watched=watched_sentences(valid, curves),
    )
    return render_report(report)


def course(run: RunFolder) -> list[dict[str, Any]]:
    """The records of the steps; the closing measurement is of none."""
    return [record for record in run.metrics() if "step" in record]


def watched_sentences(valid: Held, curves: Sequence[Mapping[str, Any]]) -> list[Watched]:
    """The few sentences that are kept at each validation, and what was made of them."""
    return watched([(valid.sources[i], valid.references[i]) for i in watched_places(valid)], curves)


def learnt_from(findings: Findings, pairs: TokenCache, settings: DataSettings) -> ShownData:
    """The sentences of the run, and what became of them."""
    return shown_data(
        findings, Learning(len(pairs), pairs.left_out, most=settings.max_tokens, filters=settings.filters)
    )


def shown_by_default(sources: Sequence[str]) -> str:
    """The first sentence of a length that a page shows well, or the shortest."""
    fitting = (text for text in sources if 4 <= len(text.split()) <= 9)
    return next(fitting, min(sources, key=len))


def shown_phrase(phrases: Sequence[Phrase]) -> Phrase:
    """The phrase of the sentence that would be shown anyway."""
    source = shown_by_default([phrase.source for phrase in phrases])
    return next(phrase for phrase in phrases if phrase.source == source)


def facts(translator: Translator, run: RunFolder, train_pairs: int | None) -> dict[str, list[tuple[str, str]]]:
    """What a reader asks first: the model's shape, its training, its data."""
    recipe, about = translator.recipe, run.about()
    model, train, training = recipe.model, recipe.train, about.get("training", {})
    parameters = sum(p.numel() for p in translator.model.parameters())
    shared = translator.source is translator.target
    vocabulary = f"{len(translator.target):,} {'shared' if shared else 'target'} tokens ({translator.target.kind})"
    return {
        "Model": [
            ("Layers", f"{model.N} encoder + {model.N_decoder or model.N} decoder, {model.norm}-norm"),
            ("Width", f"d {model.d}, {model.h} heads, d_ff {model.d_ff}"),
            ("Parameters", f"{parameters:,}"),
            ("Vocabulary", vocabulary),
        ],
        "Training": [
            *ended_facts(training),
            ("Machine", f"{train.device}, {train.threads} threads" + in_words(train.ranks)),
            ("Learning rate", f"{train.lr:g}, {train.schedule} after {train.warmup} steps of warm-up"),
            *([("Pairs", f"{train_pairs:,}")] if train_pairs else []),
            *((f"Changed at step {step:,}", changes) for step, changes in noted_changes(about)),
        ],
    }


def ended_facts(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is known once a training has ended."""
    if not training:
        return []
    seconds = training.get("elapsed_seconds", training["seconds"])
    return [
        ("Steps", f"{training['steps']:,}, best at {training['best_step']:,}"),
        ("Time", f"{seconds:,.0f} s, of which {training['seconds']:,.0f} s in steps"),
    ]


def in_words(ranks: int | None) -> str:
    return f" in each of {ranks} processes" if ranks and ranks > 1 else ""


def samples(measured: Measured) -> list[Sample]:
    """Held-out sentences as they were translated: all the wrong ones first would mislead, so simply the first."""
    rows = zip(measured.sources, measured.references, measured.hypotheses, strict=True)
    return [
        Sample(source, tuple(references), hypothesis, exact=hypothesis in references)
        for source, references, hypothesis in list(rows)[:SAMPLES]
    ]


def traces(translator: Translator, text: str) -> list[str]:
    """How the tokenizer cut the longest word of the text."""
    longest = max(text.split(), key=len)
    return str(translator.source.trace(longest)).splitlines()


def position_table(translator: Translator) -> list[list[float]]:
    """The encoder's position vectors, if it adds any."""
    positions = translator.model.encoder.inputs.positions
    if not isinstance(positions, FixedPositions | LearnedPositions):
        return []
    with torch.inference_mode():
        table: list[list[float]] = positions(min(POSITIONS, translator.longest or POSITIONS)).tolist()
    return table


def shown_alignment(
    translator: Translator, head: AlignmentHead, explained: Explanation, phrase: Phrase | None
) -> ShownAlignment:
    """The best head; with the true links of the shown sentence, if it was translated as the phrasebook does."""
    known = phrase is not None and explained.translation == phrase.references[0]
    links = piece_links(translator, phrase) if phrase is not None and known else ()
    return ShownAlignment(head.layer, head.head, valid_aer=head.valid_error, test_aer=head.test_error, links=links)
