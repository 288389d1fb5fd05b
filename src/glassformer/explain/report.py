"""What the page of a run shows, as plain data: strings and lists of floats, no tensors.

Every part but the title may be missing (a run that has just started, a corpus without gold alignments); the page
then leaves its section out. Layers, heads and places are counted from 0 here and shown from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glassformer.evaluate.score import Score

if TYPE_CHECKING:
    from glassformer.explain.trace import Explanation

Pattern = Sequence[Sequence[float]]  # (queries, keys)
Patterns = Sequence[Sequence[Pattern]]  # [layer][head]

# The columns of a training curve; "step" is always there, the others where they were measured.
CURVE_KEYS = ("step", "train_loss", "valid_loss", "valid_bleu", "valid_chrf", "lr", "tokens_per_second")
CurvePoint = Mapping[str, float | None]


@dataclass(frozen=True)
class Sample:
    """One held-out sentence as the model translated it."""

    source: str
    references: tuple[str, ...]
    hypothesis: str
    exact: bool  # equal to a reference
    score: float | None = None


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
class Report:
    """A run, ready to be drawn by `glassformer.explain.page.render_report`."""

    title: str
    subtitle: str = ""
    facts: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)  # group -> rows of (name, value)
    verdict: Sequence[str] = ()
    part: str = ""  # what the scores were measured on, if not just held-out sentences
    scores: Sequence[Score] = ()
    curves: Sequence[CurvePoint] = ()
    samples: Sequence[Sample] = ()
    sentence: ShownSentence | None = None
    positions: Sequence[Sequence[float]] = ()  # [position][dimension]
    alignment: ShownAlignment | None = None


def shown_sentence(explanation: Explanation, *, trace: Sequence[str] = ()) -> ShownSentence:
    """An explanation as plain data for the page."""
    return ShownSentence(
        text=explanation.text,
        translation=explanation.translation,
        source=explanation.source,
        source_ids=explanation.source_ids,
        target=explanation.target,
        target_ids=explanation.target_ids,
        steps=tuple(ShownStep(step.chosen, step.probability, step.top) for step in explanation.steps),
        trace=tuple(trace),
        cross_attention=explanation.cross_attention.tolist(),
        encoder_attention=explanation.encoder_attention.tolist(),
        score=explanation.score,
    )
