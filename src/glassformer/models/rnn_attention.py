"""The recurrent translator with attention of 2014: "Neural Machine Translation by Jointly Learning to Align and
Translate" (Bahdanau et al., arXiv 1409.0473), figure 1 and appendix A.

The encoder reads the source both ways; each state of the decoder looks for the source tokens it needs next.
Read from top to bottom: encoder, decoder with its attention, readout, the whole.
Shapes: B sentences, R hypotheses, S source tokens, T target tokens, D = d, n units, M = 2n, V vocabulary.
"""

from __future__ import annotations

from typing import Any, Literal, Self, cast

import torch
from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.batches import SourceBatch, TranslationBatch
from glassformer.models.decoding.recurrent import Recurrent, RecurrentState
from glassformer.models.sizes import filled
from glassformer.nn.additive import AttentiveGRU, Read
from glassformer.nn.attention import Projections
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.masks import hiding_padding
from glassformer.nn.recurrent import GRU, BothWays, TokenInputs, padded_lengths
from glassformer.nn.taps import Tap

# The paper's RNNsearch (its appendix A.2.3), and smaller ones that an ordinary CPU can train in minutes.
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"d": 64, "n": 64, "l": 64, "dropout": 0.1},
    "tiny": {"d": 128, "n": 128, "l": 128, "dropout": 0.1},
    "small": {"d": 256, "n": 256, "l": 256, "dropout": 0.2},
    "base": {"d": 512, "n": 512, "l": 512, "dropout": 0.2},
    "big": {"d": 620, "n": 1000, "l": 500, "dropout": 0.2, "tied": "none"},
}


class RnnAttentionConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["rnn_attention"] = Field("rnn_attention", description="The architecture.")
    size: Literal["nano", "tiny", "small", "base", "big"] = Field(
        "tiny", description="Fills in d, n, l, dropout and tied; big is the paper's RNNsearch."
    )
    d: int = Field(ge=1, le=limits.WIDTH, description="Width of the embeddings (m in the paper).")
    n: int = Field(ge=1, le=limits.WIDTH, description="Gated units of each direction, and of the decoder.")
    l: int = Field(ge=1, le=limits.WIDTH, description="Width of the readout, after the maximum of each pair.")  # noqa: E741
    dropout: float = Field(
        ge=0,
        lt=1,
        description="Share of values zeroed before and after the layers in training; never between positions.",
    )
    tied: Literal["all", "output", "none"] = Field(
        "all", description="Shared matrices: both embeddings and the output (all), target and output (output), none."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[RnnAttentionConfig]) -> RnnAttentionConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @model_validator(mode="after")
    def _one_width_if_tied(self) -> Self:
        if self.tied != "none" and self.d != self.l:
            raise ValueError(f"tied = {self.tied!r} needs d = l, got {self.d} and {self.l}: they share one matrix")
        return self

    @property
    def N(self) -> int:
        """Layers of each side."""
        return 1

    @property
    def shape(self) -> str:
        """In a few words."""
        return f"2+1 GRU layers with attention, d {self.d}, n {self.n}"


class Encoder(nn.Module):
    """A layer of gated units in each direction: h_j is what both know about source token j."""

    def __init__(self, config: RnnAttentionConfig, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = TokenInputs(embedding, dropout=config.dropout)
        self.blocks = nn.ModuleList([BothWays(GRU(config.d, config.n), GRU(config.d, config.n))])
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, *, lengths: Tensor | None) -> Tensor:
        """ids (B, S) -> h (B, S, M)."""
        return self.dropout(self.blocks[0](self.inputs(ids), lengths=lengths))


