"""From texts to their translations: parts out of texts, a search for each part, terms and placeholders put in, joined.

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
from glassformer.tasks.translation.glossary import Occurrence, said_of
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
WORSE = 0.5  # a search for given terms whose score is lower by more than this has spoilt the sentence
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
    """Without its placeholders, block by block, and in sentences if it is long."""
    whole = without_placeholders(text, keep=request.constraints.keep_placeholders)
    blocks = blocks_of(whole) if whole.marks else [(0, len(whole.plain))]
    spans = [part for start, end in blocks for part in parts_that_fit(translator, whole.plain, start, end, request)]
    return parts_of(text, spans, whole)


def parts_that_fit(translator: Translator, text: str, start: int, end: int, request: Request) -> list[tuple[int, int]]:
    """The sentences of a stretch of a text if it is too long, else all of it."""
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

    def told(parts: Sequence[int]) -> None:
        for i in parts:
            left[owner[i]] -= 1
        if done := len({owner[i] for i in parts if not left[owner[i]]}):
            progress(done)

    return told


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
    lacking = [i for i, own in enumerate(terms) if own and not says_all(translator, found[i][0].text, own)]
    searched = obeying(translator, asked, lacking, terms, request, guard=guard)
    for i in lacking:
        found[i] = better(translator, texts[i], found[i], searched.get(i), terms[i], guard=guard)
    return found


def says_all(translator: Translator, text: str, terms: Sequence[Occurrence]) -> bool:
    return said_of(text, [one.forms for one in terms], translator.target.normalize) == len(terms)


def obeying(
    translator: Translator,
    asked: Sentences,
    lacking: Sequence[int],
    terms: Sequence[Sequence[Occurrence]],
    request: Request,
    *,
    guard: bool,
) -> dict[int, list[Translation]]:
    """Some of the sentences searched again with their terms as constraints, where the vocabulary can spell them."""
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
    """The search with the terms, or the usual translation with the terms in the place of its words."""
    put_in = with_terms(translator, source, [one.text for one in usual], terms)
    if put_in is None or not says_all(translator, put_in[0].text, terms):
        best = searched or usual
        said = says_all(translator, best[0].text, terms)
        return best if said or not guard else [marked(one, TERMS, wrong=True) for one in best]
    if searched and says_all(translator, searched[0].text, terms):
        spoilt = searched[0].score < usual[0].score - WORSE or still_wrong(searched[0])
        if not spoilt and not beside(searched[0].text, usual[0].text, put_in[0].usual):
            return searched
    return [
        replace(one, text=new.text, inserted=(*one.inserted, *new.terms))
        for one, new in zip(usual, put_in, strict=True)
        if says_all(translator, new.text, terms)
    ]


def beside(text: str, usual: str, words: Sequence[str]) -> bool:
    """Whether a text has one of the words as often as the usual translation: the term was added, not exchanged."""
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
    return [together_again(whole, [own[min(rank, len(own) - 1)] for own in found], request) for rank in range(count)]


def together_again(whole: Parts, own: Sequence[Translation], request: Request) -> Translation:
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
