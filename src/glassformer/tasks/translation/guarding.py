"""The search for translations, and its guard: wrong translations are searched for again, more carefully."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from glassformer.evaluate import guard as guards
from glassformer.tasks.translation.constraints import Request, Sentences

if TYPE_CHECKING:
    from glassformer.tasks.translation.translator import Translation, Translator


def search_for(
    translator: Translator,
    sentences: Sentences,
    request: Request,
    *,
    guard: bool,
    progress: Callable[[Sequence[int]], None] | None = None,
) -> list[list[Translation]]:
    """The n best translations of each sentence; a blank sentence has the empty translation."""
    results = [[translator.blank] for _ in sentences.texts]
    equal = equal_sentences(sentences, request)
    distinct = sentences.some([places[0] for places in equal])
    for index in request.batches_of(distinct.rows, [bool(own) for own in distinct.terms]):
        for i, options in zip(index, guarded(translator, distinct.some(index), request, guard=guard), strict=True):
            for place in equal[i]:
                results[place] = list(options)
        if progress is not None:
            progress([place for i in index for place in equal[i]])
    return results


def equal_sentences(sentences: Sentences, request: Request) -> list[list[int]]:
    """The indices of equal sentences, so that each is searched for once. Not with samples or terms."""
    places: dict[tuple[str, tuple[int, ...], int], list[int]] = {}
    for i, (text, row) in enumerate(zip(sentences.texts, sentences.rows, strict=True)):
        alone = i if request.constraints.sampling or sentences.terms[i] else -1
        places.setdefault((text, tuple(row), alone), []).append(i)
    return list(places.values())


def guarded(translator: Translator, batch: Sentences, request: Request, *, guard: bool) -> list[list[Translation]]:
    """The translations of one batch, checked by the guard."""
    found = translator.found(batch, request)
    if not guard:
        return found

    def judge(i: int, one: Translation) -> str:
        return guards.what_is_wrong(
            batch.texts[i], batch.rows[i], one.text, one.tokens, finished=one.finished, lengths=translator.lengths
        )

    def search_again(places: list[int]) -> list[list[Translation]]:
        careful = request.careful()
        results: dict[int, list[Translation]] = {}
        rows, bound = [batch.rows[i] for i in places], [bool(batch.terms[i]) for i in places]
        for index in careful.batches_of(rows, bound):
            results |= zip(index, translator.found(batch.some([places[i] for i in index]), careful), strict=True)
        return [results[i] for i in range(len(places))]

    again = None if request.constraints.sampling else search_again  # samples stay as they are
    return guards.guarded(found, batch.rows, judge, again, n_best=request.n_best)
