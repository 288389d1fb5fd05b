"""RoFormer: "Enhanced Transformer with Rotary Position Embedding" (Su et al., arXiv 2104.09864).

BERT's encoder without added positions: queries and keys are rotated by an angle proportional to their position, so
their product depends only on the distance between two tokens (equations 13 to 16). Token vectors may be narrower than
the model; a matrix then widens them. There is no dropout inside attention.
Shapes: B sentences, T tokens, D = d, H = h, E = D/H, V vocabulary.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.errors import ModelError
from glassformer.models.batches import SegmentedBatch, casing_of
from glassformer.models.sizes import filled
from glassformer.nn.attention import SelfAttention
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import ClassHead, FirstTokenHead, MaskedWordsHead, SpanHead
from glassformer.nn.init import init_normal
from glassformer.nn.linear import Linear
from glassformer.nn.masks import hiding_padding
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import RotaryPositions, Rotation
from glassformer.nn.residual import PostNorm
from glassformer.nn.taps import Tap, WithTaps
from glassformer.text.casing import PATTERNS

# "base" is the paper's, for Chinese (section 4.5); "small" was published with it; "tiny" is for learning and tests.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"N": 2, "d": 128, "h": 2, "d_ff": 512, "max_length": 512},
    "small": {"N": 6, "d": 384, "h": 6, "d_ff": 1536, "max_length": 512},
    "base": {"N": 12, "d": 768, "h": 12, "d_ff": 3072, "max_length": 1536},
}


class RoFormerConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["roformer"] = Field("roformer", description="The architecture.")
    size: Literal["tiny", "small", "base"] = Field("tiny", description="Fills in the rest: tiny, small, base.")
    vocabulary: int = Field(50000, ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(ge=1, le=limits.BLOCKS, description="Blocks.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the model: every token is a vector of d numbers.")
    d_token: int | None = Field(None, ge=1, le=limits.WIDTH, description="Width of the token vectors, if not d.")
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads; d must be a multiple of h.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the feed-forward network.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field(
        "gelu", description="Activation of the feed-forward network."
    )
    norm_eps: float = Field(1e-12, gt=0, le=1, description="Epsilon of the norms.")
    max_length: int = Field(ge=1, le=limits.POSITIONS, description="The longest input, in tokens, as in training.")
    segments: int = Field(2, ge=1, le=limits.CLASSES, description="Number of parts an input may have.")
    head: Literal["none", "words", "sentence", "tokens", "span"] = Field(
        "none",
        description="What is predicted: masked words, the class of the input (sentence) or of each token, a span.",
    )
    classes: int = Field(
        2, ge=1, le=limits.CLASSES, description="Number of classes, for the heads sentence and tokens."
    )
    tied: bool = Field(True, description="Whether the head for words shares the embedding's matrix.")
    casing: bool | None = Field(
        None,
        description="Whether the inputs have a vector for the pattern of a word's capitals, which a vocabulary in "
        "lower case loses. Only for the task tag, which decides it by the vocabulary.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[RoFormerConfig]) -> RoFormerConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @model_validator(mode="after")
    def _pairs_in_heads(self) -> RoFormerConfig:
        if self.d % (2 * self.h):
            raise ValueError(
                f"d = {self.d} is not a multiple of 2 h = {2 * self.h}: each head rotates pairs of numbers"
            )
        return self


class Inputs(nn.Module):
    """Token and segment, added, normalised, and widened where they are narrower than the model."""

    def __init__(self, config: RoFormerConfig) -> None:
        super().__init__()
        self.max_length, width = config.max_length, config.d_token or config.d
        self.embedding = Embedding(config.vocabulary, width, scaled=False)
        self.segments = Embedding(config.segments, width, scaled=False)
        # Scaled, it is learned within a few steps, before the words are memorised.
        self.casing = Embedding(len(PATTERNS), width, scaled=True) if config.casing else None
        self.norm = LayerNorm(width, eps=config.norm_eps)
        self.dropout = Dropout(config.dropout)
        self.widen = Linear(width, config.d) if width != config.d else nn.Identity()
        self.token, self.segment, self.sum = Tap(), Tap(), Tap()

    def forward(self, ids: Tensor, segments: Tensor | None, casing: Tensor | None = None) -> Tensor:
        """ids, segments and casing (B, T) -> (B, T, D); all tokens are in the first without segments, or with one."""
        if ids.size(1) > self.max_length:
            raise ModelError(
                f"The text has {ids.size(1)} tokens; this model reads at most {self.max_length}. Cut or split the text."
            )
        one = segments is None or self.segments.weight.size(0) == 1
        segment = self.segments.weight[0] if one else self.segments(segments)
        x = self.token(self.embedding(ids)) + self.segment(segment)
        if self.casing is not None and casing is not None:
            x = x + self.casing(casing)
        return self.sum(self.widen(self.dropout(self.norm(x))))


class Block(nn.Module):
    """Self-attention in both directions with rotated queries and keys, then feed-forward."""

    def __init__(self, config: RoFormerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h)
        self.self_attention_residual = PostNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = PostNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)

    def forward(self, x: Tensor, *, mask: Tensor | None, rotation: Rotation) -> Tensor:
        x = self.self_attention_residual(x, partial(self.self_attention, mask=mask, rotation=rotation))
        return self.feed_forward_residual(x, self.feed_forward)

    def at(self, x: Tensor, rows: Tensor, *, mask: Tensor | None, rotation: Rotation) -> Tensor:
        """The same for some tokens alone (M, D), which still see all others."""
        read = self.self_attention(x, mask=mask, rotation=rotation, rows=rows)
        x = self.self_attention_residual(x.flatten(0, 1).index_select(0, rows), lambda _: read)
        return self.feed_forward_residual(x, self.feed_forward)


class RoFormer(WithTaps):
    """Inputs, N blocks, and a head if there is one. A sentence's class is read from its first token."""

    HEADS = ("pooler.", "head.", "inputs.casing.")  # prefixes of parameters

    def __init__(self, config: RoFormerConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = Inputs(config)
        self.rotary = RotaryPositions(config.d // config.h)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.N))
        classifies = config.head == "sentence"
        self.pooler = FirstTokenHead(config.d, activation=config.activation) if classifies else None
        self.head = make_head(config, self.inputs.embedding)
        self.pooled, self.logits = Tap(), Tap()
        init_normal(self)
        if self.inputs.casing is not None:
            nn.init.zeros_(self.inputs.casing.weight)  # a pretrained body begins as it was

    def forward(self, batch: SegmentedBatch) -> Tensor:
        """The head's logits: (B, T, V) of words, (B, classes), (B, T, classes), (B, T, 2) of a span.

        Without a head, the hidden states.
        """
        hidden = self.hidden(batch)
        if self.head is None:
            return hidden
        return self.logits(self.head(hidden if self.pooler is None else self.pooled(self.pooler(hidden))))

    def hidden(self, batch: SegmentedBatch) -> Tensor:
        """The last hidden states (B, T, D)."""
        x, length = self.inputs(batch.ids, batch.segments, casing_of(batch)), batch.ids.size(1)
        mask, rotation = hiding_padding(batch.lengths, length, x.dtype), self.rotary(length)
        for block in self.blocks:
            x = block(x, mask=mask, rotation=rotation)
        return x

    def hidden_at(self, batch: SegmentedBatch, rows: Tensor) -> Tensor:
        """The last hidden states of some tokens (M, D), by their places in the flattened batch.

        The last block computes nothing else for the other tokens than what these read of them.
        """
        x, length = self.inputs(batch.ids, batch.segments), batch.ids.size(1)
        mask, rotation = hiding_padding(batch.lengths, length, x.dtype), self.rotary(length)
        for block in self.blocks[:-1]:
            x = block(x, mask=mask, rotation=rotation)
        return cast(Block, self.blocks[-1]).at(x, rows, mask=mask, rotation=rotation)


def make_head(config: RoFormerConfig, embedding: Embedding) -> MaskedWordsHead | ClassHead | SpanHead | None:
    """The head; the one for a sentence's class reads the pooled vector, the others the hidden states."""
    if config.head == "words":
        return MaskedWordsHead(
            config.d,
            config.vocabulary,
            inner=embedding.weight.size(1),
            activation=config.activation,
            eps=config.norm_eps,
            tied_to=embedding.weight if config.tied else None,
        )
    if config.head in ("sentence", "tokens"):
        return ClassHead(config.d, config.classes, dropout=config.dropout)
    return SpanHead(config.d) if config.head == "span" else None
