"""What a model offers to be decoded, and what decoding gives back. No model is named here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from glassformer.nn.tape import Best

Ranked = Callable[[float, int], float]  # log-probability and length -> what hypotheses are ranked by


class Generator(Protocol):
    """A model that generates. Encoder-decoders, decoder-only models and recurrent models all speak this.

    The batch and the state are the model's own; decoding only hands them on. R rows are hypotheses that go on; at the
    start there is one row per sentence of the batch. A sentence's rows always stand together, and may be few or many.
    """

    def start(self, batch: Any) -> Any:
        """Reads the batch (runs the encoder, once) and gives the state before the first token."""

    def step(self, ids: Tensor, state: Any, *, want_attention: bool = False) -> tuple[Tensor, Any, Tensor | None]:
        """The last token of each row (R,) -> logits (R, V), the next state, attention if wanted and known."""

    def select(self, state: Any, rows: Tensor) -> Any:
        """The state whose row i is the old row rows[i]: reorders, drops or repeats hypotheses."""


class Shortlisting(Generator, Protocol):
    """A model that can also tell the most likely tokens alone, which is quicker than telling how likely all are."""

    def step_to_best(self, ids: Tensor, state: Any, n: int) -> tuple[Best, Any] | None:
        """The log-probabilities and ids of the n most likely next tokens of each row, most likely first, both (R, n),
        and the next state; None where it cannot, and nothing has changed."""


@dataclass(frozen=True)
class Hypothesis:
    """One output: its tokens without the end mark, and how likely the model finds them."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]  # of each token, and of the end mark if it was reached
    score: float  # what hypotheses are ranked by: the sum of log_probs, normalised by length; rules may lower it
    finished: bool  # False: cut at the longest length allowed

    @property
    def log_prob(self) -> float:
        """The log-probability of the whole."""
        return sum(self.log_probs)


def by_length(log_prob: float, length: int, *, alpha: float) -> float:
    """log P(y|x) / |y|^alpha: alpha 0 prefers short outputs, 1 compares the mean per token."""
    return log_prob / max(length, 1) ** alpha


def mean_per_token(log_prob: float, length: int) -> float:
    return by_length(log_prob, length, alpha=1.0)


def by_gnmt(log_prob: float, length: int, *, alpha: float) -> float:
    """log P(y|x) / ((5 + |y|) / 6)^alpha (Wu et al. 2016, equation 14, without coverage)."""
    return log_prob / ((5 + length) / 6) ** alpha


def make_hypothesis(ids: Sequence[int], log_probs: Sequence[float], *, ranked: Ranked, finished: bool) -> Hypothesis:
    """Ranked by what the model alone finds."""
    return Hypothesis(tuple(ids), tuple(log_probs), ranked(sum(log_probs), len(log_probs)), finished)
