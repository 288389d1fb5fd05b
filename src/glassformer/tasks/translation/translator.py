"""The translator: a trained model with its tokenizers, which is what `glassformer.load` gives back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

import numpy as np
import torch
from torch import Tensor

from glassformer.data.batches import Batch, EncodedPairs, Index, Marks, Ragged, source_batch
from glassformer.decode import DecodeSettings, Hypothesis, Task, search, steps
from glassformer.decode.rows import DEAD, Ended, Rows
from glassformer.decode.tree import Tree
from glassformer.errors import DataError, RunError
from glassformer.evaluate.guard import MARKS, what_is_wrong
from glassformer.evaluate.score import Score
from glassformer.evaluate.translation import corpus_scores
from glassformer.explain.beam_tree import BeamTree, beginnings_of
from glassformer.explain.trace import Explanation, explain_pass
from glassformer.models.transformer import Transformer
from glassformer.store.run import RunFolder
from glassformer.store.weights import load_weights
from glassformer.tasks.translation.material import target_language
from glassformer.tasks.translation.placeholders import kept
from glassformer.tasks.translation.recipe import TranslationRecipe, read_recipe
from glassformer.tasks.translation.requests import (
    NO_WISHES,
    Request,
    Sentences,
    Wishes,
    chooser_for,
    rules_for,
)
from glassformer.tasks.translation.spelling import Speller
from glassformer.text import Tokenizer
from glassformer.train.machine import choose_device

SHARED, SOURCE, TARGET = "tokenizer.json", "source.tokenizer.json", "target.tokenizer.json"


@dataclass(frozen=True)
class Translation:
    """One translation and how likely the model finds it."""

    text: str
    score: float  # what candidates are ranked by: log-probability, normalised by length; rules may have lowered it
    log_prob: float
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each token, and of the end mark if it was reached
    finished: bool  # False: cut at the longest length allowed
    wrong: str = ""  # what the guard found: empty, loops, copied, placeholders or cut
    mended: bool = False  # then this is from a second, more careful search, and sound


BLANK = Translation("", 0.0, 0.0, (), (), finished=True)


class Translator:
    """Translates, explains and evaluates with one trained model."""

    def __init__(
        self, model: Transformer, source: Tokenizer, target: Tokenizer, recipe: TranslationRecipe, *, origin: str = ""
    ) -> None:
        self.model = model
        self.source, self.target = source, target
        self.source_marks, self.target_marks = (marks_of(side, recipe.text.start) for side in (source, target))
        self.recipe = recipe
        self.unsaid = unsaid(model, target, recipe.text.never)
        self.origin = origin  # where the weights come from, in words
        self.speller = Speller(target, eos=self.target_marks.eos)

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
        wishes: Wishes = NO_WISHES,
        settings: DecodeSettings | None = None,
        guard: bool = True,
        first_number: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Translation]]:
        """The n best translations of each text, best first; a blank text has the empty translation.

        With `wishes.lots` they are n samples instead; those of a text depend on the seed and on its number, counted
        from `first_number`. The guard looks for translations that have gone wrong, and translates those again more
        carefully. `settings` are the run's own if not given. `progress` is told how many more texts are done.
        """
        texts = [texts] if isinstance(texts, str) else texts
        request = Request(settings or self.recipe.decode, beam=beam, n_best=n_best, wishes=wishes)
        asked = self.sentences(texts, request, first_number=first_number)
        results = [[BLANK] for _ in texts]
        for index in request.batches_of(asked.rows, [bool(own) for own in asked.terms]):
            for i, options in zip(index, self.translated(asked.some(index), request, guard=guard), strict=True):
                results[i] = options
            if progress is not None:
                progress(len(index))
        return results

    def sentences(self, texts: Sequence[str], request: Request, *, first_number: int = 0) -> Sentences:
        rows = self.source.encode_batch([text.strip() for text in texts])
        terms = [request.wishes.terms_for(text, self.speller) for text in texts]
        return Sentences(texts, rows, range(first_number, first_number + len(texts)), terms)

    def translated(self, batch: Sentences, request: Request, *, guard: bool) -> list[list[Translation]]:
        """One batch. What the guard finds wrong is translated again, and is flagged if that did not help."""
        found = [[self._translation(h) for h in options] for options in search(self.task(batch, request))]
        if not guard:
            return found
        judged = [
            [replace(one, wrong=self._wrong(batch, i, one, request)) for one in own] for i, own in enumerate(found)
        ]
        if request.wishes.lots:  # what was drawn stays
            return judged
        again = [i for i, options in enumerate(judged) if options[0].wrong]
        careful = request.careful()
        for index in careful.batches_of([batch.rows[i] for i in again], [bool(batch.terms[i]) for i in again]):
            places = [again[i] for i in index]
            for i, options in zip(places, self.translated(batch.some(places), careful, guard=False), strict=True):
                judged[i] = self._mended(batch, i, judged[i], options, request)
        return judged

    def _mended(
        self, batch: Sentences, i: int, found: list[Translation], again: list[Translation], request: Request
    ) -> list[Translation]:
        """The sound ones of both searches, the second's marked as such, and behind them what is not."""
        known = {one.tokens for one in found}
        new = [
            replace(one, wrong=found[0].wrong, mended=True)
            for one in again
            if one.tokens not in known and not self._wrong(batch, i, one, request)
        ]
        sound = sorted([*(one for one in found if not one.wrong), *new], key=lambda one: -one.score)
        return [*sound, *(one for one in found if one.wrong)][: request.n_best]

    def _wrong(self, batch: Sentences, i: int, translation: Translation, request: Request) -> str:
        wrong = what_is_wrong(
            batch.texts[i], batch.rows[i], translation.text, translation.tokens, finished=translation.finished
        )
        if not wrong and request.wishes.keep_placeholders and not kept(batch.texts[i], translation.text):
            return MARKS
        return wrong

    def stream(self, text: str, *, wishes: Wishes = NO_WISHES) -> Iterator[str]:
        """The translation as it comes into being: the whole text so far, after every token. Greedy, or by lot.

        What must be said needs a search: then the best beginning so far is shown, and the last text is the result.
        """
        request = Request(self.recipe.decode, beam=1, wishes=wishes)
        asked = self.sentences([text], request)
        if not asked.rows[0]:
            return
        ended = [Ended()]
        for rows in steps(self.task(asked, request), ended):
            said = rows.tokens[0, 0].tolist()
            yield self.target.decode([token for token in said if token != self.target_marks.eos])
        yield self.target.decode(ended[0].best(1)[0].ids)

    def search_ids(
        self, rows: Sequence[Sequence[int]], *, beam: int | None = None, n_best: int = 1
    ) -> list[list[Hypothesis]]:
        """The n best translations of one batch of source ids, none of them empty."""
        return search(self.task(Sentences.of_ids(rows), Request(self.recipe.decode, beam=beam, n_best=n_best)))

    def task(self, batch: Sentences, request: Request, *, limits: Index | None = None) -> Task:
        """The search for the translations of one batch."""
        marks, speller = self.target_marks, self.speller
        begin = request.wishes.begin.strip()
        prefix = speller.ids(begin) if begin else []
        if limits is None:
            limits = request.limits(batch, len(prefix), self.longest)
        if self.model.training:  # walking the whole tree takes longer than a step
            self.model.eval()
        return Task(
            model=self.model,
            batch=source_batch(batch.rows, self.source_marks).to(self.device),
            limits=limits,
            bos=marks.bos,
            eos=marks.eos,
            device=self.device,
            chooser=chooser_for(request, batch, limits=limits, prefix=len(prefix), speller=speller),
            rules=[*self.unsaid, *rules_for(request, batch, prefix, speller)],
            ranked=request.settings.ranked,
            n_best=request.n_best,
        )

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        return Translation(
            text=self.target.decode(hypothesis.ids),
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            tokens=tuple(self.target.pieces_of(hypothesis.ids)),
            log_probs=hypothesis.log_probs,
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
        wishes: Wishes = NO_WISHES,
        settings: DecodeSettings | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[Score], list[str]]:
        """BLEU, chrF and exact match with their intervals, and the translations themselves.

        With a glossary also the share of its terms that were said.
        """
        found = self.candidates(sources, beam=beam, wishes=wishes, settings=settings, progress=progress)
        hypotheses = [options[0].text for options in found]
        scores = corpus_scores(hypotheses, references, language=self.target_language)
        terms = wishes.glossary.hit_rate(sources, hypotheses, self.target.normalize) if wishes.glossary else None
        return [*scores, *([] if terms is None else [terms])], hypotheses

    def explain(self, text: str, *, beam: int | None = None, top: int = 5) -> Explanation:
        """Everything on the way from this text to its translation: the real numbers, read at the taps."""
        row = self._row_to_explain(text)
        hypothesis = self.search_ids([row], beam=beam)[0][0]
        end = (self.target_marks.eos,) if hypothesis.finished else ()
        return self._explain_ids(text, row, (*hypothesis.ids, *end), top)

    def _row_to_explain(self, text: str) -> list[int]:
        row = self.source.encode(text.strip())
        if not row:
            raise DataError("Nothing to explain: the text is blank.")
        return row

    def beam_tree(self, text: str, *, beam: int | None = None) -> BeamTree:
        """Every beginning that the search for this text's translation has followed."""
        request, tree = Request(self.recipe.decode, beam=beam), Tree()
        task = replace(self.task(Sentences.of_ids([self._row_to_explain(text)]), request), watcher=tree)
        best, nodes, eos = search(task)[0][0], tree.nodes.get(0, [])[1:], task.eos
        return BeamTree(
            text=text,
            translation=self.target.decode(best.ids),
            beam=request.width,
            beginnings=beginnings_of(
                nodes,
                self.target.pieces_of([node.token for node in nodes]),
                [math.exp(node.log_prob) for node in nodes],
                eos=eos,
                best=(*best.ids, *((eos,) if best.finished else ())),
            ),
        )

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


