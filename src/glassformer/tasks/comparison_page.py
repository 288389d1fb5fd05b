"""A comparison of runs as a page."""

from __future__ import annotations

from glassformer.explain.charts import columns_of, compared_charts, run_charts, shown_metrics
from glassformer.explain.comparison import ShownComparison, ShownDifference, ShownDifferent
from glassformer.explain.page import curve_point, render_report, thinned
from glassformer.explain.report import Report
from glassformer.tasks.comparing import Comparison, value_text


def comparison_page(found: Comparison) -> str:
    """The page as HTML."""
    names = [one.name for one in found.contestants]
    how = f", {found.decoding}" if found.decoding else ""
    report = Report(
        title=" and ".join(names),
        subtitle=f"On the same {found.sentences:,} {found.part}{how}",
        about="runs compared",
        verdict=[pairing.words[0] for pairing in found.pairings],
        compared=shown_comparison(found, names),
    )
    return render_report(report)


def shown_comparison(found: Comparison, names: list[str]) -> ShownComparison:
    metrics = shown_metrics(found.metrics)
    columns = [key for key in columns_of(run_charts(metrics)) if key != "step"]
    judge = [] if found.judged_by is None else shown_metrics([found.judged_by])
    return ShownComparison(
        names=names,
        settings=[(name, [value_text(value) for value in values]) for name, values in found.settings],
        curves=[
            {"step": record["step"], **{f"{key} {i}": value for key, value in curve_point(record, columns).items()}}
            for i, one in enumerate(found.contestants)
            for record in thinned(one.records)
        ],
        scores=found.shown_scores,
        differences=[
            ShownDifference(
                pairing.name,
                row.metric,
                row.value,
                row.low if found.decides else None,
                row.high if found.decides else None,
                p if found.decides else None,
                words,
            )
            for pairing in found.pairings
            for row, p, words in zip(pairing.differences, pairing.p, pairing.words, strict=True)
        ],
        sentences=[
            ShownDifferent(row.source, row.references, tuple(row.predictions), tuple(row.scores))
            for row in found.most_different
        ],
        notes=found.notes,
        metrics=metrics,
        charts=compared_charts(metrics, names, found.task.held_units),
        judged_by=next(iter(judge), None),
    )
