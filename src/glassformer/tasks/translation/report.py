"""The parts that only the report of a translator has: one sentence in detail, samples, alignments, the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import torch

from glassformer.data.checks.findings import Findings
from glassformer.data.mixing import Mixture
from glassformer.data.phrasebook import Phrase
from glassformer.data.settings import DataSettings
from glassformer.data.token_cache import TokenCache
from glassformer.explain.data_report import Learning, shown_data
from glassformer.explain.explanation import Explanation
from glassformer.explain.report import Sample, ShownAlignment, ShownData, certain, shown_sentence
from glassformer.nn.positions import FixedPositions, LearnedPositions
from glassformer.tasks.evaluating import Evaluation
from glassformer.tasks.translation.alignment import AlignmentHead, attends, best_alignment_head, piece_links
from glassformer.tasks.translation.translator import Translator
from glassformer.training.prepare import Prepared
from glassformer.training.task import ReportParts

SAMPLES, POSITIONS = 24, 64


def report_parts(translator: Translator, found: Evaluation, prepared: Prepared) -> ReportParts:
    """A short held-out sentence in detail, samples, positions, the best head for alignments, and the data.

    If there is a sentence with a gold alignment, that sentence is shown in detail.
    """
    gold, findings = prepared.material.facts.get("gold"), prepared.material.facts.get("findings")
    sources = [source for source, _ in found.examples]
    phrase = shown_phrase(gold.test) if gold else None
    explained = translator.explain(phrase.source if phrase else shown_by_default(sources))
    head = best_alignment_head(translator, gold.valid, gold.test) if gold and attends(translator) else None
    page = {
        "samples": samples(found),
        "sentence": shown_sentence(
            explained,
            trace=traces(translator, explained.text),
            certain=certain(prepared.setup.recipe.train.label_smoothing, len(translator.target)),
        ),
        "positions": position_table(translator),
        "alignment": None if head is None else shown_alignment(translator, head, explained, phrase),
        "data": learnt_from(findings, prepared.examples, translator.recipe.data) if findings else None,
    }
    return ReportParts(page, {"alignment": None if head is None else asdict(head)})


def learnt_from(findings: Findings, pairs: TokenCache | Mixture, settings: DataSettings) -> ShownData:
    """The sentences of the run, and how they were used."""
    return shown_data(
        findings, Learning(len(pairs), pairs.left_out, most=settings.max_tokens, filters=settings.filters)
    )


def shown_by_default(sources: Sequence[str]) -> str:
    """The first sentence with a length that fits on a page, or the shortest sentence."""
    fitting = (text for text in sources if 4 <= len(text.split()) <= 9)
    return next(fitting, min(sources, key=len))


def shown_phrase(phrases: Sequence[Phrase]) -> Phrase:
    """The phrase whose sentence is shown by default."""
    source = shown_by_default([phrase.source for phrase in phrases])
    return next(phrase for phrase in phrases if phrase.source == source)


def samples(found: Evaluation) -> list[Sample]:
    """The first held-out sentences with their translations; choosing the wrong ones would be misleading."""
    rows = list(zip(found.examples, found.predictions, strict=True))[:SAMPLES]
    return [
        Sample(source, tuple(references), hypothesis, exact=hypothesis in references)
        for (source, references), hypothesis in rows
    ]


def traces(translator: Translator, text: str) -> list[str]:
    """How the tokenizer cut the longest word of the text."""
    longest = max(text.split(), key=len)
    return str(translator.source.trace(longest)).split("\n")


def position_table(translator: Translator) -> list[list[float]]:
    """The encoder's position vectors, if it adds any."""
    positions = getattr(translator.model.encoder.inputs, "positions", None)
    if not isinstance(positions, FixedPositions | LearnedPositions):
        return []
    with torch.inference_mode():
        table: list[list[float]] = positions(min(POSITIONS, translator.longest or POSITIONS)).tolist()
    return table


def shown_alignment(
    translator: Translator, head: AlignmentHead, explained: Explanation, phrase: Phrase | None
) -> ShownAlignment:
    """The best head; with the gold links of the shown sentence, if its translation equals that of the phrasebook."""
    known = phrase is not None and explained.translation == phrase.references[0]
    links = piece_links(translator, phrase) if phrase is not None and known else ()
    return ShownAlignment(head.layer, head.head, valid_aer=head.valid_error, test_aer=head.test_error, links=links)
