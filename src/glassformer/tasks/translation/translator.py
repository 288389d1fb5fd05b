"""The translator: a trained model with its tokenizers, which is what `glassformer.load` gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import torch

from glassformer.data.batches import Batch, EncodedPairs, Marks, Ragged, source_batch
from glassformer.decode import Hypothesis, beam_search, greedy
from glassformer.errors import DataError, RunError, SettingsError
from glassformer.evaluate.score import Score
from glassformer.evaluate.translation import corpus_scores
from glassformer.explain.trace import Explanation, explain_pass
from glassformer.models.transformer import Transformer
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_weights
from glassformer.tasks.translation.material import target_language
from glassformer.tasks.translation.recipe import TranslationRecipe, read_recipe
from glassformer.text import Tokenizer
from glassformer.train.machine import choose_device

SHARED, SOURCE, TARGET = "tokenizer.json", "source.tokenizer.json", "target.tokenizer.json"


@dataclass(frozen=True)
class Translation:
    """One translation and how likely the model finds it."""

    text: str
    score: float  # log-probability over length^alpha: what candidates are ranked by
    log_prob: float
    tokens: tuple[str, ...]
    finished: bool  # False: cut at the longest length allowed


class Translator:
    """Translates, explains and evaluates with one trained model."""

    def __init__(
        self, model: Transformer, source: Tokenizer, target: Tokenizer, recipe: TranslationRecipe, *, origin: str = ""
    ) -> None:
        self.model = model
        self.source, self.target = source, target
        self.source_marks, self.target_marks = marks_of(source), marks_of(target)
        self.recipe = recipe
        self.origin = origin  # where the weights come from, in words

    def with_model(self, model: Transformer) -> Translator:
        """The same with other weights."""
        return Translator(model, self.source, self.target, self.recipe)

    @property
    def device(self) -> torch.device:
        return self.model.head.weight.device

    @property
    def target_language(self) -> str | None:
        """The code of the language it translates into, as far as its recipe tells."""
        return target_language(self.recipe.data)

    @property
    def longest(self) -> int | None:
        """The most tokens, end mark included, that the model has positions for; None: there is no limit."""
        model = self.recipe.model
        return model.max_length if model.positions == "learned" else None

    @overload  # a str is also a sequence of str, but never meant as one
    def translate(self, texts: str, *, beam: int | None = None) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, texts: Sequence[str], *, beam: int | None = None) -> list[str]: ...
    def translate(self, texts: str | Sequence[str], *, beam: int | None = None) -> str | list[str]:
        """The best translation of each text; a single text gives a single translation."""
        if isinstance(texts, str):
            return self.translate([texts], beam=beam)[0]
        return [options[0].text for options in self.candidates(texts, beam=beam)]

    def candidates(
        self,
        texts: str | Sequence[str],
        *,
        beam: int | None = None,
        n_best: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Translation]]:
        """The n best translations of each text, best first; a blank text has the empty translation.

        `progress` is told how many more texts are done.
        """
        texts = [texts] if isinstance(texts, str) else texts
        beam = self._beam(beam, n_best)
        rows = self.source.encode_batch([text.strip() for text in texts])
        results = [[Translation("", 0.0, 0.0, (), True)] for _ in texts]
        for index in self.batches_of(rows, beam=beam):
            found = self._search([rows[i] for i in index], beam, n_best)
            for i, hypotheses in zip(index, found, strict=True):
                results[i] = [self._translation(hypothesis) for hypothesis in hypotheses]
            if progress is not None:
                progress(len(index))
        return results

    def _beam(self, beam: int | None, n_best: int) -> int:
        if beam is not None and beam < n_best:
            raise SettingsError(f"--n-best {n_best} needs a beam at least as wide; got --beam {beam}.")
        return max(self.recipe.decode.beam if beam is None else beam, n_best)

    def batches_of(self, rows: Sequence[Sequence[int]], *, beam: int) -> Iterator[list[int]]:
        """The indices of the rows with text in them, alike in length together, by a budget of tokens."""
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: -len(rows[i]))
        while order:
            size = max(1, self.recipe.decode.batch_tokens // (beam * (len(rows[order[0]]) + 1)))
            yield order[:size]
            order = order[size:]

    def _search(self, rows: Sequence[Sequence[int]], beam: int, n_best: int) -> list[list[Hypothesis]]:
        settings, marks = self.recipe.decode, self.target_marks
        batch = source_batch(rows, self.source_marks).to(self.device)
        limits = (batch.source_lengths * settings.max_ratio + settings.max_extra).long()
        if self.longest is not None:
            limits = limits.clamp(max=self.longest)
        self.model.eval()
        if beam == 1:
            found = greedy(self.model, batch, bos=marks.bos, eos=marks.eos, limits=limits, alpha=settings.alpha)
            return [[hypothesis] for hypothesis in found]
        return beam_search(
            self.model,
            batch,
            width=beam,
            n_best=n_best,
            bos=marks.bos,
            eos=marks.eos,
            limits=limits,
            alpha=settings.alpha,
        )

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        return Translation(
            text=self.target.decode(hypothesis.ids),
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            tokens=tuple(self.target.pieces_of(hypothesis.ids)),
            finished=hypothesis.finished,
        )

    def sentences_of(self, batch: Batch) -> list[tuple[str, str]]:
        """The sentence pairs of a batch, read back from their ids."""
        sides = (self.source, batch.source, batch.source_lengths), (self.target, batch.target_out, batch.target_lengths)
        texts = [
            [tokenizer.decode(row[: int(length) - 1].tolist()) for row, length in zip(ids, lengths, strict=True)]
            for tokenizer, ids, lengths in sides
        ]
        return list(zip(*texts, strict=True))

    def evaluate(
        self,
        sources: Sequence[str],
        references: Sequence[Sequence[str]],
        *,
        beam: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[Score], list[str]]:
        """BLEU, chrF and exact match with their intervals, and the translations themselves."""
        hypotheses = [options[0].text for options in self.candidates(sources, beam=beam, progress=progress)]
        return corpus_scores(hypotheses, references, language=self.target_language), hypotheses

    def explain(self, text: str, *, beam: int | None = None, top: int = 5) -> Explanation:
        """Everything on the way from this text to its translation: the real numbers, read at the taps."""
        row = self.source.encode(text.strip())
        if not row:
            raise DataError("Nothing to explain: the text is blank.")
        hypothesis = self._search([row], self._beam(beam, 1), 1)[0][0]
        end = (self.target_marks.eos,) if hypothesis.finished else ()
        return self._explain_ids(text, row, (*hypothesis.ids, *end), top)

    def explain_pair(self, text: str, translation: str, *, top: int = 5) -> Explanation:
        """The same for a translation that is given, not found: how the model would have come to it."""
        predicted = [*self.target.encode(translation.strip()), self.target_marks.eos]
        return self._explain_ids(text, self.source.encode(text.strip()), predicted, top)

    def _explain_ids(self, text: str, source: Sequence[int], predicted: Sequence[int], top: int) -> Explanation:
        """`predicted`: all that was chosen, with the end mark if it was reached."""
        pair = EncodedPairs(Ragged.of([source]), Ragged.of([predicted[:-1]]), self.source_marks, self.target_marks)
        return explain_pass(
            self.model,
            pair.batch(np.array([0])).to(self.device),
            source_ids=[*source, self.source_marks.eos],
            target_ids=predicted,
            piece=lambda side, i: (self.source if side == "source" else self.target).pieces_of([i])[0],
            text=text,
            translation=self.target.decode(predicted),
            top=top,
        )


def marks_of(tokenizer: Tokenizer) -> Marks:
    """The framing tokens, which a translation model cannot do without."""
    pad, bos, eos = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id
    if pad is None or bos is None or eos is None:
        raise RunError("The tokenizer lacks a pad, bos or eos token; a translation model needs all three.")
    return Marks(pad=pad, bos=bos, eos=eos)


def load(path: str | Path, *, device: str = "cpu") -> Translator:
    """The model of a run folder, ready to translate. While training goes on: from its latest checkpoint."""
    run, recipe = RunFolder(Path(path)), open_recipe(path)
    source, target = load_tokenizers(run)
    model = Transformer(recipe.model, source_vocabulary=len(source), target_vocabulary=len(target))
    weights, origin = run.weights()
    load_weights(model, weights, origin=str(path))
    return Translator(model.to(choose_device(device)).eval(), source, target, recipe, origin=origin)


def open_recipe(path: str | Path) -> TranslationRecipe:
    """The settings of a run; an error that tells how to make one where there is none."""
    run = RunFolder(Path(path))
    if not run.exists:
        raise RunError(run.describe_missing())
    return read_recipe(run)


def load_tokenizers(run: RunFolder) -> tuple[Tokenizer, Tokenizer]:
    """Source and target side; one shared vocabulary is both."""
    names = [SHARED] if run.holds(SHARED) else [SOURCE, TARGET]
    for name in names:
        run.text(name)  # refuses a damaged or missing file
    loaded = [Tokenizer.load(run.path / name) for name in names]
    return loaded[0], loaded[-1]
