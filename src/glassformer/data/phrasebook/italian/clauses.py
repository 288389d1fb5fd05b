"""Italian clauses: subjects that may be left out, clitics, compound tenses with agreement, and word order."""

from __future__ import annotations

from dataclasses import replace

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import AUXILIARY, DATIVE, PREPOSITION, VERB
from glassformer.data.phrasebook.italian import morphology
from glassformer.data.phrasebook.italian.expressions import ADVERBS
from glassformer.data.phrasebook.italian.nominals import (
    Agreement,
    after_preposition,
    agreement,
    noun_of,
    phrase_tokens,
    spoken_gender,
)
from glassformer.data.phrasebook.italian.nouns import ADJECTIVES, NOUNS
from glassformer.data.phrasebook.italian.verb_groups import HABITS, VerbGroup, part_tokens
from glassformer.data.phrasebook.meaning import MissingWord
from glassformer.data.phrasebook.nominal import (
    Fixed,
    Name,
    Nominal,
    NounPhrase,
    PredicateNoun,
    Pronoun,
)
from glassformer.data.phrasebook.nouns import NOUNS as ALL_NOUNS
from glassformer.data.phrasebook.sentences import Weather

_GENERIC = ("love", "like")
_BY_PLURAL = {noun.plural: name for name, noun in ALL_NOUNS.items()}


