"""What the words of a text say about its class, without their order: log odds beside a model's own logits.

A word is one token, or two neighbouring ones; a hash gives each a row of a table, and the rows of a text are added up
(naive Bayes). A pretrained model that has seen a few thousand labelled texts knows little of single words, so this is a
second opinion that errs elsewhere. The model is trained without it: together, each would learn only what the other
lacks. The two are mixed when the model is used:

    logits = shares + sure * (logits of the model - shares) + sum of the words' log odds

where the shares are the logs of how frequent each class is: only what the model adds to them is too sure.
Shapes: B texts, T tokens, K classes, S rows of the table (a power of two).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from glassformer.nn.taps import Tap

FIRST, SECOND = 0x9E3779B1, 0x85EBCA6B  # odd multipliers; with ids below 2^24 the products stay below 2^63
SURE = 0.5  # of the model's logits: after fine-tuning on few texts they are about twice too sure


class WordOdds(nn.Module):
    """The table, which is counted and not trained (training/count_words.py)."""

    def __init__(self, rows: int, classes: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(rows, classes), requires_grad=False)
        self.shares = nn.Parameter(torch.zeros(classes), requires_grad=False)
        self.sure = nn.Parameter(torch.ones(1), requires_grad=False)
        self.log_odds = Tap()

    @torch.no_grad()
    def fill(self, table: Tensor, shares: Tensor) -> None:
        """A table in which no word says anything leaves the model's logits as they are."""
        self.table.copy_(table)
        self.shares.copy_(shares)
        self.sure.fill_(SURE if table.any() else 1.0)

    def forward(self, batch: Any) -> Tensor:
        """(B, K)"""
        ids, count = batch.ids, len(self.table)
        rows = torch.cat([rows_of_words(ids, count), rows_of_pairs(ids[:, :-1], ids[:, 1:], count)], dim=1)
        places = torch.arange(ids.size(1), device=ids.device)
        inside = torch.cat([places < batch.lengths[:, None], places[1:] < batch.lengths[:, None]], dim=1)  # (B, 2T-1)
        return self.log_odds((self.table[rows] * inside[..., None]).sum(1))

    def mixed(self, logits: Tensor, batch: Any) -> Tensor:
        """The logits of the model (B, K) and what the words say; in training the logits alone."""
        if self.training:
            return logits
        return self.sure * logits + (1 - self.sure) * self.shares + self(batch).to(logits.dtype)


def rows_of_words(ids: Any, rows: int) -> Any:
    """The row of each token; for tensors and arrays of 64 bits."""
    return (ids * FIRST >> 7) & (rows - 1)


def rows_of_pairs(first: Any, second: Any, rows: int) -> Any:
    """The row of each pair of neighbours."""
    return (first * FIRST + second * SECOND + 1 >> 9) & (rows - 1)
