"""The results of claims as a page in the browser, as lines for a terminal, and as docs/claims.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.explain.page import render_report
from glassformer.explain.report import Report, ShownLines, ShownTable
from glassformer.tasks.experiments.repeated import aligned

INTRODUCTION = """\
# Claims, measured

What is said about Transformers and the models before them, each as an experiment that you can repeat:

    glassformer experiment claims --out runs/claims
    glassformer experiment claims beam layers --out runs/claims

Every claim has an experiment with {seeds} seeds and {steps:,} updates of a small model (width {width}), unless it
names another number, and a verdict that follows from the numbers by the rule given here. "Clearly" means that the
whole 95% interval over the seeds (Student's t) is on one side. The sentences are those of a small language of sixty
words that the experiment draws itself: English clauses with German translations, with genders, cases, verbs and
adverbs that move, and an "it" that only its adjective explains. A model learns it in seconds, so that every
difference can be measured several times. It is no English: the verdicts are about these models on these sentences,
and larger models on real texts may differ. "Not confirmed" means not shown here, not that the opposite is true. Wide
intervals show where more seeds or updates (`--seeds`, `--steps`) are needed.

This page is written by `make claims` from claims.json, beside it.
"""


def claims_markdown(results: Mapping[str, Any]) -> str:
    """docs/claims.md."""
    settings = results["settings"]
    parts = [
        INTRODUCTION.format(seeds=settings["seeds"], steps=settings["steps"], width=settings["model"]["d"]),
        table(("claim", "verdict", "name"), overview(results)),
    ]
    for key, found in results["claims"].items():
        parts.append(
            f"## {found['says'].removesuffix('.')}\n\n`glassformer experiment claims {key} --out runs/claims`\n"
        )
        parts.append(f"{found['how']}\n")
        parts.append(table(found["head"], found["rows"]))
        parts.append(f"**{capital(found['verdict'])}.** {found['why']}\n")
    return "\n".join(parts)


def overview(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["says"], one["verdict"], f"`{key}`") for key, one in results["claims"].items()]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def claims_lines(results: Mapping[str, Any], names: Sequence[str] = ()) -> list[str]:
    """For a terminal: each claim with its table and verdict."""
    found = []
    for key, one in results["claims"].items():
        if not names or key in names:
            found += [one["says"], *aligned(one["head"], one["rows"]), f"{capital(one['verdict'])}. {one['why']}", ""]
    return found[:-1]


def claims_page(results: Mapping[str, Any]) -> str:
    """One page, offline."""
    settings = results["settings"]
    each = f"{settings['seeds']} seeds, {settings['steps']} updates"
    summary = ShownTable("overview", "Verdicts", "", ("claim", "verdict", "name"), tuple(overview(results)))
    tables = [
        ShownTable(
            key,
            one["says"],
            f"{one['how']} {capital(one['verdict'])}: {one['why']}",
            tuple(one["head"]),
            tuple(tuple(row) for row in one["rows"]),
        )
        for key, one in results["claims"].items()
    ]
    lines = [drawn(one) for found in results["claims"].values() for one in found["lines"]]
    return render_report(Report("Claims, measured", each, about="experiments", tables=[summary, *tables], lines=lines))


def drawn(chart: Mapping[str, Any]) -> ShownLines:
    points = ((name, tuple((x, y) for x, y in own)) for name, own in chart["lines"].items())
    return ShownLines(chart["title"], "", chart["across"], tuple(points))
