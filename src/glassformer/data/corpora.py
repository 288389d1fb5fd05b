"""Named corpora: what each is, whether it is available, and its sentences in three parts."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from glassformer.data import statcan
from glassformer.errors import DataError

Pair = tuple[str, str]  # a sentence and its translation
Question = tuple[str, tuple[str, ...]]  # a sentence and its reference translations
Progress = Callable[[int, int], None]

TEST_SHARE, VALID_SHARE = 0.05, 0.02


@dataclass(frozen=True)
class NamedCorpus:
    """The parts of a corpus. No sentence is in two of them. A held-out sentence occurs once, with all translations."""

    train: list[Pair]
    valid: list[Question]
    test: list[Question]
    dropped: dict[str, int] = field(default_factory=dict)  # units left out, by reason


@dataclass(frozen=True)
class CorpusCard:
    """What to know before using a corpus."""

    name: str
    languages: tuple[str, str]  # codes of source and target
    pairs: int | None  # None: any number
    licence: str
    about: str
    get: str
    is_here: Callable[[], bool]
    read: Callable[[int, Progress | None], NamedCorpus]  # arguments: the phrasebook's size, and a progress callback

    @property
    def train_command(self) -> str:
        return f"glassformer train --corpus {self.name} --out runs/{self.name}"


def corpus_pairs(name: str, *, size: int = 60_000, progress: Progress | None = None) -> NamedCorpus:
    """The sentences of a named corpus, always in the same parts. `size`: training sentences of the phrasebook."""
    return corpus_card(name).read(size, progress)


def corpus_card(name: str) -> CorpusCard:
    if name not in CORPORA:
        close = difflib.get_close_matches(name.lower(), CORPORA, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise DataError(f"There is no corpus {name!r}. Available: {', '.join(CORPORA)}.{hint}")
    return CORPORA[name]


# The phrasebook


PHRASEBOOKS: dict[str, Pair] = {  # source and target
    "phrasebook": ("en", "de"),
    "phrasebook-en-it": ("en", "it"),
    "phrasebook-en-hi": ("en", "hi"),
    "phrasebook-de-en": ("de", "en"),
    "phrasebook-it-en": ("it", "en"),
    "phrasebook-hi-en": ("hi", "en"),
}


def phrasebook_name(source: str, target: str) -> str:
    """The corpus of these two languages."""
    for name, languages in PHRASEBOOKS.items():
        if languages == (source, target):
            return name
    known = ", ".join(f"{one}-{other}" for one, other in PHRASEBOOKS.values())
    raise DataError(f"There is no phrasebook {source}-{target}. Available (source-target): {known}.")


def read_phrasebook(languages: Pair, size: int, progress: Progress | None) -> NamedCorpus:
    from glassformer.data.phrasebook import phrasebook  # its word lists take a moment to load

    book = phrasebook(source=languages[0], target=languages[1], train=size, progress=progress)
    valid, test = ([(phrase.source, phrase.references) for phrase in part] for part in (book.valid, book.test))
    return NamedCorpus([(phrase.source, phrase.references[0]) for phrase in book.train], valid, test)


# Statistics Canada


def read_statcan(_size: int, _progress: Progress | None) -> NamedCorpus:
    return split(statcan.sentence_units())


def split(units: Iterable[Pair]) -> NamedCorpus:
    """Each pair once, in the part that the hash of its source chooses.

    Sources that differ only in numbers, case, punctuation or spaces are in the same part: "replaces table 12" does
    not test a model that learned "replaces table 11".
    """
    pairs, dropped = _each_once(units)
    train: list[Pair] = []
    valid: dict[str, list[str]] = {}
    test: dict[str, list[str]] = {}
    for source, target in pairs:
        place = _hash_share(_letters(source))
        if place >= TEST_SHARE + VALID_SHARE:
            train.append((source, target))
        else:
            (test if place < TEST_SHARE else valid).setdefault(source, []).append(target)
    return NamedCorpus(train, _questions(valid), _questions(test), dropped)


def _each_once(units: Iterable[Pair]) -> tuple[list[Pair], dict[str, int]]:
    kept: dict[Pair, None] = {}
    dropped: Counter[str] = Counter()
    for source, target in units:
        if not source or not target:
            dropped["blank on one side"] += 1
        elif source == target:
            dropped["the same on both sides"] += 1
        elif (source, target) in kept:
            dropped["repeated"] += 1
        else:
            kept[source, target] = None
    return list(kept), dict(dropped)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.casefold()))


def _hash_share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def _questions(found: dict[str, list[str]]) -> list[Question]:
    return [(source, tuple(targets)) for source, targets in found.items()]


def _phrasebook_card(name: str, languages: Pair) -> CorpusCard:
    return CorpusCard(
        name=name,
        languages=languages,
        pairs=None,
        licence="Apache-2.0, as Glassformer itself",
        about="Everyday sentences from a built-in grammar, with every correct translation and the word alignment. "
        "The test part has combinations of words that are not in the training part.",
        get="built in; nothing to download",
        is_here=lambda: True,
        read=partial(read_phrasebook, languages),
    )


CORPORA = {
    card.name: card
    for card in (
        *(_phrasebook_card(name, languages) for name, languages in PHRASEBOOKS.items()),
        CorpusCard(
            name="statcan",
            languages=("en", "fr"),
            pairs=23_719,
            licence="Statistics Canada Open Licence: any use, with Statistics Canada named as the source "
            "(the package with the sentences: MIT)",
            about="Descriptions of Statistics Canada's tables: 5,927 titles, their footnotes, names of surveys and "
            "subjects, as published in both languages.",
            get=statcan.INSTALL,
            is_here=lambda: statcan.folder() is not None,
            read=read_statcan,
        ),
    )
}
