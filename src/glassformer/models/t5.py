"""T5: "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer" (arXiv 1910.10683).

The encoder-decoder of 2017 with RMSNorm before each sub-layer and no biases. Positions are relative: a learned number
for each head and bucket of distances is added to the scores, the same in all blocks of a stack (section 2.1). Scores
are not scaled; smaller initial queries replace that. Version 1.1 gates the feed-forward network (Shazeer 2020) and
unties the output.
Shapes: B sentences, R rows (hypotheses), k of a sentence, S source tokens, T target tokens, D = d, H = h, E = d_kv,
V vocabulary.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast

import torch
from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.batches import SourceBatch
from glassformer.models.decoding.encoder_decoder import CrossDecoder, EncoderDecoder
from glassformer.models.decoding.state import DecodingState, Memories
from glassformer.models.sizes import filled
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.masks import causal_mask, hiding_padding
from glassformer.nn.norms import RMSNorm
from glassformer.nn.relative import RelativeBias
from glassformer.nn.residual import PreNorm
from glassformer.nn.taps import Tap

_NEWER = {"activation": "gelu_tanh", "gated": True, "tied": False, "scaled_output": False}
# The paper's sizes; "1.1-..." are those of version 1.1 and Flan-T5. An ordinary CPU trains tiny, mini and medium.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"N": 2, "d": 64, "h": 4, "d_kv": 16, "d_ff": 128},
    "mini": {"N": 3, "d": 128, "h": 4, "d_kv": 32, "d_ff": 512},
    "medium": {"N": 4, "d": 256, "h": 4, "d_kv": 64, "d_ff": 1024},
    "small": {"N": 6, "d": 512, "h": 8, "d_kv": 64, "d_ff": 2048},
    "base": {"N": 12, "d": 768, "h": 12, "d_kv": 64, "d_ff": 3072},
    "large": {"N": 24, "d": 1024, "h": 16, "d_kv": 64, "d_ff": 4096},
    "3b": {"N": 24, "d": 1024, "h": 32, "d_kv": 128, "d_ff": 16384},
    "11b": {"N": 24, "d": 1024, "h": 128, "d_kv": 128, "d_ff": 65536},
    "1.1-small": {"N": 8, "d": 512, "h": 6, "d_kv": 64, "d_ff": 1024, **_NEWER},
    "1.1-base": {"N": 12, "d": 768, "h": 12, "d_kv": 64, "d_ff": 2048, **_NEWER},
    "1.1-large": {"N": 24, "d": 1024, "h": 16, "d_kv": 64, "d_ff": 2816, **_NEWER},
    "1.1-xl": {"N": 24, "d": 2048, "h": 32, "d_kv": 64, "d_ff": 5120, **_NEWER},
    "1.1-xxl": {"N": 24, "d": 4096, "h": 64, "d_kv": 64, "d_ff": 10240, **_NEWER},
}
Size = Literal[
    "tiny", "mini", "medium", "small", "base", "large", "3b", "11b", "1.1-small", "1.1-base", "1.1-large", "1.1-xl",
    "1.1-xxl",
]  # fmt: skip


class T5Config(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["t5"] = Field("t5", description="The architecture.")
    size: Size = Field(
        "tiny", description="Fills in the rest: tiny, mini, medium, the paper's small to 11b, 1.1-… for version 1.1."
    )
    vocabulary: int = Field(32128, ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(
        ge=1, le=limits.BLOCKS, description="Blocks in the encoder, and in the decoder unless N_decoder says otherwise."
    )
    N_decoder: int | None = Field(None, ge=1, le=limits.BLOCKS, description="Blocks in the decoder, if not N.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the model: every token is a vector of d numbers.")
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads.")
    d_kv: int = Field(ge=1, le=limits.WIDTH, description="Width of a head; h * d_kv may differ from d.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the feed-forward network.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field(
        "relu", description="Activation of the feed-forward network."
    )
    gated: bool = Field(False, description="Whether the feed-forward network is gated, as in version 1.1.")
    buckets: int = Field(32, ge=4, le=limits.CLASSES, description="Number of buckets of distances.")
    max_distance: int = Field(128, ge=2, le=limits.POSITIONS, description="Distances from here on share one bucket.")
    norm_eps: float = Field(1e-6, gt=0, le=1, description="Epsilon of the norms.")
    tied: bool = Field(True, description="Whether embedding and output layer are one matrix.")
    scaled_output: bool = Field(
        True, description="Whether the last hidden states are divided by sqrt(d) before the output layer."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[T5Config]) -> T5Config:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @model_validator(mode="after")
    def _buckets_fit(self) -> T5Config:
        if self.max_distance <= self.buckets // 2:
            raise ValueError(f"max_distance = {self.max_distance} must be more than half of buckets = {self.buckets}")
        return self


def residual(config: T5Config) -> PreNorm:
    return PreNorm(RMSNorm(config.d, eps=config.norm_eps), dropout=config.dropout)


def self_attention(config: T5Config) -> SelfAttention:
    return SelfAttention(config.d, heads=config.h, head_width=config.d_kv, bias=False, scale=1.0)


def cross_attention(config: T5Config) -> CrossAttention:
    return CrossAttention(config.d, heads=config.h, head_width=config.d_kv, bias=False, scale=1.0)


def feed_forward(config: T5Config) -> FeedForward:
    return FeedForward(config.d, config.d_ff, activation=config.activation, gated=config.gated, bias=False)


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.self_attention = self_attention(config)
        self.self_attention_residual = residual(config)
        self.feed_forward = feed_forward(config)
        self.feed_forward_residual = residual(config)

    def forward(self, x: Tensor, *, mask: Tensor) -> Tensor:
        x = self.self_attention_residual(x, partial(self.self_attention, mask=mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Self-attention to the past, attention to the encoder's output, feed-forward."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.self_attention = self_attention(config)
        self.self_attention_residual = residual(config)
        self.cross_attention = cross_attention(config)
        self.cross_attention_residual = residual(config)
        self.feed_forward = feed_forward(config)
        self.feed_forward_residual = residual(config)

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, Tensor],
        *,
        mask: Tensor,
        memory_mask: Tensor | None,
        cache: KVCache | None = None,
    ) -> Tensor:
        x = self.self_attention_residual(x, partial(self.self_attention, mask=mask, cache=cache))
        x = self.cross_attention_residual(x, partial(self.cross_attention, keys_values=memory, mask=memory_mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Inputs(nn.Module):
    """Token embeddings; nothing is added for the position."""

    def __init__(self, config: T5Config, embedding: Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        self.token, self.sum = Tap(), Tap()

    def forward(self, ids: Tensor) -> Tensor:
        return self.sum(self.dropout(self.token(self.embedding(ids))))  # (B, T, D)


class Encoder(nn.Module):
    """N blocks that see both directions; they share one position bias."""

    def __init__(self, config: T5Config, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = Inputs(config, embedding)
        self.positions = RelativeBias(config.h, buckets=config.buckets, furthest=config.max_distance)
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.N))
        self.final_norm = RMSNorm(config.d, eps=config.norm_eps)
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, *, mask: Tensor | None) -> Tensor:
        """ids (B, S) -> memory (B, S, D)."""
        x, bias = self.inputs(ids), self.positions(ids.size(1))  # (H, S, S)
        mask = bias if mask is None else bias + mask
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.dropout(self.final_norm(x))


class Decoder(CrossDecoder):
    """N blocks that see the past and read the encoder's output; they share one position bias."""

    def __init__(self, config: T5Config, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = Inputs(config, embedding)
        self.positions = RelativeBias(config.h, buckets=config.buckets, furthest=config.max_distance, both_ways=False)
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(config.N_decoder or config.N))
        self.final_norm = RMSNorm(config.d, eps=config.norm_eps)
        self.dropout = Dropout(config.dropout)
        self.scale = config.d**-0.5 if config.scaled_output else 1.0

    def read(self, memory: Tensor) -> Memories:
        return [cast(DecoderBlock, block).cross_attention.read(memory) for block in self.blocks]

    def forward(self, ids: Tensor, memories: Memories, *, memory_mask: Tensor | None) -> Tensor:
        x, length = self.inputs(ids), ids.size(1)
        mask = self.positions(length) + causal_mask(length, dtype=x.dtype, device=x.device)  # (H, T, T)
        for block, memory in zip(self.blocks, memories, strict=True):
            x = block(x, memory, mask=mask, memory_mask=memory_mask)
        return self.scaled(x)

    def advance(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        x, mask = self.inputs(ids), self.bias_of_slots(state.length, lineage)
        for block, memory, cache in zip(self.blocks, state.memories, state.caches, strict=True):
            x = block(x, memory, mask=mask, memory_mask=state.memory_mask, cache=cache)
        return self.scaled(x)

    def bias_of_slots(self, length: int, lineage: Tensor | None) -> Tensor:
        """The bias on the scores of the token after `length` others, (B or 1, H, k or 1, slots)."""
        if lineage is None:  # slot i holds token i
            places = torch.arange(length + 1, device=self.positions.weight.device)
            return self.positions.at(places - length).mT[None, :, None]
        places = (lineage[:, 0] == 0).cumsum(dim=-1) - 1  # (B, k, slots), the position of each slot's token
        return lineage + self.positions.at(places - length).movedim(3, 1)

    def scaled(self, x: Tensor) -> Tensor:
        return self.dropout(self.final_norm(x)) * self.scale


class T5(EncoderDecoder):
    """Encoder, decoder and the output layer."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.config = config
        embedding = Embedding(config.vocabulary, config.d, scaled=False)
        self.encoder = Encoder(config, embedding)
        self.decoder = Decoder(config, embedding)
        self.head = VocabularyHead(config.d, config.vocabulary, tied_to=embedding.weight if config.tied else None)
        self.memory, self.logits = Tap(), Tap()
        self.initialise(embedding)

    @torch.no_grad()
    def initialise(self, embedding: Embedding) -> None:
        """As in the paper's code: token vectors have variance 1, matrices 1 / (their inputs).

        Queries are also divided by sqrt(d_kv), because the scores are not.
        """
        nn.init.normal_(embedding.weight)
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and "positions" not in name and "embedding" not in name and "head" not in name:
                nn.init.normal_(weight, std=weight.size(1) ** -0.5)
        for module in self.modules():
            if isinstance(module, RelativeBias):
                nn.init.normal_(module.weight, std=self.config.d**-0.5)
            elif isinstance(module, SelfAttention):
                module.qkv.weight[: module.rows[0]] *= self.config.d_kv**-0.5
            elif isinstance(module, CrossAttention):
                module.query.weight *= self.config.d_kv**-0.5

    def encode(self, batch: SourceBatch) -> tuple[Tensor, Tensor | None]:
        mask = hiding_padding(batch.source_lengths, batch.source.size(1), self.head.weight.dtype)
        return self.encoder(batch.source, mask=mask), mask