class Readout(nn.Module):
    """t_i: the maximum of each pair of U_o s_i + V_o y_{i-1} + C_o c_i (Goodfellow et al. 2013; appendix A.2.2)."""

    def __init__(self, config: RnnAttentionConfig) -> None:
        super().__init__()
        self.linear = Projections(config.n + config.d + 2 * config.n, [2 * config.l], bias=True)
        self.dropout = Dropout(config.dropout)
        self.pre, self.post = Tap(), Tap()

    def forward(self, state: Tensor, y: Tensor, context: Tensor) -> Tensor:
        """s (..., n), y (..., D) and c (..., M) -> t (..., l)."""
        pairs = self.pre(self.linear(torch.cat([state, y, context], dim=-1))).unflatten(-1, (-1, 2))  # (..., l, 2)
        return self.dropout(self.post(pairs.amax(dim=-1)))


class Decoder(nn.Module):
    """s_0 = tanh(W_s h_1) of the backward direction; then one state after the other, each with its own context."""

    def __init__(self, config: RnnAttentionConfig, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = TokenInputs(embedding, dropout=config.dropout)
        self.first = Projections(config.n, [config.n], bias=True)
        self.blocks = nn.ModuleList(
            [AttentiveGRU(config.d, config.n, memory_width=2 * config.n, alignment_width=config.n)]
        )
        self.readout = Readout(config)

    @property
    def block(self) -> AttentiveGRU:
        return cast(AttentiveGRU, self.blocks[0])

    def begin(self, memory: Tensor) -> tuple[Tensor, Read]:
        """The first state (B, n), and the memory (B, S, M) as attention reads it."""
        backward = memory[:, 0, memory.size(-1) // 2 :]  # it has read the whole sentence
        return self.first(backward).tanh(), self.block.cross_attention.read(memory)

    def forward(self, ids: Tensor, memory: Tensor, *, mask: Tensor | None) -> Tensor:
        """Teacher forcing: ids (B, T) -> t (B, T, l), ready for the output layer."""
        y, (start, read) = self.inputs(ids), self.begin(memory)
        states, contexts = self.block(y, start=start, read=read, mask=mask)
        return cast(Tensor, self.readout(states, y, contexts))


class RnnAttention(Recurrent):
    """Encoder, decoder and the output layer."""

    def __init__(self, config: RnnAttentionConfig, *, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if config.tied == "all" and source_vocabulary != target_vocabulary:
            raise ValueError(f"tied = 'all' needs one vocabulary, got {source_vocabulary} and {target_vocabulary}")
        self.config = config
        target = Embedding(target_vocabulary, config.d)
        source = target if config.tied == "all" else Embedding(source_vocabulary, config.d)
        self.encoder = Encoder(config, source)
        self.decoder = Decoder(config, target)
        tied_to = None if config.tied == "none" else target.weight
        self.head = VocabularyHead(config.l, target_vocabulary, tied_to=tied_to)
        self.memory, self.logits = Tap(), Tap()

    def encode(self, batch: SourceBatch) -> tuple[Tensor, Tensor | None]:
        """h (B, S, M), and 0 or -inf for each source token (B, S); None if nothing is padded."""
        size = batch.source.size(1)
        memory = self.encoder(batch.source, lengths=padded_lengths(batch.source_lengths, size))
        mask = hiding_padding(batch.source_lengths, size, memory.dtype)
        return self.memory(memory), None if mask is None else mask[:, 0, 0]

    def hidden(self, batch: TranslationBatch) -> Tensor:
        """Teacher forcing: the readouts (B, T, l), from the true tokens before each position."""
        memory, mask = self.encode(batch)
        return cast(Tensor, self.decoder(batch.target_in, memory, mask=mask))

    def start(self, batch: SourceBatch) -> RecurrentState:
        memory, mask = self.encode(batch)
        first, read = self.decoder.begin(memory)
        return RecurrentState.first((first,), read if mask is None else (*read, mask))

    def advance(self, ids: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState, Tensor]:
        keys, values, *masks = state.seen  # of each row's sentence
        y, block = self.decoder.inputs(ids[:, None])[:, 0], self.decoder.block
        _, a, c, *_, s = block.step(block.gru.input(y), state.vectors[0], (keys, values), masks[0] if masks else None)
        return self.decoder.readout(s, y, c), state.after((s,)), a[:, None, None]  # (R, 1, 1, S)
