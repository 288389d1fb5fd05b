"""report.html: one self-contained file that shows a run. It loads nothing; every number is embedded once, as JSON."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from importlib.resources import files
from typing import Any

from glassformer.evaluate.score import Score
from glassformer.explain.charts import columns_of, run_charts
from glassformer.explain.comparison import ShownComparison
from glassformer.explain.report import CurvePoint, Report, ShownTable
from glassformer.printable import embedded, with_visible_directions

SCRIPTS = (
    "draw.js", "pieces.js", "matrix.js", "curves.js", "live.js", "watched.js", "results.js", "tables.js",
    "galleries.js", "compared.js", "sentence.js", "lengths.js", "steps.js", "reading.js", "attention.js",
    "positions.js", "corpus.js", "page.js",
)  # fmt: skip
DIGITS = 4  # significant digits of numbers that are drawn: more than a screen can show, and the file stays small
EXACT = (Score, ShownComparison, ShownTable)  # numbers that are printed: rounded only when they are shown
ATTENTION_DECIMALS = 4
MOST_CURVE_POINTS = 600
_PLACE = re.compile(r"\{\{(title|style|data|script)\}\}")


def render_report(report: Report) -> str:
    """The whole page as one string; write it as UTF-8."""
    script = "\n".join(_asset(name) for name in SCRIPTS)
    parts = {
        "title": html.escape(with_visible_directions(report.title)),
        "style": _asset("style.css"),
        "data": embedded(page_data(report)),
        "script": script,
    }
    # One pass over the template, so that text in the data that looks like a {{name}} is never replaced.
    return _PLACE.sub(lambda place: parts[place[1]], _asset("template.html"))


def with_link(page: str, file: str, text: str) -> str:
    """A finished page with a link to a file beside it, above its contents; unchanged if it has this link."""
    link = f'<p class="beside"><a href="{html.escape(file)}">{html.escape(text)}</a></p>\n'
    before, place, after = page.partition('<nav id="contents"')
    return page if link in before or not place else before + link + place + after


def page_data(report: Report) -> dict[str, Any]:
    """The report as data for JSON: numbers rounded, NaN and infinity as null, absent parts left out."""
    data = plain(report)
    charts = run_charts(report.metrics, report.held, report.tokens)
    data["curves"] = [curve_point(point, columns_of(charts)) for point in thinned(report.curves)]
    data["charts"] = plain(charts) if report.curves else []
    if report.sentence is not None:
        for key in ("cross_attention", "encoder_attention", "decoder_attention"):
            data["sentence"][key] = decimals(getattr(report.sentence, key))
    return {key: value for key, value in data.items() if value not in (None, [], {}, "")}


def curve_point(point: CurvePoint, columns: Sequence[str]) -> dict[str, float]:
    """The columns of a record that hold a finite number. The step stays an integer."""
    known = {key: point[key] for key in columns if is_number(point.get(key))}
    return {key: int(value) if key == "step" else value for key, value in known.items() if value is not None}


def thinned(curves: Sequence[CurvePoint], *, most: int = MOST_CURVE_POINTS) -> list[CurvePoint]:
    """At most about `most` records of a long run: every validation, and every k-th of the others."""
    every = max(1, math.ceil(len(curves) / most))
    last = len(curves) - 1
    return [point for i, point in enumerate(curves) if i % every == 0 or i == last or validated(point)]


def validated(point: CurvePoint) -> bool:
    return any(key.startswith("valid_") and value is not None for key, value in point.items())


def plain(value: Any, *, exact: bool = False) -> Any:
    """Dataclasses, mappings and sequences as dicts and lists; floats with 4 significant digits, or unchanged if
    `exact`; NaN and inf as None; texts without marks that change the direction of the text around them."""
    if is_dataclass(value) and not isinstance(value, type):
        fields = {key: getattr(value, key) for key in value.__dataclass_fields__}
        return plain(fields, exact=exact or isinstance(value, EXACT))
    if isinstance(value, Mapping):
        return {with_visible_directions(str(key)): plain(item, exact=exact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, exact=exact) for item in value]
    if isinstance(value, str):
        return with_visible_directions(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, float):
        return value if exact else significant(value)
    return value


def significant(value: float) -> float:
    """4 significant digits; whole numbers become integers, which are shorter in JSON."""
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def decimals(values: Any) -> Any:
    """Attention weights with 4 decimals, not digits: values below 0.0001 are invisible, and 0 is short."""
    if isinstance(values, list | tuple):
        return [decimals(item) for item in values]
    rounded = round(values, ATTENTION_DECIMALS) if math.isfinite(values) else None
    return int(rounded) if rounded is not None and rounded in (0.0, 1.0) else rounded


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _asset(name: str) -> str:
    return files("glassformer.explain").joinpath("assets", name).read_text(encoding="utf-8")
