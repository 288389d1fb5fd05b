"""An LSTM language model: deep LSTM layers that predict each next token (Mikolov et al. 2010 with simple units;
Zaremba et al. 2014, arXiv 1409.2329, with these layers and this dropout).

The hidden state after the last token of a text can also be read as the class of the whole text.
Shapes: B texts, R hypotheses, T tokens, N layers, D = d, V vocabulary.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer import limits
from glassformer.config import Settings
from glassformer.models.decoding.decoder_only import class_head
from glassformer.models.decoding.recurrent import RecurrentDecoder
from glassformer.models.sizes import filled
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.recurrent import LSTM, Cell, TokenInputs
from glassformer.nn.taps import Tap
from glassformer.printable import counted

# The last two are the medium and the large model of Zaremba et al.
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 1, "d": 64},
    "tiny": {"N": 2, "d": 128},
    "mini": {"N": 2, "d": 256},
    "small": {"N": 2, "d": 512},
    "medium": {"N": 2, "d": 650, "dropout": 0.5},
    "large": {"N": 2, "d": 1500, "dropout": 0.65},
}


class LstmLmConfig(Settings):
    """The shape of the model. `size` sets whatever is not given."""

    kind: Literal["lstm_lm"] = Field("lstm_lm", description="The architecture.")
    size: Literal["nano", "tiny", "mini", "small", "medium", "large"] = Field(
        "tiny", description="Fills in the rest; medium and large are those of Zaremba et al. 2014."
    )
    vocabulary: int = Field(10_000, ge=1, le=limits.PIECES, description="Number of tokens.")
    N: int = Field(ge=1, le=limits.BLOCKS, description="Layers.")
    d: int = Field(ge=1, le=limits.WIDTH, description="Cells of a layer, and width of the embeddings.")
    dropout: float = Field(
        0.1, ge=0, lt=1, description="Share of values zeroed between layers in training; never between positions."
    )
    head: Literal["next", "sentence"] = Field(
        "next", description="What is predicted: each next token, or the class of the whole text, from its last token."
    )
    classes: int = Field(2, ge=1, le=limits.CLASSES, description="Number of classes, for the head sentence.")
    tied: bool = Field(True, description="Whether embedding and output layer are one matrix.")

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[LstmLmConfig]) -> LstmLmConfig:
        return filled(values, validated, sizes=SIZES, default="tiny")

    @property
    def shape(self) -> str:
        """In a few words."""
        return f"{counted(self.N, 'LSTM layer')}, d {self.d}"


class LstmLm(RecurrentDecoder):
    """Inputs, N layers, each of which reads the hidden states of the layer below, and the output layer."""

    def __init__(self, config: LstmLmConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = TokenInputs(Embedding(config.vocabulary, config.d), dropout=config.dropout)
        self.blocks = nn.ModuleList(LSTM(config.d, config.d) for _ in range(config.N))
        self.dropout = Dropout(config.dropout)
        tied_to = self.inputs.embedding.weight if config.tied else None
        self.head = VocabularyHead(config.d, config.vocabulary, tied_to=tied_to)
        self.classifier = class_head(config)
        self.logits = Tap()

    def states(
        self, ids: Tensor, starts: list[Cell] | None = None, *, lengths: Tensor | None = None
    ) -> tuple[Tensor, list[Cell]]:
        x, ends = self.inputs(ids), []
        for layer, block in enumerate(self.blocks):
            x, end = block(x, start=None if starts is None else starts[layer], lengths=lengths)
            x = self.dropout(x)
            ends.append(end)
        return x, ends
