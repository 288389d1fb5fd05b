"""How hypotheses continue: with the most likely tokens (greedy and beam search), or with sampled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from glassformer.decode.next_token import NextToken, Shortlist
from glassformer.decode.rows import DEAD, Choice, Floats, Ints, Rows


@dataclass(frozen=True)
class Best:
    """Beam search: keeps the k most likely prefixes; k = 1 is greedy decoding.

    The beam of a sentence shrinks by one whenever one of its hypotheses ends. So k hypotheses in all are followed to
    their end, and a beam as wide as all outputs is exhaustive search.
    """

    width: int

    @property
    def shortlist_size(self) -> int:
        return self.width

    def beam_widths(self, count: int) -> Ints:
        return np.full(count, self.width)

    def choose(self, next_token: NextToken | Shortlist, rows: Rows) -> Choice:
        values, tokens, log_probs = next_token.best(self.width)  # (R, n)
        if self.width == 1:
            return Choice(np.zeros_like(tokens), tokens, log_probs.astype(np.float64), rows.scores + values)
        values, tokens, log_probs = rows.to_grid(values, DEAD), rows.to_grid(tokens, 0), rows.to_grid(log_probs, DEAD)
        total = (rows.scores[:, :, None] + values).reshape(len(values), -1)  # (B, k, n) -> (B, k*n)
        order = np.argsort(-total, axis=1, kind="stable")[:, : self.width]  # (B, k'), k' <= k
        flat = order + np.arange(len(total))[:, None] * total.shape[1]  # the index among all sentences' candidates
        scores = total.ravel()[flat]
        if rows.left.min() < order.shape[1]:
            scores[np.arange(order.shape[1]) >= rows.left[:, None]] = DEAD
        return Choice(
            parent=order // tokens.shape[2],
            token=tokens.ravel()[flat],
            log_prob=log_probs.ravel()[flat].astype(np.float64),
            scores=scores,
        )


@dataclass(frozen=True)
class BestRefilled:
    """Beam search whose beam stays full.

    A hypothesis ends if its end mark is among the k most likely candidates; the k most likely candidates that do not
    end continue. This is the search of `transformers` (early_stopping="never") and of CTranslate2.
    """

    width: int
    eos: int

    @property
    def shortlist_size(self) -> int:
        return 2 * self.width

    def beam_widths(self, count: int) -> Ints:
        return np.full(count, self.width)

    def choose(self, next_token: NextToken | Shortlist, rows: Rows) -> Choice:
        wide = Best(2 * self.width).choose(next_token, replace(rows, left=np.full_like(rows.left, 2 * self.width)))
        ends = wide.token == self.eos  # (B, 2k), most likely first
        place = np.arange(ends.shape[1])
        kept = np.where(ends, place < self.width, (~ends).cumsum(axis=1) <= self.width)
        return replace(wide, scores=np.where(kept, wide.scores, DEAD))


@dataclass(frozen=True)
class Sample:
    """Sampling: `width` independent samples of each sentence.

    The random numbers of a sentence depend only on the seed and on its number, not on the other sentences.
    """

    width: int
    numbers: Sequence[int]  # of each sentence in the batch
    seed: int = 0
    temperature: float = 1.0  # below 1 favours likely tokens
    top_k: int = 0  # sample from the k most likely tokens; 0: from all
    top_p: float = 1.0  # sample from the most likely tokens that together have this probability
    generators: dict[int, np.random.Generator] = field(default_factory=dict)  # of each sentence
    shortlist_size: ClassVar[int] = 0

    def beam_widths(self, count: int) -> Ints:
        return np.full(count, self.width)

    def choose(self, next_token: NextToken | Shortlist, rows: Rows) -> Choice:
        assert isinstance(next_token, NextToken)
        log_probs, allowed = next_token.log_probs, next_token.allowed
        count, before = rows.scores.shape
        parent = np.broadcast_to(
            np.arange(self.width) if before > 1 else np.zeros(self.width, int), (count, self.width)
        )
        numbers = np.take_along_axis(rows.row_numbers(), parent, axis=1)
        index = torch.as_tensor(numbers.ravel(), device=log_probs.device)
        uniform = np.stack([self.uniform(sentence) for sentence in rows.sentence])  # (B, k)
        token = self.sampled(allowed[index], torch.as_tensor(uniform.ravel(), device=log_probs.device))  # (B*k,)
        log_prob, possible = (
            values[index].gather(1, token[:, None]).view(count, self.width).double().cpu().numpy()
            for values in (log_probs, allowed)
        )
        scores = np.take_along_axis(rows.scores, parent, axis=1) + np.where(possible == DEAD, DEAD, log_prob)
        return Choice(parent, token.view(count, self.width).cpu().numpy(), log_prob, scores)

    def uniform(self, sentence: int) -> Floats:
        """The next random numbers in [0, 1) of a sentence, one for each of its samples."""
        generator = self.generators.get(sentence)
        if generator is None:
            generator = self.generators[sentence] = np.random.default_rng([self.seed, self.numbers[sentence]])
        return generator.random(self.width)

    def sampled(self, log_probs: Tensor, uniform: Tensor) -> Tensor:
        """The token that each random number selects: (R, V) and (R,) in [0, 1) -> (R,)."""
        n = self.top_k if 0 < self.top_k < log_probs.size(1) else log_probs.size(1)
        values, tokens = log_probs.double().topk(n, dim=1)  # (R, n), most likely first
        probs = (values / self.temperature).softmax(dim=1)
        cumulative = probs.cumsum(dim=1)
        probs = probs.masked_fill(cumulative - probs >= self.top_p, 0.0)
        cumulative = probs.cumsum(dim=1)
        place = torch.searchsorted(cumulative, (uniform[:, None] * cumulative[:, -1:]), right=True)
        last = (probs > 0).sum(dim=1, keepdim=True).clamp(min=1) - 1  # rounding must not select an excluded token
        return tokens.gather(1, torch.minimum(place, last))[:, 0]
