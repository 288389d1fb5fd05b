"""`glassformer compare`: runs side by side, on the same sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.checking import two
from glassformer.cli.outputs import check_new_file
from glassformer.cli.running import Beam, Device, evaluation_set
from glassformer.cli.several import several_values

if TYPE_CHECKING:
    from glassformer.tasks.translation.comparison import Comparison, Contestant
    from glassformer.tasks.translation.material import Held

EXAMPLES = """
[bold]Examples[/bold]

  glassformer compare runs/a runs/b
      [dim]on what both have held out: settings that differ, curves, scores, and whether the difference is chance[/dim]

  glassformer compare runs/a runs/b runs/c --test test.en test.de

  glassformer compare runs/a runs/b --report compared.html

  glassformer compare runs/a runs/b --json | jq .against_first

Runs that are still in training are compared by their latest checkpoint.
"""
CURVES = (("valid_loss", "loss", ".3f", min), ("valid_bleu", "BLEU", ".1f", max))


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES, cls=several_values({"--test"}))(compare)


def compare(
    runs: Annotated[list[str], typer.Argument(help="Run folders, two or more; the others are held against the first.")],
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE...", help="Sentences to compare on: source and reference file, or one with both."),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead: the test part of a named corpus.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="Tables: the two columns, by name or number (from 1).")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(metavar="EN,DE", help="TMX and JSON lines: the two languages.")
    ] = None,
    beam: Beam = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page, a new .html file.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    device: Device = "cpu",
) -> None:
    """Compare runs: settings, curves, and scores on the same held-out sentences with a paired significance test."""
    if report is not None:
        check_new_file(report)

    from glassformer.cli.display import StageDisplay
    from glassformer.tasks.translation.comparison import compare_runs

    names = [name.rstrip("/") or name for name in runs]
    held = given_sentences(names[0], test, corpus, columns=columns, languages=languages)
    part = f"test sentences of {corpus}" if corpus else "given sentences"
    with StageDisplay() as display:
        found = compare_runs(names, held, part=part, beam=beam, device=device, listener=display)
    if report is not None:
        from glassformer.tasks.translation.comparison_report import comparison_page

        report.write_text(comparison_page(found), encoding="utf-8")
    if json_:
        typer.echo(json.dumps(as_data(found), ensure_ascii=False))
        return
    for line in shown(found):
        typer.echo(line)


def given_sentences(
    run: str, test: list[str] | None, corpus: str | None, *, columns: str | None, languages: str | None
) -> Held | None:
    """The sentences that were asked for; None: those that the runs held out."""
    if not test and corpus is None:
        return None
    from glassformer.tasks.translation.translator import open_recipe

    data = open_recipe(run).data.model_copy(update={"columns": two("--columns", columns)})
    if languages is not None:
        data = data.model_copy(update={"languages": two("--languages", languages)})
    return evaluation_set(test or [], corpus, data)


# On the terminal: plain lines, which also pipe


def shown(found: Comparison) -> Iterator[str]:
    names = [one.name for one in found.contestants]
    yield f"{', '.join(names[:-1])} and {names[-1]} on {found.sentences:,} {found.part}"
    yield "\nWhat differs"
    differs = [[name, *map(value_text, values)] for name, values in found.settings]
    yield from table([["", *names], *differs] if differs else [["nothing in the settings"]])
    yield "\nHow they learned (from step 0 on, drawn to the same scale)"
    yield from curve_lines(found.contestants)
    yield "\nScores, with 95% intervals"
    by_metric = zip(*found.scores, strict=True)
    cells = [[row[0].name, *(f"{s.value:.1f}  ({s.low:.1f} to {s.high:.1f})" for s in row)] for row in by_metric]
    yield from table([["", *names], *cells])
    yield ""
    for pairing in found.pairings:
        yield from pairing.words
    yield from sentence_lines(found)
    yield ""
    yield from (f"Note: {note}" for note in found.notes)


def value_text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def curve_lines(contestants: Sequence[Contestant]) -> Iterator[str]:
    """For each curve and run: the curve in small, where it ended, and its best."""
    from glassformer.explain.difference import sparkline
    from glassformer.train.plan import duration

    width = max(len(one.name) for one in contestants)
    for key, name, form, best_of in CURVES:
        curves = [[(row["step"], row[key]) for row in one.validations if key in row] for one in contestants]
        values = [value for points in curves for _, value in points]
        for one, points in zip(contestants, curves, strict=True):
            if not points:
                yield f"  {name:<5} {one.name:<{width}}  not validated yet"
                continue
            until = max(step for other in curves for step, _ in other)
            line = sparkline(points, until=until, low=min(values), high=max(values))
            step, best = best_of(points, key=lambda point: point[1])
            took = duration(one.validations[-1].get("elapsed_seconds", 0))
            yield (
                f"  {name:<5} {one.name:<{width}}  {line}  best {best:{form}} at step {step:,}, "
                f"{points[-1][1]:{form}} after {points[-1][0]:,} steps and {took}"
            )


def sentence_lines(found: Comparison) -> Iterator[str]:
    """Where they differ most, to be read."""
    if not found.most_different:
        return
    names = [one.name for one in found.contestants]
    width = max(len(name) for name in (*names, "reference"))
    yield "\nWhere they differ most (chrF of the sentence)"
    for row in found.most_different:
        yield f"  {'source':<{width}}         {row.source}"
        yield f"  {'reference':<{width}}         {row.references[0]}"
        for name, text, chrf in zip(names, row.translations, row.chrf, strict=True):
            yield f"  {name:<{width}}  {chrf:5.1f}  {text}"
        yield ""


def as_data(found: Comparison) -> dict[str, Any]:
    """The comparison for another program."""
    runs = [
        {
            "run": one.name,
            "weights": one.origin,
            "parameters": one.parameters,
            "scores": [asdict(score) for score in scores],
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
        "settings": dict(found.settings),
        "runs": runs,
        "against_first": against,
        "most_different": [asdict(row) for row in found.most_different],
        "notes": found.notes,
    }
