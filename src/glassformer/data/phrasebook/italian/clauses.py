"""Italian clauses: subjects that may be left out, clitics, compound tenses with agreement, and word order."""

from __future__ import annotations

from dataclasses import replace

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import AUXILIARY, DATIVE, MODAL, PREPOSITION, VERB, Clause
from glassformer.data.phrasebook.italian import morphology
from glassformer.data.phrasebook.italian.expressions import ADVERBS
from glassformer.data.phrasebook.italian.nominals import (
    Agreement,
    after_preposition,
    agreement,
    noun_of,
    phrase_tokens,
    place_tokens,
    spoken_gender,
)
from glassformer.data.phrasebook.italian.nouns import ADJECTIVES, NOUNS
from glassformer.data.phrasebook.italian.verbs import MODAL_FORMS, MODALS, VERBS, ItalianVerb
from glassformer.data.phrasebook.meaning import MissingWord
from glassformer.data.phrasebook.nominal import (
    NEGATION,
    Fixed,
    Name,
    Nominal,
    NounPhrase,
    Phrase,
    PredicateNoun,
    Prepositional,
    Pronoun,
    Referring,
    address,
    linked,
)
from glassformer.data.phrasebook.nouns import NOUNS as ALL_NOUNS
from glassformer.data.phrasebook.sentences import Expletive, Weather

_BY_PLURAL = {noun.plural: name for name, noun in ALL_NOUNS.items()}
_HABITS = ("often", "always", "sometimes", "usually", "rarely")
_GENERIC = ("love", "like")
_ESSERE, _AVERE, _STARE = VERBS["be"].forms, VERBS["have"].forms, morphology.conjugate("stare")


def verb_of(clause: Clause) -> ItalianVerb:
    """The verb of a clause."""
    name = "know#fact" if clause.verb.infinitive == "wissen" else clause.verb.name
    if name not in VERBS:
        raise MissingWord(name)
    return VERBS[name]


def fixed(part: Fixed, choices: Choices) -> list[Token]:
    """An expression of the lists: ieri sera, a casa."""
    if part.source not in ADVERBS:
        raise MissingWord(part.source)
    wordings = ADVERBS[part.source]
    which = choices.pick(f"wording {part.key}", len(wordings)) if len(wordings) > 1 else 0
    return linked(part.key, len(part.source.split()), wordings[which])


def part_tokens(part: Phrase | None, choices: Choices) -> list[Token]:
    """An adverb, a place or an instrument."""
    if part is None:
        return []
    if isinstance(part, Fixed):
        return fixed(part, choices)
    assert isinstance(part, Prepositional)
    return place_tokens(part, choices)


