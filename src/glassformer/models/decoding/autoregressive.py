"""Training on next tokens and generating token by token: what encoder-decoders and decoder-only models share.

Shapes: B sentences, R rows (hypotheses), N blocks, H heads, S source tokens, T tokens, D width, V vocabulary.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from glassformer.models.decoding.state import DecodingState
from glassformer.models.fast.tapes import TapedStep, WithTapes
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.native.products import product_by_rows
from glassformer.nn.native.tape import Best, Panels


class Autoregressive(WithTapes):
    """Implements the decoding protocol (decode/protocol.py) except `start`. A model provides `hidden`, `advance` and a
    head, and `write_step` if it can be taped."""

    head: VocabularyHead

    # Training: all positions at once. `head.loss` takes the hidden states of the tokens that count.

    def hidden(self, batch: Any) -> Tensor:
        """The last hidden states (B, T, D), before the output layer."""
        raise NotImplementedError

    def hidden_and_auxiliary(self, batch: Any) -> tuple[Tensor, Tensor | None]:
        """The same in training, and the weighted auxiliary loss to add to the mean loss per token; None if the model
        has none."""
        return self.hidden(batch), None

    # Decoding: one token after the other.

    def advance(
        self, ids: Tensor, state: DecodingState, *, want_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The next token of each row: ids (R,) -> hidden states (R, D), and if wanted the cross-attention (R, N, H, S).
        Appends to the caches of `state`."""
        raise NotImplementedError

    @property
    def can_be_taped(self) -> bool:
        """Whether tapes have all operations of this model."""
        return False

    def write_step(self, *, rows: int, panels: Panels) -> TapedStep:
        """A tape that does what `advance` and the head do."""
        raise NotImplementedError

    def step(
        self, ids: Tensor, state: DecodingState, *, want_attention: bool = False
    ) -> tuple[Tensor, DecodingState, Tensor | None]:
        """The last token of each row (R,) -> logits (R, V) of the next, the new state, and if wanted the
        cross-attention (R, N, H, S). Changes `state` in place."""
        taped = not want_attention and self.taped(state)
        self.prepare(ids, state, share=1 / 2 if taped else 1 / 8)
        if taped:
            logits, attention = self.tape(ids).run(ids, state), None
        else:
            hidden, attention = self.advance(ids, state, want_attention=want_attention)
            logits = product_by_rows(self.head, hidden)
        state.length += 1
        return logits, state, attention

    def step_to_best(self, ids: Tensor, state: DecodingState, n: int) -> tuple[Best, DecodingState] | None:
        """Like `step`, but gives only the n most likely tokens of each row: their log-probabilities and ids, both
        (R, n). None, with nothing changed, where the model cannot be taped."""
        if not self.taped(state):
            return None
        self.prepare(ids, state, share=1 / 2)
        found = self.tape(ids).best(ids, state, n)
        state.length += 1
        return found, state

    def select(self, state: DecodingState, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]."""
        return state.select(rows)

    def taped(self, state: DecodingState) -> bool:
        """Whether the compiled step may replace the modules."""
        return state.plain and self.can_be_taped and self.tapes.usable(self)

    def tape(self, ids: Tensor) -> TapedStep:
        return self.tapes.kept("decoder", len(ids), self.write_step)

    def prepare(self, ids: Tensor, state: DecodingState, *, share: float) -> None:
        """Adds a slot for one more token of each row. Sentences without rows are dropped once they are this share of
        all: tapes skip them anyway, batched products do not."""
        if ids.numel() != state.rows:
            raise ValueError(f"got {ids.numel()} tokens for {state.rows} hypotheses")
        state.drop_finished(share=share)
        state.add_slots()
