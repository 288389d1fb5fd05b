"""How hypotheses go on: the most likely ones (greedy and beam search), or by lot (sampling)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.chances import Chances, Shortlist
from glassformer.decode.rows import DEAD, Choice, Floats, Ints, Rows


@dataclass(frozen=True)
class Best:
    """Beam search: the k most likely beginnings go on; k = 1 is greedy decoding.

    The beam of a sentence shrinks by one whenever one of its hypotheses ends: k hypotheses in all are followed to
    their end, so a beam as wide as all outputs is exhaustive search.
    """

    width: int

    @property
    def looks_at(self) -> int:
        return self.width

    def left(self, count: int) -> Ints:
        return np.full(count, self.width)

    def choose(self, chances: Chances | Shortlist, rows: Rows) -> Choice:
        values, tokens, own = chances.best(self.width)  # (R, n)
        if self.width == 1:
            return Choice(np.zeros_like(tokens), tokens, own.astype(np.float64), rows.scores + values)
        values, tokens, own = rows.placed(values, DEAD), rows.placed(tokens, 0), rows.placed(own, DEAD)  # (B, k, n)
        total = (rows.scores[:, :, None] + values).reshape(len(values), -1)  # (B, k*n)
        order = np.argsort(-total, axis=1, kind="stable")[:, : self.width]  # (B, k'), k' <= k
        places = order + np.arange(len(total))[:, None] * total.shape[1]  # among those of all sentences
        scores = total.ravel()[places]
        if rows.left.min() < order.shape[1]:
            scores[np.arange(order.shape[1]) >= rows.left[:, None]] = DEAD
        return Choice(
            parent=order // tokens.shape[2],
            token=tokens.ravel()[places],
            log_prob=own.ravel()[places].astype(np.float64),
            scores=scores,
        )


@dataclass(frozen=True)
class BestRefilled:
    """Beam search whose beam stays full: ends are put aside when they are among the k most likely continuations, and
    the k most likely that do not end go on. So `transformers` searches (early_stopping="never"), and CTranslate2.
    """

    width: int
    eos: int

    @property
    def looks_at(self) -> int:
        return 2 * self.width

    def left(self, count: int) -> Ints:
        return np.full(count, self.width)

    def choose(self, chances: Chances | Shortlist, rows: Rows) -> Choice:
        wide = Best(2 * self.width).choose(chances, replace(rows, left=np.full_like(rows.left, 2 * self.width)))
        ends = wide.token == self.eos  # (B, 2k), most likely first
        place = np.arange(ends.shape[1])
        kept = np.where(ends, place < self.width, (~ends).cumsum(axis=1) <= self.width)
        return replace(wide, scores=np.where(kept, wide.scores, DEAD))


@dataclass(frozen=True)
class Sample:
    """By lot, `width` hypotheses of each sentence, each on its own.

    The lots of a sentence depend on the seed and on its number alone, not on the sentences around it.
    """

    width: int
    numbers: Sequence[int]  # of each sentence in the batch
    seed: int = 0
    temperature: float = 1.0  # below 1: likelier tokens still more often
    top_k: int = 0  # only the k likeliest tokens; 0: all
    top_p: float = 1.0  # only the likeliest tokens that together have this probability
    lots: dict[int, np.random.Generator] = field(default_factory=dict)
    looks_at: ClassVar[int] = 0

    def left(self, count: int) -> Ints:
        return np.full(count, self.width)

    def choose(self, chances: Chances | Shortlist, rows: Rows) -> Choice:
        assert isinstance(chances, Chances)
        log_probs, allowed = chances.log_probs, chances.allowed
        count, before = rows.scores.shape
        parent = np.broadcast_to(
            np.arange(self.width) if before > 1 else np.zeros(self.width, int), (count, self.width)
        )
        numbers = np.take_along_axis(rows.numbers(), parent, axis=1)
        places = torch.as_tensor(numbers.ravel(), device=log_probs.device)
        lots = np.stack([self.draw(sentence) for sentence in rows.sentence])  # (B, k)
        token = self.drawn(allowed[places], torch.as_tensor(lots.ravel(), device=log_probs.device))  # (B*k,)
        own, left = (
            values[places].gather(1, token[:, None]).view(count, self.width).double().cpu().numpy()
            for values in (log_probs, allowed)
        )
        scores = np.take_along_axis(rows.scores, parent, axis=1) + np.where(left == DEAD, DEAD, own)
        return Choice(parent, token.view(count, self.width).cpu().numpy(), own, scores)

    def draw(self, sentence: int) -> Floats:
        """The next lots of a sentence, one for each of its hypotheses."""
        lots = self.lots.get(sentence)
        if lots is None:
            lots = self.lots[sentence] = np.random.default_rng([self.seed, self.numbers[sentence]])
        return lots.random(self.width)

    def drawn(self, log_probs: Tensor, lots: Tensor) -> Tensor:
        """The token on which each lot falls: (R, V) and (R,) in [0, 1) -> (R,)."""
        n = self.top_k if 0 < self.top_k < log_probs.size(1) else log_probs.size(1)
        values, tokens = log_probs.double().topk(n, dim=1)  # (R, n), likeliest first
        shares = (values / self.temperature).softmax(dim=1)
        upto = shares.cumsum(dim=1)
        shares = shares.masked_fill(upto - shares >= self.top_p, 0.0)
        upto = shares.cumsum(dim=1)
        place = torch.searchsorted(upto, (lots[:, None] * upto[:, -1:]), right=True)
        last = (shares > 0).sum(dim=1, keepdim=True).clamp(min=1) - 1  # not beyond what is left; one always is
        return tokens.gather(1, torch.minimum(place, last))[:, 0]