class Sentence:
    """One clause on its way into Italian, for some choices."""

    def __init__(self, clause: Clause, choices: Choices, *, drop: bool = False, order: str = "statement") -> None:
        self.clause, self.choices, self.drop, self.order = clause, choices, drop, order
        self.verb = verb_of(clause)
        self.shift = clause.shift
        self.found = Agreement(2, "m", False) if self._asks("subject") else agreement(clause.subject, choices)
        self.direct, self.dative, self.other = self._objects()
        self._refuse_other_senses()
        self.negated = clause.negated or self._denied() or self._source(clause.frequency) == "never"

    def _refuse_other_senses(self) -> None:
        """Songs are "suonate", games "giocati": only games are here."""
        thing = self.other.noun if self.other is not None else None
        if self.clause.verb.name == "play" and (thing is None or thing.english == "song"):
            raise MissingWord("play")

    def _asks(self, part: str) -> bool:
        return self.clause.question is not None and self.clause.question_part == part

    @staticmethod
    def _source(part: Phrase | None) -> str:
        return part.source if isinstance(part, Fixed) else ""

    def _denied(self) -> bool:
        return isinstance(self.direct, NounPhrase) and self.direct.determiner == "no"

    def _objects(self) -> tuple[Nominal | None, Nominal | None, Nominal | None]:
        """The direct object, the dative, and the object of the verb's preposition."""
        clause, governed = self.clause, self.verb.preposition
        if clause.verb.frame in ("double", "to"):
            return clause.accusative, clause.dative, None
        single: Nominal | None = clause.accusative or clause.dative
        if clause.verb.frame == "prepositional" and isinstance(clause.complement, Prepositional):
            single = clause.complement.inner
        if governed == "a":
            return None, single, None
        return (None, None, single) if governed else (single, None, None)

    # ---------------------------------------------------------------- subject

    def subject(self) -> list[Token]:
        """The subject; I, you, we, it are left out, and he, she, they where nothing is lost."""
        one = self.clause.subject
        if self._asks("subject"):
            assert self.clause.question is not None
            return part_tokens(self.clause.question, self.choices)
        if isinstance(one, Weather):
            return [Token("il", (one.key + 1,)), Token("tempo", (one.key,))]
        if isinstance(one, Name):
            return [Token(one.text, (one.key,))]
        if isinstance(one, NounPhrase):
            return phrase_tokens(one, self.choices, none="all")
        if self.drop or isinstance(one, Referring | Expletive) or one.person not in (2, 5) or self.order == "asked":
            return []
        if self.choices.pick(f"subject {one.key}", 2):
            return []
        return [Token("lei" if one.person == 2 and one.gender == "f" else morphology.SUBJECTS[one.person], (one.key,))]

    def _silent(self) -> tuple[int, ...]:
        """The key of a subject that is left out: its verb shows the person."""
        one = self.clause.subject
        return (one.key,) if isinstance(one, Pronoun) and not isinstance(one, Weather) else ()

    # ---------------------------------------------------------------- verb

    def _finite_and_rest(self) -> tuple[list[Token], list[Token], bool]:
        """The finite verb, the rest of the verb, and whether the rest is an infinitive (clitics may join it)."""
        clause, forms, person = self.clause, self.verb.forms, self.found.person
        key, modal_key, quiet = (self.shift + VERB,), (self.shift + MODAL,), self._silent()
        if clause.modal:
            infinitive, kind = MODALS[clause.modal.name]
            if kind == "future":
                if clause.time is not None and self.choices.pick("future", 2):
                    return [Token(forms.present[person], (*key, *modal_key), quiet)], [], False
                return [Token(forms.future[person], (*key, *modal_key), quiet)], [], False
            table = MODAL_FORMS[infinitive]
            form = (table.imperfect if clause.tense == "past" else table.present)[person]
            if kind == "conditional":
                form = morphology.conditional(table.future[0])[person]
            return [Token(form, modal_key, quiet)], [Token(forms.infinitive, key)], True
        if clause.tense == "perfect" or (clause.tense == "past" and not self._imperfect()):
            return self._compound()
        if clause.tense == "past":
            return [Token(forms.imperfect[person], (*key, self.shift + AUXILIARY), quiet)], [], False
        if self._ongoing():
            return [Token(_STARE.present[person], (), (*key, *quiet))], [Token(forms.gerund, key)], False
        return [Token(forms.present[person], key, quiet)], [], False

    def _imperfect(self) -> bool:
        return self.verb.imperfect or self._source(self.clause.frequency) in _HABITS

    def _ongoing(self) -> bool:
        clause = self.clause
        now = clause.time is None or self._source(clause.time) in ("now", "right now")
        return clause.tense == "progressive" and self.verb.gerund and now and not clause.negated

    def _compound(self) -> tuple[list[Token], list[Token], bool]:
        """A form of essere or avere with the participle, which agrees with the subject or with lo, la, li, le."""
        clause, key, verb = self.clause, self.shift + VERB, self.verb
        auxiliary = (_ESSERE if verb.being else _AVERE).present[self.found.person]
        participle = verb.forms.participle
        if verb.being:
            gender = self.found.gender if self._asks("subject") else spoken_gender(clause.subject, self.found, self.choices)
            participle = morphology.adjective(participle, gender, self.found.plural)
        elif isinstance(self.direct, Pronoun):
            one = agreement(self.direct, self.choices)
            if one.person in (2, 5) and not one.polite:
                participle = morphology.adjective(participle, one.gender, one.plural)
        asked = clause.asked and not self._asks("subject")
        sure = () if clause.tense == "past" and (clause.negated or asked) else (self.shift + AUXILIARY,)
        possible = (*self._silent(), *(() if sure else (key,)))
        return [Token(auxiliary, sure, possible)], [Token(participle, (key,))], False

    def _clitics(self) -> list[Token]:
        found = []
        if self.verb.reflexive:
            polite = self.found.person
            found.append(Token(morphology.REFLEXIVE[polite], (self.shift + VERB,)))
        for case, part in (("dat", self.dative), ("acc", self.direct)):
            if isinstance(part, Pronoun):
                one = agreement(part, self.choices)
                found.append(Token(morphology.clitic(case, one.person, one.gender, one.polite), (part.key,)))
        return found

    def verb_group(self) -> list[Token]:
        """non, clitics, the finite verb, the adverb of frequency, the rest of the verb."""
        finite, rest, joins = self._finite_and_rest()
        clitics = self._clitics()
        if joins and clitics and not self.choices.pick(f"clitic {self.shift}", 2):
            text = rest[0].text
            for one in clitics:
                text = morphology.attached(text, one.text)
            rest = [Token(text, rest[0].sure + tuple(key for one in clitics for key in one.sure))]
            clitics = []
        elif clitics and finite[0].text[0] in "ha" and rest and clitics[-1].text in ("lo", "la", "La"):
            if finite[0].text in _AVERE.present:
                clitics[-1] = clitics[-1]._replace(text=clitics[-1].text[0] + "'")
        frequency = self.clause.frequency
        often = part_tokens(frequency, self.choices) if frequency and self._source(frequency) != "please" else []
        return self._negation() + clitics + finite + often + rest + self._fixed_rest()

    def _fixed_rest(self) -> list[Token]:
        return [Token(word, (self.shift + VERB,)) for word in self.verb.rest]

    def _negation(self) -> list[Token]:
        if not self.negated:
            return []
        keys: tuple[int, ...] = (self.shift + NEGATION,) if self.clause.negated else ()
        if self._denied():
            assert isinstance(self.direct, NounPhrase)
            keys = (self.direct.key + 2,)
        elif not keys:
            assert self.clause.frequency is not None
            keys = (self.clause.frequency.key,)
        return [Token("non", keys)]

    def command(self) -> list[Token]:
        """The imperative, its pronoun attached for tu and voi: aiutami, mi aiuti."""
        which = address(self.choices)
        form, key = self.verb.forms.command[which], (self.shift + VERB,)
        clitics = self._clitics()
        if which == 2:
            return [*clitics, Token(form, key), *self._fixed_rest()]
        for one in clitics:
            form, key = morphology.attached(form, one.text), key + one.sure
        return [Token(form, key), *self._fixed_rest()]

    # ---------------------------------------------------------------- the rest

    def objects(self) -> list[Token]:
        """The objects that are not clitics."""
        parts: list[Token] = []
        habit = self._source(self.clause.frequency) in (*_HABITS, "never") or self.clause.verb.name == "have"
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
        return [*([Token(degree, (key,))] if degree else []), Token(self.agreeing(ADJECTIVES[name].masculine), (place,))]

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
