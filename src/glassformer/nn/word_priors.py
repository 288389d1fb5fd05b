"""What the words of a text say about its class, without their order: log odds that are added to a model's logits.

A word is one token, or two neighbouring ones; a hash gives each a row of a table, and the rows of a text are added up
(naive Bayes; beside a deep network also known as "wide and deep", Cheng et al. 2016). A pretrained model that has seen
a few thousand labelled texts knows little of such single words.

A table says too much about the texts that it was counted from. So there are several, each counted without one part of
the training texts: in training, a text reads the table that does not know it. Later, texts read the mean of all tables.
Shapes: B texts, T tokens, K classes, P parts, S rows of a table (a power of two).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from glassformer.nn.taps import Tap

PARTS = 5
FIRST, SECOND = 0x9E3779B1, 0x85EBCA6B  # odd multipliers; with ids below 2^24 the products stay below 2^63


class WordPriors(nn.Module):
    """The tables, which are counted and not trained (training/count_words.py)."""

    def __init__(self, rows: int, classes: int) -> None:
        super().__init__()
        self.tables = nn.Parameter(torch.zeros(PARTS, rows, classes), requires_grad=False)
        self.log_odds = Tap()

    def forward(self, batch: Any) -> Tensor:
        """(B, K). `batch.parts` (B,) says which part of the training texts each text belongs to."""
        ids, count = batch.ids, self.tables.size(1)
        rows = torch.cat([rows_of_words(ids, count), rows_of_pairs(ids[:, :-1], ids[:, 1:], count)], dim=1)
        places = torch.arange(ids.size(1), device=ids.device)
        inside = torch.cat([places < batch.lengths[:, None], places[1:] < batch.lengths[:, None]], dim=1)  # (B, 2T-1)
        parts = getattr(batch, "parts", None)
        if self.training and parts is not None:
            found = self.tables.flatten(0, 1)[parts[:, None] * count + rows]  # (B, 2T-1, K)
        else:
            found = self.tables[:, rows].mean(0)
        return self.log_odds((found * inside[..., None]).sum(1))


def rows_of_words(ids: Any, rows: int) -> Any:
    """The row of each token; for tensors and arrays of 64 bits."""
    return (ids * FIRST >> 7) & (rows - 1)


def rows_of_pairs(first: Any, second: Any, rows: int) -> Any:
    """The row of each pair of neighbours."""
    return (first * FIRST + second * SECOND + 1 >> 9) & (rows - 1)


def parts_of(sums: Any) -> Any:
    """The part of each training text, from the sum of its ids: equal texts are in the same part."""
    return sums % PARTS
