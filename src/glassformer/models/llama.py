"""The decoder of the Llama family: "LLaMA: Open and Efficient Foundation Language Models" (Touvron et al. 2023, arXiv
2302.13971), with grouped-query attention (Ainslie et al. 2023, arXiv 2305.13245), and optionally with a sliding window
(Jiang et al. 2023, arXiv 2310.06825) and a mixture of experts (Jiang et al. 2024, arXiv 2401.04088).

Compared with GPT-2: RMSNorm instead of LayerNorm, rotary positions instead of added ones, a gated feed-forward network,
no biases. Read from top to bottom: settings, block, model.
Shapes: B texts, T tokens, D = d, H = h, G key/value heads, E head width, F = d_ff, V vocabulary, M = B*T.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.batches import TextBatch
from glassformer.models.decoding.decoder_only import DecoderOnly, class_head
from glassformer.models.sizes import filled
from glassformer.nn.attention import SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.experts import Experts, Routing, balancing_loss
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.init import init_normal
from glassformer.nn.masks import padding_mask, window_mask
from glassformer.nn.norms import RMSNorm
from glassformer.nn.positions import RotaryPositions, Rotation, Stretch, stretched, stretched_where_slow
from glassformer.nn.residual import PreNorm
from glassformer.nn.taps import Tap

# 7B to 70B: Llama 2 (arXiv 2307.09288). 3-8B: Llama 3 (arXiv 2407.21783). 1.1B: TinyLlama (arXiv 2401.02385).
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 2, "d": 64, "h": 4, "kv_heads": 2, "d_ff": 160, "max_length": 256},
    "tiny": {"N": 4, "d": 128, "h": 4, "kv_heads": 2, "d_ff": 344, "max_length": 512},
    "micro": {"N": 3, "d": 96, "h": 3, "kv_heads": 3, "d_ff": 256, "max_length": 256},
    "mini": {"N": 6, "d": 192, "h": 6, "kv_heads": 6, "d_ff": 512, "max_length": 512},
    "small": {"N": 8, "d": 512, "h": 8, "kv_heads": 4, "d_ff": 1376, "max_length": 1024},
    "1.1B": {"N": 22, "d": 2048, "h": 32, "kv_heads": 4, "d_ff": 5632, "max_length": 2048},
    "7B": {"N": 32, "d": 4096, "h": 32, "d_ff": 11008, "max_length": 4096},
    "13B": {"N": 40, "d": 5120, "h": 40, "d_ff": 13824, "max_length": 4096},
    "70B": {"N": 80, "d": 8192, "h": 64, "kv_heads": 8, "d_ff": 28672, "max_length": 4096},
    "3-8B": {"N": 32, "d": 4096, "h": 32, "kv_heads": 8, "d_ff": 14336, "max_length": 8192, "rope_theta": 500000.0},
    "mistral-7B": {"N": 32, "d": 4096, "h": 32, "kv_heads": 8, "d_ff": 14336, "max_length": 32768, "window": 4096},
    "mixtral-8x7B": {
        "N": 32, "d": 4096, "h": 32, "kv_heads": 8, "d_ff": 14336, "max_length": 32768, "rope_theta": 1e6, "experts": 8,
    },
}  # fmt: skip
Size = Literal[
    "nano", "micro", "tiny", "mini", "small", "1.1B", "7B", "13B", "70B", "3-8B", "mistral-7B", "mixtral-8x7B"
]


class RopeScaling(Settings):
    """Rotary positions for texts longer than those of pre-training."""

    kind: Literal["linear", "llama3"] = Field(
        description="linear: slow down all rotations; llama3: only the slow ones."
    )
    factor: float = Field(ge=1, le=limits.RATIO, description="How much slower they rotate.")
    slow: float = Field(
        1.0, gt=0, le=limits.RATIO, description="llama3: pairs with fewer rotations than this are slowed down in full."
    )
    fast: float = Field(
        4.0, gt=0, le=limits.RATIO, description="llama3: pairs with more rotations than this are not changed."
    )
    length: int = Field(
        8192, ge=1, le=limits.POSITIONS, description="llama3: number of positions in which rotations are counted."
    )

    @model_validator(mode="after")
    def _slow_below_fast(self) -> RopeScaling:
        if self.slow >= self.fast:
            raise ValueError(f"slow = {self.slow:g} must be less than fast = {self.fast:g}")
        return self

    @property
    def stretch(self) -> Stretch:
        if self.kind == "linear":
            return partial(stretched, factor=self.factor)
        return partial(stretched_where_slow, factor=self.factor, slow=self.slow, fast=self.fast, length=self.length)


class LlamaConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["llama"] = Field("llama", description="The architecture.")
    size: Size = Field("tiny", description="Fills in the shape: nano, micro, tiny, mini, small, or a published one.")
    vocabulary: int = Field(ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(ge=1, le=limits.BLOCKS, description="Blocks.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the model: every token is a vector of d numbers.")
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads.")
    kv_heads: int | None = Field(
        None, ge=1, le=limits.HEADS, description="Key/value heads, each shared by h/kv_heads query heads; None: h."
    )
    head_width: int | None = Field(None, ge=2, le=limits.WIDTH, description="Width of a head; None: d/h.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the feed-forward network, or of each expert.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field(
        "silu", description="Activation of the gate; SwiGLU: silu."
    )
    norm_eps: float = Field(1e-5, gt=0, le=1, description="Epsilon of RMSNorm.")
    rope_theta: float = Field(10000.0, gt=0, le=limits.RATIO, description="Base of the rotary angles.")
    rope_scaling: RopeScaling | None = Field(
        None, description="Changes rotary positions for texts longer than those of pre-training."
    )
    max_length: int = Field(2048, ge=1, le=limits.POSITIONS, description="The longest text in training, in tokens.")
    window: int | None = Field(
        None,
        ge=1,
        le=limits.POSITIONS,
        description="Number of tokens that a token sees, itself included; None: all before it.",
    )
    biases: Literal["none", "qkv", "attention"] = Field(
        "none", description="Which projections of attention have biases."
    )
    feed_forward_bias: bool = Field(False, description="Whether the feed-forward network has biases.")
    head: Literal["next", "sentence"] = Field(
        "next", description="What is predicted: each next token, or the class of the whole text, from its last token."
    )
    classes: int = Field(2, ge=1, le=limits.CLASSES, description="Number of classes, for the head sentence.")
    tied: bool = Field(False, description="Whether embedding and output layer are one matrix.")
    experts: int = Field(
        0,
        ge=0,
        le=limits.EXPERTS,
        description="Feed-forward networks (experts) in each block; 0: one, without a router.",
    )
    experts_per_token: int = Field(2, ge=1, le=limits.EXPERTS, description="Number of experts that compute each token.")
    balance: float = Field(
        0.001,
        ge=0,
        le=limits.RATIO,
        description="Weight of the auxiliary loss that spreads tokens evenly over the experts.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[LlamaConfig]) -> LlamaConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @model_validator(mode="after")
    def _fits_together(self) -> LlamaConfig:
        if self.kv_heads is None:
            self.__dict__["kv_heads"] = (
                self.h
            )  # TOML has no None: reading it back with a size would set a different number
        if self.head_width is None and self.d % self.h:
            raise ValueError(f"d = {self.d} is not a multiple of h = {self.h}: give head_width, or change one of them")
        if self.h % self.groups:
            raise ValueError(f"h = {self.h} is not a multiple of kv_heads = {self.groups}: they share the heads evenly")
        if self.experts and self.experts_per_token > self.experts:
            raise ValueError(f"experts_per_token = {self.experts_per_token} is more than experts = {self.experts}")
        if self.experts and self.feed_forward_bias:
            raise ValueError("experts have no biases: omit feed_forward_bias")
        return self

    @property
    def groups(self) -> int:
        """G: key/value heads."""
        return self.kv_heads or self.h

    @property
    def width_of_head(self) -> int:
        """E: width of a head."""
        return self.head_width or self.d // self.h


class Inputs(nn.Module):
    """Token embeddings. Positions enter later, as rotations of queries and keys."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.embedding = Embedding(config.vocabulary, config.d, scaled=False)
        self.dropout = Dropout(config.dropout)
        self.token, self.sum = Tap(), Tap()

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, D)"""
        return self.sum(self.dropout(self.token(self.embedding(ids))))


class Block(nn.Module):
    """Masked self-attention, then feed-forward or a mixture of experts, each x + f(RMSNorm(x))."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(
            config.d,
            heads=config.h,
            kv_heads=config.groups,
            head_width=config.width_of_head,
            bias=config.biases != "none",
            out_bias=config.biases == "attention",
        )
        self.attention_residual = PreNorm(RMSNorm(config.d, eps=config.norm_eps), dropout=config.dropout)
        self.feed_forward = make_feed_forward(config)
        self.feed_forward_residual = PreNorm(RMSNorm(config.d, eps=config.norm_eps), dropout=config.dropout)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None,
        causal: bool,
        rotation: Rotation,
        cache: KVCache | None,
        routings: list[Routing] | None = None,
    ) -> Tensor:
        attend = partial(self.attention, mask=mask, causal=causal, rotation=rotation, cache=cache)
        x = self.attention_residual(x, attend)
        if isinstance(self.feed_forward, Experts):
            return self.feed_forward_residual(x, partial(self.feed_forward, routings=routings))
        return self.feed_forward_residual(x, self.feed_forward)


