"""A step of decoding on a tape (nn/native/tape.py): what is the same for every model.

Shapes: R rows (hypotheses), V vocabulary.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from glassformer.models.decoding.state import DecodingState, Ints
from glassformer.nn.cache import Store
from glassformer.nn.native.tape import Best, Op, Tape


class StepOnTape:
    """The next token of every hypothesis, for up to `rows` of them. A model's own class writes the tape."""

    tape: Tape
    logits: Op  # the last operation

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.appends: list[Op] = []  # new keys and values to the caches, one for each block
        self.self_attentions: list[Op] = []  # self-attention, one for each block
        self.owners: Ints | None = None  # of the rows that the operations know
        self.store: Callable[[], Store | None] = lambda: None  # the first block's past that the operations know

    def run(self, ids: Tensor, state: DecodingState) -> Tensor:
        """The last token of each row (R,) -> logits (R, V) of the next. Appends to the caches."""
        logits = self.logits.all_outputs(ids.numel())
        self.advance(whole(ids), state)
        return logits

    def best(self, ids: Tensor, state: DecodingState, n: int) -> Best:
        """The same, but only the n largest log-probabilities of each row and their tokens: both (R, n)."""
        found = self.logits.best_outputs(ids.numel(), n)
        self.advance(whole(ids), state)
        return found

    def advance(self, ids: Tensor, state: DecodingState) -> None:
        """Sets what has changed since the last step and runs the tape."""
        raise NotImplementedError

    def set_self_attention(self, state: DecodingState, *, same_rows: bool) -> None:
        """Sets the caches, each with a new slot for every row. For the same rows in the same place only slots move."""
        known = same_rows and state.lineage is None and state.caches[0].store is self.store()
        sentences, width = state.sentences, state.width
        for append, op, cache in zip(self.appends, self.self_attentions, state.caches, strict=True):
            first, store = cache.length, cache.store
            keys, values = cache.reserve(sentences, append.groups, width, append.head_width, like=state.held)
            if known and cache.store is store:
                append.first_slot, op.slots = first, first + width
                continue
            owners, places = state.owners.ctypes.data, state.places.ctypes.data
            append.set_cache(keys, values, first_slot=first, owners=owners, places=places)
            op.set_keys_values(keys, values, slots=first + width, owners=owners, row_mask=state.lineage)
        self.store = weakref.ref(cast(Store, state.caches[0].store))


def whole(ids: Tensor) -> Tensor:
    """Token ids as kernels.c reads them."""
    return ids if ids.dtype == torch.int64 and ids.is_contiguous() else ids.to(torch.int64).contiguous()
