"""The difference between two models in plain words, and a curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.evaluate.significance import FEW, Difference

LEVEL = 0.05  # a p-value below this counts as significant
BARS = "▁▂▃▄▅▆▇█"


def difference_sentence(found: Difference, first: str, second: str, *, p: float | None = None, sign: str = "") -> str:
    """`runs/b is better than runs/a by 1.3 points (38.4 against 37.1), p = 0.01; 95% interval 0.6 to 2.0.`

    `p` is the p-value adjusted for several comparisons, if there are several; `sign` is the metric's unit, such as %.
    """
    p = found.p if p is None else p
    if not found.decides:
        return too_few(found, first, second, sign=sign)
    if p >= LEVEL or found.value == 0:
        return no_difference(found, first, second, p, sign=sign)
    better, worse = (second, first) if (found.value > 0) == found.higher_is_better else (first, second)
    low, high = (found.low, found.high) if found.value > 0 else (-found.high, -found.low)
    best, other = (found.second, found.first) if better == second else (found.first, found.second)
    what = f"points of {found.metric}" if sign else found.metric
    return (
        f"{better} is better than {worse} by {shown(abs(found.value), found)} {what} "
        f"({shown(best, found)}{sign} against {shown(other, found)}{sign}), {p_words(p)}; "
        f"95% interval {shown(low, found)} to {shown(high, found)}."
    )


def no_difference(found: Difference, first: str, second: str, p: float, *, sign: str = "") -> str:
    """Says that these examples show no difference, and how large a difference they could have shown."""
    width = max(found.high - found.value, found.value - found.low)
    seen = max(10.0**-found.digits, width)
    is_larger = float(shown(abs(found.value), found)) < float(shown(seen, found))  # than the one that was not shown
    could = (
        f" A difference of about {shown(seen, found)} or more could be shown here." if width > 0 and is_larger else ""
    )
    return (
        f"No difference in {found.metric} between {first} and {second} can be shown with {found.sentences:,} "
        f"{found.unit}: {shown(found.first, found)}{sign} and {shown(found.second, found)}{sign}, {p_words(p)}; 95% "
        f"interval of the difference {shown(found.low, found)} to {shown(found.high, found)}.{could}"
    )


def too_few(found: Difference, first: str, second: str, *, sign: str = "") -> str:
    """Says that nothing can be said; an interval or a p-value would look more precise than it is."""
    return (
        f"Too few {found.unit} ({found.sentences:,}) to say whether {first} or {second} is better in {found.metric}: "
        f"{shown(found.first, found)}{sign} and {shown(found.second, found)}{sign}."
    )


def decides_nothing(units: str) -> str:
    return (
        f"This comparison decides nothing: with fewer than {FEW} {units}, chance decides which run looks better, so no "
        f"intervals and p-values are shown. Compare on 100 {units} or more, better 1,000: --test FILE..."
    )


def shown(value: float, found: Difference) -> str:
    return f"{value:.{found.digits}f}"


def p_words(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def sparkline(points: Sequence[tuple[float, float]], *, until: float, low: float, high: float, width: int = 32) -> str:
    """A curve from 0 to `until` as bars between `low` and `high`; blank where nothing was measured."""
    cells = []
    for cell in range(width):
        left, right = until * cell / width, until * (cell + 1) / width
        here = [value for place, value in points if left < place <= right]
        before = [value for place, value in points if place <= left]
        over = not here and (not before or left >= points[-1][0])
        cells.append(" " if over else bar(here[-1] if here else before[-1], low, high))
    return "".join(cells)


def bar(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 0.0
    return BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]
