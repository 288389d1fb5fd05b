"""From texts to translations: splits texts into parts, searches for each, inserts terms and placeholders, joins them.

text ─ masking ─▶ plain text ─ sentences ─▶ parts ─ search, guard ─▶ translations ─ terms ─ placeholders ─▶ joined
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glassformer.decode.terms import tokens_of as size_of
from glassformer.errors import DataError
from glassformer.evaluate.guard import MARKS, TERMS, joined_verdict, still_wrong
from glassformer.tasks.translation.alignment import shares_of_words
from glassformer.tasks.translation.constraints import Request, Sentences
from glassformer.tasks.translation.glossary import Occurrence, count_terms
from glassformer.tasks.translation.guarding import search_for
from glassformer.tasks.translation.mask_places import placed_by_masks
from glassformer.tasks.translation.masking import Masked, kept
from glassformer.tasks.translation.parts import Parts, blocks_of, parts_of, without_placeholders
from glassformer.tasks.translation.restoring import restored, together
from glassformer.tasks.translation.term_places import with_terms
from glassformer.tasks.translation.word_boundaries import tokens_of

if TYPE_CHECKING:
    from glassformer.tasks.translation.translator import Translation, Translator

Progress = Callable[[int], None]
WORSE = 0.5  # if a search with terms lowers the score by more than this, it has spoilt the sentence
MOST_SEARCHED = 32  # tokens of a sentence's terms: a search for more is slow and finds no good place for each
PART_STEP = 1 << 32  # numbers of a text's further parts, which samples depend on: beyond those of all texts


def translations_of(
    translator: Translator,
    texts: Sequence[str],
    request: Request,
    *,
    guard: bool = True,
    first_number: int = 0,
    progress: Progress | None = None,
) -> list[list[Translation]]:
    """The n best translations of each text."""
    wholes = [divided(translator, text, request) for text in texts]
    numbers = [
        number + PART_STEP * place
        for number, whole in enumerate(wholes, first_number)
        for place in range(len(whole.parts))
    ]
    told = per_text(progress, wholes) if progress else None
    parts = [part for whole in wholes for part in whole.parts]
    each = iter(translated(translator, parts, numbers, request, guard=guard, progress=told))
    results = []
    for whole in wholes:
        options = joined(whole, [next(each) for _ in whole.parts], request)
        if guard and request.constraints.keep_placeholders:
            options = [marked(one, MARKS, wrong=not kept(whole.text.strip(), one.text)) for one in options]
        results.append(options)
    return results


def divided(translator: Translator, text: str, request: Request) -> Parts:
    """The parts of a text: without placeholders, block by block, and sentence by sentence if it is long."""
    whole = without_placeholders(text, keep=request.constraints.keep_placeholders)
    blocks = blocks_of(whole) if whole.marks else [(0, len(whole.plain))]
    spans = [part for start, end in blocks for part in parts_that_fit(translator, whole.plain, start, end, request)]
    return parts_of(text, spans, whole)


def parts_that_fit(translator: Translator, text: str, start: int, end: int, request: Request) -> list[tuple[int, int]]:
    """The spans of the sentences between `start` and `end` if that is too long, else one span."""
    over = translator.split_limit(request.settings)
    if not over or end - start <= over:  # the usual case needs no import of the splitter
        return [(start, end)]
    from glassformer.text.sentences import spans_to_translate

    spans = spans_to_translate(
        text[start:end],
        lambda part: len(translator.source.encode(part)),
        over=over,
        longest=translator.longest_sentence,
        language=translator.source_language,
    )
    return [(start + first, start + last) for first, last in spans] if spans else [(start, end)]


def per_text(progress: Progress, wholes: Sequence[Parts]) -> Callable[[Sequence[int]], None]:
    """Reports a text as done when the last of its parts is done."""
    owner = [number for number, whole in enumerate(wholes) for _ in whole.parts]
    left = [len(whole.parts) for whole in wholes]

    def on_parts(parts: Sequence[int]) -> None:
        for i in parts:
            left[owner[i]] -= 1
        if done := len({owner[i] for i in parts if not left[owner[i]]}):
            progress(done)

    return on_parts


# Each part


def translated(
    translator: Translator,
    parts: Sequence[Masked],
    numbers: Sequence[int],
    request: Request,
    *,
    guard: bool,
    progress: Callable[[Sequence[int]], None] | None,
) -> list[list[Translation]]:
    """The translations of each part with its placeholders: placed by the model where it can, else by alignment."""
    found = placed_by_masks(translator, parts, numbers, request, guard=guard)
    rest = [i for i in range(len(parts)) if i not in found]
    if progress and found:
        progress(list(found))
    told = (lambda places: progress([rest[i] for i in places])) if progress else None
    texts, own = [parts[i].plain for i in rest], [numbers[i] for i in rest]
    plain = with_glossary(translator, texts, own, request, guard=guard, progress=told)
    found |= zip(rest, with_placeholders(translator, [parts[i] for i in rest], plain), strict=True)
    return [found[i] for i in range(len(parts))]


def with_glossary(
    translator: Translator,
    texts: Sequence[str],
    numbers: Sequence[int],
    request: Request,
    *,
    guard: bool,
    progress: Callable[[Sequence[int]], None] | None,
) -> list[list[Translation]]:
    """Translations with the glossary's terms: unchanged if they have them, else by a new search, or inserted after."""
    asked = translator.sentences(texts, request, numbers=numbers)
    found = search_for(translator, asked, request, guard=guard, progress=progress)
    glossary = request.constraints.glossary
    if glossary is None:
        return found
    terms = [glossary.places_in(text) for text in texts]
    lacking = [i for i, own in enumerate(terms) if own and not has_all_terms(translator, found[i][0].text, own)]
    searched = search_with_terms(translator, asked, lacking, terms, request, guard=guard)
    for i in lacking:
        found[i] = better(translator, texts[i], found[i], searched.get(i), terms[i], guard=guard)
    return found


