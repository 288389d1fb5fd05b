"""`glassformer compare`: runs side by side, on the same held-out examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.checking import two
from glassformer.cli.evaluating import Beam, Columns, Device, Languages, evaluation_set, is_translator, refuse_options
from glassformer.cli.multi_value import several_values
from glassformer.cli.outputs import check_new_file
from glassformer.printable import printable_lines

if TYPE_CHECKING:
    from glassformer.evaluate.metric import Metric
    from glassformer.evaluate.score import Score
    from glassformer.tasks.comparing import Comparison, Contestant

EXAMPLES = """
[bold]Examples[/bold]

  glassformer compare runs/a runs/b
      [dim]on held-out data of both: settings that differ, curves, scores, and whether differences may be chance[/dim]

  glassformer compare runs/a runs/b runs/c --test test.en test.de

  glassformer compare runs/mood-1 runs/mood-2 --test test.tsv --columns text,label

  glassformer compare runs/a runs/b --report compared.html

  glassformer compare runs/a runs/b --json | jq .against_first

Runs that are still in training are compared by their latest checkpoint.
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES, cls=several_values({"--test"}))(compare)


def compare(
    runs: Annotated[list[str], typer.Argument(help="Two or more run folders; the others are compared with the first.")],
    test: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE...",
            help="Files to compare on, in the format of the training data. Translators: a source and a reference file, "
            "or one file with both. Default: the examples that all runs have held out.",
        ),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="NAME", help="Translators: the test part of a named corpus instead.")
    ] = None,
    columns: Columns = None,
    languages: Languages = None,
    beam: Beam = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page, a new .html file.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    device: Device = "cpu",
) -> None:
    """Compare runs of one task: settings, curves, and scores on the same held-out data with a paired test."""
    if report is not None:
        check_new_file(report)

    from glassformer.cli.display import StageDisplay
    from glassformer.tasks.comparing import compare_runs

    names = [name.rstrip("/") or name for name in runs]
    given = None
    if is_translator(names[0]):
        given = given_sentences(names[0], test, corpus, columns=columns, languages=languages)
    else:
        refuse_options(names[0], {"--corpus": corpus, "--languages": languages, "--beam": beam})
    part = f"test sentences of {corpus}" if corpus else ""
    with StageDisplay() as display:
        found = compare_runs(
            names, given, files=test or (), columns=columns, part=part, beam=beam, device=device, listener=display
        )
    if report is not None:
        from glassformer.tasks.comparison_page import comparison_page

        report.write_text(comparison_page(found), encoding="utf-8")
    if json_:
        typer.echo(json.dumps(as_data(found), ensure_ascii=False))
        return
    for line in shown(found):
        typer.echo(printable_lines(line))


def given_sentences(
    run: str, test: list[str] | None, corpus: str | None, *, columns: str | None, languages: str | None
) -> list[Any] | None:
    """The sentences of the given files or corpus; None: those that the runs held out."""
    if not test and corpus is None:
        return None
    from glassformer.tasks.translation.loading import open_recipe

    data = open_recipe(run).data
    if columns is not None:
        data = data.model_copy(update={"columns": two("--columns", columns)})
    if languages is not None:
        data = data.model_copy(update={"languages": two("--languages", languages)})
    return evaluation_set(test or [], corpus, data).questions()


# For the terminal: plain lines, which can also be piped


def shown(found: Comparison) -> Iterator[str]:
    from glassformer.tasks.comparing import value_text

    names = [one.name for one in found.contestants]
    how = f", {found.decoding}" if found.decoding else ""
    yield f"{', '.join(names[:-1])} and {names[-1]} on {found.sentences:,} {found.part}{how}"
    yield "\nWhat differs"
    differs = [[name, *map(value_text, values)] for name, values in found.settings]
    yield from table([["", *names], *differs] if differs else [["nothing in the settings"]])
    yield "\nLearning curves (from step 0, on the same scale)"
    yield from curve_lines(found)
    yield "\nScores, with 95% intervals" if found.decides else "\nScores"
    cells = [
        [metric.label, *(score_text(score, metric) for score in row)]
        for metric, row in zip(found.metrics, zip(*found.shown_scores, strict=True), strict=True)
    ]
    yield from table([["", *names], *cells])
    yield ""
    for pairing in found.pairings:
        yield from pairing.words
    yield from sentence_lines(found)
    yield ""
    yield from (f"Note: {note}" for note in found.notes)