def make_feed_forward(config: LlamaConfig) -> FeedForward | Experts:
    if not config.experts:
        bias = config.feed_forward_bias
        return FeedForward(config.d, config.d_ff, activation=config.activation, gated=True, bias=bias)
    return Experts(
        config.d,
        config.d_ff,
        experts=config.experts,
        per_token=config.experts_per_token,
        activation=config.activation,
    )


class Llama(DecoderOnly):
    """Embeddings, N blocks, a final norm and the output layer."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config, self.window = config, config.window
        self.inputs = Inputs(config)
        stretch = None if config.rope_scaling is None else config.rope_scaling.stretch
        self.rotary = RotaryPositions(config.width_of_head, base=config.rope_theta, stretch=stretch)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.N))
        self.final_norm = RMSNorm(config.d, eps=config.norm_eps)
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
        routings: list[Routing] | None = None,
    ) -> Tensor:
        x, length = self.inputs(ids), ids.size(1)
        rotation = self.rotary(length) if places is None else self.rotary.at(places)
        if causal and self.window is not None and length > self.window:
            mask = window_mask(length, self.window, device=ids.device)
        for i, block in enumerate(self.blocks):
            cache = caches[i] if caches else None
            x = block(x, mask=mask, causal=causal, rotation=rotation, cache=cache, routings=routings)
        return self.final_norm(x)

    def hidden_and_auxiliary(self, batch: TextBatch) -> tuple[Tensor, Tensor | None]:
        hidden, balance = self.hidden_and_balance(batch)
        return hidden, None if balance is None else self.config.balance * balance

    def hidden_and_balance(self, batch: TextBatch) -> tuple[Tensor, Tensor | None]:
        """The last hidden states (B, T, D), and how unevenly the experts were used: `experts_per_token` if all
        are used equally, up to `experts` times that. Padding does not count. None without experts."""
        routings: list[Routing] = []
        hidden = self.states(batch.ids, routings=routings)
        real = padding_mask(batch.lengths, batch.ids.size(1)).flatten()  # (M,)
        return hidden, balancing_loss(routings, real=real) if routings else None
