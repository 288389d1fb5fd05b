"""Hindi verbs in their clause: the objects and their postpositions, the ergative, what the verb agrees with."""

from __future__ import annotations

from dataclasses import replace

from glassformer.data.phrasebook.aligned import Choices, Keys, Token
from glassformer.data.phrasebook.clause import AUXILIARY, DATIVE, MODAL, PREPOSITION, VERB, Clause
from glassformer.data.phrasebook.hindi import morphology
from glassformer.data.phrasebook.hindi.expressions import ADVERBS
from glassformer.data.phrasebook.hindi.nominals import (
    HUMAN,
    Agreement,
    agreement,
    direct,
    familiar,
    marked,
    noun_of,
    phrase_tokens,
    place_tokens,
)
from glassformer.data.phrasebook.hindi.verbs import VERBS
from glassformer.data.phrasebook.meaning import MissingWord, fixed, verb_of
from glassformer.data.phrasebook.nominal import (
    NEGATION,
    Fixed,
    Nominal,
    NounPhrase,
    Phrase,
    Prepositional,
)
from glassformer.data.phrasebook.nouns import NOUNS as ALL_NOUNS
from glassformer.data.phrasebook.sentences import Expletive, Weather

_BY_PLURAL = {noun.plural: name for name, noun in ALL_NOUNS.items()}
_HABITS = ("often", "always", "sometimes", "usually", "rarely")
_OBLIGED = ("must", "have to", "should", "must not")
HE = Agreement(2, "m", False)


def source_of(part: Phrase | None) -> str:
    """The English wording of a fixed phrase."""
    return part.source if isinstance(part, Fixed) else ""


def is_marked(thing: Nominal) -> bool:
    """True if a direct object takes को: people and pronouns, and animals that are known."""
    if not isinstance(thing, NounPhrase):
        return True
    kinds = thing.noun.kinds
    return bool(kinds & HUMAN) or ("animal" in kinds and thing.determiner not in ("a", "none", "number", "no"))


def is_game(thing: NounPhrase) -> bool:
    """Games are played with खेलना, songs are not."""
    return "played" in thing.noun.kinds


