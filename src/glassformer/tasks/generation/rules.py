"""Rules of texts that are written. Shapes: R rows (hypotheses), t tokens so far, V vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.rows import DEAD, Rows
from glassformer.decode.rules import tail
from glassformer.decode.search import Rule


@dataclass(frozen=True)
class AfterTexts:
    """A rule that also looks at the texts that are gone on from: what they have said counts as said."""

    rule: Rule
    given: Sequence[Sequence[int]]  # of each sentence

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:
        first = 0
        for b, count in enumerate(rows.alive.sum(axis=1).tolist()):
            if count:  # the rows of a sentence stand together
                own = slice(first, first + count)
                self.rule.apply(allowed[own], log_probs[own], self.longer(rows, b))
            first += count

    def longer(self, rows: Rows, b: int) -> Rows:
        """The rows of one sentence with the text before them."""
        only = rows.keep(np.arange(len(rows.sentence)) == b)
        given = np.array(self.given[rows.sentence[b]], dtype=np.int64)
        before = np.broadcast_to(given, (1, rows.width, len(given)))
        return replace(only, tokens=np.concatenate([before, only.tokens], axis=2))


@dataclass(frozen=True)
class OneEnd:
    """Where several tokens end a text, one of them, `eos`, speaks for all and alone ends it here.

    A search weighs the likeliest of them against each other token; where lots are drawn, all their chances count.
    """

    eos: int
    ends: Sequence[int]
    by_lot: bool = False

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        ends = torch.tensor(self.ends, device=allowed.device)
        for values in (allowed, log_probs):  # what is told of the end is told of them all
            together = values[:, ends].logsumexp(dim=1) if self.by_lot else values[:, ends].amax(dim=1)
            values[:, ends] = DEAD
            values[:, self.eos] = together


@dataclass(frozen=True)
class Known:
    """Only tokens that the tokenizer knows: some models have room for more."""

    size: int

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        allowed[:, self.size :] = DEAD


@dataclass(frozen=True)
class StopAfter:
    """What has said one of some texts ends, at no cost. Comes last."""

    stops: Sequence[bytes]
    surfaces: Sequence[bytes]  # what each token adds to the text
    eos: int

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        said = [row for row, history in enumerate(rows.history().tolist()) if self.stopped(history)]
        if said:
            allowed[said] = DEAD
            allowed[said, self.eos] = 0.0

    def stopped(self, history: Sequence[int]) -> bool:
        """Whether the last token has completed one: earlier ones would have ended it."""
        if not history:
            return False
        longest = max(map(len, self.stops)) + len(self.surfaces[history[-1]])
        text = tail(history, self.surfaces, longest)
        return any(stop in text for stop in self.stops)