def has_all_terms(translator: Translator, text: str, terms: Sequence[Occurrence]) -> bool:
    return count_terms(text, [one.forms for one in terms], translator.target.normalize) == len(terms)


def search_with_terms(
    translator: Translator,
    asked: Sentences,
    lacking: Sequence[int],
    terms: Sequence[Sequence[Occurrence]],
    request: Request,
    *,
    guard: bool,
) -> dict[int, list[Translation]]:
    """Searches again with terms as constraints, for the sentences in `lacking` whose terms the vocabulary can spell."""
    spelled = {}
    for i in lacking:
        try:
            own = [*asked.terms[i], *(translator.speller.term(one.forms) for one in terms[i])]
        except DataError:
            continue
        if size_of(own) <= MOST_SEARCHED:
            spelled[i] = own
    some = list(spelled)
    bound = replace(asked.some(some), terms=[spelled[i] for i in some])
    return dict(zip(some, search_for(translator, bound, request, guard=guard), strict=True))


def better(
    translator: Translator,
    source: str,
    usual: list[Translation],
    searched: list[Translation] | None,
    terms: Sequence[Occurrence],
    *,
    guard: bool,
) -> list[Translation]:
    """The better of two: the result of the search with terms, or the usual translation with words replaced by terms."""
    put_in = with_terms(translator, source, [one.text for one in usual], terms)
    if put_in is None or not has_all_terms(translator, put_in[0].text, terms):
        best = searched or usual
        said = has_all_terms(translator, best[0].text, terms)
        return best if said or not guard else [marked(one, TERMS, wrong=True) for one in best]
    if searched and has_all_terms(translator, searched[0].text, terms):
        spoilt = searched[0].score < usual[0].score - WORSE or still_wrong(searched[0])
        if not spoilt and not keeps_usual_word(searched[0].text, usual[0].text, put_in[0].usual):
            return searched
    return [
        replace(one, text=new.text, inserted=(*one.inserted, *new.terms))
        for one, new in zip(usual, put_in, strict=True)
        if has_all_terms(translator, new.text, terms)
    ]


def keeps_usual_word(text: str, usual: str, words: Sequence[str]) -> bool:
    """Whether a text has one of the words as often as the usual translation: the term was added, not substituted."""
    here, there = (Counter(word.text.casefold() for word in tokens_of(one)) for one in (text, usual))
    return any(here[word.casefold()] >= there[word.casefold()] > 0 for word in words)


def with_placeholders(
    translator: Translator, parts: Sequence[Masked], found: Sequence[list[Translation]]
) -> list[list[Translation]]:
    """The translations of each part with the part's placeholders."""
    results = list(found)
    pairs = [(i, rank) for i, part in enumerate(parts) if part.marks for rank in range(len(found[i]))]
    aligned = [(i, rank) for i, rank in pairs if parts[i].plain.strip() and found[i][rank].text.strip()]
    sources, targets = [parts[i].plain for i, _ in aligned], [found[i][rank].text for i, rank in aligned]
    shares = dict(zip(aligned, shares_of_words(translator, sources, targets, split_words), strict=True))
    for i, rank in pairs:
        part, one = parts[i], found[i][rank]
        if (i, rank) in shares:
            text = restored(one.text, tokens_of(one.text), shares[i, rank], part, tokens_of(part.plain))
        else:  # no words to put them between
            text = " ".join(filter(None, [one.text, together(part.marks)]))
        inserted = (*one.inserted, *(mark.text for mark in part.marks))
        results[i] = [*results[i][:rank], replace(one, text=text, inserted=inserted), *results[i][rank + 1 :]]
    return results


def split_words(text: str) -> list[str]:
    return [word.text for word in tokens_of(text)]


# Together again


def joined(whole: Parts, found: Sequence[Sequence[Translation]], request: Request) -> list[Translation]:
    """The translations of a text from those of its parts: the best ones together, the second ones together, ..."""
    if len(found) == 1:
        return list(found[0])
    count = max(map(len, found))
    return [joined_one(whole, [own[min(rank, len(own) - 1)] for own in found], request) for rank in range(count)]


def joined_one(whole: Parts, own: Sequence[Translation], request: Request) -> Translation:
    text = "".join(one.text + space for one, space in zip(own, (*whole.between, ""), strict=True))
    log_probs = tuple(value for one in own for value in one.log_probs)
    wrong, repaired = joined_verdict(own)
    return replace(
        own[0],
        text=text,
        score=request.settings.ranked(sum(one.log_prob for one in own), len(log_probs)),
        log_prob=sum(one.log_prob for one in own),
        tokens=tuple(token for one in own for token in one.tokens),
        log_probs=log_probs,
        finished=all(one.finished for one in own),
        wrong=wrong,
        repaired=repaired,
        inserted=tuple(text for one in own for text in one.inserted),
        parts=len(own),
    )


def marked(one: Translation, name: str, *, wrong: bool) -> Translation:
    """Marked with the name of this problem, unless another problem is already marked."""
    return replace(one, wrong=name, repaired=False) if wrong and not still_wrong(one) else one
