"""Texts to vectors: sentence vectors, nearest lines, and masked words.

The folder of an encoder says how its tokens become one vector (mean, first token, ...); a decoder gives the mean of its
tokens, or the last one, which alone has seen all others. Shapes: B texts, T tokens, R tokens of all texts, D width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, overload, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from glassformer.config import check_arguments
from glassformer.decode.settings import DecodeSettings, GenerationSettings
from glassformer.errors import DataError, ModelError, SettingsError
from glassformer.models.transformer import Transformer
from glassformer.nn.pooling import POOLINGS, real_rows
from glassformer.printable import opening
from glassformer.store.bundle import Bundle, frame_for
from glassformer.tasks.answering import AnswersQuestions
from glassformer.tasks.classifying import Text, classes_of, inputs_of, is_pair
from glassformer.tasks.filling import filled, with_gaps
from glassformer.tasks.guesses import Filled, Guess, Match
from glassformer.tasks.model import LoadedModel, one_or_many, one_text, texts_of
from glassformer.tasks.scoring import scores_of
from glassformer.tasks.tagging import TagsWords
from glassformer.tasks.translation.source_model import SourceModel
from glassformer.text import Tokenizer

if TYPE_CHECKING:
    from glassformer.explain.explanation import Explanation
    from glassformer.tasks.context import Context
    from glassformer.tasks.generation.masked_writer import MaskedWriter
    from glassformer.tasks.sampling import Sampling

Vectors = NDArray[np.float32]
Progress = Callable[[int], None]  # how many more texts are done

KINDS = ("bert", "roformer", "gpt", "llama", "transformer", "lstm_lm", "bilstm")
BATCH_TOKENS = 512


@dataclass(frozen=True)
class TextBatch:
    """Texts: ids (B, T), padded at the end, and how long each is (B,)."""

    ids: Tensor
    lengths: Tensor
    segments: Tensor | None = None
    casing: Tensor | None = None


@runtime_checkable
class GivesRows(Protocol):
    """A model that can leave the padding out."""

    def rows(self, batch: TextBatch) -> Tensor: ...


class TextEncoder(TagsWords, AnswersQuestions, LoadedModel):
    """Turns texts into vectors with a model."""

    def __init__(self, bundle: Bundle) -> None:
        if bundle.kind not in KINDS:
            raise ModelError(f"{opening(bundle.kind)} model cannot embed texts. Models that can: {', '.join(KINDS)}.")
        if bundle.tokenizer is None:
            raise ModelError("This model has no tokenizer, so it cannot read text. Put tokenizer.json into its folder.")
        self.bundle, self.kind, self.extras = bundle, bundle.kind, bundle.extras
        model = bundle.model.eval()
        self.model: Any = SourceModel(model) if isinstance(model, Transformer) else model  # a translator's encoder
        self.device = next(self.model.parameters()).device
        self.tokenizer: Tokenizer = bundle.tokenizer
        self.marks = bundle.marks
        self.frame = frame_for(self.tokenizer, self.marks)
        self.max_length = longest(self.model, self.extras)

    @property
    def width(self) -> int:
        width: int = self.model.config.d
        return width

    @property
    def texts_each(self) -> int | None:
        """How many texts a class belongs to: 1, or 2 for a model of pairs; None if the folder does not say."""
        each: int | None = self.extras.get("texts")
        return each

    @property
    def kind_name(self) -> str:
        return self.kind

    def facts(self) -> list[str]:
        return [*super().facts(), f"{len(self.tokenizer):,} tokens"]

    # Texts to ids

    def ids_of(self, texts: Sequence[str], *, cut: list[int] | None = None) -> list[list[int]]:
        """The ids of each text with its special tokens, shortened to what the model reads.

        The numbers of shortened texts are added to `cut`, if given.
        """
        room = None if self.max_length is None else max(0, self.max_length - len(self.frame.single([])))
        ids_of_all = self.tokenizer.encode_batch([self.prepared(text) for text in texts])
        if cut is not None and room is not None:
            cut += [number for number, ids in enumerate(ids_of_all) if len(ids) > room]
        return [self.frame.single(ids[:room]) or [self.something] for ids in ids_of_all]

    def prepared(self, text: str) -> str:
        """The text with the folder's prompt before it, in lower case if the folder says so."""
        asked: str = self.extras.get("prompt", "") + text
        return asked.lower() if self.extras.get("lowercase") else asked

    @property
    def something(self) -> int:
        """The ids for a text without tokens, if the model adds no special tokens."""
        return next((i for i in (self.marks.bos, self.marks.eos, self.marks.pad) if i is not None), 0)

    def batch(self, rows: Sequence[Sequence[int]]) -> TextBatch:
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
        if flat.max() >= self.model.config.vocabulary:
            raise ModelError(
                f"The tokenizer gives token {flat.max()}; this model has {self.model.config.vocabulary:,} tokens. They "
                "do not belong together."
            )
        ids = np.full((len(rows), int(lengths.max())), self.marks.pad or 0)
        ids[np.arange(ids.shape[1]) < lengths[:, None]] = flat
        return TextBatch(torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device))

    # Vectors

    def embed(
        self,
        texts: str | Sequence[str],
        *,
        pooling: str | None = None,
        normalise: bool | None = None,
        batch_tokens: int = BATCH_TOKENS,
        progress: Progress | None = None,
        cut: list[int] | None = None,
    ) -> Vectors:
        """One vector for each text, (n, D), or (D,) for a single text.

        `pooling` and `normalise` default to what the model's folder says. Texts longer than the model reads are
        shortened, and their numbers are added to `cut`.
        """
        pool = POOLINGS[self.pooling(pooling)]
        normalise = self.extras.get("normalise", False) if normalise is None else normalise
        check_arguments(DecodeSettings, {"batch_tokens": batch_tokens})
        rows = self.ids_of(texts_of(texts), cut=cut)
        found = np.empty((len(rows), self.width), np.float32)
        for part in by_length(rows, batch_tokens):
            with torch.inference_mode():
                batch = self.batch([rows[i] for i in part])
                vectors = pool(self.rows(batch), batch.lengths)  # (B, D)
                found[part] = (nn.functional.normalize(vectors) if normalise else vectors).float().cpu().numpy()
            if progress is not None:
                progress(len(part))
        return found[0] if isinstance(texts, str) else found

    def rows(self, batch: TextBatch) -> Tensor:
        """The last hidden states of all tokens except padding, (R, D)."""
        if isinstance(self.model, GivesRows):
            return self.model.rows(batch)
        return real_rows(self.model.hidden(batch), batch.lengths)

    def pooling(self, asked: str | None) -> str:
        """The pooling that was asked for, or the folder's own, or the mean."""
        name: str = asked or self.extras.get("pooling", "mean")
        if name not in POOLINGS:
            raise SettingsError(f"pooling = {name!r} is not known. Allowed: {', '.join(POOLINGS)}.")
        return name

    @overload
    def similar(  # type: ignore[overload-overlap]
        self, queries: str, lines: Sequence[str], *, top: int = ..., progress: Progress | None = ...
    ) -> list[Match]: ...
    @overload
    def similar(
        self, queries: Sequence[str], lines: Sequence[str], *, top: int = ..., progress: Progress | None = ...
    ) -> list[list[Match]]: ...
    def similar(
        self, queries: str | Sequence[str], lines: Sequence[str], *, top: int = 5, progress: Progress | None = None
    ) -> list[Match] | list[list[Match]]:
        """The lines with the highest cosine to each query, highest first."""
        check_arguments(GenerationSettings, {"top": top})
        if isinstance(lines, str):
            raise DataError("Got one text to search in; give a list of texts: [line, ...].")
        asked, known = texts_of(queries, "query"), texts_of(lines, "line")
        vectors = self.embed([*asked, *known], normalise=True, progress=progress)
        cosines = vectors[: len(asked)] @ vectors[len(asked) :].T  # (queries, lines)
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :top]
        found = [
            [Match(int(i), known[i], float(row[i])) for i in order] for row, order in zip(cosines, nearest, strict=True)
        ]
        return found[0] if isinstance(queries, str) else found

    # Inside

    def context(self, sentences: Sequence[str], word: str) -> Context:
        """How the vector of a word changes with its context: the same word in several sentences, layer by layer."""
        from glassformer.tasks.context import context  # it imports this file

        if isinstance(sentences, str):
            raise DataError("Got one sentence; give a list of two or more to compare the word in them.")
        return context(self, texts_of(sentences, "sentence"), one_text(word, "word"))

    @overload
    def explain(self, texts: str, *, top: int = ...) -> Explanation: ...  # type: ignore[overload-overlap]
    @overload
    def explain(self, texts: Sequence[Text], *, top: int = ...) -> list[Explanation]: ...
    def explain(self, texts: str | Sequence[Text], *, top: int = 5) -> Explanation | list[Explanation]:
        """Everything that happens to a text inside the model, read at the taps.

        A model that was trained on pairs takes a pair, (first, second), or a list of pairs.
        """
        from glassformer.tasks.glass.pages import explain_with_pages  # it imports this file

        given = inputs_of(texts, 2) if self.texts_each == 2 else texts_of(texts)
        found = [explain_with_pages(self, one, top=top) for one in given]
        return found[0] if isinstance(texts, str) or is_pair(texts, self.texts_each) else found

    # Classes of texts

    @overload
    def classify(  # type: ignore[overload-overlap]
        self, texts: str, *, top: int = ..., progress: Progress | None = ..., cut: list[int] | None = ...
    ) -> list[Guess]: ...
    @overload
    def classify(
        self, texts: Sequence[Text], *, top: int = ..., progress: Progress | None = ..., cut: list[int] | None = ...
    ) -> list[list[Guess]]: ...
    def classify(
        self,
        texts: str | Sequence[Text],
        *,
        top: int = 5,
        progress: Progress | None = None,
        cut: list[int] | None = None,
    ) -> list[Guess] | list[list[Guess]]:
        """The most likely classes of each text, most likely first, by a model with a class head.

        A model that was trained on pairs takes a pair, (first, second), or a list of pairs. Texts longer than the
        model reads are shortened, and their numbers are added to `cut`.
        """
        to_probabilities = self.probabilities()
        check_arguments(GenerationSettings, {"top": top})
        given = inputs_of(texts, self.texts_each)
        results = classes_of(self, given, to_probabilities, top=top, progress=progress, cut=cut)
        return results[0] if isinstance(texts, str) or is_pair(texts, self.texts_each) else results

    def probabilities(self) -> Callable[[Tensor], Tensor]:
        """The function from logits to probabilities: exactly one class is right, or each class is decided alone."""
        config = self.model.config
        if getattr(config, "head", None) != "sentence":
            raise ModelError(
                "This model has no head for classes of texts. Train one with `glassformer train --task classify`, or "
                "import a BERT, RoBERTa or RoFormer model for sequence classification."
            )
        problem = self.extras.get("problem_type")
        if problem == "regression":
            raise ModelError("This model predicts a number (problem_type = regression), not classes.")
        one_each = problem == "multi_label_classification" or config.classes == 1
        return torch.sigmoid if one_each else partial(torch.softmax, dim=-1)

    # Scores of texts

    def scores(
        self, texts: Sequence[Text], *, progress: Progress | None = None, cut: list[int] | None = None
    ) -> list[float]:
        """The score of each text or pair, by a model that was trained on scores; else the cosine of each pair."""
        return scores_of(self, texts, progress=progress, cut=cut)

    def similarity(self, first: str, second: str) -> float:
        """How similar two texts are: the trained score, or the cosine of their vectors."""
        return self.scores([(one_text(first, "text"), one_text(second, "text"))])[0]

    # Masked words

    @overload
    def fill(self, texts: str, *, top: int = ...) -> Filled: ...  # type: ignore[overload-overlap]
    @overload
    def fill(self, texts: Sequence[str], *, top: int = ...) -> list[Filled]: ...
    def fill(self, texts: str | Sequence[str], *, top: int = 5) -> Filled | list[Filled]:
        """The most likely words for every [MASK] in a text, each found while the other gaps are still masked."""
        check_arguments(GenerationSettings, {"top": top})
        return one_or_many(texts, lambda all_: filled(self, all_, top=top))

    def with_gaps(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a text with masks in it, framed, and the places of the masks."""
        return with_gaps(self, text)

    def generate(
        self,
        texts: str | Sequence[str],
        *,
        max_new: int = 16,
        rounds: int = 10,
        left_to_right: bool = False,
        sampling: Sampling | None = None,
    ) -> str | list[str]:
        """What a model with a head for words writes after each text; a text with [MASK]s is returned filled in.

        The gaps are filled together, in several rounds (mask-predict), or one by one from left to right.
        """
        return self.writer.generate(
            texts, max_new=max_new, rounds=rounds, left_to_right=left_to_right, sampling=sampling
        )

    @cached_property
    def writer(self) -> MaskedWriter:
        """Generates text with all options; an error if the model has no head for words."""
        from glassformer.tasks.generation.masked_writer import MaskedWriter  # slow to import

        return MaskedWriter(self)

    @cached_property
    def mask_text(self) -> str:
        return "[MASK]" if self.marks.mask is None else self.tokenizer.token(self.marks.mask)

    @cached_property
    def mask(self) -> re.Pattern[str]:
        """A mask as the model's own vocabulary writes it, or as others do."""
        return re.compile("|".join(re.escape(spelled) for spelled in {self.mask_text, "[MASK]", "<mask>"}))


def longest(model: nn.Module, extras: dict[str, Any]) -> int | None:
    """The most tokens of a text that model and folder allow; None: any number."""
    limits = (extras.get("max_length"), getattr(model.config, "max_length", None))
    return min((limit for limit in limits if limit is not None), default=None)


def by_length(rows: Sequence[Sequence[int]], tokens: int) -> Iterator[list[int]]:
    """Batches of row numbers, rows of similar length together, longest first, with about `tokens` tokens each."""
    part: list[int] = []
    for i in sorted(range(len(rows)), key=lambda i: -len(rows[i])):
        if part and (len(part) + 1) * len(rows[part[0]]) > tokens:
            yield part
            part = []
        part.append(i)
    if part:
        yield part