@dataclass(frozen=True)
class Never:
    """Tokens that are never said."""

    tokens: tuple[int, ...]

    def apply(self, allowed: Tensor, log_probs: Tensor, rows: Rows) -> None:  # noqa: ARG002
        allowed[:, torch.tensor(self.tokens, device=allowed.device)] = DEAD


def unsaid(model: Transformer, target: Tokenizer, never: Sequence[str]) -> list[Never]:
    """Of models made by others: tokens that they do not say, and numbers that no token has."""
    known = [number for number in map(target.id, never) if number is not None]
    beyond = range(len(target), model.head.weight.size(0))
    return [Never((*known, *beyond))] if known or beyond else []


def marks_of(tokenizer: Tokenizer, start: str | None = None) -> Marks:
    """The framing tokens, which a translation model cannot do without; `start` is what it begins from, if not bos."""
    pad, eos = tokenizer.pad_id, tokenizer.eos_id
    bos = tokenizer.bos_id if start is None else tokenizer.id(start)
    if pad is None or bos is None or eos is None:
        raise RunError("The tokenizer lacks a pad, bos or eos token; a translation model needs all three.")
    return Marks(pad=pad, bos=bos, eos=eos)


def load(path: str | Path, *, device: str = "cpu") -> Translator:
    """The model of a run folder, ready to translate. While training goes on: from its latest checkpoint.

    A Hugging Face folder of a translator (MarianMT) is read as it is.
    """
    run = RunFolder(Path(path))
    if not run.exists and (run.path / "config.json").is_file():
        from glassformer.tasks.translation.imported import read_translator  # it needs this file

        return read_translator(run.path, device=device)
    recipe = open_recipe(path)
    source, target = load_tokenizers(run)
    weights, origin = run.weights()
    sizes = vocabularies(weights, source, target)
    model = Transformer(recipe.model, source_vocabulary=sizes[0], target_vocabulary=sizes[1])
    load_weights(model, weights, origin=str(path))
    return Translator(model.to(choose_device(device)).eval(), source, target, recipe, origin=origin)


def vocabularies(weights: Mapping[str, Tensor], source: Tokenizer, target: Tokenizer) -> list[int]:
    """How many tokens each side has: those of its tokenizer, and in models made by others sometimes some more."""
    names = [f"{side}.inputs.embedding.weight" for side in ("encoder", "decoder")]
    first = weights.get(names[0])
    rows = [first, weights.get(names[1], first)]
    sides = zip(rows, (source, target), strict=True)
    return [len(tokenizer) if weight is None else max(len(tokenizer), len(weight)) for weight, tokenizer in sides]


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
