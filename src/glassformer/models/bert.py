"""BERT: "Pre-training of Deep Bidirectional Transformers for Language Understanding" (Devlin et al., arXiv 1810.04805).

The encoder of 2017 with post-norm, on the sum of three embeddings: token, segment and learned position (figure 2).
Every token sees every other. It is pretrained on two tasks: predict masked words, and predict whether the second
sentence follows the first. RoBERTa (arXiv 1907.11692) is the same with other settings: one segment, positions that
begin after the padding's id, masked words only. DistilBERT (arXiv 1910.01108) has no segments. There is no dropout
inside attention.
Shapes: B sentences, T tokens, D = d, H = h, V vocabulary.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, cast

import torch
from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.errors import ModelError
from glassformer.models.batches import SegmentedBatch, casing_of
from glassformer.models.fast.taped_bert import fast_rows
from glassformer.models.fast.tapes import WithTapes
from glassformer.models.sizes import filled
from glassformer.nn.attention import SelfAttention
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import ClassHead, FirstTokenHead, MaskedWordsHead, SpanHead
from glassformer.nn.init import init_normal
from glassformer.nn.masks import hiding_padding
from glassformer.nn.norms import LayerNorm
from glassformer.nn.pooling import mean_of_rows
from glassformer.nn.positions import LearnedPositions
from glassformer.nn.residual import PostNorm
from glassformer.nn.taps import Tap
from glassformer.nn.word_odds import WordOdds
from glassformer.text.casing import PATTERNS

_ROBERTA = {"vocabulary": 50265, "segments": 1, "first_position": 2, "norm_eps": 1e-5}
# The paper's base and large; the smaller ones of arXiv 1908.08962; minilm of arXiv 2002.10957; RoBERTa's.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"N": 2, "d": 128, "h": 2, "d_ff": 512},
    "mini": {"N": 4, "d": 256, "h": 4, "d_ff": 1024},
    "small": {"N": 4, "d": 512, "h": 8, "d_ff": 2048},
    "medium": {"N": 8, "d": 512, "h": 8, "d_ff": 2048},
    "minilm": {"N": 6, "d": 384, "h": 12, "d_ff": 1536},
    "base": {"N": 12, "d": 768, "h": 12, "d_ff": 3072},
    "large": {"N": 24, "d": 1024, "h": 16, "d_ff": 4096},
    "distilbert": {"N": 6, "d": 768, "h": 12, "d_ff": 3072, "segments": 0, "pooler_activation": "relu"},
    "roberta-base": {"N": 12, "d": 768, "h": 12, "d_ff": 3072, **_ROBERTA},
    "roberta-large": {"N": 24, "d": 1024, "h": 16, "d_ff": 4096, **_ROBERTA},
}
Size = Literal[
    "tiny", "mini", "small", "medium", "minilm", "base", "large", "distilbert", "roberta-base", "roberta-large"
]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Head = Literal["none", "words", "pretraining", "sentence", "tokens", "span"]


class BertConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["bert"] = Field("bert", description="The architecture.")
    size: Size = Field("tiny", description="Fills in the rest: tiny to medium, minilm, the paper's base and large, ...")
    vocabulary: int = Field(30522, ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(ge=1, le=limits.BLOCKS, description="Blocks.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the model: every token is a vector of d numbers.")
    h: int = Field(ge=1, le=limits.HEADS, description="Attention heads; d must be a multiple of h.")
    d_ff: int = Field(ge=1, le=limits.WIDTH, description="Inner width of the feed-forward network.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    activation: Activation = Field("gelu", description="Activation of the feed-forward network.")
    norm_eps: float = Field(1e-12, gt=0, le=1, description="Epsilon of the norms.")
    max_length: int = Field(512, ge=1, le=limits.POSITIONS, description="The longest input, in tokens.")
    first_position: int = Field(
        0, ge=0, le=limits.POSITIONS, description="Position of the first token; RoBERTa: the padding's id + 1."
    )
    segments: int = Field(
        2,
        ge=0,
        le=limits.CLASSES,
        description="Number of parts an input may have; RoBERTa: 1; DistilBERT: 0, no vectors.",
    )
    pooler: bool = Field(
        True, description="Whether there is a pooler: a vector for the whole input, from the first token's."
    )
    pooler_activation: Literal["tanh", "relu"] = Field(
        "tanh", description="Activation of the pooler; DistilBERT's classifiers have relu."
    )
    pooling: Literal["first", "mean"] = Field(
        "first",
        description="What the class of an input is predicted from: the pooler's vector (first), or the mean of the "
        "last hidden states of all tokens (mean). Other programs can read only classifiers with first.",
    )
    word_odds: int | None = Field(
        None,
        ge=0,
        le=limits.WORD_ROWS,
        description="Rows of a table with what each word and pair of neighbours says about the class of a text, beside "
        "the model; a power of two; 0: no table. Other programs cannot read it. Default: the task decides.",
    )
    head: Head = Field(
        "none",
        description="What is predicted: masked words (words), words and next sentence (pretraining), the class of the "
        "input (sentence) or of each token (tokens), the begin and end of a span (span).",
    )
    classes: int = Field(
        2, ge=1, le=limits.CLASSES, description="Number of classes, for the heads sentence and tokens."
    )
    head_activation: Activation | None = Field(
        None, description="Activation inside the head for words, if not `activation`."
    )
    tied: bool = Field(True, description="Whether the head for words shares the embedding's matrix.")
    casing: bool | None = Field(
        None,
        description="Whether the inputs have a vector for the pattern of a word's capitals, which a vocabulary in "
        "lower case loses. Only for the task tag, which decides it by the vocabulary.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[BertConfig]) -> BertConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @model_validator(mode="after")
    def _parts_fit(self) -> BertConfig:
        if self.d % self.h:
            raise ValueError(f"d = {self.d} is not a multiple of h = {self.h}: the heads share the width evenly")
        rows = self.word_odds or 0
        if rows & (rows - 1):
            raise ValueError(f"word_odds = {rows}: must be a power of two, or 0")
        pooled = self.head == "pretraining" or (self.head == "sentence" and self.pooling == "first")
        if pooled and not self.pooler:
            raise ValueError(f"head = {self.head!r} reads the pooler's output: it needs pooler = true")
        return self


class Inputs(nn.Module):
    """The paper's figure 2: token, segment and position, added and normalised."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.start, self.max_length = config.first_position, config.max_length
        self.embedding = Embedding(config.vocabulary, config.d, scaled=False)
        self.segments = Embedding(config.segments, config.d, scaled=False) if config.segments else None
        # Scaled, it is learned within a few steps, before the words are memorised.
        self.casing = Embedding(len(PATTERNS), config.d, scaled=True) if config.casing else None
        self.positions = LearnedPositions(self.start + config.max_length, config.d)
        self.norm = LayerNorm(config.d, eps=config.norm_eps)
        self.dropout = Dropout(config.dropout)
        self.token, self.segment, self.position, self.sum = Tap(), Tap(), Tap(), Tap()

    def forward(self, ids: Tensor, segments: Tensor | None, casing: Tensor | None = None) -> Tensor:
        """ids, segments and casing (B, T) -> (B, T, D); all tokens are in the first without segments, or with one."""
        self.check_length(ids.size(1))
        x = self.token(self.embedding(ids))
        if self.segments is not None:
            one = segments is None or self.segments.weight.size(0) == 1
            x = x + self.segment(self.segments.weight[0] if one else self.segments(segments))
        if self.casing is not None and casing is not None:
            x = x + self.casing(casing)
        x = x + self.position(self.positions(ids.size(1), start=self.start))
        return self.sum(self.dropout(self.norm(x)))

    def check_length(self, length: int) -> None:
        if length > self.max_length:
            raise ModelError(
                f"The text has {length} tokens; this model reads at most {self.max_length}. Cut or split the text."
            )