class Sentence(VerbGroup):
    """A whole clause: the parts around the verb and their order."""

    def objects(self) -> list[Token]:
        """The objects that are not clitics."""
        parts: list[Token] = []
        habit = self._source(self.clause.frequency) in (*HABITS, "never") or self.clause.verb.name == "have"
        if isinstance(self.direct, NounPhrase):
            one = self.direct
            if one.determiner == "no" and (one.plural or one.noun.mass):
                one = replace(one, determiner="none")
            generic = self.clause.verb.name in _GENERIC
            none = "all" if generic else "" if self.negated or habit else "some"
            if none == "some" and one.determiner == "none" and self.choices.pick(f"some {one.key}", 2):
                none = ""
            parts += phrase_tokens(one, self.choices, none=none)
        elif isinstance(self.direct, Name):
            parts.append(Token(self.direct.text, (self.direct.key,)))
        if self.dative is not None and not isinstance(self.dative, Pronoun):
            keys = (self.shift + DATIVE,) if self.clause.verb.frame == "to" else ()
            parts += after_preposition("a", keys, self.dative, self.choices)
        if self.other is not None:
            keys = (self.shift + PREPOSITION,) if self.clause.verb.frame == "prepositional" else ()
            parts += after_preposition(self.verb.preposition.rstrip("+"), keys, self.other, self.choices)
        return parts

    def complement(self) -> list[Token]:
        """A predicate, a place or a goal."""
        part, clause = self.clause.complement, self.clause
        if part is None or clause.verb.frame == "prepositional":
            return []
        if isinstance(part, PredicateNoun):
            return phrase_tokens(part.inner, self.choices)
        if isinstance(part, Fixed) and clause.verb.name == "be" and part.source not in ADVERBS:
            return self._predicate(part)
        return part_tokens(part, self.choices)

    def _predicate(self, part: Fixed) -> list[Token]:
        words, key = part.source.split(), part.key
        if words[0] in ("a", "an"):
            if words[1] not in NOUNS or len(words) > 2:
                raise MissingWord(part.source)
            man, woman = NOUNS[words[1]]
            noun = woman if woman and self.found.gender == "f" else man
            article = morphology.indefinite("f" if noun is woman or self.found.gender == "f" else "m", noun.singular)
            return [Token(article, (key,)), Token(noun.singular, (key + 1,))]
        degree = {"very": "molto", "too": "troppo"}.get(words[0])
        name = words[-1]
        if name not in ADJECTIVES or len(words) > 2 or (len(words) == 2 and not degree):
            raise MissingWord(part.source)
        place = key + len(words) - 1
        return [
            *([Token(degree, (key,))] if degree else []),
            Token(self.agreeing(ADJECTIVES[name].masculine), (place,)),
        ]

    def agreeing(self, masculine: str) -> str:
        """An adjective that agrees with the subject; the weather is "bello", not "buono"."""
        if isinstance(self.clause.subject, Weather) and masculine == "buono":
            masculine = "bello"
        gender = spoken_gender(self.clause.subject, self.found, self.choices)
        return morphology.adjective(masculine, gender, self.found.plural)

    def asked_words(self) -> list[Token]:
        """The question word, with the preposition that the verb needs."""
        part = self.clause.question
        assert isinstance(part, Fixed)
        words, key = part.source.split(), part.key
        if words[0] == "which" or words[:2] == ["how", "many"]:
            return self._asked_noun(words, key)
        found = part_tokens(part, self.choices)
        governed = self.verb.preposition.rstrip("+")
        if self.clause.verb.frame in ("double", "to"):
            governed = "a" if self.clause.question_part == "dative" else ""
        if words == ["who"] and governed:
            return [Token(governed, (key,)), *found]
        return found

    def _asked_noun(self, words: list[str], key: int) -> list[Token]:
        many = words[0] == "how"
        name = _BY_PLURAL[" ".join(words[2:])] if many else " ".join(words[1:])
        size = len(words)
        keys = tuple(range(key + (2 if many else 1), key + size))
        phrase = NounPhrase(key, ALL_NOUNS[name], "none", plural=many)
        noun = noun_of(phrase, self.choices)
        if not many:
            return [Token("quale", (key,)), *[Token(word, keys) for word in noun.singular.split()]]
        first = Token(morphology.adjective("quanto", noun.gender, True), (key, key + 1))
        return [first, *[Token(word, keys) for word in noun.plural.split()]]

    def tail(self) -> list[Token]:
        """Complement, instrument, place and time."""
        clause = self.clause
        parts = self.complement()
        for part in (clause.manner if self._source(clause.manner) != "very much" else None, clause.place, clause.time):
            if part is not None and part is not clause.fronted:
                parts += part_tokens(part, self.choices)
        return parts

    def degree(self) -> list[Token]:
        """molto, right after the verb."""
        much = self._source(self.clause.manner) == "very much"
        return part_tokens(self.clause.manner, self.choices) if much else []

    def liked(self) -> list[Token]:
        """Mi piace il vestito: what is liked is the subject, the person a dative."""
        clause, one, thing = self.clause, self.clause.subject, self.direct
        if self._asks("subject") or clause.modal or thing is None or clause.question:
            raise MissingWord("like")
        what = agreement(thing, self.choices)
        tense = self.verb.forms.imperfect if clause.tense == "past" else self.verb.forms.present
        person = (5 if what.plural else 2) if not isinstance(thing, Pronoun) else what.person
        keys = (self.shift + VERB, self.shift + AUXILIARY) if clause.tense == "past" else (self.shift + VERB,)
        verb = Token(tense[person], keys, (thing.key,) if isinstance(thing, Pronoun) else ())
        lead, clitics = experiencer(one, self.found, self.choices)
        front = part_tokens(clause.fronted, self.choices)
        return [*front, *lead, *self._negation(), *clitics, verb, *self.degree(), *self.objects(), *self.tail()]

    def words(self) -> list[Token]:
        """The whole clause."""
        clause = self.clause
        if clause.verb.name == "like":
            return self.liked()
        body = self.verb_group() + self.degree() + self.objects()
        if self.order == "imperative":
            please = clause.frequency
            lead = [*part_tokens(please, self.choices), Token(",")] if please else []
            return lead + self.command() + self.objects() + self.tail()
        if clause.question is not None and not self._asks("subject"):
            if self._source(clause.question) == "why":
                return self.asked_words() + self.subject() + body + self.tail()
            self.order = "asked"
            return self.asked_words() + body + self.subject() + self.tail()
        front = part_tokens(clause.fronted, self.choices)
        return front + self.subject() + body + self.tail()


def experiencer(one: Nominal, found: Agreement, choices: Choices) -> tuple[list[Token], list[Token]]:
    """Who likes something: a clitic (mi), or "a" and a name or noun (a Maria)."""
    if not isinstance(one, Pronoun):
        return after_preposition("a", (), one, choices), []
    return [], [Token(morphology.clitic("dat", found.person, found.gender, found.polite), (one.key,))]
