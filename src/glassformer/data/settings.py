"""Where examples come from, and which of them are used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from glassformer import limits
from glassformer.config import Settings

MARKS = 4  # the most special tokens around a question and a passage
SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def one_or_several(value: Any) -> Any:
    """A single name is a tuple of one."""
    return () if value is None else (value,) if isinstance(value, str) else value


def comma_separated(value: Any) -> Any:
    """`a,b` is a tuple of two."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


class HeldOut:
    """The setting `valid`: files, or a share of the data."""

    if TYPE_CHECKING:
        valid: tuple[str, ...]

    @property
    def valid_share(self) -> float | None:
        """The share to hold out, if `valid` gives one; None: files, or the default share."""
        matched = SHARE.fullmatch(self.valid[0]) if len(self.valid) == 1 else None
        return float(matched[1]) / 100 if matched else None

    @property
    def valid_files(self) -> tuple[str, ...]:
        """The validation files; none if a share is held out."""
        return self.valid if self.valid_share is None else ()

    def refuse_impossible_share(self) -> None:
        share = self.valid_share
        if share is not None and not 0 < share < 1:
            raise ValueError(f"valid = {self.valid[0]!r}: a share to hold out is between 0% and 100%, for instance 1%")


class DataSettings(Settings, HeldOut):
    """Files in any mix of formats, or a named corpus."""

    source: tuple[str, ...] = Field(
        (), description="Source text files, one sentence per line: one or several names, or a pattern ('*.en')."
    )
    target: tuple[str, ...] = Field((), description="Target text files: translations, line by line, in the same order.")
    pairs: tuple[str, ...] = Field(
        (), description="Files with both sides: .tsv, .csv, .jsonl, .po or .tmx (.gz, .xz, .bz2, .zst too)."
    )
    columns: tuple[str, str] | None = Field(
        None, description="Source and target columns of tables, by header or number, or keys of JSON lines."
    )
    languages: tuple[str, str] | None = Field(
        None, description="Source and target languages, such as en,de: for TMX files and for BLEU's tokenization."
    )
    corpus: str | None = Field(None, description="A named corpus instead of files; `glassformer corpora` lists them.")
    corpus_size: int = Field(
        60_000, ge=8000, le=limits.PHRASES, description="Number of training pairs from the phrasebook."
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation sentences: two aligned files, one file with both sides, or a share to hold out, such "
        "as 1%. Default: 2%, at most 1,000.",
    )
    filters: tuple[str, ...] = Field(
        (), description="Filters that drop further pairs: names from `glassformer doctor`, or recommended."
    )
    max_tokens: int = Field(
        200, ge=2, le=limits.TOKENS, description="Maximum tokens per side. Longer pairs are left out, and counted."
    )
    masks: float = Field(
        0.0,
        ge=0,
        le=0.5,
        description="Share of the training pairs in which masks replace some words on both sides, so that the model "
        "learns to place placeholders. 0: none.",
    )

    @field_validator("source", "target", "pairs", "valid", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return one_or_several(value)

    @field_validator("columns", "languages", "filters", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any) -> Any:
        return comma_separated(value)

    @model_validator(mode="after")
    def _one_kind(self) -> DataSettings:
        if self.corpus is not None and (self.source or self.target or self.pairs):
            raise ValueError("give either files (source and target, pairs) or corpus, not both")
        useless = [name for name in ("valid", "filters", "columns") if getattr(self, name)]
        if self.corpus is not None and useless:
            raise ValueError(f"a named corpus has parts of its own: {', '.join(useless)} cannot be given with it")
        if bool(self.source) != bool(self.target):
            raise ValueError(f"{'target' if self.source else 'source'} is missing: both sides are needed")
        self.refuse_impossible_share()
        return self


class FileSettings(Settings, HeldOut):
    """Files with one example per row, or running text."""

    widths: ClassVar[tuple[int, ...]]  # numbers of columns that can be chosen
    example: ClassVar[str]

    files: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    valid: tuple[str, ...] = ()

    @field_validator("files", "valid", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return one_or_several(value)

    @field_validator("columns", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any) -> Any:
        return comma_separated(value) or None

    @field_validator("columns")
    @classmethod
    def _right_number(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and len(value) not in cls.widths:
            raise ValueError(f"got {len(value)} column{'s' * (len(value) != 1)}, need {cls.example}")
        return value

    @model_validator(mode="after")
    def _possible_share(self) -> FileSettings:
        self.refuse_impossible_share()
        return self


class TextDataSettings(FileSettings):
    """Texts for a language model."""

    widths: ClassVar = (1,)
    example: ClassVar = "text"

    files: tuple[str, ...] = Field(
        (),
        description="Training texts: text files, patterns ('books/*.txt') or folders, or one text per row in .jsonl, "
        ".csv or .tsv (.gz, .xz, .bz2, .zst too).",
    )
    columns: tuple[str, ...] | None = Field(
        None,
        description="The column or key of the text, by name or number. Only for tables and JSON lines.",
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation texts: files like the training files, or a share to hold out, such as 5%. Default: the "
        "last 10% of each text file, at most 1,000,000 characters in total; 2% of rows, at most 1,000.",
    )
    max_tokens: int = Field(
        256,
        ge=2,
        le=limits.TOKENS,
        description="Tokens of a training window: the context a model learns to use.",
    )


class MaskedTextSettings(TextDataSettings):
    """Texts for a model that finds masked words."""

    max_tokens: int = Field(
        128,
        ge=4,
        le=limits.TOKENS,
        description="Tokens of a window, special tokens included: the longest text that the model reads.",
    )
    mask_rate: float = Field(
        0.15,
        gt=0,
        le=0.9,
        description="Share of the tokens that are masked in training. Held-out texts always have 15% masked.",
    )
    whole_words: bool = Field(
        False, description="Mask all tokens of a word together: harder, so that more context is needed."
    )


class LabelledDataSettings(FileSettings):
    """Texts with one label each."""

    widths: ClassVar = (2, 3)
    example: ClassVar = "text,label or a,b,label"

    files: tuple[str, ...] = Field(
        (),
        description="Labelled texts: .tsv, .csv or .jsonl (.gz, .xz, .bz2, .zst too), or one text file per class, "
        "one text per line.",
    )
    columns: tuple[str, ...] | None = Field(
        None,
        description="The columns or keys of text and label (text,label), or of two texts and their label (a,b,label), "
        "by name or number.",
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation examples: files like the training files, or a share to hold out, such as 10%. Default: "
        "2%, at most 1,000; 10%, at most 50, if there is little data. Each label is held out in proportion.",
    )
    max_tokens: int = Field(
        256, ge=2, le=limits.TOKENS, description="Maximum tokens per text. Longer texts are truncated, and counted."
    )
    hidden_words: float = Field(
        0.0,
        ge=0,
        le=0.9,
        description="Share of the tokens that are hidden in training, others in each epoch, so that the model does not "
        "rely on single ones. Needs a vocabulary with an unknown token (wordpiece, word). 0: none.",
    )

    @property
    def texts_each(self) -> int:
        """How many texts a label belongs to: 2 for pairs."""
        return 1 if self.columns is None else len(self.columns) - 1


class TagDataSettings(FileSettings):
    """Sentences with a label for each word."""

    widths: ClassVar = (2,)
    example: ClassVar = "word,label"

    files: tuple[str, ...] = Field(
        (),
        description="Tagged sentences: CoNLL columns (one word per line, a blank line after each sentence), CoNLL-U, "
        "or .jsonl with words and labels or with texts and spans (.gz, .xz, .bz2, .zst too).",
    )
    columns: tuple[str, ...] | None = Field(
        None,
        description="The columns of word and label, by number (1,4), or two keys of JSON lines. Default: the first and "
        "the last column; in CoNLL-U, 2 and 4.",
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation sentences: files like the training files, or a share to hold out, such as 10%. "
        "Default: 2%, at most 1,000; 10%, at most 50, if there is little data.",
    )
    scheme: Literal["auto", "io", "iob1", "bio", "bilou", "iobes", "plain"] = Field(
        "auto",
        description="How the files mark entities. auto: recognised by the labels. plain: each word has a label of its "
        "own, such as a part of speech.",
    )
    group: Literal["auto", "document", "sentence"] = Field(
        "auto", description="What is held out as a whole. auto: documents, where the files mark at least 5 of them."
    )
    context: Literal["document", "sentence"] = Field(
        "document",
        description="What the model reads together: as many sentences of a document as fit into data.max_tokens, or "
        "each sentence alone. Without marked documents, each sentence alone.",
    )
    max_tokens: int = Field(
        128,
        ge=8,
        le=limits.TOKENS,
        description="Tokens that are read together. Longer sentences are cut into windows that overlap.",
    )
    hidden_words: float = Field(
        0.15,
        ge=0,
        le=0.9,
        description="Share of the training words that are hidden, others in each epoch, so that the model learns from "
        "the words around them. 0: none.",
    )


class AnswerDataSettings(FileSettings):
    """Questions, each with a passage that answers it or does not."""

    widths: ClassVar = (3, 4)
    example: ClassVar = "question,passage,answer or question,passage,answer,start"

    files: tuple[str, ...] = Field(
        (),
        description="Questions with their passages and answers: SQuAD files (.json), .jsonl, .tsv or .csv (.gz, .xz, "
        ".bz2, .zst too). An empty answer: the passage has none.",
    )
    columns: tuple[str, ...] | None = Field(
        None,
        description="The columns or keys of question, passage, answer and, optionally, the offset of the answer in the "
        "passage (question,passage,answer,start), by name or number.",
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation questions: files like the training files, or a share to hold out, such as 10%, in "
        "whole articles. Default: 10%, at most 500.",
    )
    max_tokens: int = Field(
        384,
        ge=16,
        le=limits.TOKENS,
        description="Maximum tokens of question and passage together. Longer passages are read in several windows.",
    )
    overlap: int = Field(
        128,
        ge=0,
        le=limits.TOKENS,
        description="Tokens that neighbouring windows of a long passage share, at most half of a window's passage.",
    )
    max_question: int = Field(
        64, ge=1, le=limits.TOKENS, description="Maximum tokens of a question. Longer ones are cut, and counted."
    )
    max_answer: int = Field(30, ge=1, le=limits.TOKENS, description="Maximum tokens of a predicted answer.")

    @property
    def texts_each(self) -> int:
        """A question and its passage are read together."""
        return 2

    @model_validator(mode="after")
    def _windows_advance(self) -> AnswerDataSettings:
        """A window needs some tokens of the passage that the one before does not have."""
        if self.max_question + self.overlap + MARKS >= self.max_tokens:
            raise ValueError(
                f"max_tokens = {self.max_tokens} leaves no space for a passage: it must be more than max_question "
                f"({self.max_question}) + overlap ({self.overlap}) + {MARKS}. Raise it, or lower the others"
            )
        return self
