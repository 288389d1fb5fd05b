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

from glassformer.models.batches import TextBatch
from glassformer.models.fast.tapes import WithTapes
from glassformer.nn.heads import LastTokenHead, VocabularyHead
from glassformer.nn.native.products import product_by_rows
from glassformer.nn.recurrent import Cell, padded_lengths
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


class RecurrentDecoder(Recurrent):
    """A language model: it reads a text, then continues it. A model provides `states`, which is its wiring."""

    HEADS = ("classifier.",)  # prefixes of parameters that a body has not: the vocabulary head belongs to the body
    LAYERS = ("inputs.token", "hidden")  # taps: the vectors before the first layer, and after each
    classifier: LastTokenHead | None  # reads the last token of a text

    def states(
        self, ids: Tensor, starts: list[Cell] | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, list[Cell]]:
        """ids (B, T) -> hidden states (B, T, D), and the state of each layer after the last token."""
        raise NotImplementedError

    def forward(self, batch: TextBatch) -> Tensor:
        """Logits (B, T, V) of each next token, or (B, classes) of each text. Padding at the end changes nothing."""
        if self.classifier is None:
            return self.next_tokens(batch)
        return self.logits(self.classifier(self.hidden(batch), batch.lengths))

    def next_tokens(self, batch: TextBatch) -> Tensor:
        """Logits (B, T, V) of each next token, also for a model that classifies texts."""
        return self.logits(self.head(self.hidden(batch)))

    def hidden(self, batch: TextBatch) -> Tensor:
        return self.states(batch.ids)[0]

    def start(self, batch: TextBatch) -> RecurrentState:
        """Reads each text except its last token; the first step reads the last tokens."""
        before = batch.lengths - 1  # (B,)
        longest = max(1, int(before.max()))
        ends = self.states(batch.ids[:, :longest], lengths=padded_lengths(before, longest))[1]
        return RecurrentState.first((joined(ends),))

    def advance(self, ids: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState, None]:
        hidden, ends = self.states(ids[:, None], split(state.vectors[0]))
        return hidden[:, 0], state.after((joined(ends),)), None


def joined(states: list[Cell]) -> Tensor:
    """Hidden state and cell (B, D) of each layer -> (B, N, 2, D)."""
    return torch.stack([torch.stack(state, dim=1) for state in states], dim=1)


def split(states: Tensor) -> list[Cell]:
    """(B, N, 2, D) -> of each layer, hidden state and cell (B, D)."""
    return [(layer[:, 0], layer[:, 1]) for layer in states.unbind(dim=1)]