def score_text(score: Score, metric: Metric) -> str:
    if score.low is None or score.high is None:
        return metric.shown(score.value)
    return f"{metric.shown(score.value)}  ({metric.shown(score.low)} to {metric.shown(score.high)})"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def curve_lines(found: Comparison) -> Iterator[str]:
    """For the loss and the headline metric of each run: a small curve, its last value, and its best."""
    from glassformer.evaluate.metric import LOSS, headline

    first = headline(found.metrics)
    drawn = [("loss", LOSS), *([(first.label, first)] if first else [])]
    names = max(len(name) for name, _ in drawn)
    for name, metric in drawn:
        yield from curves_by(metric, f"{name:<{names}}", found.contestants)


def curves_by(metric: Metric, name: str, contestants: Sequence[Contestant]) -> Iterator[str]:
    from glassformer.explain.difference import sparkline
    from glassformer.training.plan import duration

    width, key = max(len(one.name) for one in contestants), f"valid_{metric.key}"
    curves = [[(row["step"], row[key]) for row in one.validations if key in row] for one in contestants]
    values = [value for points in curves for _, value in points]
    for one, points in zip(contestants, curves, strict=True):
        if not points:
            yield f"  {name} {one.name:<{width}}  not validated yet"
            continue
        until = max(step for other in curves for step, _ in other)
        line = sparkline(points, until=until, low=min(values), high=max(values))
        step, best = (max if metric.higher_is_better else min)(points, key=lambda point: point[1])
        took = duration(one.validations[-1].get("elapsed_seconds", 0))
        yield (
            f"  {name} {one.name:<{width}}  {line}  best {metric.shown(best)} at step {step:,}, "
            f"{metric.shown(points[-1][1])} after {points[-1][0]:,} steps and {took}"
        )


def sentence_lines(found: Comparison) -> Iterator[str]:
    """The examples on which the runs differ most."""
    if not found.most_different or found.judged_by is None:
        return
    names, metric = [one.name for one in found.contestants], found.judged_by
    width = max(len(name) for name in (*names, "reference"))
    yield f"\nWhere they differ most (by {metric.label})"
    for row in found.most_different:
        numbers = [metric.shown(score) for score in row.scores]
        wide = max(map(len, numbers))
        yield f"  {'source':<{width}}  {'':{wide}}  {row.source}"
        for reference in row.references[:1]:
            yield f"  {'reference':<{width}}  {'':{wide}}  {reference}"
        texts = row.predictions or [""] * len(names)
        for name, number, text in zip(names, numbers, texts, strict=True):
            yield f"  {name:<{width}}  {number:>{wide}}  {text}".rstrip()
        yield ""


def as_data(found: Comparison) -> dict[str, Any]:
    """The comparison for another program."""
    runs = [
        {
            "run": one.name,
            "weights": one.origin,
            "parameters": one.parameters,
            "scores": [asdict(score) for score in scores],
            "fine_tuning": {key: one.closing[key] for key in ("new", "known") if key in one.closing} or None,
            "curves": one.records,
        }
        for one, scores in zip(found.contestants, found.scores, strict=True)
    ]
    against = [
        {
            "run": pairing.name,
            "differences": [
                {**asdict(row), "difference": row.value, "p_adjusted": p, "words": words}
                for row, p, words in zip(pairing.differences, pairing.p, pairing.words, strict=True)
            ],
        }
        for pairing in found.pairings
    ]
    return {
        "part": found.part,
        "sentences": found.sentences,
        "decides": found.decides,  # false: too few examples for intervals and p-values to mean anything
        "decoding": found.decoding,
        "settings": dict(found.settings),
        "runs": runs,
        "against_first": against,
        "most_different": [asdict(row) for row in found.most_different],
        "notes": found.notes,
    }
