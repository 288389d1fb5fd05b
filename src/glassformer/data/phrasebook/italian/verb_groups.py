"""Italian verbs in their clause: subjects that may be left out, clitics, compound tenses with agreement."""

from __future__ import annotations

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import AUXILIARY, MODAL, VERB, Clause
from glassformer.data.phrasebook.italian import morphology
from glassformer.data.phrasebook.italian.expressions import ADVERBS
from glassformer.data.phrasebook.italian.nominals import (
    Agreement,
    agreement,
    phrase_tokens,
    place_tokens,
    spoken_gender,
)
from glassformer.data.phrasebook.italian.verbs import MODAL_FORMS, MODALS, VERBS
from glassformer.data.phrasebook.meaning import MissingWord, fixed, verb_of
from glassformer.data.phrasebook.nominal import (
    NEGATION,
    Fixed,
    Name,
    Nominal,
    NounPhrase,
    Phrase,
    Prepositional,
    Pronoun,
    Referring,
    address,
)
from glassformer.data.phrasebook.sentences import Expletive, Weather

HABITS = ("often", "always", "sometimes", "usually", "rarely")
_ESSERE, _AVERE, _STARE = VERBS["be"].forms, VERBS["have"].forms, morphology.conjugate("stare")


def part_tokens(part: Phrase | None, choices: Choices) -> list[Token]:
    """An adverb, a place or an instrument."""
    if part is None:
        return []
    if isinstance(part, Fixed):
        return fixed(part, ADVERBS, choices)
    assert isinstance(part, Prepositional)
    return place_tokens(part, choices)


class VerbGroup:
    """A clause on its way into Italian, for some choices: its objects, its subject's agreement, its verb."""

    def __init__(self, clause: Clause, choices: Choices, *, drop: bool = False, order: str = "statement") -> None:
        self.clause, self.choices, self.drop, self.order = clause, choices, drop, order
        self.verb = verb_of(clause, VERBS)
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
        return self.verb.imperfect or self._source(self.clause.frequency) in HABITS

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
            gender = (
                self.found.gender if self._asks("subject") else spoken_gender(clause.subject, self.found, self.choices)
            )
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
        elif clitics and finite[0].text in _AVERE.present and rest and clitics[-1].text in ("lo", "la", "La"):
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
        form, key = self.verb.forms.command[which], tuple([self.shift + VERB])
        clitics = self._clitics()
        if which == 2:
            return [*clitics, Token(form, key), *self._fixed_rest()]
        for one in clitics:
            form, key = morphology.attached(form, one.text), key + one.sure
        return [Token(form, key), *self._fixed_rest()]
