"""Hindi clauses: the verb last, postpositions, the ergative, and what a verb agrees with."""

from __future__ import annotations

from dataclasses import replace

from glassformer.data.phrasebook.aligned import Keys, Token
from glassformer.data.phrasebook.clause import AUXILIARY, PREPOSITION, VERB
from glassformer.data.phrasebook.hindi import morphology
from glassformer.data.phrasebook.hindi.expressions import ADVERBS
from glassformer.data.phrasebook.hindi.nominals import (
    HUMAN,
    agreement,
    direct,
    marked,
    phrase_tokens,
)
from glassformer.data.phrasebook.hindi.nouns import ADJECTIVES, LIVING_OLD, NOUNS
from glassformer.data.phrasebook.hindi.verb_groups import HE, VerbGroup, source_of
from glassformer.data.phrasebook.meaning import MissingWord
from glassformer.data.phrasebook.nominal import (
    Fixed,
    Name,
    NounPhrase,
    PredicateNoun,
    Pronoun,
    Referring,
)
from glassformer.data.phrasebook.sentences import Weather


class Sentence(VerbGroup):
    """A whole clause: the parts around the verb and their order."""

    def complement(self) -> list[Token]:
        """A predicate, a place or a goal."""
        part = self.clause.complement
        if part is None or self.clause.verb.frame == "prepositional":
            return []
        if isinstance(part, PredicateNoun):
            inner = part.inner
            one = self.clause.subject
            if isinstance(one, Pronoun) and one.person in (0, 1, 3) and NOUNS.get(inner.noun.english, (0, 0))[1]:
                inner = replace(inner, feminine=self.found.gender == "f")
            return phrase_tokens(inner, self.choices)
        if isinstance(part, Fixed) and self.clause.verb.name == "be" and part.source not in ADVERBS:
            return self._predicate(part)
        return self.part(part)

    def _predicate(self, part: Fixed) -> list[Token]:
        words, key = part.source.split(), part.key
        if words[0] in ("a", "an") and len(words) == 2 and words[1] in NOUNS:
            man, woman = NOUNS[words[1]]
            noun = woman if woman and self.found.gender == "f" else man
            return [Token(noun.text, (key, key + 1))]
        degree = {"very": ("बहुत",), "too": ("बहुत", "ज़्यादा")}.get(words[0], ())
        if words[-1] not in ADJECTIVES or len(words) > 2 or (len(words) == 2 and not degree):
            raise MissingWord(part.source)
        place = key + len(words) - 1
        return [*[Token(word, (key,)) for word in degree], *self.agreeing(words[-1], (place,))]

    def agreeing(self, name: str, keys: Keys) -> list[Token]:
        """A predicate adjective in agreement with the subject."""
        if name not in ADJECTIVES:
            raise MissingWord(name)
        one = self.clause.subject
        one = one.antecedent if isinstance(one, Referring) and one.antecedent else one
        living = not isinstance(one, NounPhrase) or bool(one.noun.kinds & (HUMAN | {"animal"}))
        text = LIVING_OLD if name == "old" and living and not isinstance(one, Weather) else ADJECTIVES[name]
        agreed = (morphology.agreeing(word, self.found.gender, self.found.plural) for word in text.split())
        return [Token(word, keys) for word in agreed]

    def words(self, predicate: list[Token] | None = None) -> list[Token]:
        """The whole clause; `predicate` replaces its complement."""
        clause = self.clause
        front = self.part(clause.fronted)
        if clause.asked and clause.question is None:
            front = [Token("क्या", (), (self.shift + VERB,)), *front]
        if self.order == "imperative":
            please = self.part(clause.frequency) if clause.frequency else []
            return please + self.objects() + self.complement() + self.command()
        if clause.verb.name == "taste of":
            return front + self._tasted()
        if clause.verb.name in ("like", "have") or self._liked_thing():
            return front + (self._owned() if clause.verb.name == "have" else self._liked())
        complement = self.complement() if predicate is None else predicate
        much = source_of(clause.manner) == "very much"
        manner = self.part(clause.manner)
        middle = [*self._time(), *self.part(clause.place), *([] if much else manner), *self.objects()]
        middle += [] if self._asks_why() else self.question()
        if source_of(clause.question) == "who" and self.verb.marker == "का":
            middle = [*self._time(), *self.part(clause.place), *self.question()]
        return front + self.subject() + middle + complement + (manner if much else []) + self.verb_group()

    def _time(self) -> list[Token]:
        clause = self.clause
        time = [] if clause.time is clause.fronted else self.part(clause.time)
        return time + self.part(clause.frequency)

    def _liked_thing(self) -> bool:
        """To love a thing is to like it very much; only the living are loved with प्यार."""
        thing = self.other
        living = isinstance(thing, Pronoun | Name) or (
            isinstance(thing, NounPhrase) and thing.noun.kinds & (HUMAN | {"animal"})
        )
        return self.clause.verb.name == "love" and not living

    def _liked(self) -> list[Token]:
        """मुझे आइसक्रीम पसंद है: what is liked is the subject, the person has को."""
        clause, key = self.clause, (self.shift + VERB,)
        thing = self.thing or self.other
        if self.modal or clause.question or thing is None:
            raise MissingWord("like")
        one = agreement(thing, self.choices)
        much = self.part(clause.manner) if source_of(clause.manner) == "very much" else []
        if clause.verb.name == "love":
            much = [Token("बहुत", key), *([Token("ज़्यादा", much[0].sure)] if much else [])]
        past = clause.tense == "past"
        negation = self._negation()
        verb = Token(self.copula(past, one), (), key)
        lead = marked(clause.subject, "को", (), self.choices) + self._time()
        return [*lead, *direct(thing, self.choices, self.owner), *much, Token("पसंद", key), *negation, verb]

    def _tasted(self) -> list[Token]:
        """केक में चॉकलेट का स्वाद था: in the cake was the taste of chocolate."""
        clause, key, taste = self.clause, (self.shift + VERB,), self.other
        if self.modal or clause.question or taste is None:
            raise MissingWord("taste of")
        lead = marked(clause.subject, "में", (), self.choices)
        flavour = marked(taste, "का", (self.shift + PREPOSITION,), self.choices)
        verb = Token(self.copula(clause.tense == "past", HE), (), key)
        return [*lead, *flavour, Token("स्वाद", (*key, self.shift + AUXILIARY)), verb]

    def _owned(self) -> list[Token]:
        """मेरे पास किताब है; relatives are my own: मेरा एक भाई है."""
        clause, thing, key = self.clause, self.thing, (self.shift + VERB,)
        if self.modal or clause.question or not isinstance(thing, NounPhrase):
            raise MissingWord("have")
        if thing.determiner == "no":
            thing = replace(thing, determiner="none" if thing.noun.mass else "no", plural=False)
        one = agreement(thing, self.choices)
        word = "के पास"
        if "kin" in thing.noun.kinds:
            word = morphology.agreeing("का", one.gender, one.plural)
        lead = marked(clause.subject, word, key, self.choices)
        return [*lead, *self._time(), *phrase_tokens(thing, self.choices), *self._negation(), *self.being(one, key)]
