"""Training pairs with matching masks (`data.masks`), so that a model learns to place text it must keep, such as
placeholders.

In some pairs, one to three spots get the same mask on both sides, numbered in the order of the source. A spot is a pair
of words that translate each other, a name or number that is the same on both sides, or a placeholder of both sides. The
mask replaces the words, or comes right before or after them. All of this is a function of the sentences, the seed and
the pair's number.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from glassformer.tasks.translation.masking import kept_placeholders
from glassformer.tasks.translation.word_boundaries import Word, is_sign, tokens_of
from glassformer.text.masks import MASKS, has_masks

MASK_FORMAT = 1  # raise it when the same pairs would get other masks: old token caches are then not used
COUNTED = 20_000  # pairs that the dictionary is made from
LONGEST = 40  # the most words on a side of such a pair: the cost grows with the product of both sides
LEAST_TOGETHER = 3  # the fewest pairs in which both words occur
LEAST_DICE = 0.3
REPLACED = 0.5  # share of the spots whose words are replaced; the others keep their words and get a mask next to them
UNKNOWN = "\ufffd"

Pair = tuple[str, str]
Dictionary = Mapping[str, str]  # source word -> target word


@dataclass(frozen=True)
class Spot:
    """A word of the source and its counterpart in the target."""

    source: Word
    target: Word


def with_masks(train: Callable[[], Iterator[Pair]], *, share: float, seed: int) -> Iterator[Pair]:
    """The pairs, about `share` of them with masks. Reserved characters that already occur in a text are replaced."""
    dictionary = word_pairs(islice(train(), COUNTED))
    for number, pair in enumerate(train()):
        source, target = (_without_reserved(side) for side in pair)
        generator = _generator(seed, number)
        yield masked_pair(source, target, dictionary, generator) if generator.random() < share else (source, target)


def _generator(seed: int, number: int) -> random.Random:
    return random.Random(hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest())


def _without_reserved(text: str) -> str:
    return text.translate({ord(mask): UNKNOWN for mask in MASKS}) if has_masks(text) else text


# Which words belong together


def word_pairs(pairs: Iterable[Pair]) -> Dictionary:
    """Words that are each other's only best partner by Dice: 2 · pairs with both / (with one + with other)."""
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    rows: list[tuple[list[int], list[int]]] = []
    for pair in pairs:
        words = [{word.text.casefold() for word in _words(side)} for side in pair]
        if all(0 < len(own) <= LONGEST for own in words):
            first, second = (
                [known.setdefault(word, len(known)) for word in sorted(own)]
                for known, own in zip(numbers, words, strict=True)
            )
            rows.append((first, second))
    if not rows:
        return {}
    sizes = [np.bincount([i for row in rows for i in row[side]], minlength=len(numbers[side])) for side in (0, 1)]
    wide = len(numbers[1])
    keys = np.concatenate([(np.array(row[0])[:, None] * wide + np.array(row[1])).ravel() for row in rows])
    keys, together = np.unique(keys, return_counts=True)
    source, target = keys // wide, keys % wide
    dice = 2 * together / (sizes[0][source] + sizes[1][target])
    good = (together >= LEAST_TOGETHER) & (dice >= LEAST_DICE)
    links = list(zip(source[good].tolist(), target[good].tolist(), dice[good].tolist(), strict=True))
    best = _only_best(links), _only_best([(t, s, value) for s, t, value in links])
    names = [list(known) for known in numbers]
    return {names[0][s]: names[1][t] for s, t in best[0].items() if best[1].get(t) == s}


def _only_best(links: Iterable[tuple[int, int, float]]) -> dict[int, int]:
    """The partner with the highest value for each; none if two are equally good."""
    found: dict[int, tuple[float, int]] = {}
    for one, other, value in links:
        before, _ = found.get(one, (-1.0, -1))
        if value > before:
            found[one] = value, other
        elif value == before:
            found[one] = value, -1
    return {one: other for one, (_, other) in found.items() if other >= 0}


def _words(text: str) -> list[Word]:
    return [word for word in tokens_of(text) if not all(map(is_sign, word.text))]


# One pair


def masked_pair(source: str, target: str, dictionary: Dictionary, generator: random.Random) -> Pair:
    """The pair with one to three masks; unchanged if it has no spot for them."""
    free = spots(source, target, dictionary)
    wanted = 1 + int(generator.random() * len(MASKS))
    taken: list[Spot] = []
    while free and len(taken) < wanted:
        taken.append(free.pop(int(generator.random() * len(free))))
    taken.sort(key=lambda spot: spot.source.start)
    edits: tuple[list[tuple[int, int, str]], ...] = ([], [])
    for spot, mask in zip(taken, MASKS, strict=False):
        replaced, before = generator.random() < REPLACED, generator.random() < 0.5
        for own, word in zip(edits, (spot.source, spot.target), strict=True):
            if replaced:
                own.append((word.start, word.end, mask))
            elif before:
                own.append((word.start, word.start, f"{mask} "))
            else:
                own.append((word.end, word.end, f" {mask}"))
    return _edited(source, edits[0]), _edited(target, edits[1])


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def spots(source: str, target: str, dictionary: Dictionary) -> list[Spot]:
    """Where masks may go: words and placeholders that occur once on both sides, in the order of the source."""
    kept = [_placeholders(side) for side in (source, target)]
    words = [
        [word for word in _words(side) if not any(word.start < one.end and one.start < word.end for one in own)]
        for side, own in zip((source, target), kept, strict=True)
    ]
    found = _partners(kept[0], kept[1], str, lambda text: text)
    for spot in _partners(words[0], words[1], str.casefold, lambda text: _translation(text, dictionary)):
        if dictionary.get(spot.source.text.casefold()) or spot.source.text == spot.target.text:
            found.append(spot)
    return sorted(found, key=lambda spot: spot.source.start)


def _placeholders(text: str) -> list[Word]:
    return [Word(one.text, one.start, one.end) for one in kept_placeholders(text)]


def _translation(word: str, dictionary: Dictionary) -> str | None:
    """The word expected on the other side: from the dictionary, or the same word if it is a number or a name."""
    same = any(letter.isdigit() or letter.isupper() for letter in word)
    return dictionary.get(word.casefold()) or (word.casefold() if same else None)


def _partners(
    source: Sequence[Word], target: Sequence[Word], form: Callable[[str], str], wanted: Callable[[str], str | None]
) -> list[Spot]:
    """Each source word that occurs once, with its expected target word if that also occurs once."""
    counts = [Counter(form(word.text) for word in side) for side in (source, target)]
    places = {form(word.text): word for word in target}
    found = []
    for word in source:
        other = wanted(word.text)
        if other is not None and counts[0][form(word.text)] == 1 and counts[1][other] == 1:
            found.append(Spot(word, places[other]))
    claimed = Counter(spot.target.start for spot in found)
    return [spot for spot in found if claimed[spot.target.start] == 1]
