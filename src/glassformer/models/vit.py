"""ViT: "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale" (arXiv 2010.11929).

An image is cut into patches; a matrix turns each into a token. A learned token before them represents the whole image.
Then come the blocks of an encoder, with pre-norm and a final norm (the paper's figure 1).
Read from top to bottom: settings, inputs, block, model. Shapes: B images, C channels, P patches, D = d, H = h, E = D/H.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import torch
from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.errors import ModelError
from glassformer.models.batches import ImageBatch
from glassformer.models.sizes import filled
from glassformer.nn.attention import SelfAttention, split_heads
from glassformer.nn.dropout import Dropout
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import ClassHead, FirstTokenHead
from glassformer.nn.init import init_normal
from glassformer.nn.linear import Linear, linear
from glassformer.nn.lora import adapted
from glassformer.nn.norms import LayerNorm
from glassformer.nn.patches import GridPositions, cut_patches, grid_of
from glassformer.nn.residual import PreNorm
from glassformer.nn.taps import Tap, WithTaps

# base to huge are the paper's table 1, with its patch sizes; tiny and small are DeiT's (arXiv 2012.12877); nano is for
# small images on an ordinary CPU.
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 4, "d": 64, "h": 4, "d_ff": 128, "patch": 4, "image": 28, "channels": 1},
    "tiny-16": {"N": 12, "d": 192, "h": 3, "d_ff": 768, "patch": 16},
    "small-16": {"N": 12, "d": 384, "h": 6, "d_ff": 1536, "patch": 16},
    "base-16": {"N": 12, "d": 768, "h": 12, "d_ff": 3072, "patch": 16},
    "base-32": {"N": 12, "d": 768, "h": 12, "d_ff": 3072, "patch": 32},
    "large-16": {"N": 24, "d": 1024, "h": 16, "d_ff": 4096, "patch": 16},
    "large-32": {"N": 24, "d": 1024, "h": 16, "d_ff": 4096, "patch": 32},
    "huge-14": {"N": 32, "d": 1280, "h": 16, "d_ff": 5120, "patch": 14},
}


def both(value: Any) -> Any:
    """One number gives both height and width."""
    return (value, value) if isinstance(value, int) else value


Pixels = Annotated[int, Field(ge=1, le=limits.PIXELS)]
Pair = Annotated[tuple[Pixels, Pixels], BeforeValidator(both)]


class VitConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["vit"] = Field("vit", description="The architecture.")
    size: Literal["nano", "tiny-16", "small-16", "base-16", "base-32", "large-16", "large-32", "huge-14"] = Field(
        "base-16", description="Fills in the rest: nano, tiny-16, small-16, and the paper's base-16 to huge-14."
    )
    N: int = Field(ge=1, le=limits.BLOCKS, description="Blocks.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the model: every patch is a vector of d numbers.")
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads; d must be a multiple of h.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the feed-forward network.")
    patch: Pair = Field(description="Height and width of a patch in pixels; one number sets both.")
    image: Pair = Field(default=(224, 224), description="Height and width of the training images.")
    channels: int = Field(3, ge=1, le=limits.CHANNELS, description="Colour channels: 3, or 1 for grey.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field(
        "gelu", description="Activation of the feed-forward network."
    )
    norm_eps: float = Field(1e-12, gt=0, le=1, description="Epsilon of LayerNorm.")
    qkv_bias: bool = Field(True, description="Whether queries, keys and values have biases.")
    pooler: bool = Field(
        False, description="Whether there is a pooler: a vector for the whole image, from the first token's."
    )
    classes: int = Field(0, ge=0, le=limits.CLASSES, description="Number of classes; 0: no head.")

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[VitConfig]) -> VitConfig:
        return filled(values, validated, sizes=SIZES, default="base-16")

    @model_validator(mode="after")
    def _parts_fit(self) -> VitConfig:
        if self.d % self.h:
            raise ValueError(f"d = {self.d} is not a multiple of h = {self.h}: the heads share the width evenly")
        if not all(grid_of(self.image, self.patch)):
            raise ValueError(f"an image of {self.image} pixels has no patch of {self.patch}")
        return self


class Inputs(nn.Module):
    """The figure's bottom: patches times a matrix, the extra token before them, positions added, dropout."""

    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.patch, self.channels = config.patch, config.channels
        self.patches = Linear(config.channels * config.patch[0] * config.patch[1], config.d)
        self.first = nn.Parameter(torch.empty(config.d))
        self.positions = GridPositions(grid_of(config.image, config.patch), config.d)
        self.dropout = Dropout(config.dropout)
        self.token, self.position, self.sum = Tap(), Tap(), Tap()

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, height, width) -> (B, 1 + P, D)"""
        grid = self.grid(images)
        patches = self.patches(cut_patches(images, self.patch))  # (B, P, D)
        x = self.token(torch.cat([self.first.expand(len(images), 1, -1), patches], dim=1))
        return self.sum(self.dropout(x + self.position(self.positions(grid))))

    def grid(self, images: Tensor) -> tuple[int, int]:
        """Number of patches down and across; an error if the images do not fit."""
        channels, height, width = images.shape[1:]
        if channels != self.channels:
            raise ModelError(f"The images have {channels} channels; this model reads {self.channels}.")
        grid = grid_of((height, width), self.patch)
        if not all(grid):
            size = " x ".join(map(str, self.patch))
            raise ModelError(f"Images of {height} x {width} pixels are smaller than one patch of {size}.")
        return grid


class Block(nn.Module):
    """Self-attention among all patches, then feed-forward, each x + f(LN(x))."""

    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h, bias=config.qkv_bias, out_bias=True)
        self.self_attention_residual = PreNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = PreNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.self_attention_residual(x, self.self_attention)
        return self.feed_forward_residual(x, self.feed_forward)

    def first(self, x: Tensor) -> Tensor:
        """The first token after this block, (B, 1, D): the same numbers, without what no one reads."""
        residual = self.self_attention_residual
        x = x[:, :1] + residual.dropout(self.read_by_first(residual.norm(x)))
        return self.feed_forward_residual(x, self.feed_forward)

    def read_by_first(self, x: Tensor) -> Tensor:
        """What the first token reads of all, (B, 1, D)."""
        attention = self.self_attention
        if adapted(attention.qkv):  # adapters work in the whole product only
            rows = torch.arange(x.size(0), device=x.device) * x.size(1)
            return cast(Tensor, attention(x, rows=rows))[:, None]
        weight, bias, width = attention.qkv.weight, attention.qkv.bias, attention.rows[0]
        q = linear(x[:, :1], weight[:width], None if bias is None else bias[:width])  # (B, 1, D)
        kv = linear(x, weight[width:], None if bias is None else bias[width:])  # (B, T, 2D)
        q, k, v = (split_heads(part, attention.head_width) for part in (q, *kv.split(attention.rows[1:], dim=-1)))
        return cast(Tensor, attention.out(attention.core(q, k, v)))


class Vit(WithTaps):
    """Inputs, N blocks, a final norm, and what reads the first token: the pooler and a head, if there are any."""

    HEADS = ("pooler.", "head.")  # prefixes of parameters

    def __init__(self, config: VitConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = Inputs(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.N))
        self.final_norm = LayerNorm(config.d, eps=config.norm_eps)
        self.pooler = FirstTokenHead(config.d) if config.pooler else None
        self.head = ClassHead(config.d, config.classes) if config.classes else None
        self.pooled, self.logits = Tap(), Tap()
        nn.init.normal_(self.inputs.first, std=0.02)
        init_normal(self)

    def forward(self, batch: ImageBatch) -> Tensor:
        """Logits (B, classes) of whole images; without a head, their vectors (B, D)."""
        hidden = self.hidden(batch) if self.heard else self.first(batch)
        return self.pool(hidden) if self.head is None else self.logits(self.head(hidden[:, 0]))

    def first(self, batch: ImageBatch) -> Tensor:
        """The last hidden state of the first token, (B, 1, D), which is all that heads read."""
        x = self.inputs(batch.images)
        *blocks, last = self.blocks
        for block in blocks:
            x = block(x)
        return self.final_norm(cast(Block, last).first(x))

    def hidden(self, batch: ImageBatch) -> Tensor:
        """The last hidden states (B, 1 + P, D), normalised. Images may have any size."""
        x = self.inputs(batch.images)
        for block in self.blocks:
            x = block(x)
        return self.final_norm(x)

    def pool(self, hidden: Tensor) -> Tensor:
        """A vector for each whole image, (B, D): the pooler's output, or the first token's vector without a pooler."""
        return hidden[:, 0] if self.pooler is None else self.pooled(self.pooler(hidden))
