"""The LSTM encoder-decoder of 2014: "Sequence to Sequence Learning with Neural Networks" (Sutskever et al., arXiv
1409.3215), figure 1.

A deep LSTM reads the source; its last states are one context vector, from which another deep LSTM writes the target.
Read from top to bottom: the stack of layers, encoder, decoder, the whole.
Shapes: B sentences, R hypotheses, S source tokens, T target tokens, N layers, D = d, V vocabulary.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.batches import SourceBatch, TranslationBatch
from glassformer.models.decoding.recurrent import Recurrent, RecurrentState, joined, split
from glassformer.models.sizes import filled
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.recurrent import LSTM, Cell, TokenInputs, padded_lengths, reversed_texts
from glassformer.nn.taps import Tap

# The paper's (its section 3.4), and smaller ones that an ordinary CPU can train in minutes.
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 1, "d": 64, "dropout": 0.1},
    "tiny": {"N": 2, "d": 128, "dropout": 0.1},
    "small": {"N": 2, "d": 256, "dropout": 0.2},
    "base": {"N": 2, "d": 512, "dropout": 0.2},
    "big": {"N": 4, "d": 1000, "dropout": 0.2},
}


class LstmConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["lstm"] = Field("lstm", description="The architecture.")
    size: Literal["nano", "tiny", "small", "base", "big"] = Field(
        "tiny", description="Fills in N, d and dropout; big is the paper's model of 4 layers."
    )
    N: int = Field(ge=1, le=limits.BLOCKS, description="Layers of the encoder, and of the decoder.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Cells of a layer, and width of the embeddings.")
    dropout: float = Field(
        ge=0, lt=1, description="Share of values zeroed between layers in training; never between positions."
    )
    reverse_source: bool = Field(
        True, description="The encoder reads the source from its end to its beginning, as in the paper."
    )
    tied: Literal["all", "output", "none"] = Field(
        "all", description="Shared matrices: both embeddings and the output (all), target and output (output), none."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[LstmConfig]) -> LstmConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @property
    def shape(self) -> str:
        """In a few words."""
        return f"{self.N}+{self.N} LSTM layers, d {self.d}"


class Stack(nn.Module):
    """Inputs and N layers, each of which reads the hidden states of the layer below; dropout between them (Zaremba et
    al. 2014, arXiv 1409.2329)."""

    def __init__(self, config: LstmConfig, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = TokenInputs(embedding, dropout=config.dropout)
        self.blocks = nn.ModuleList(LSTM(config.d, config.d) for _ in range(config.N))
        self.dropout = Dropout(config.dropout)

    def forward(
        self, ids: Tensor, starts: list[Cell] | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, list[Cell]]:
        """ids (B, T) -> hidden states (B, T, D), and the state of each layer after the last token."""
        x, ends = self.inputs(ids), []
        for layer, block in enumerate(self.blocks):
            x, end = block(x, start=None if starts is None else starts[layer], lengths=lengths)
            x = self.dropout(x)
            ends.append(end)
        return x, ends


class Encoder(Stack):
    """Reads the source, backwards if the config says so, and returns its last states."""

    def __init__(self, config: LstmConfig, embedding: Embedding) -> None:
        super().__init__(config, embedding)
        self.reverse = config.reverse_source

    def read(self, batch: SourceBatch) -> list[Cell]:
        lengths = padded_lengths(batch.source_lengths, batch.source.size(1))
        ids = reversed_texts(batch.source, lengths) if self.reverse else batch.source
        return self(ids, lengths=lengths)[1]


class Lstm(Recurrent):
    """Encoder, decoder and the output layer. The context vector is all that the decoder knows of the source."""

    def __init__(self, config: LstmConfig, *, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if config.tied == "all" and source_vocabulary != target_vocabulary:
            raise ValueError(f"tied = 'all' needs one vocabulary, got {source_vocabulary} and {target_vocabulary}")
        self.config = config
        target = Embedding(target_vocabulary, config.d)
        source = target if config.tied == "all" else Embedding(source_vocabulary, config.d)
        self.encoder = Encoder(config, source)
        self.decoder = Stack(config, target)
        tied_to = None if config.tied == "none" else target.weight
        self.head = VocabularyHead(config.d, target_vocabulary, tied_to=tied_to)
        self.context, self.logits = Tap(), Tap()

    def encode(self, batch: SourceBatch) -> Tensor:
        """The context vector of each sentence: hidden state and cell of every layer, (B, N, 2, D)."""
        return self.context(joined(self.encoder.read(batch)))

    def hidden(self, batch: TranslationBatch) -> Tensor:
        """Teacher forcing: the decoder's hidden states (B, T, D), from the true tokens before each position."""
        return cast(Tensor, self.decoder(batch.target_in, split(self.encode(batch)))[0])

    def start(self, batch: SourceBatch) -> RecurrentState:
        return RecurrentState.first((self.encode(batch),))

    def advance(self, ids: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState, None]:
        hidden, ends = self.decoder(ids[:, None], split(state.vectors[0]))
        return hidden[:, 0], state.after((joined(ends),)), None
