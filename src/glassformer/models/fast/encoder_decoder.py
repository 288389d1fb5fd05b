"""The 2017 encoder-decoder with its fast paths: tapes if they can run, otherwise a step with few calls of torch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from torch import Tensor

from glassformer.models.batches import SourceBatch
from glassformer.models.decoding.encoder_decoder import EncoderDecoder, first_state
from glassformer.models.decoding.state import DecodingState
from glassformer.models.fast.fast_step import fast_advance
from glassformer.models.fast.taped_transformer import TapedDecoder, TapedEncoder
from glassformer.nn.masks import hiding_padding
from glassformer.nn.native.tape import Panels

if TYPE_CHECKING:
    from glassformer.models.transformer import Decoder, Encoder


class FastEncoderDecoder(EncoderDecoder):
    """Computes the same numbers as `EncoderDecoder`; tests compare the two."""

    encoder: Encoder
    decoder: Decoder

    def source_mask(self, batch: SourceBatch) -> Tensor | None:
        """The additive padding mask of the source (B, 1, 1, S); None if nothing is padded."""
        return hiding_padding(batch.source_lengths, batch.source.size(1), self.head.weight.dtype)

    def start(self, batch: SourceBatch) -> DecodingState:
        if not (self.tapes.ready(self) and self.can_be_taped and batch.source.numel() and batch.source.is_cpu):
            return super().start(batch)
        mask = self.source_mask(batch)
        encoder = self.tapes.kept("encoder", batch.source.numel(), partial(TapedEncoder, self.encoder, self.decoder))
        return first_state(encoder.run(batch.source, mask), mask)

    def decoder_step(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        if self.decoder.heard:
            return super().decoder_step(ids, state, lineage)
        return fast_advance(self.decoder, ids, state, lineage)

    @property
    def can_be_taped(self) -> bool:
        """The encoder's tape has no rotary positions."""
        return self.decoder.rotary is None

    def write_step(self, *, rows: int, panels: Panels) -> TapedDecoder:
        return TapedDecoder(self, rows=rows, panels=panels)
