"""The encoder of a translator as a separate model that turns texts into vectors.

`glassformer embed` and `context` use it. The vectors are those that the decoder reads by cross-attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

from torch import Tensor, nn

from glassformer.data.batches import SourceBatch
from glassformer.models.batches import TextBatch
from glassformer.models.transformer import Transformer
from glassformer.tasks.model import LoadedModel

if TYPE_CHECKING:
    from glassformer.tasks.context import Context
    from glassformer.tasks.embedding import TextEncoder, Vectors


class SourceModel(nn.Module):
    """Shares all modules and weights with the translator."""

    def __init__(self, translator: Transformer) -> None:
        super().__init__()
        self.encoder, self.encode = translator.encoder, translator.encode
        config = translator.config
        self.config = SimpleNamespace(
            N=config.N,
            d=config.d,
            h=config.h,
            vocabulary=len(translator.encoder.inputs.embedding.weight),
            max_length=config.max_length if config.positions == "learned" else None,
        )

    def hidden(self, batch: TextBatch) -> Tensor:
        """The encoder's output (B, T, D)."""
        return self.encode(SourceBatch(batch.ids, batch.lengths))[0]


class SourceVectors(LoadedModel):
    """What a `Translator` can do with its encoder alone: the vectors of source texts."""

    @property
    def encoder(self) -> TextEncoder:
        """The encoder as a model that turns texts into vectors."""
        from glassformer.tasks.embedding import TextEncoder  # it needs this file

        return TextEncoder(self.bundle)

    def embed(
        self, texts: str | Sequence[str], *, pooling: str | None = None, normalise: bool | None = None
    ) -> Vectors:
        """One vector for each source text, (n, D), or (D,) for a single text: the mean of its tokens by default."""
        return self.encoder.embed(texts, pooling=pooling, normalise=normalise)

    def context(self, sentences: Sequence[str], word: str) -> Context:
        """How the vector of a source word changes with its context: the word in several sentences, layer by layer."""
        return self.encoder.context(sentences, word)
