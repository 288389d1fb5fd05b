"""What may come next: the model's log-probabilities, and what the rules leave of them. Computed as far as needed."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from glassformer.decode.rows import Floats, Ints
from glassformer.nn.tape import Best, best_of

BLOCK = 128  # neighbours in the vocabulary whose largest value is looked for first
LARGE = 1024  # a vocabulary of which it pays


class Chances:
    """Of each row, (R, V)."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits
        self.ruled: Tensor | None = None

    @cached_property
    def log_probs(self) -> Tensor:
        """As the model has them."""
        logits = self.logits.float() if self.logits.dtype.itemsize < 4 else self.logits
        return logits.log_softmax(dim=-1)

    @property
    def allowed(self) -> Tensor:
        """After the rules: they may forbid (-inf), or change what is likely."""
        return self.log_probs if self.ruled is None else self.ruled

    def best(self, n: int) -> tuple[Floats, Ints, Floats]:
        """The n most likely of each row after the rules, best first; their tokens; how likely the model finds them.

        All (R, n). No more than there are tokens.
        """
        n = min(n, self.logits.size(1))
        if self.ruled is None and (found := best_of(self.logits, n)):
            return *found, found[0]
        values, tokens = largest(self.allowed, n)
        own = values if self.ruled is None else self.log_probs.gather(1, tokens)
        return values.cpu().numpy(), tokens.cpu().numpy(), own.cpu().numpy()


class Shortlist:
    """Of each row only the most likely tokens are known: log-probabilities and ids, both (R, n)."""

    def __init__(self, found: Best) -> None:
        self.found = found

    def best(self, n: int) -> tuple[Floats, Ints, Floats]:
        """As above; no more than are known."""
        values, tokens = self.found[0][:, :n], self.found[1][:, :n]
        return values, tokens, values


def largest(values: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The n largest of each row (R, V), largest first, and their places: both (R, n).

    Of a large row only the n blocks with the largest maxima are sorted: the n largest values are in them.
    """
    rows, size = values.shape
    blocks = size // BLOCK
    if size < LARGE or n >= blocks:
        top = values.topk(n, dim=1)
        return top.values, top.indices
    maxima = values[:, : blocks * BLOCK].view(rows, blocks, BLOCK).amax(dim=2)
    chosen = maxima.topk(n, dim=1).indices  # (R, n)
    places = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=values.device)).view(rows, -1)
    rest = torch.arange(blocks * BLOCK, size, device=values.device).expand(rows, -1)  # what no whole block holds
    places = torch.cat([places, rest], dim=1)
    top = values.gather(1, places).topk(n, dim=1)
    return top.values, places.gather(1, top.indices)
