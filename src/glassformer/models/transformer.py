"""The Transformer of 2017: "Attention Is All You Need" (Vaswani et al., arXiv 1706.03762), figure 1.

Read from top to bottom, this file is the figure: inputs, encoder block, decoder block, the two stacks, the whole.
N, d, h, d_ff and dropout are named as in the paper. Decoding is in decoding/, its fast paths are in fast/.
Shapes: B sentences, k hypotheses of each, S source tokens, T target tokens, D = d, H = h, E = D/H, V vocabulary.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.batches import SourceBatch
from glassformer.models.decoding.encoder_decoder import CrossDecoder
from glassformer.models.decoding.state import DecodingState, Memories
from glassformer.models.fast.encoder_decoder import FastEncoderDecoder
from glassformer.models.sizes import filled
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import (
    FixedPositions,
    LearnedPositions,
    RotaryPositions,
    Rotation,
    sinusoidal,
    sinusoidal_halves,
)
from glassformer.nn.residual import PostNorm, PreNorm
from glassformer.nn.taps import Tap

# The paper's base and big (its table 3), and smaller ones that an ordinary CPU can train in minutes.
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 2, "d": 64, "h": 4, "d_ff": 128, "dropout": 0.1},
    "tiny": {"N": 4, "d": 128, "h": 4, "d_ff": 256, "dropout": 0.1},
    "small": {"N": 3, "d": 256, "h": 4, "d_ff": 1024, "dropout": 0.1},
    "base": {"N": 6, "d": 512, "h": 8, "d_ff": 2048, "dropout": 0.1},
    "big": {"N": 6, "d": 1024, "h": 16, "d_ff": 4096, "dropout": 0.3},
}
Positions = Literal["sinusoidal", "sinusoidal-halves", "learned", "rotary"]


class TransformerConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["transformer"] = Field("transformer", description="The architecture.")
    size: Literal["nano", "tiny", "small", "base", "big"] = Field(
        "tiny", description="Fills in N, d, h, d_ff and dropout: nano, tiny, small, and the paper's base and big."
    )
    N: int = Field(
        ge=1, le=limits.BLOCKS, description="Blocks in the encoder, and in the decoder unless N_decoder says otherwise."
    )
    N_decoder: int | None = Field(None, ge=1, le=limits.BLOCKS, description="Blocks in the decoder, if not N.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the model: every token is a vector of d numbers.")
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads; d must be a multiple of h.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the feed-forward network.")
    dropout: float = Field(ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    norm: Literal["pre", "post"] = Field(
        "pre",
        description="Place of LayerNorm: 'post' (after the sub-layer, as in the paper) or 'pre' (easier to train).",
    )
    positions: Positions = Field(
        "sinusoidal", description="Position encoding: sinusoidal, sinusoidal-halves (all sines first), learned, rotary."
    )
    max_length: int = Field(512, ge=1, le=limits.POSITIONS, description="Number of learned positions.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field(
        "relu", description="Activation of the feed-forward network."
    )
    tied: Literal["all", "output", "none"] = Field(
        "all", description="Shared matrices: both embeddings and the output (all), target and output (output), none."
    )
    output_bias: bool = Field(False, description="A learned bias on the logits.")
    embedding_norm: bool = Field(False, description="LayerNorm after the embeddings, as in BART.")
    scaled_embedding: bool = Field(True, description="Token vectors times sqrt(d), as in the paper; false in BART.")

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[TransformerConfig]) -> TransformerConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TransformerConfig:
        if self.d % self.h:
            raise ValueError(f"d = {self.d} is not a multiple of h = {self.h}: the heads share the width evenly")
        return self

    @property
    def shape(self) -> str:
        """In a few words."""
        norm = ", post-norm" if self.norm == "post" else ""
        return f"{self.N}+{self.N_decoder or self.N} layers, d {self.d}, {self.h} heads, d_ff {self.d_ff}{norm}"


def make_positions(config: TransformerConfig) -> FixedPositions | LearnedPositions | None:
    """The vectors added to the embeddings. Rotary positions add none: they rotate queries and keys instead."""
    if config.positions == "learned":
        return LearnedPositions(config.max_length, config.d)
    tables = {"sinusoidal": sinusoidal, "sinusoidal-halves": sinusoidal_halves}
    table = tables.get(config.positions)
    return None if table is None else FixedPositions(partial(table, width=config.d))


def make_rotary(config: TransformerConfig) -> RotaryPositions | None:
    return RotaryPositions(config.d // config.h) if config.positions == "rotary" else None


class Inputs(nn.Module):
    """The figure's bottom: token embedding times sqrt(d), plus the position, then dropout. BART has a norm between."""

    def __init__(self, config: TransformerConfig, embedding: Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = make_positions(config)
        self.norm = LayerNorm(config.d) if config.embedding_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.token, self.position, self.sum = Tap(), Tap(), Tap()

    def forward(self, ids: Tensor, *, start: int = 0, length: int | None = None) -> Tensor:
        """ids (B, T) -> (B, T, D), at the positions from `start` on; with `length` = 1 all at the same position."""
        x = self.token(self.embedding(ids))
        if self.positions is not None:
            x = x + self.position(self.positions(ids.size(1) if length is None else length, start=start))
        return self.sum(self.dropout(self.norm(x)))


AddNorm = PreNorm[LayerNorm] | PostNorm[LayerNorm]


def add_norm(config: TransformerConfig) -> AddNorm:
    """The figure's "Add & Norm" around a sub-layer: LN(x + f(x)) in the paper, x + f(LN(x)) with pre-norm."""
    residual = PreNorm if config.norm == "pre" else PostNorm
    return residual(LayerNorm(config.d), dropout=config.dropout)


class EncoderBlock(nn.Module):
    """Left half of the figure: self-attention, then feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h)
        self.self_attention_residual = add_norm(config)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = add_norm(config)

    def forward(self, x: Tensor, *, mask: Tensor | None, rotation: Rotation | None) -> Tensor:
        x = self.self_attention_residual(x, partial(self.self_attention, mask=mask, rotation=rotation))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Right half of the figure: masked self-attention, attention to the encoder's output, feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h)
        self.self_attention_residual = add_norm(config)
        self.cross_attention = CrossAttention(config.d, heads=config.h)
        self.cross_attention_residual = add_norm(config)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = add_norm(config)

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, Tensor],
        *,
        memory_mask: Tensor | None,
        rotation: Rotation | None,
        cache: KVCache | None = None,
        causal: bool = True,
        mask: Tensor | None = None,
    ) -> Tensor:
        attend_self = partial(self.self_attention, causal=causal, mask=mask, rotation=rotation, cache=cache)
        x = self.self_attention_residual(x, attend_self)
        x = self.cross_attention_residual(x, partial(self.cross_attention, keys_values=memory, mask=memory_mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """Inputs, then N blocks. Pre-norm needs a final norm, since its residual stream is never normalised."""

    def __init__(self, config: TransformerConfig, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = Inputs(config, embedding)
        self.rotary = make_rotary(config)
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.N))
        self.final_norm = LayerNorm(config.d) if config.norm == "pre" else nn.Identity()

    def forward(self, ids: Tensor, *, mask: Tensor | None) -> Tensor:
        """ids (B, S) -> memory (B, S, D)."""
        x = self.inputs(ids)
        rotation = None if self.rotary is None else self.rotary(ids.size(1))
        for block in self.blocks:
            x = block(x, mask=mask, rotation=rotation)
        return self.final_norm(x)


class Decoder(CrossDecoder):
    """Inputs, then N blocks, each of which reads the final output of the encoder."""

    def __init__(self, config: TransformerConfig, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = Inputs(config, embedding)
        self.rotary = make_rotary(config)
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(config.N_decoder or config.N))
        self.final_norm = LayerNorm(config.d) if config.norm == "pre" else nn.Identity()

    def read(self, memory: Tensor) -> Memories:
        return [cast(DecoderBlock, block).cross_attention.read(memory) for block in self.blocks]

    def forward(self, ids: Tensor, memories: Memories, *, memory_mask: Tensor | None) -> Tensor:
        """Teacher forcing: ids (B, T) -> hidden states (B, T, D), every position at once."""
        x = self.inputs(ids)
        rotation = None if self.rotary is None else self.rotary(ids.size(1))
        for block, memory in zip(self.blocks, memories, strict=True):
            x = block(x, memory, memory_mask=memory_mask, rotation=rotation)
        return self.final_norm(x)

    def advance(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        """Decoding: one more token of each hypothesis, ids (B, k) -> hidden states (B, k, D)."""
        x = self.inputs(ids, start=state.length, length=1)
        rotation = None if self.rotary is None else self.rotary(1, start=state.length)
        past = {"memory_mask": state.memory_mask, "rotation": rotation, "causal": False, "mask": lineage}
        for block, memory, cache in zip(self.blocks, state.memories, state.caches, strict=True):
            x = block(x, memory, cache=cache, **past)
        return self.final_norm(x)


class Transformer(FastEncoderDecoder):
    """Encoder, decoder and the output layer."""

    def __init__(self, config: TransformerConfig, *, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if config.tied == "all" and source_vocabulary != target_vocabulary:
            raise ValueError(f"tied = 'all' needs one vocabulary, got {source_vocabulary} and {target_vocabulary}")
        self.config = config
        scaled = config.scaled_embedding
        target = Embedding(target_vocabulary, config.d, scaled=scaled)
        source = target if config.tied == "all" else Embedding(source_vocabulary, config.d, scaled=scaled)
        self.encoder = Encoder(config, source)
        self.decoder = Decoder(config, target)
        tied_to = None if config.tied == "none" else target.weight
        self.head = VocabularyHead(config.d, target_vocabulary, tied_to=tied_to, bias=config.output_bias)
        self.memory, self.logits = Tap(), Tap()

    def encode(self, batch: SourceBatch) -> tuple[Tensor, Tensor | None]:
        mask = self.source_mask(batch)
        return self.encoder(batch.source, mask=mask), mask
