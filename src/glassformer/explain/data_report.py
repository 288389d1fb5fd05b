"""The findings of an examination as data for a page: the account of all units, lengths, findings with examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glassformer.data.checks.blocks import SIDES
from glassformer.data.checks.filters import FILTERS, LONGEST, chosen_filters
from glassformer.data.checks.findings import Findings
from glassformer.data.checks.ratios import MIDDLE, STEPS
from glassformer.data.checks.tally import Example, Finding
from glassformer.data.readers.opening import shown
from glassformer.explain.report import (
    Report,
    ShownData,
    ShownExample,
    ShownFilter,
    ShownFinding,
    ShownHeld,
    ShownLengths,
    ShownRatios,
    ShownSide,
    ShownTokens,
    ShownUnits,
)
from glassformer.printable import printable, shortened

BARS = 60  # at most, without the open one
SHOWN_SHARE = 0.995  # this share of the lines is in bars of fixed width; the longest few are in the open bar
BEYOND_LIMIT = 1.4  # the chart of ratios extends to this many times the limit
FILES_NAMED = 4
WIDEST = 160  # the most characters of an example

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Learning:
    """What training did with the pairs that were read."""

    pairs: int  # learned from
    left_out: int  # with a side of no tokens or of more than `most`
    most: int
    filters: tuple[str, ...] = ()


def examination_report(findings: Findings, files: Sequence[Path]) -> Report:
    """The page of an examination without a run."""
    return Report(
        title=file_names(files),
        subtitle="Its contents, and anything unusual in it",
        about="sentences examined",
        data=shown_data(findings),
    )


def file_names(files: Sequence[Path]) -> str:
    """The file names without folders; if there are many, the first few."""
    names = [shown(Path(path.name)) for path in files]
    more = len(names) - FILES_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:FILES_NAMED])} and {more:,} more"


def shown_data(findings: Findings, learning: Learning | None = None) -> ShownData:
    """The findings that a page shows; with `learning`, also what training did with the pairs."""
    return ShownData(
        units=tuple(account(findings, learning)),
        usable=findings.used + sum(findings.dropped[name] for name in FILTERS),
        examined=examined_pairs(findings),
        sides=tuple(shown_sides(findings)),
        lengths=tuple(shown_lengths(findings)),
        ratios=shown_ratios(findings),
        findings=tuple(shown_finding(finding, findings) for finding in findings.ordered()),
        filters=tuple(shown_filters(findings, learning)),
        silent=tuple(silent_filters(findings)),
        left=findings.left,
        repeated_sources=findings.repeated_sources,
        held=tuple(
            ShownHeld(part.name, part.pairs, part.sources_in_train, part.pairs_in_train) for part in findings.held
        ),
        tokens=shown_tokens(learning) if learning else None,
    )


def examined_pairs(findings: Findings) -> int:
    """The number of pairs that were measured: training examines only the first ones closely."""
    return int(findings.lengths[0].characters.sum())


# Units


def account(findings: Findings, learning: Learning | None) -> Iterator[ShownUnits]:
    """Accounts for every unit: each sum is the sum before it minus the rows between them."""
    yield ShownUnits("units read", findings.units, is_sum=True)
    for reason, count in findings.dropped.most_common():
        yield ShownUnits(reason, count, FILTERS[reason].help if reason in FILTERS else findings.problems[reason].help)
    if learning is None:
        yield ShownUnits("pairs that can be used", findings.used, is_sum=True)
        return
    yield ShownUnits("pairs used", findings.used, is_sum=True)
    held_out = findings.used - learning.pairs - learning.left_out
    if held_out:
        yield ShownUnits("held out", held_out, "to validate with")
    if learning.left_out:
        reason = f"a side has more than {learning.most:,} tokens (data.max_tokens), or none"
        yield ShownUnits("too many tokens", learning.left_out, reason)
    yield ShownUnits("pairs learned from", learning.pairs, is_sum=True)


def shown_sides(findings: Findings) -> Iterator[ShownSide]:
    for name, lengths, language, scripts in zip(
        SIDES, findings.lengths, findings.languages, findings.profile.scripts, strict=True
    ):
        named = f"named {language}" if language else ""  # by the user or a file name, not detected from the text
        known = ", ".join(filter(None, (named, " and ".join(sorted(scripts)))))
        yield ShownSide(name, printable(known), lengths.total_characters, lengths.total_words)


# Lengths


def shown_lengths(findings: Findings) -> Iterator[ShownLengths]:
    """The bars for characters and for words; none if there are no lines."""
    source, target = findings.lengths
    if not source.characters.any():
        return
    over = findings.hits["too-long"].count if "too-long" in findings.hits else 0
    yield bars_of("characters", (source.characters, target.characters), limit=LONGEST, over_limit=over)
    yield bars_of("words", (source.words, target.words))


def bars_of(
    measure: str, histograms: tuple[Counts, Counts], *, limit: int | None = None, over_limit: int = 0
) -> ShownLengths:
    """Both sides in bars of the same width. The last bin of a histogram holds everything longer."""
    last = len(histograms[0]) - 1
    end = min(last - 1, max(end_of_bars(histogram) for histogram in histograms))
    width = bar_width(end)
    bars = min(math.ceil(end / width), (last - 1) // width)
    is_open = any(histogram[bars * width + 1 :].any() for histogram in histograms)
    source, target = (summed(histogram, bars, width)[: bars + is_open] for histogram in histograms)
    return ShownLengths(
        measure,
        width,
        bars=(source, target),
        is_open=is_open,
        medians=(quantile(histograms[0], 0.5), quantile(histograms[1], 0.5)),
        p95=(quantile(histograms[0], 0.95), quantile(histograms[1], 0.95)),
        longest_known=last,
        limit=limit,
        over_limit=over_limit,
    )


def end_of_bars(histogram: Counts) -> int:
    """The end of the bars of fixed width: the longest length, unless the chart would then be mostly empty."""
    usual, longest = quantile(histogram, SHOWN_SHARE), int(np.flatnonzero(histogram)[-1])
    return longest if longest <= 1.5 * usual else usual


def bar_width(end: int) -> int:
    """A round bar width such that lengths up to `end` need at most BARS bars."""
    return next(width for width in (1, 2, 5, 10, 20, 50, 100) if math.ceil(end / width) <= BARS)


def summed(histogram: Counts, bars: int, width: int) -> tuple[int, ...]:
    """The counts of `bars` bars and of the open bar after them."""
    inside = histogram[1 : bars * width + 1].reshape(bars, width).sum(axis=1).tolist()
    return (*inside, int(histogram[bars * width + 1 :].sum()))


def quantile(histogram: Counts, share: float) -> int:
    """The smallest length that is not exceeded by this share of the lines."""
    return int(np.searchsorted(np.cumsum(histogram), share * int(histogram.sum())))


def shown_tokens(learning: Learning) -> ShownTokens:
    return ShownTokens(learning.most, learning.left_out, of=learning.pairs + learning.left_out)


def shown_ratios(findings: Findings) -> ShownRatios | None:
    """The bars around the expected length; None if there are too few pairs to estimate it."""
    profile, counts = findings.profile, findings.ratios.counts
    if not math.isfinite(profile.length_limit) or not counts.any():
        return None
    reach = min(MIDDLE, math.ceil(BEYOND_LIMIT * profile.length_limit / math.log(2) * STEPS))
    first, last = MIDDLE - reach, MIDDLE + reach
    bars = counts[first : last + 1].tolist()
    bars[0] += int(counts[:first].sum())
    bars[-1] += int(counts[last + 1 :].sum())
    return ShownRatios(
        first=-reach,
        steps=STEPS,
        bars=tuple(bars),
        factor=profile.length_factor,
        limit=math.exp(profile.length_limit),
        over_limit=findings.hits["ratio"].count if "ratio" in findings.hits else 0,
    )


# What was found


def shown_finding(finding: Finding, findings: Findings) -> ShownFinding:
    found_in_pairs = (findings.hits.get(finding.kind), findings.oddities.get(finding.kind))
    among_pairs = findings.examined and any(finding is one for one in found_in_pairs)
    total = examined_pairs(findings) if among_pairs else findings.units
    return ShownFinding(
        finding.kind,
        finding.help,
        finding.severity,
        finding.count,
        examples=tuple(shown_example(example) for example in finding.examples),
        of=None if finding.kind == "slip" else total,  # one slip affects many lines
    )


def shown_example(example: Example) -> ShownExample:
    return ShownExample(
        place=printable(str(example.problem.place)),
        detail=printable(example.problem.detail),
        source=shortened(printable(example.source), width=WIDEST),
        target=shortened(printable(example.target), width=WIDEST),
    )


def shown_filters(findings: Findings, learning: Learning | None) -> Iterator[ShownFilter]:
    """The filters that would drop something, in the order in which they are applied."""
    applied = {one.name for one in chosen_filters(learning.filters)} if learning else set()
    for name, one in FILTERS.items():
        if findings.examined and name in findings.hits:
            count = findings.hits[name].count
            yield ShownFilter(name, one.help, count, recommended=one.recommended, applied=name in applied)


def silent_filters(findings: Findings) -> Iterator[str]:
    """The filters that would drop nothing; not `overlap` if there are no held-out sentences to compare with."""
    for name in FILTERS:
        if findings.examined and name not in findings.hits and (name != "overlap" or findings.held):
            yield name