class VerbGroup:
    """A clause on its way into Hindi, for some choices: its objects, its subject's agreement, its verb."""

    def __init__(self, clause: Clause, choices: Choices, *, order: str = "statement", general: bool = False) -> None:
        self.clause, self.choices, self.order = clause, choices, order
        self.general = general and clause.tense == "present"  # what is so each time: होता है, not है
        self.verb, self.shift = verb_of(clause, VERBS), clause.shift
        if clause.verb.name == "play" and not (
            isinstance(clause.accusative, NounPhrase) and is_game(clause.accusative)
        ):
            raise MissingWord("play")
        self.modal = clause.modal.name if clause.modal else ""
        self.owner = clause.subject
        self.found = HE if self._asks("subject") else agreement(clause.subject, choices)
        self.thing, self.receiver, self.other = self._objects()
        often = source_of(clause.frequency)
        denied = isinstance(self.thing, NounPhrase) and self.thing.determiner == "no"
        self.negated = clause.negated or often == "never" or denied
        self.perfective = not self.modal and clause.tense in ("past", "perfect") and not self._habitual(often)
        self.ergative = self.perfective and self.verb.ergative
        self.obliged = self.modal in _OBLIGED
        self.agreed = self._agreed()

    def _habitual(self, often: str) -> bool:
        return self.clause.tense == "past" and (self.verb.habitual or often in _HABITS)

    def _asks(self, part: str) -> bool:
        return self.clause.question is not None and self.clause.question_part == part

    def _objects(self) -> tuple[Nominal | None, Nominal | None, Nominal | None]:
        """The direct object, the receiver, and the object of the verb's postposition."""
        clause = self.clause
        if clause.verb.frame in ("double", "to"):
            return self._denied(clause.accusative), clause.dative, None
        single: Nominal | None = clause.accusative or clause.dative
        if clause.verb.frame == "prepositional" and isinstance(clause.complement, Prepositional):
            single = clause.complement.inner
        return (None, None, single) if self.verb.marker else (self._denied(single), None, None)

    def _denied(self, thing: Nominal | None) -> Nominal | None:
        """ "not an apple" is कोई सेब नहीं."""
        if isinstance(thing, NounPhrase) and thing.determiner == "a" and self.clause.negated:
            return replace(thing, determiner="no")
        return thing

    def _agreed(self) -> Agreement:
        """What the verb agrees with: the subject, or with ने and duties the object that has no को."""
        if not self.ergative and not self.obliged:
            return self.found
        if self.thing is not None and not is_marked(self.thing):
            return agreement(self.thing, self.choices)
        asked = self._asked_noun()
        if asked is not None:
            return agreement(asked, self.choices)
        if self.verb.gender in ("m", "f"):
            return Agreement(2, self.verb.gender, False)
        return HE

    # ---------------------------------------------------------------- parts

    def part(self, part: Phrase | None) -> list[Token]:
        """An adverb, a place or an instrument."""
        if part is None:
            return []
        if isinstance(part, Fixed):
            return fixed(part, ADVERBS, self.choices)
        assert isinstance(part, Prepositional)
        return place_tokens(part, self.choices, self.owner)

    def subject(self) -> list[Token]:
        """The subject in the case that its verb needs."""
        one = self.clause.subject
        if self._asks("subject"):
            return self._who()
        if isinstance(one, Expletive) or self.order == "imperative":
            return []
        if isinstance(one, Weather):
            return [Token("मौसम", (one.key, one.key + 1))]
        if self.obliged or self.modal == "be allowed to":
            return marked(one, "को", (), self.choices)
        if self.ergative:
            return marked(one, "ने", (), self.choices)
        return direct(one, self.choices)

    def _who(self) -> list[Token]:
        key = self.clause.question.key  # type: ignore[union-attr]
        if self.obliged or self.modal == "be allowed to":
            return [Token("किसे", (key,))]
        return [Token("किसने" if self.ergative else "कौन", (key,))]

    def objects(self) -> list[Token]:
        """The receiver with को, then the other objects."""
        parts: list[Token] = []
        if self.receiver is not None:
            keys: Keys = (self.shift + DATIVE,) if self.clause.verb.frame == "to" else ()
            word = "के लिए" if self.clause.verb.name == "bring" else "को"
            parts += marked(self.receiver, word, keys, self.choices, self.owner)
        if self.other is not None:
            keys = (self.shift + PREPOSITION,) if self.clause.verb.frame == "prepositional" else ()
            word = self.verb.marker
            if word == "का":
                word = "की" if self.verb.gender == "f" else "का"
            parts += marked(self.other, word, keys, self.choices, self.owner)
        if self.thing is not None:
            parts += self._direct_object(self.thing)
        return parts

    def _direct_object(self, thing: Nominal) -> list[Token]:
        if is_marked(thing):
            return marked(thing, "को", (), self.choices, self.owner)
        assert isinstance(thing, NounPhrase)
        if thing.determiner == "no":
            thing = replace(thing, determiner="none" if thing.noun.mass else "no", plural=False)
        return phrase_tokens(thing, self.choices, owner=self.owner)

    def _asked_noun(self) -> NounPhrase | None:
        """The noun of "which book" and "how many books", as the object."""
        words = source_of(self.clause.question).split()
        if words[:1] == ["which"]:
            return NounPhrase(0, ALL_NOUNS[" ".join(words[1:])], "none")
        if words[:2] == ["how", "many"]:
            return NounPhrase(0, ALL_NOUNS[_BY_PLURAL[" ".join(words[2:])]], "none", plural=True)
        return None

    def question(self) -> list[Token]:
        """The question word, which comes before the verb."""
        part = self.clause.question
        if part is None or self._asks("subject"):
            return []
        assert isinstance(part, Fixed)
        noun = self._asked_noun()
        if noun is not None:
            return self._which(part, noun)
        if part.source == "what":
            if self.verb.marker:
                raise MissingWord("what")
            return [Token("क्या", (part.key,))]
        if part.source == "when":
            return [Token("कब", (part.key,))]
        if part.source != "who":
            return fixed(part, ADVERBS, self.choices)
        marker = self.verb.marker or "को"
        if marker == "का":
            marker = "की" if self.verb.gender == "f" else "का"
            return [Token("किस" + marker, (part.key,))]
        first, *rest = marker.split()
        if first == "को":
            return [Token("किसे", (part.key,))]
        joined = first in ("से", "के")
        words = ["किस" + first, *rest] if joined else ["किस", first]
        return [Token(word, (part.key,)) for word in words]

    def _which(self, part: Fixed, noun: NounPhrase) -> list[Token]:
        if self.verb.marker or is_marked(replace(noun, determiner="the")):
            raise MissingWord(part.source)
        size, key, word = len(part.source.split()), part.key, noun_of(noun, self.choices)
        last = tuple(range(key + (2 if noun.plural else 1), key + size))
        shown = [Token(one, last) for one in word.form(plural=noun.plural, oblique=False).split()]
        if noun.plural:
            return [Token(morphology.agreeing("कितना", word.gender, True), (key, key + 1)), *shown]
        return [Token("कौन", (key,)), Token(morphology.agreeing("सा", word.gender, False), (key,)), *shown]

    # ---------------------------------------------------------------- verb

    def verb_group(self) -> list[Token]:
        """The host noun, नहीं, and the verb with its auxiliaries."""
        key = (self.shift + VERB,)
        host = [Token(self.verb.host, key)] if self.verb.host else []
        why = self.question() if self._asks_why() else []
        if self.modal == "have to" and self.negated:
            return host + why + self._no_need()
        return host + why + self._negation() + self._forms()

    def _no_need(self) -> list[Token]:
        """जाने की ज़रूरत नहीं है: no need; जाना नहीं है would be a duty not to."""
        modal, past = (self.shift + MODAL,), self.clause.tense == "past"
        need = [Token("की", (), modal), Token("ज़रूरत", modal)]
        last = Token("थी" if past else "है", (), modal)
        return [Token(self.verb.stem + "ने", (self.shift + VERB,)), *need, *self._negation(), last]

    def _asks_why(self) -> bool:
        """Why, when and where come after the host noun; who and what, its owner or object, before it."""
        return source_of(self.clause.question) in ("why", "when", "where")

    def _negation(self) -> list[Token]:
        if not self.negated:
            return []
        keys: Keys = (self.shift + NEGATION,) if self.clause.negated else ()
        if not keys and isinstance(self.thing, NounPhrase) and self.thing.determiner == "no":
            keys = (self.thing.key + 2,)
        if not keys and self.clause.frequency is not None:
            keys = (self.clause.frequency.key,)
        return [Token("नहीं", keys)]

    def _forms(self) -> list[Token]:
        clause, stem, one = self.clause, self.verb.stem, self.agreed
        key, auxiliary = (self.shift + VERB,), (self.shift + AUXILIARY,)
        if isinstance(clause.subject, Expletive):
            return self._weather(key)
        if self.modal:
            return self._modal(key)
        if clause.verb.name == "be":
            return self.being(self.found, key)
        if self.perfective:
            done = clause.tense == "perfect"
            form = morphology.perfective(stem, one.gender, one.plural, followed=done)
            if not done:
                return [Token(form, (*key, *auxiliary))]
            return [Token(form, key), Token(self.copula(False, one), auxiliary)]
        if clause.tense == "progressive" and self.verb.gerund:
            ongoing = Token(morphology.ongoing(one.gender, one.plural), (), key)
            return [Token(stem, key), ongoing, Token(self.copula(False, one), (), key)]
        form = morphology.habitual(stem, one.gender, one.plural and one.gender == "m")
        return [Token(form, key), Token(self.copula(clause.tense == "past", one), (), (*key, *auxiliary))]

    def _weather(self, key: Keys) -> list[Token]:
        """बारिश हो रही थी, बारिश होती है: the verb agrees with the rain."""
        if self.clause.tense == "past":
            return [Token(self.verb.stem, key), Token("रही", (), key), Token("थी", (), key)]
        return [Token(morphology.habitual(self.verb.stem, "f", False), key), Token("है", (), key)]

    def being(self, one: Agreement, key: Keys) -> list[Token]:
        """है, था; होता है of what is so each time."""
        is_ = Token(self.copula(self.clause.tense == "past", one), key)
        if not self.general:
            return [is_]
        form = morphology.habitual("हो", one.gender, one.plural and one.gender == "m")
        return [Token(form, key), is_._replace(sure=(), possible=key)]

    @staticmethod
    def copula(past: bool, one: Agreement) -> str:
        """है, हूँ, था ... in agreement."""
        return morphology.was(one.gender, one.plural) if past else morphology.IS[one.person]

    def _modal(self, key: Keys) -> list[Token]:
        modal, one, stem = (self.shift + MODAL,), self.agreed, self.verb.stem
        past = self.clause.tense == "past"
        if self.modal == "will":
            return [Token(morphology.future(stem, one.person, one.gender, one.plural), (*key, *modal))]
        many = one.plural and one.gender == "m"
        if self.modal == "can":
            form = morphology.habitual("सक", one.gender, many)
            return [Token(stem, key), Token(form, modal), Token(self.copula(past, one), (), modal)]
        if self.modal == "want to":
            form = morphology.habitual("चाह", one.gender, many)
            return [Token(stem + "ना", key), Token(form, modal), Token(self.copula(past, one), (), modal)]
        if self.modal == "would like to":
            form = morphology.future("चाह", one.person, one.gender, one.plural)
            return [Token(stem + "ना", key), Token(form, modal)]
        if self.modal == "be allowed to":
            last = "थी" if past else "है"
            return [Token(stem + "ने", key), *[Token(word, modal) for word in ("की", "अनुमति")], Token(last, (), modal)]
        infinitive = Token(stem + morphology.agreeing("ना", one.gender, one.plural), key)
        return [infinitive, *self._duty(modal, past)]

    def _duty(self, modal: Keys, past: bool) -> list[Token]:
        """होगा (must), है or पड़ा (have to), चाहिए (should, must not)."""
        one = self.agreed
        if self.modal in ("should", "must not"):
            return [Token("चाहिए", modal)]
        if self.modal == "must":
            forms = {"m": ("होगा", "होंगे"), "f": ("होगी", "होंगी")}
            return [Token(forms[one.gender][one.plural], modal)]
        if past:
            return [Token(morphology.perfective("पड़", one.gender, one.plural), modal)]
        return [Token("हैं" if one.plural else "है", modal)]

    def command(self) -> list[Token]:
        """The imperative: खोलिए, खोलो."""
        stem, key = self.verb.stem, (self.shift + VERB,)
        form = morphology.familiar_command(stem) if familiar(self.choices) else morphology.polite_command(stem)
        return [*([Token(self.verb.host, key)] if self.verb.host else []), Token(form, key)]
