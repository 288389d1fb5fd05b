"""GPT-2: "Language Models are Unsupervised Multitask Learners" (Radford et al. 2019, section 2.3).

The decoder of 2017 without its encoder: masked self-attention and feed-forward, the norm moved to the input of each
sub-layer and one more after the last block, learned positions, GELU. Read from top to bottom: settings, inputs, block,
model. Shapes: B texts, T tokens, D = d, H = h, E = D/H, V vocabulary.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.decoding.decoder_only import DecoderOnly, class_head
from glassformer.models.sizes import filled
from glassformer.nn.attention import SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.init import init_normal
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import LearnedPositions
from glassformer.nn.residual import PreNorm
from glassformer.nn.taps import Tap

# small to xl are the paper's table 2; the others can be trained on an ordinary CPU.
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 3, "d": 48, "h": 3, "d_ff": 192, "max_length": 128},
    "tiny": {"N": 4, "d": 128, "h": 4, "d_ff": 512, "max_length": 256},
    "mini": {"N": 6, "d": 192, "h": 6, "d_ff": 768, "max_length": 512},
    "small": {"N": 12, "d": 768, "h": 12, "d_ff": 3072, "max_length": 1024},
    "medium": {"N": 24, "d": 1024, "h": 16, "d_ff": 4096, "max_length": 1024},
    "large": {"N": 36, "d": 1280, "h": 20, "d_ff": 5120, "max_length": 1024},
    "xl": {"N": 48, "d": 1600, "h": 25, "d_ff": 6400, "max_length": 1024},
}


class GptConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["gpt"] = Field("gpt", description="The architecture.")
    size: Literal["nano", "tiny", "mini", "small", "medium", "large", "xl"] = Field(
        "small", description="Fills in N, d, h, d_ff and max_length: nano, tiny, mini, and GPT-2's small to xl."
    )
    vocabulary: int = Field(ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(ge=1, le=limits.BLOCKS, description="Blocks.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the model: every token is a vector of d numbers.")
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads; d must be a multiple of h.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the feed-forward network.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field(
        "gelu_tanh", description="Activation of the feed-forward network."
    )
    norm_eps: float = Field(1e-5, gt=0, le=1, description="Epsilon of LayerNorm.")
    max_length: int = Field(
        ge=1, le=limits.POSITIONS, description="Number of learned positions: the longest text, in tokens."
    )
    head: Literal["next", "sentence"] = Field(
        "next", description="What is predicted: each next token, or the class of the whole text, from its last token."
    )
    classes: int = Field(2, ge=1, le=limits.CLASSES, description="Number of classes, for the head sentence.")
    tied: bool = Field(True, description="Whether embedding and output layer are one matrix.")

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[GptConfig]) -> GptConfig:
        return filled(values, validated, sizes=SIZES, default="small")

    @model_validator(mode="after")
    def _heads_divide_width(self) -> GptConfig:
        if self.d % self.h:
            raise ValueError(f"d = {self.d} is not a multiple of h = {self.h}: the heads share the width evenly")
        return self


class Inputs(nn.Module):
    """Token embedding plus position, then dropout."""

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        self.embedding = Embedding(config.vocabulary, config.d, scaled=False)
        self.positions = LearnedPositions(config.max_length, config.d)
        self.dropout = Dropout(config.dropout)
        self.token, self.position, self.sum = Tap(), Tap(), Tap()

    def forward(self, ids: Tensor, *, places: Tensor | None = None) -> Tensor:
        """(B, T) -> (B, T, D)"""
        x = self.token(self.embedding(ids))
        position = self.positions(ids.size(1)) if places is None else self.positions.at(places)
        return self.sum(self.dropout(x + self.position(position)))


class Block(nn.Module):
    """Masked self-attention, then feed-forward, each x + f(LN(x))."""

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config.d, heads=config.h)
        self.attention_residual = PreNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = PreNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)

    def forward(self, x: Tensor, *, mask: Tensor | None, causal: bool, cache: KVCache | None) -> Tensor:
        x = self.attention_residual(x, partial(self.attention, mask=mask, causal=causal, cache=cache))
        return self.feed_forward_residual(x, self.feed_forward)


class Gpt(DecoderOnly):
    """Inputs, N blocks, a final norm and the output layer."""

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = Inputs(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.N))
        self.final_norm = LayerNorm(config.d, eps=config.norm_eps)
        tied_to = self.inputs.embedding.weight if config.tied else None
        self.head = VocabularyHead(config.d, config.vocabulary, tied_to=tied_to)
        self.classifier = class_head(config)
        self.logits = Tap()
        init_normal(self, residual_scale=(2 * config.N) ** -0.5)

    def states(
        self,
        ids: Tensor,
        *,
        places: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = True,
        caches: list[KVCache] | None = None,
    ) -> Tensor:
        x = self.inputs(ids, places=places)
        for i, block in enumerate(self.blocks):
            x = block(x, mask=mask, causal=causal, cache=caches[i] if caches else None)
        return self.final_norm(x)
