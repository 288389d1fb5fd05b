"""The distribution of the next token: the model's log-probabilities, and the same after the rules. Computed lazily."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from glassformer.decode.rows import Floats, Ints
from glassformer.nn.native.tape import Best, best_of

BLOCK = 128  # neighbours in the vocabulary whose maximum is computed first
LARGE = 1024  # vocabularies from this size on are searched by blocks


class NextToken:
    """The next token of each row, over the whole vocabulary: (R, V)."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits
        self.after_rules: Tensor | None = None

    @cached_property
    def log_probs(self) -> Tensor:
        """The model's own log-probabilities."""
        logits = self.logits.float() if self.logits.dtype.itemsize < 4 else self.logits
        return logits.log_softmax(dim=-1)

    @property
    def allowed(self) -> Tensor:
        """The log-probabilities after the rules, which may forbid tokens (-inf) or change how likely they are."""
        return self.log_probs if self.after_rules is None else self.after_rules

    def best(self, n: int) -> tuple[Floats, Ints, Floats]:
        """The n most likely tokens of each row after the rules, best first: values, tokens, the model's log-probs.

        All (R, n); n is at most the size of the vocabulary.
        """
        n = min(n, self.logits.size(1))
        if self.after_rules is None and (found := best_of(self.logits, n)):
            return *found, found[0]
        values, tokens = largest(self.allowed, n)
        log_probs = values if self.after_rules is None else self.log_probs.gather(1, tokens)
        return values.cpu().numpy(), tokens.cpu().numpy(), log_probs.cpu().numpy()


class Shortlist:
    """The next token of each row, where only the n most likely ones are known: log-probabilities and ids, (R, n)."""

    def __init__(self, found: Best) -> None:
        self.found = found

    def best(self, n: int) -> tuple[Floats, Ints, Floats]:
        """As `NextToken.best`; n is at most the number of known tokens."""
        values, tokens = self.found[0][:, :n], self.found[1][:, :n]
        return values, tokens, values


def largest(values: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The n largest values of each row (R, V), largest first, and their indices: both (R, n).

    In a large row only the n blocks with the largest maxima are sorted: they contain the n largest values.
    """
    rows, size = values.shape
    blocks = size // BLOCK
    if size < LARGE or n >= blocks:
        top = values.topk(n, dim=1)
        return top.values, top.indices
    maxima = values[:, : blocks * BLOCK].view(rows, blocks, BLOCK).amax(dim=2)
    chosen = maxima.topk(n, dim=1).indices  # (R, n)
    index = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=values.device)).view(rows, -1)
    rest = torch.arange(blocks * BLOCK, size, device=values.device).expand(rows, -1)  # after the last whole block
    index = torch.cat([index, rest], dim=1)
    top = values.gather(1, index).topk(n, dim=1)
    return top.values, index.gather(1, top.indices)
