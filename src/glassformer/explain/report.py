"""What the page of a run shows, as plain data: strings and lists of numbers, no tensors.

Every part but the title may be missing (a run that has just started, a corpus without gold alignments); the page
then leaves its section out. Layers, heads and places are counted from 0 here and shown from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glassformer.evaluate.score import Score
from glassformer.explain.charts import ShownMetric
from glassformer.explain.comparison import ShownComparison
from glassformer.explain.progress import ShownProgress, Watched

if TYPE_CHECKING:
    from glassformer.explain.explanation import Explanation

Pattern = Sequence[Sequence[float]]  # (queries, keys)
Patterns = Sequence[Sequence[Pattern]]  # [layer][head]

CurvePoint = Mapping[str, float | None]  # a record of a step: "step" is always there, others where they were measured


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
    """A table of a task's own, with a heading."""

    key: str  # of its section
    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    shaded: bool = False  # counts: the first cell of a row names it, the others are shaded by their share of the row


@dataclass(frozen=True)
class ShownStep:
    """One decoding step and its most probable candidates."""

    chosen: str
    probability: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class ShownSentence:
    """One sentence through the model, to be walked through."""

    text: str
    translation: str
    source: tuple[str, ...]
    source_ids: tuple[int, ...]
    target: tuple[str, ...]
    target_ids: tuple[int, ...]
    steps: tuple[ShownStep, ...] = ()
    trace: tuple[str, ...] = ()  # how the tokenizer came from the text to the pieces, line by line
    cross_attention: Patterns = ()  # [layer][head][T][S]
    encoder_attention: Patterns = ()  # [layer][head][S][S]
    score: float | None = None  # sum of log-probabilities


@dataclass(frozen=True)
class ShownAlignment:
    """The cross-attention head that agrees best with gold alignments (chosen on validation, measured on test)."""

    layer: int
    head: int
    valid_aer: float | None = None  # alignment error rate, 0 to 1, lower is better
    test_aer: float | None = None
    links: tuple[tuple[int, int], ...] = ()  # gold (source piece, target piece) of the shown sentence


@dataclass(frozen=True)
class ShownUnits:
    """A row of the account of all units: a sum, or what goes off the sum above it."""

    name: str
    count: int
    help: str = ""
    is_sum: bool = False


@dataclass(frozen=True)
class ShownSide:
    """One side of the corpus: its language and scripts as far as known, and how much text there is."""

    name: str
    known: str
    characters: int
    words: int


@dataclass(frozen=True)
class ShownLengths:
    """How long the lines are, in one measure. Bar i counts lengths from i * width + 1 to (i + 1) * width."""

    measure: str  # "characters" or "words"
    width: int
    bars: tuple[tuple[int, ...], tuple[int, ...]]  # of source and target
    is_open: bool  # the last bar holds everything longer
    medians: tuple[int, int]
    p95: tuple[int, int]  # 95 of 100 lines are no longer than this
    longest_known: int  # a median of this is one of at least this
    limit: int | None = None  # the filter too-long drops what is longer
    over_limit: int = 0  # pairs


@dataclass(frozen=True)
class ShownRatios:
    """How long targets are against what their sources let expect. Bar i is around 2^((first + i) / steps)."""

    first: int
    steps: int
    bars: tuple[int, ...]  # the outer two also hold everything beyond
    factor: float  # expected: so many target characters for each source character
    limit: float  # the filter ratio drops what is so many times too long or too short
    over_limit: int  # pairs


@dataclass(frozen=True)
class ShownExample:
    """One case of a finding, printable."""

    place: str
    detail: str
    source: str
    target: str


@dataclass(frozen=True)
class ShownFinding:
    """Something odd in the data: how often, and the first cases."""

    kind: str
    help: str
    severity: str  # stop, drop or note
    count: int
    examples: tuple[ShownExample, ...]
    of: int | None = None  # so many units or pairs; None where it is neither that is counted


@dataclass(frozen=True)
class ShownFilter:
    """What a filter would drop if it stood alone."""

    name: str
    help: str
    count: int
    recommended: bool
    applied: bool  # it was in use


@dataclass(frozen=True)
class ShownHeld:
    """A held-out part, and how much of it also stands in the data."""

    name: str
    pairs: int
    sources_met: int
    pairs_met: int


@dataclass(frozen=True)
class ShownTokens:
    """Pairs that a training left out for having a side of more tokens than allowed, or of none."""

    allowed: int
    left_out: int
    of: int  # pairs


@dataclass(frozen=True)
class ShownData:
    """The sentences that were read. Lengths, filters and held-out parts are told of the `examined` pairs."""

    units: tuple[ShownUnits, ...]
    usable: int  # pairs that could be read
    examined: int  # of these the first so many
    sides: tuple[ShownSide, ...] = ()
    lengths: tuple[ShownLengths, ...] = ()
    ratios: ShownRatios | None = None
    findings: tuple[ShownFinding, ...] = ()
    filters: tuple[ShownFilter, ...] = ()  # those that would drop something
    silent: tuple[str, ...] = ()  # those that would not
    left: int | None = None  # after all recommended filters; None where the filters were not asked
    repeated_sources: int = 0  # pairs whose source stood before with another target
    held: tuple[ShownHeld, ...] = ()
    tokens: ShownTokens | None = None  # of a training


@dataclass(frozen=True)
class Report:
    """A run, or its data alone, ready to be drawn by `glassformer.explain.page.render_report`."""

    title: str
    subtitle: str = ""
    about: str = ""  # what the page is, if not the report of a run
    facts: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)  # group -> rows of (name, value)
    verdict: Sequence[str] = ()
    part: str = ""  # what the scores were measured on, if not just held-out sentences
    scores: Sequence[Score] = ()
    metrics: Sequence[ShownMetric] = ()  # those of the task, in its order
    held: str = "examples"  # what held-out examples are called
    predictions: str = "predictions"  # what is made of them
    curves: Sequence[CurvePoint] = ()
    curve_notes: Mapping[str, str] = field(
        default_factory=dict
    )  # what a reader must know of a chart: loss, score, speed
    progress: ShownProgress | None = None  # of a training that goes on
    watched: Sequence[Watched] = ()
    samples: Sequence[Sample] = ()
    tables: Sequence[ShownTable] = ()
    sentence: ShownSentence | None = None
    positions: Sequence[Sequence[float]] = ()  # [position][dimension]
    alignment: ShownAlignment | None = None
    data: ShownData | None = None
    compared: ShownComparison | None = None  # several runs instead of one


def shown_sentence(explanation: Explanation, *, trace: Sequence[str] = ()) -> ShownSentence:
    """An explanation as plain data for the page."""
    return ShownSentence(
        text=explanation.text,
        translation=explanation.translation,
        source=explanation.source,
        source_ids=explanation.source_ids,
        target=explanation.target,
        target_ids=explanation.target_ids,
        steps=tuple(
            ShownStep(step.chosen, step.probability or 0.0, tuple((one.piece, one.probability) for one in step.top))
            for step in explanation.steps
        ),
        trace=tuple(trace),
        cross_attention=explanation.cross_attention.tolist(),
        encoder_attention=explanation.encoder_attention.tolist(),
        score=explanation.score,
    )
