"""The settings of word vectors, with their bounds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from glassformer import limits
from glassformer.config import Settings

METHODS = ("skip-gram", "cbow", "ppmi")
TOKENS_SEEN = 20_000_000  # the default number of epochs lets word2vec see about this many words
MOST_EPOCHS = 200
RATES = {"skip-gram": 0.025, "cbow": 0.075}  # CBOW's gradient is a mean over the context, so its rate is larger


class VectorSettings(Settings):
    """How word vectors are made."""

    method: Literal["skip-gram", "cbow", "ppmi"] = Field(
        default="skip-gram",
        description="skip-gram: a word predicts each word around it. cbow: the words around predict it. ppmi: counts, "
        "weighted by positive pointwise mutual information, reduced by a singular value decomposition.",
    )
    width: int = Field(default=100, ge=1, le=limits.WORD_WIDTH, description="Numbers per vector.")
    window: int = Field(default=5, ge=1, le=limits.WINDOW, description="Words on each side that count as context.")
    min_count: int = Field(default=5, ge=1, le=limits.TOKENS_COUNTED, description="Leave out words rarer than this.")
    most_words: int | None = Field(
        default=None, ge=2, le=limits.WORD_ROWS, description="Keep only this many words, the most frequent ones."
    )
    epochs: int | None = Field(
        default=None,
        ge=1,
        le=limits.EPOCHS,
        description="Passes over the text. Default: 5, or more for a small text, so that 20 million words are seen.",
    )
    negatives: int = Field(default=5, ge=1, le=limits.NEGATIVES, description="Negative samples per word.")
    rate: float | None = Field(
        default=None, gt=0, le=10, description="Learning rate at the start; it falls to 0. Default: 0.025, cbow 0.075."
    )
    sample: float = Field(
        default=1e-3,
        ge=0,
        le=1,
        description="Words with a larger share of the text than this are skipped at random; 0 skips none.",
    )
    power: float = Field(
        default=0.75, ge=0, le=2, description="Negative samples are drawn by counts to this power (ppmi: smoothing)."
    )
    seed: int = Field(default=1, ge=0, le=limits.SEED, description="Seed of all random numbers.")
    threads: int = Field(
        default=1,
        ge=1,
        le=limits.THREADS,
        description="Threads. One gives the same vectors every time; several are faster, and results vary slightly.",
    )
    split: Literal["words", "spaces"] = Field(
        default="words", description="words: leave punctuation out. spaces: take what is between spaces as it is."
    )
    lower: bool = Field(default=True, description="Turn the text into lower case.")

    def epochs_for(self, tokens: int) -> int:
        """The epochs that are set, or the default for a text with this many words."""
        return self.epochs or max(5, min(MOST_EPOCHS, round(TOKENS_SEEN / max(1, tokens))))

    def first_rate(self) -> float:
        return self.rate or RATES[self.method]
