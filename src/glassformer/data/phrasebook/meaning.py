"""What a phrase says, without words: the side that all languages share. Each language renders these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import Clause
from glassformer.data.phrasebook.nominal import Fixed, Nominal, NounPhrase, Prepositional, linked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Said:
    """One clause. `order` is statement, question or imperative."""

    clause: Clause
    order: str = "statement"


@dataclass(frozen=True, slots=True)
class Enjoyed:
    """Somebody likes doing something: the clause says what, `key` is the key of "like"."""

    clause: Clause
    key: int


@dataclass(frozen=True, slots=True)
class Joined:
    """Two clauses with a conjunction; none for an indirect question."""

    main: Clause
    conjunction: Fixed | None
    second: Clause
    second_first: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """The clause has the comparative of `adjective` (English); `key` is the key of "than"."""

    clause: Clause
    adjective: str
    key: int
    other: Nominal


@dataclass(frozen=True, slots=True)
class Existing:
    """There is something somewhere. `key` is the key of "there"."""

    thing: NounPhrase
    where: Prepositional
    past: bool
    key: int


@dataclass(frozen=True, slots=True)
class Greeted:
    """A fixed expression, some with a noun phrase at their end."""

    opening: Fixed
    thing: Nominal | None = None


Meaning = Said | Enjoyed | Joined | Compared | Existing | Greeted


class MissingWord(LookupError):
    """A language has no word, or no construction, for a part of a phrase."""


def verb_of(clause: Clause, verbs: Mapping[str, T]) -> T:
    """The verb of a clause in a language, from its table by English name; to know a fact has a row of its own."""
    name = "know#fact" if clause.verb.infinitive == "wissen" else clause.verb.name
    if name not in verbs:
        raise MissingWord(name)
    return verbs[name]


def fixed(part: Fixed, expressions: Mapping[str, tuple[str, ...]], choices: Choices) -> list[Token]:
    """An expression in a language, from its table by English wording: ieri sera, घर पर."""
    if part.source not in expressions:
        raise MissingWord(part.source)
    wordings = expressions[part.source]
    which = choices.pick(f"wording {part.key}", len(wordings)) if len(wordings) > 1 else 0
    return linked(part.key, len(part.source.split()), wordings[which])
