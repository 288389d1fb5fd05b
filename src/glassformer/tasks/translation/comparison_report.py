"""A comparison of runs as a page."""

from __future__ import annotations

from glassformer.explain.comparison import ShownComparison, ShownDifference, ShownDifferent
from glassformer.explain.page import render_report, thinned
from glassformer.explain.report import CURVE_KEYS, Report
from glassformer.tasks.translation.comparison import Comparison


def comparison_page(found: Comparison) -> str:
    """The page as HTML."""
    names = [one.name for one in found.contestants]
    report = Report(
        title=" and ".join(names),
        subtitle=f"On the same {found.sentences:,} {found.part}",
        about="runs compared",
        verdict=[pairing.words[0] for pairing in found.pairings],
        compared=shown_comparison(found, names),
    )
    return render_report(report)


def shown_comparison(found: Comparison, names: list[str]) -> ShownComparison:
    return ShownComparison(
        names=names,
        settings=[(name, [str(value) for value in values]) for name, values in found.settings],
        curves=[
            {**{f"{key} {i}": record[key] for key in CURVE_KEYS if key in record}, "step": record["step"]}
            for i, one in enumerate(found.contestants)
            for record in thinned(one.records)
        ],
        scores=found.scores,
        differences=[
            ShownDifference(pairing.name, row.metric, row.value, row.low, row.high, p, words)
            for pairing in found.pairings
            for row, p, words in zip(pairing.differences, pairing.p, pairing.words, strict=True)
        ],
        sentences=[
            ShownDifferent(row.source, row.references, tuple(row.translations), tuple(row.chrf))
            for row in found.most_different
        ],
        notes=found.notes,
    )
