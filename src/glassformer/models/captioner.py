"""A captioner: an image encoder whose output a text decoder reads through cross-attention.

Captions by attention (Xu et al. 2015, arXiv 1502.03044), with Transformers on both sides: a ViT (arXiv 2010.11929), and
GPT-2's blocks (Radford et al. 2019) with cross-attention to the image between self-attention and feed-forward.
Shapes: B images, k hypotheses of each, P patches, S = 1 + P, T tokens, D = d, H = h, V vocabulary.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.batches import ImageBatch
from glassformer.models.decoding.encoder_decoder import CrossDecoder, EncoderDecoder
from glassformer.models.decoding.state import DecodingState, Memories
from glassformer.models.sizes import filled
from glassformer.models.vit import Vit, VitConfig
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.init import init_normal
from glassformer.nn.linear import Linear
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import LearnedPositions
from glassformer.nn.residual import PreNorm
from glassformer.nn.taps import Tap

SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"encoder": {"size": "nano"}, "N": 2, "d": 64, "h": 4, "d_ff": 128, "max_length": 64},
    "base": {"encoder": {"size": "base-16"}, "N": 12, "d": 768, "h": 12, "d_ff": 3072, "max_length": 1024},
}


class CaptionerConfig(Settings):
    """The shape of the decoder, and of the image encoder in its own section. `size` sets whatever is not given."""

    kind: Literal["captioner"] = Field("captioner", description="The architecture.")
    size: Literal["tiny", "base"] = Field("base", description="Fills in the rest; base: ViT base-16 and GPT-2 small.")
    vocabulary: int = Field(ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(ge=1, le=limits.BLOCKS, description="Blocks of the decoder.")
    d: int = Field(
        ge=1,
        le=limits.WIDTH,
        description="Width of the decoder; a matrix converts from the encoder's width if they differ.",
    )
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads of the decoder; d must be a multiple of h.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the decoder's feed-forward network.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field(
        "gelu_tanh", description="Activation of the decoder's feed-forward network."
    )
    norm_eps: float = Field(1e-5, gt=0, le=1, description="Epsilon of the decoder's LayerNorm.")
    max_length: int = Field(
        ge=1, le=limits.POSITIONS, description="Number of learned positions: the longest text, in tokens."
    )
    tied: bool = Field(True, description="Whether embedding and output layer are one matrix.")
    encoder: VitConfig

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[CaptionerConfig]) -> CaptionerConfig:
        return filled(values, validated, sizes=SIZES, default="base")

    @model_validator(mode="after")
    def _heads_divide_width(self) -> CaptionerConfig:
        if self.d % self.h:
            raise ValueError(f"d = {self.d} is not a multiple of h = {self.h}: the heads share the width evenly")
        return self


class Inputs(nn.Module):
    """Token embedding plus position, then dropout."""

    def __init__(self, config: CaptionerConfig) -> None:
        super().__init__()
        self.embedding = Embedding(config.vocabulary, config.d, scaled=False)
        self.positions = LearnedPositions(config.max_length, config.d)
        self.dropout = Dropout(config.dropout)
        self.token, self.position, self.sum = Tap(), Tap(), Tap()

    def forward(self, ids: Tensor, *, start: int = 0, length: int | None = None) -> Tensor:
        """ids (B, T) -> (B, T, D), at the positions from `start` on; with `length` = 1 all at the same position."""
        position = self.positions(ids.size(1) if length is None else length, start=start)
        return self.sum(self.dropout(self.token(self.embedding(ids)) + self.position(position)))


class Block(nn.Module):
    """Self-attention to the past, attention to the image, feed-forward, each x + f(LN(x))."""

    def __init__(self, config: CaptionerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h)
        self.self_attention_residual = residual(config)
        self.cross_attention = CrossAttention(config.d, heads=config.h)
        self.cross_attention_residual = residual(config)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = residual(config)

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, Tensor],
        *,
        causal: bool = True,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        x = self.self_attention_residual(x, partial(self.self_attention, causal=causal, mask=mask, cache=cache))
        x = self.cross_attention_residual(x, partial(self.cross_attention, keys_values=memory))
        return self.feed_forward_residual(x, self.feed_forward)


def residual(config: CaptionerConfig) -> PreNorm:
    return PreNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)


class Decoder(CrossDecoder):
    """Inputs, N blocks that read the image, a final norm. Images have no padding, so nothing is masked."""

    def __init__(self, config: CaptionerConfig) -> None:
        super().__init__()
        self.inputs = Inputs(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.N))
        self.final_norm = LayerNorm(config.d, eps=config.norm_eps)

    def read(self, memory: Tensor) -> Memories:
        return [cast(Block, block).cross_attention.read(memory) for block in self.blocks]

    def forward(self, ids: Tensor, memories: Memories, *, memory_mask: Tensor | None = None) -> Tensor:  # noqa: ARG002
        x = self.inputs(ids)
        for block, memory in zip(self.blocks, memories, strict=True):
            x = block(x, memory)
        return self.final_norm(x)

    def advance(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        x = self.inputs(ids, start=state.length, length=1)
        for block, memory, cache in zip(self.blocks, state.memories, state.caches, strict=True):
            x = block(x, memory, causal=False, mask=lineage, cache=cache)
        return self.final_norm(x)


class Captioner(EncoderDecoder):
    """The image encoder, a matrix between the widths if they differ, the decoder and the output layer."""

    def __init__(self, config: CaptionerConfig) -> None:
        super().__init__()
        self.config = config
        self.decoder = Decoder(config)
        tied_to = self.decoder.inputs.embedding.weight if config.tied else None
        self.head = VocabularyHead(config.d, config.vocabulary, tied_to=tied_to)
        init_normal(self, residual_scale=(3 * config.N) ** -0.5)
        self.encoder = Vit(config.encoder)
        self.bridge = Linear(config.encoder.d, config.d) if config.encoder.d != config.d else None
        self.memory, self.logits = Tap(), Tap()

    def encode(self, batch: ImageBatch) -> tuple[Tensor, Tensor | None]:
        hidden = self.encoder.hidden(batch)  # (B, S, D of the encoder)
        return hidden if self.bridge is None else self.bridge(hidden), None
