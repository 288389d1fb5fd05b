"""What the page of a run shows, as plain data: strings and lists of numbers, no tensors.

Every part except the title may be missing (a run that has just started, a corpus without gold alignments); the page
then leaves that section out. Layers, heads and positions are counted from 0 here and shown from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glassformer.evaluate.score import Score
from glassformer.explain.charts import ShownMetric
from glassformer.explain.comparison import ShownComparison
from glassformer.explain.progress import ShownProgress, Watched
from glassformer.text.pieces import on_page

if TYPE_CHECKING:
    from glassformer.explain.explanation import Explanation

Pattern = Sequence[Sequence[float]]  # (queries, keys)
Patterns = Sequence[Sequence[Pattern]]  # [layer][head]

CurvePoint = Mapping[str, float | None]  # the record of a step: always has "step", other values only if measured


@dataclass(frozen=True)
class Sample:
    """One held-out sentence as the model translated it."""

    source: str
    references: tuple[str, ...]
    hypothesis: str
    exact: bool  # equal to a reference
    score: float | None = None


@dataclass(frozen=True)
class ShownTable:
    """A table that a task adds, with a heading."""

    key: str  # of its section
    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    shaded: bool = False  # counts: the first cell of a row names it, the others are shaded by their share of the row


@dataclass(frozen=True)
class ShownLines:
    """A line chart over something else than steps: lengths, distances."""

    title: str
    note: str
    across: str  # the name of the horizontal axis
    lines: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]  # name, points
    digits: int | None = None  # None: as many as the value needs
    zero: bool = False  # the vertical axis begins at 0


@dataclass(frozen=True)
class ShownPicture:
    """An image with lines of text below it."""

    source: str  # a data: address
    about: str  # what it shows, for readers who do not see it
    lines: tuple[str, ...]
    mark: str = ""  # right, wrong, or nothing


@dataclass(frozen=True)
class ShownGallery:
    """Images that a task adds, with a heading."""

    key: str  # of its section
    title: str
    note: str
    pictures: tuple[ShownPicture, ...]
    wide: bool = False  # the lines are sentences


@dataclass(frozen=True)
class ShownStep:
    """One decoding step and its most probable candidates."""

    chosen: str
    probability: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class ShownCertain:
    """The probability that label smoothing teaches for the right token: a model that is certain gives it no more."""

    smoothing: float
    vocabulary: int
    probability: float


def certain(smoothing: float, vocabulary: int) -> ShownCertain | None:
    """(1 - e) + e / V (2017, section 5.4): the largest probability in the targets of training."""
    return ShownCertain(smoothing, vocabulary, 1 - smoothing + smoothing / vocabulary) if smoothing else None


@dataclass(frozen=True)
class ShownSentence:
    """One sentence through the model, step by step. Pieces are as pages show them (`on_page`)."""

    text: str
    translation: str
    source: tuple[str, ...]
    source_ids: tuple[int, ...]
    target: tuple[str, ...]
    target_ids: tuple[int, ...]
    steps: tuple[ShownStep, ...] = ()
    trace: tuple[str, ...] = ()  # how the tokenizer split the text into pieces, line by line
    cross_attention: Patterns = ()  # [layer][head][T][S]
    encoder_attention: Patterns = ()  # [layer][head][S][S]
    read: tuple[str, ...] = ()  # what the decoder reads: the start token, and the target without its last piece
    decoder_attention: Patterns = ()  # [layer][head][T][T]
    certain: ShownCertain | None = None
    score: float | None = None  # sum of log-probabilities


@dataclass(frozen=True)
class ShownAlignment:
    """The cross-attention head closest to the gold alignments (chosen on validation, measured on test)."""

    layer: int
    head: int
    valid_aer: float | None = None  # alignment error rate, 0 to 1, lower is better
    test_aer: float | None = None
    links: tuple[tuple[int, int], ...] = ()  # gold (source piece, target piece) of the shown sentence


@dataclass(frozen=True)
class ShownUnits:
    """A row of the account of all units: a sum, or what is subtracted from the sum above it."""

    name: str
    count: int
    help: str = ""
    is_sum: bool = False


@dataclass(frozen=True)
class ShownSide:
    """One side of the corpus: its language and scripts if known, and the amount of text."""

    name: str
    known: str
    characters: int
    words: int


@dataclass(frozen=True)
class ShownLengths:
    """The lengths of the lines, in one measure. Bar i counts lengths from i * width + 1 to (i + 1) * width."""

    measure: str  # "characters" or "words"
    width: int
    bars: tuple[tuple[int, ...], tuple[int, ...]]  # of source and target
    is_open: bool  # the last bar holds everything longer
    medians: tuple[int, int]
    p95: tuple[int, int]  # 95% of the lines are no longer than this
    longest_known: int  # the histogram's last bin: a median of this means "at least this"
    limit: int | None = None  # the filter too-long drops longer lines
    over_limit: int = 0  # number of pairs


@dataclass(frozen=True)
class ShownRatios:
    """Target lengths relative to the lengths expected from their sources. Bar i is around 2^((first + i) / steps)."""

    first: int
    steps: int
    bars: tuple[int, ...]  # the first and the last also hold everything beyond
    factor: float  # expected number of target characters per source character
    limit: float  # the filter ratio drops targets that are longer or shorter than expected by this factor
    over_limit: int  # number of pairs


@dataclass(frozen=True)
class ShownExample:
    """One example of a finding, printable."""

    place: str
    detail: str
    source: str
    target: str


@dataclass(frozen=True)
class ShownFinding:
    """Something unusual in the data: how often it occurs, and the first examples."""

    kind: str
    help: str
    severity: str  # stop, drop or note
    count: int
    examples: tuple[ShownExample, ...]
    of: int | None = None  # the total number of units or pairs; None if something else is counted


@dataclass(frozen=True)
class ShownFilter:
    """What a filter would drop on its own."""

    name: str
    help: str
    count: int
    recommended: bool
    applied: bool  # it was in use


@dataclass(frozen=True)
class ShownHeld:
    """A held-out part, and how much of it is also in the data."""

    name: str
    pairs: int
    sources_met: int
    pairs_met: int


@dataclass(frozen=True)
class ShownTokens:
    """The pairs that training left out because a side has more tokens than allowed, or none."""

    allowed: int
    left_out: int
    of: int  # pairs


@dataclass(frozen=True)
class ShownData:
    """The sentences that were read. Lengths, filters and held-out parts are about the `examined` pairs."""

    units: tuple[ShownUnits, ...]
    usable: int  # number of pairs that can be used
    examined: int  # number of pairs examined: the first of the usable ones
    sides: tuple[ShownSide, ...] = ()
    lengths: tuple[ShownLengths, ...] = ()
    ratios: ShownRatios | None = None
    findings: tuple[ShownFinding, ...] = ()
    filters: tuple[ShownFilter, ...] = ()  # filters that would drop something
    silent: tuple[str, ...] = ()  # filters that would drop nothing
    left: int | None = None  # after all recommended filters; None if the filters were not applied
    repeated_sources: int = 0  # pairs whose source was seen before with another target
    held: tuple[ShownHeld, ...] = ()
    tokens: ShownTokens | None = None  # for a run


@dataclass(frozen=True)
class Report:
    """A run, or its data alone, ready to be drawn by `glassformer.explain.page.render_report`."""

    title: str
    subtitle: str = ""
    about: str = ""  # what the page shows, if not a run
    facts: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)  # group -> rows of (name, value)
    verdict: Sequence[str] = ()
    part: str = ""  # what the scores were measured on, if not simply held-out examples
    scores: Sequence[Score] = ()
    metrics: Sequence[ShownMetric] = ()  # of the task, in its order
    held: str = "examples"  # what held-out examples are called
    predictions: str = "predictions"  # what their predictions are called
    tokens: str = "tokens"  # what the speed is counted in
    curves: Sequence[CurvePoint] = ()
    curve_notes: Mapping[str, str] = field(default_factory=dict)  # notes on charts: loss, score, speed
    progress: ShownProgress | None = None  # of a run that is not finished
    watched: Sequence[Watched] = ()
    samples: Sequence[Sample] = ()
    tables: Sequence[ShownTable] = ()
    lines: Sequence[ShownLines] = ()
    galleries: Sequence[ShownGallery] = ()
    sentence: ShownSentence | None = None
    positions: Sequence[Sequence[float]] = ()  # [position][dimension]
    alignment: ShownAlignment | None = None
    data: ShownData | None = None
    compared: ShownComparison | None = None  # several runs instead of one


def shown_sentence(
    explanation: Explanation, *, trace: Sequence[str] = (), certain: ShownCertain | None = None
) -> ShownSentence:
    """An explanation as plain data for the page."""
    return ShownSentence(
        text=explanation.text,
        translation=explanation.translation,
        source=shown_pieces(explanation.source),
        source_ids=explanation.source_ids,
        target=shown_pieces(explanation.target),
        target_ids=explanation.target_ids,
        steps=tuple(
            ShownStep(
                on_page(step.chosen),
                step.probability or 0.0,
                tuple((on_page(one.piece), one.probability) for one in step.top),
            )
            for step in explanation.steps
        ),
        trace=shown_pieces(trace),
        cross_attention=explanation.patterns("cross"),
        encoder_attention=explanation.patterns("encoder"),
        read=shown_pieces(explanation.tokens["decoder"].pieces),
        decoder_attention=explanation.patterns("decoder"),
        certain=certain,
        score=explanation.score,
    )


def shown_pieces(pieces: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(on_page, pieces))
