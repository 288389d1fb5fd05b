"""Recurrent models: what they share in training and in decoding, where a state of fixed size replaces the cache.

The wiring is in each model's own file. Shapes: B texts, R rows (hypotheses), T tokens, D width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.models.fast.tapes import WithTapes
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.native.products import product_by_rows
from glassformer.nn.taps import Tap


@dataclass(frozen=True)
class RecurrentState:
    """What a decoding step continues from: the vectors of each row, and what was read once per sentence.

    `read` are the values of the sentences, `seen` those of each row's sentence; they are only copied again when the
    rows of some sentence have become more or fewer.
    """

    vectors: tuple[Tensor, ...]  # each (R, ...)
    read: tuple[Tensor, ...] = ()  # each (B, ...)
    seen: tuple[Tensor, ...] = ()  # each (R, ...)
    owners: NDArray[np.int64] | None = None  # (R,) the sentence of each row; None: nothing was read

    @classmethod
    def first(cls, vectors: tuple[Tensor, ...], read: tuple[Tensor, ...] = ()) -> RecurrentState:
        """One row for each sentence."""
        return cls(vectors, read, read, np.arange(len(read[0])) if read else None)

    def after(self, vectors: tuple[Tensor, ...]) -> RecurrentState:
        """The next state of the same rows."""
        return replace(self, vectors=vectors)

    def select(self, rows: Tensor) -> RecurrentState:
        """The state whose row i is the old row rows[i]."""
        vectors = tuple(one.index_select(0, rows) for one in self.vectors)
        if self.owners is None:
            return replace(self, vectors=vectors)
        owners = self.owners[rows.cpu().numpy()]
        if np.array_equal(owners, self.owners):
            return replace(self, vectors=vectors)
        index = torch.as_tensor(owners, device=rows.device)
        return replace(self, vectors=vectors, seen=tuple(one[index] for one in self.read), owners=owners)


class Recurrent(WithTapes):
    """Implements the decoding protocol (decode/protocol.py). A model provides `hidden`, `start`, `advance` and a head.

    There is no compiled step, but the head's weights may be copied for decoding (`forget`).
    """

    head: VocabularyHead
    logits: Tap

    # Training: all positions of a text. `head.loss` takes the hidden states of the tokens that count.

    def hidden(self, batch: Any) -> Tensor:
        """The last hidden states (B, T, D), before the output layer."""
        raise NotImplementedError

    def hidden_and_auxiliary(self, batch: Any) -> tuple[Tensor, Tensor | None]:
        """The same, and an auxiliary loss: these models have none."""
        return self.hidden(batch), None

    def forward(self, batch: Any) -> Tensor:
        """Logits (B, T, V) of each next token."""
        return self.logits(self.head(self.hidden(batch)))

    # Decoding: one token after the other.

    def start(self, batch: Any) -> RecurrentState:
        """Reads what the output depends on; the state has one row for each sentence."""
        raise NotImplementedError

    def advance(self, ids: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState, Tensor | None]:
        """The next token of each row: ids (R,) -> hidden states (R, D), the new state, and the attention
        (R, N, H, S) if the model has any."""
        raise NotImplementedError

    def step(
        self, ids: Tensor, state: RecurrentState, *, want_attention: bool = False
    ) -> tuple[Tensor, RecurrentState, Tensor | None]:
        """The last token of each row (R,) -> logits (R, V) of the next, the new state, attention if wanted."""
        if ids.numel() != state.vectors[0].size(0):
            raise ValueError(f"got {ids.numel()} tokens for {state.vectors[0].size(0)} hypotheses")
        hidden, state, attention = self.advance(ids, state)
        return product_by_rows(self.head, hidden), state, attention if want_attention else None

    def select(self, state: RecurrentState, rows: Tensor) -> RecurrentState:
        return state.select(rows)