class Block(nn.Module):
    """Self-attention in both directions, then feed-forward."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h)
        self.self_attention_residual = PostNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = PostNorm(LayerNorm(config.d, eps=config.norm_eps), dropout=config.dropout)

    def forward(self, x: Tensor, *, mask: Tensor | None) -> Tensor:
        x = self.self_attention_residual(x, partial(self.self_attention, mask=mask))
        return self.feed_forward_residual(x, self.feed_forward)

    def at(self, x: Tensor, rows: Tensor, *, mask: Tensor | None) -> Tensor:
        """The same for some tokens alone (M, D), which still see all others."""
        read = self.self_attention(x, mask=mask, rows=rows)
        x = self.self_attention_residual(x.flatten(0, 1).index_select(0, rows), lambda _: read)
        return self.feed_forward_residual(x, self.feed_forward)


class Bert(WithTapes):
    """Inputs, N blocks, and what reads their output: the pooler and a head, if there are any."""

    HEADS = ("pooler.", "head.", "follows.", "inputs.casing.", "word_odds.")  # prefixes of parameters
    COUNTED = ("word_odds.",)  # prefixes of those that are counted from the data, not trained

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = Inputs(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.N))
        self.pooler = FirstTokenHead(config.d, activation=config.pooler_activation) if config.pooler else None
        self.head = make_head(config, self.inputs.embedding)
        self.follows = ClassHead(config.d, 2) if config.head == "pretraining" else None
        if config.word_odds and config.head != "sentence":
            raise ModelError(
                f"word_odds is for classes of whole texts (head = 'sentence'); the head is {config.head!r}."
            )
        self.word_odds = WordOdds(config.word_odds, config.classes) if config.word_odds else None
        self.pooled, self.logits = Tap(), Tap()
        init_normal(self)
        if self.inputs.casing is not None:
            nn.init.zeros_(self.inputs.casing.weight)  # a pretrained body begins as it was
        if self.word_odds is not None:
            nn.init.zeros_(self.word_odds.table)

    def forward(self, batch: SegmentedBatch) -> Tensor:
        """The head's logits: (B, T, V) of words, (B, classes), (B, T, classes), (B, T, 2) of a span.

        Without a head, the hidden states.
        """
        pooled = self.config.head == "sentence" and self.config.pooling == "first"
        if self.head is not None and pooled and self.training and not self.heard:
            return self.logits(self.of_class(self.pool(self.first_hidden(batch)), batch))
        hidden = self.hidden(batch)
        if self.head is None:
            return hidden
        if self.config.head == "sentence":
            return self.logits(self.of_class(self.whole(hidden, batch), batch))
        return self.logits(self.head(hidden))

    def of_class(self, vector: Tensor, batch: SegmentedBatch) -> Tensor:
        """(B, D) -> (B, classes), with what the words alone say."""
        logits: Tensor = cast(ClassHead, self.head)(vector)
        return logits if self.word_odds is None else self.word_odds.mixed(logits, batch)

    def hidden(self, batch: SegmentedBatch) -> Tensor:
        """The last hidden states (B, T, D)."""
        x = self.inputs(batch.ids, batch.segments, casing_of(batch))
        mask = hiding_padding(batch.lengths, batch.ids.size(1), x.dtype)
        for block in self.blocks:
            x = block(x, mask=mask)
        return x

    def first_hidden(self, batch: SegmentedBatch) -> Tensor:
        """The last hidden states of the first tokens (B, 1, D): all that the pooler reads."""
        rows = torch.arange(batch.ids.size(0), device=batch.ids.device) * batch.ids.size(1)
        return self.hidden_at(batch, rows)[:, None]

    def hidden_at(self, batch: SegmentedBatch, rows: Tensor) -> Tensor:
        """The last hidden states of some tokens (M, D), by their places in the flattened batch.

        The last block computes nothing else for the other tokens than what these read of them.
        """
        x = self.inputs(batch.ids, batch.segments)
        mask = hiding_padding(batch.lengths, batch.ids.size(1), x.dtype)
        for block in self.blocks[:-1]:
            x = block(x, mask=mask)
        return cast(Block, self.blocks[-1]).at(x, rows, mask=mask)

    def rows(self, batch: SegmentedBatch) -> Tensor:
        """The last hidden states of all tokens except padding, one after another (R, D)."""
        self.inputs.check_length(batch.ids.size(1))
        return fast_rows(self, batch)

    def whole(self, hidden: Tensor, batch: SegmentedBatch) -> Tensor:
        """What the class of each whole input is predicted from, (B, D)."""
        if self.config.pooling == "first":
            return self.pool(hidden)
        return self.pooled(mean_of_rows(hidden, batch.lengths))

    def pool(self, hidden: Tensor) -> Tensor:
        """The pooler's vector for each whole input, (B, D)."""
        if self.pooler is None:
            raise ModelError("This model has no pooler. Use the mean of the hidden states instead.")
        return self.pooled(self.pooler(hidden))


def make_head(config: BertConfig, embedding: Embedding) -> MaskedWordsHead | ClassHead | SpanHead | None:
    """The head; the one for a sentence's class reads the pooled vector, the others the hidden states."""
    if config.head in ("words", "pretraining"):
        return MaskedWordsHead(
            config.d,
            config.vocabulary,
            activation=config.head_activation or config.activation,
            eps=config.norm_eps,
            tied_to=embedding.weight if config.tied else None,
        )
    if config.head in ("sentence", "tokens"):
        return ClassHead(config.d, config.classes, dropout=config.dropout)
    return SpanHead(config.d) if config.head == "span" else None
