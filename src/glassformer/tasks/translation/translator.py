"""The translator: a trained model with its tokenizers, as `glassformer.load` returns it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import torch

from glassformer.data.batches import Index, Marks, source_batch
from glassformer.decode import DecodeSettings, Hypothesis, Search, search
from glassformer.errors import RunError, SettingsError
from glassformer.evaluate.lengths import Lengths
from glassformer.store.bundle import Bundle
from glassformer.store.run import FINISHED
from glassformer.tasks.model import one_or_many, one_text, paired, texts_of
from glassformer.tasks.text_generator import TextGenerator
from glassformer.tasks.translation.constraints import (
    NO_CONSTRAINTS,
    Constraints,
    Request,
    Sentences,
    mask_rules,
    term_chooser,
)
from glassformer.tasks.translation.finding import translations_of
from glassformer.tasks.translation.recipe import TranslationRecipe, positions_of
from glassformer.tasks.translation.source_model import SourceVectors
from glassformer.tasks.translation.spelling import Speller
from glassformer.text import Tokenizer
from glassformer.text.masks import mask_codecs

if TYPE_CHECKING:  # a first translation should not wait for these
    from glassformer.evaluate.alignment import Links
    from glassformer.evaluate.score import Score
    from glassformer.explain.beam_tree import BeamTree
    from glassformer.explain.explanation import Explanation


@dataclass(frozen=True)
class Translation:
    """One translation and its log-probabilities."""

    text: str
    score: float  # candidates are ranked by it: log-probability, normalised by length; rules may have lowered it
    log_prob: float
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each token, and of the end mark if it was reached
    finished: bool  # False: cut at the length limit
    wrong: str = ""  # what the guard found: empty, short, long, loops, copied, placeholders, terms or cut
    repaired: bool = False  # True: a sound translation from a second, more careful search
    inserted: tuple[str, ...] = ()  # terms and placeholders put into the text after the search; not in the tokens
    parts: int = 1  # how many parts of a long text were translated one by one


BLANK = Translation("", 0.0, 0.0, (), (), finished=True)


class Translator(SourceVectors):
    """Translates, explains and evaluates with one trained model."""

    blank = BLANK  # the translation of a blank text

    def __init__(
        self, model: Any, source: Tokenizer, target: Tokenizer, recipe: TranslationRecipe, *, origin: str = ""
    ) -> None:
        self.model = model
        self.source, self.target = source, target
        self.source_marks, self.target_marks = (marks_of(side, recipe.text.start) for side in (source, target))
        self.recipe = recipe
        never = [number for number in map(target.id, recipe.text.never) if number is not None]
        self.generator = TextGenerator(model, target, ends=[self.target_marks.eos], forbidden=never)
        self.mask_codecs = mask_codecs(source, target)
        self.origin = origin  # where the weights come from, for people
        self.speller = Speller(target, eos=self.target_marks.eos)
        self.lengths = Lengths()  # of the training sentences, if they were recorded

    def with_model(self, model: Any) -> Translator:
        """The same with other weights."""
        return Translator(model, self.source, self.target, self.recipe)

    @property
    def device(self) -> torch.device:
        return self.generator.device

    @property
    def target_language(self) -> str | None:
        """The code of the language it translates into, if its recipe names it."""
        from glassformer.tasks.translation.material import target_language

        return target_language(self.recipe.data)

    @property
    def source_language(self) -> str | None:
        """The code of the language it translates from, if its recipe names it."""
        from glassformer.tasks.translation.material import source_language

        return source_language(self.recipe.data)

    @property
    def longest(self) -> int | None:
        """The most tokens, including the end mark, that the model has positions for; None: no limit."""
        return positions_of(self.recipe.model)

    @property
    def longest_sentence(self) -> int:
        """The most tokens of a sentence that is not split: as many as in training, if the model has the positions."""
        trained = self.lengths.longest or self.recipe.data.max_tokens
        return trained if self.longest is None else min(trained, self.longest - 1)

    def split_limit(self, settings: DecodeSettings) -> int:
        """Texts with more tokens are translated sentence by sentence; 0: none."""
        return self.lengths.usual if settings.split_over is None else settings.split_over

    @property
    def kind_name(self) -> str:
        return str(self.recipe.model.kind)

    def facts(self) -> list[str]:
        named = "-".join(self.recipe.data.languages or ()) or (self.target_language and f"into {self.target_language}")
        return [*([named] if named else []), *super().facts(), f"{len(self.target):,} tokens"]

    @classmethod
    def of(cls, bundle: Bundle) -> Translator:
        from glassformer.tasks.translation.bundles import parts_of

        return cls(*parts_of(bundle), origin=FINISHED)

    @cached_property
    def bundle(self) -> Bundle:
        """The model in the form that all kinds share."""
        from glassformer.tasks.translation.bundles import bundle_of

        return bundle_of(self)

    # Translating. A str is also a sequence of str, but is never meant as one, so there are overloads.

    @overload
    def translate(self, texts: str, *, beam: int | None = None) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def translate(self, texts: Sequence[str], *, beam: int | None = None) -> list[str]: ...
    def translate(self, texts: str | Sequence[str], *, beam: int | None = None) -> str | list[str]:
        """The best translation of each text; one text gives one translation."""
        return one_or_many(texts, lambda all_: [found[0].text for found in self.candidates(all_, beam=beam)])

    @overload
    def candidates(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        beam: int | None = ...,
        n_best: int = ...,
        constraints: Constraints = ...,
        settings: DecodeSettings | None = ...,
        guard: bool = ...,
        first_number: int = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> list[Translation]: ...
    @overload
    def candidates(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = ...,
        n_best: int = ...,
        constraints: Constraints = ...,
        settings: DecodeSettings | None = ...,
        guard: bool = ...,
        first_number: int = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> list[list[Translation]]: ...
    def candidates(
        self,
        texts: str | Sequence[str],
        *,
        beam: int | None = None,
        n_best: int = 1,
        constraints: Constraints = NO_CONSTRAINTS,
        settings: DecodeSettings | None = None,
        guard: bool = True,
        first_number: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> list[Translation] | list[list[Translation]]:
        """The n best translations of each text, best first; a blank text has the empty translation.

        With `constraints.sampling` they are n samples instead, which depend on the seed and on the text's number,
        counted from `first_number`. The guard finds translations that have gone wrong and searches for them again, more
        carefully. `settings` defaults to the run's own. `progress` gets the number of texts that were just completed.
        """
        request = Request(settings or self.recipe.decode, beam=beam, n_best=n_best, constraints=constraints)
        given = texts_of(texts)
        found = translations_of(self, given, request, guard=guard, first_number=first_number, progress=progress)
        return found[0] if isinstance(texts, str) else found

    def sentences(
        self,
        texts: Sequence[str],
        request: Request,
        *,
        numbers: Sequence[int] | None = None,
        masks: Sequence[int] = (),
    ) -> Sentences:
        """Texts ready for the search, with the given words as terms; a glossary's terms are not added here.

        `masks` is the number of masks in each text; without it, mask characters are read as text.
        """
        bare = [text.strip() for text in texts]
        if masks and self.mask_codecs:
            rows = [self.mask_codecs[0].encode(text) for text in bare]
        else:
            rows = self.source.encode_batch(bare)
        given = request.constraints.given_terms(self.speller)
        own = range(len(texts)) if numbers is None else numbers
        return Sentences(texts, rows, own, [given] * len(texts), masks)

    def found(self, batch: Sentences, request: Request) -> list[list[Translation]]:
        """The translations that the search finds for one batch."""
        return [[self._translation(h) for h in found] for found in search(self.task(batch, request))]

    def stream(self, text: str, *, beam: int = 1, constraints: Constraints = NO_CONSTRAINTS) -> Iterator[str]:
        """The translation in pieces, each as soon as it is certain. Together they are the translation.

        Greedy by default. A wider beam, or words that must occur, follow several hypotheses: then a piece comes as soon
        as all of them agree on it. Long texts come sentence by sentence. With a glossary or placeholders, which are put
        in after the search, the translation comes as one piece. There is no guard: it would have to take text back.
        """
        from glassformer.tasks.translation.streaming import pieces

        request = Request(self.recipe.decode, beam=beam, constraints=constraints)
        if constraints.sampling and beam > 1:
            raise SettingsError(f"Got sampling and a beam of {beam}, which searches: use one of the two.")
        return pieces(self, one_text(text), request)

    def search_ids(
        self, rows: Sequence[Sequence[int]], *, beam: int | None = None, n_best: int = 1
    ) -> list[list[Hypothesis]]:
        """The n best translations of one batch of source ids, none of them empty."""
        return search(self.task(Sentences.of_ids(rows), Request(self.recipe.decode, beam=beam, n_best=n_best)))

    def task(self, batch: Sentences, request: Request, *, limits: Index | None = None) -> Search:
        """The search for the translations of one batch."""
        begin = request.constraints.begin.strip()
        prefix = self.speller.ids(begin) if begin else []
        if limits is None:
            limits = request.limits(batch, len(prefix), self.longest)
        return self.generator.search(
            source_batch(batch.rows, self.source_marks),
            request.decoding,
            start=self.target_marks.bos,
            limits=limits,
            numbers=batch.numbers,
            min_lengths=request.min_lengths(batch),
            prefixes=[prefix] * len(batch.rows) if prefix else (),
            rules=mask_rules(batch, self.target),
            chooser=term_chooser(request, batch, limits=limits, prefix=len(prefix), speller=self.speller),
        )

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        return Translation(
            text=(self.mask_codecs[1] if self.mask_codecs else self.target).decode(hypothesis.ids),
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            tokens=tuple(self.target.pieces_of(hypothesis.ids)),
            log_probs=hypothesis.log_probs,
            finished=hypothesis.finished,
        )

    def evaluate(
        self,
        sources: str | Iterable[str],
        references: str | Iterable[str | Iterable[str]],
        *,
        beam: int | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        settings: DecodeSettings | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[Score], list[str]]:
        """BLEU, chrF and exact match with their confidence intervals, and the translations.

        Each text has one reference or a list of them. With a glossary, also the share of its terms that were used.
        """
        from glassformer.evaluate.translation import corpus_scores
        from glassformer.tasks.translation.references import with_references

        texts, checked = with_references(sources, references)
        found = self.candidates(texts, beam=beam, constraints=constraints, settings=settings, progress=progress)
        hypotheses = [own[0].text for own in found]
        scores = corpus_scores(hypotheses, checked, language=self.target_language)
        terms = (
            constraints.glossary.hit_rate(texts, hypotheses, self.target.normalize) if constraints.glossary else None
        )
        decoding = Request(settings or self.recipe.decode, beam=beam).words
        return [replace(score, decoding=decoding) for score in (*scores, *([terms] if terms else []))], hypotheses

    # Looking inside

    @overload
    def explain(self, texts: str, *, beam: int | None = None, top: int = 5) -> Explanation: ...  # type: ignore[overload-overlap]
    @overload
    def explain(self, texts: Sequence[str], *, beam: int | None = None, top: int = 5) -> list[Explanation]: ...
    def explain(
        self, texts: str | Sequence[str], *, beam: int | None = None, top: int = 5
    ) -> Explanation | list[Explanation]:
        """Everything from a text to its translation, with the real numbers, read at the taps."""
        from glassformer.tasks.glass.pages import explain_with_pages  # a first translation should not wait for it

        return one_or_many(texts, lambda all_: [explain_with_pages(self, one, beam=beam, top=top) for one in all_])

    def beam_tree(self, text: str, *, beam: int | None = None) -> BeamTree:
        """Every prefix that the search for this text's translation followed. A beam of 1 is widened to 5."""
        from glassformer.tasks.translation import looking

        return looking.beam_tree(self, one_text(text), beam=beam)

    @overload
    def align(self, texts: str, translations: str) -> Links: ...  # type: ignore[overload-overlap]
    @overload
    def align(self, texts: Sequence[str], translations: Sequence[str]) -> list[Links]: ...
    def align(self, texts: str | Sequence[str], translations: str | Sequence[str]) -> Links | list[Links]:
        """Which word of a text each word of its translation comes from: pairs of positions, counted from 0."""
        from glassformer.tasks.translation.alignment import align

        found = align(self, *paired(texts, translations, ("text", "translation")))
        return found[0] if isinstance(texts, str) else found

    @overload
    def score(self, texts: str, translations: str) -> Hypothesis: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, texts: Sequence[str], translations: Sequence[str]) -> list[Hypothesis]: ...
    def score(self, texts: str | Sequence[str], translations: str | Sequence[str]) -> Hypothesis | list[Hypothesis]:
        """The log-probabilities of given translations."""
        from glassformer.tasks.translation.scoring import score

        found = score(self, *paired(texts, translations, ("text", "translation")))
        return found[0] if isinstance(texts, str) else found


def marks_of(tokenizer: Tokenizer, start: str | None = None) -> Marks:
    """The special tokens that a translation model needs; `start` is the token that outputs start from, if not bos."""
    pad, eos = tokenizer.pad_id, tokenizer.eos_id
    bos = tokenizer.bos_id if start is None else tokenizer.id(start)
    if pad is None or bos is None or eos is None:
        raise RunError("The tokenizer lacks a pad, bos or eos token; a translation model needs all three.")
    return Marks(pad=pad, bos=bos, eos=eos)
