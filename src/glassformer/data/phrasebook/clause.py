"""The clause in both languages: one description, two linearizers.

English orders by function (subject, verb, objects, place, time). German puts the finite verb second, first or
last and the rest of the verb at the end. The middle field is between them: pronouns, then time, the dative, the
accusative, "nicht", manner and place.
"""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.nominal import NEGATION, Nominal, NounPhrase, Phrase
from glassformer.data.phrasebook.verbs import MODALS, VERBS, Modal, Verb

VERB, AUXILIARY, MODAL = -2, -3, -4  # keys of the verb group; a second clause shifts them, see `Clause.shift`
_BE = {"present": ("am", "are", "is", "are", "are", "are"), "past": ("was", "were", "was", "were", "were", "were")}
CONTRACTED = {
    "do": "don't", "does": "doesn't", "did": "didn't", "is": "isn't", "are": "aren't", "was": "wasn't",
    "were": "weren't", "can": "can't", "will": "won't", "has": "hasn't", "have": "haven't", "could": "couldn't",
    "should": "shouldn't",
}  # fmt: skip


@dataclass(slots=True)
class Clause:
    """What a clause says. `tense` is present, progressive, past or perfect (English present perfect)."""

    subject: Nominal
    verb: Verb
    tense: str = "present"
    modal: Modal | None = None
    negated: bool = False
    contracted: bool = False
    dative: Nominal | None = None
    accusative: Nominal | None = None
    complement: Phrase | None = None  # predicate, goal, place or prepositional object of the verb
    time: Phrase | None = None
    frequency: Phrase | None = None
    place: Phrase | None = None
    manner: Phrase | None = None  # "gern", "too"
    fronted: Phrase | None = None
    question: Phrase | None = None  # the question word
    question_part: str = ""  # what it asks for: subject, accusative, dative or an adverbial
    late_adverb: bool = False  # "schon", "nie": usually after the known objects, not before them
    alone: bool = False  # the whole sentence: no other clause shows its tense
    asked: bool = False  # a direct question: English inverts, with "do" if needed
    shift: int = 0

    # ---------------------------------------------------------------- English

    def english(self, *, imperative: bool = False) -> list[Token]:
        """The English words; only `asked` and `imperative` change their order."""
        order = "imperative" if imperative else "question" if self.asked and not self._asks("subject") else "statement"
        finite, rest, lexical = self._english_verbs(order)
        subject = self.subject.english_subject()
        if self.question and self.question_part == "subject":
            subject = self.question.english()
        frequency = self.frequency.english() if self.frequency else []
        if order == "imperative":
            head = finite
        elif order == "question":
            head = finite + subject + frequency
        elif lexical:
            head = subject + frequency + finite
        else:
            head = subject + finite + frequency
        front = self.fronted.english() if self.fronted else []
        if self.question and self.question_part != "subject":
            front = self.question.english()
        return front + head + rest + self._english_objects() + self._english_tail()

    def _english_verbs(self, order: str) -> tuple[list[Token], list[Token], bool]:
        """The finite part (with "not"), the rest, and whether the finite part is the main verb itself."""
        verb, key = self.verb, self.shift + VERB
        question = order == "question"
        if order == "imperative":
            return self._plain(self._do(key) if self.negated else [], self._main(verb.base))
        if self.modal:
            return self._english_modal(question)
        if verb.name == "be":
            return self._auxiliary(self._be(), (key,), ()), [], False
        if self.tense == "perfect":
            have = "has" if self._third() else "have"
            return self._auxiliary(have, (self.shift + AUXILIARY,), ()), self._main(verb.participle), False
        if self.tense == "progressive":
            return self._auxiliary(self._be(), (), (key,)), self._main(verb.ing), False
        if self.negated or question:
            return self._do(key), self._main(verb.base), False
        if self.tense == "past":  # "ate" is both "habe" and "gegessen"
            head, *particle = self._main(verb.past)
            return [Token(head.text, (key, self.shift + AUXILIARY)), *particle], [], True
        return self._main(verb.third if self._third() else verb.base), [], True

    @staticmethod
    def _plain(finite: list[Token], main: list[Token]) -> tuple[list[Token], list[Token], bool]:
        return finite + main, [], True

    def _third(self) -> bool:
        return self.question_part == "subject" or self.subject.english_person() == 2

    def _be(self) -> str:
        person = 2 if self.question_part == "subject" else self.subject.english_person()
        return _BE["past" if self.tense == "past" else "present"][person]

    def _do(self, key: int) -> list[Token]:
        form = "did" if self.tense == "past" else "does" if self._third() else "do"
        return self._auxiliary(form, (), (key,))

    def _main(self, form: str) -> list[Token]:
        key = (self.shift + VERB,)
        particle = self.verb.particle
        if not particle or self._particle_moves():
            return [Token(form, key)]
        return [Token(form, key), Token(particle, self._particle_keys())]

    def _particle_keys(self) -> tuple[int, ...]:
        if self.verb.frame == "prepositional":
            return (self.shift + PREPOSITION,)
        return (self.shift + VERB,)

    def _particle_moves(self) -> bool:
        return self.verb.moving_particle and self.accusative is not None and self.accusative.pronominal

    def _auxiliary(self, form: str, sure: tuple[int, ...], possible: tuple[int, ...]) -> list[Token]:
        """An auxiliary with its negation, apart or contracted."""
        if not self.negated:
            return [Token(form, sure, possible)]
        negation = self.shift + NEGATION
        if self.contracted and form in CONTRACTED:
            return [Token(CONTRACTED[form], (*sure, negation), possible)]
        if form == "can":
            return [Token("cannot", (*sure, negation), possible)]
        return [Token(form, sure, possible), Token("not", (negation,))]

    def _english_modal(self, question: bool) -> tuple[list[Token], list[Token], bool]:
        modal, key = self.modal, (self.shift + MODAL,)
        assert modal is not None
        past = self.tense == "past"
        first, *others = modal.english_past if past else modal.english
        trail = [Token(word, () if word == "to" else key, key if word == "to" else ()) for word in others]
        main = self._main(self.verb.base)
        if modal.kind == "true":
            return self._auxiliary(first, key, ()), trail + main, False
        if modal.kind == "be":
            finite = self._auxiliary(self._be(), (), key)
            return finite, [Token(first, key), *trail, *main], False
        if self.negated or question:
            return self._do(key[0]), [Token(modal.english[0], key), *trail, *main], False
        if self._third() and not past:
            first = "has" if first == "have" else first + "s"
        return [Token(first, key)], trail + main, True

    def _english_objects(self) -> list[Token]:
        parts: list[Token] = []
        dative = self.dative if self.question_part != "dative" else None
        accusative = self.accusative if self.question_part != "accusative" else None
        if dative and self.verb.frame != "to":
            parts += dative.english()
        if accusative:
            parts += accusative.english()
            if self._particle_moves():
                parts.append(Token(self.verb.particle, self._particle_keys()))
        if dative and self.verb.frame == "to":
            parts += [Token("to", (), (self.shift + DATIVE,)), *dative.english()]
        return parts

    def _english_tail(self) -> list[Token]:
        parts: list[Token] = []
        for phrase in (self.complement, self.manner, self.place, self.time):
            if phrase is not None and phrase is not self.fronted:
                parts += phrase.english()
        return parts

    # ---------------------------------------------------------------- German

    def german(self, choices: Choices, order: str = "statement") -> list[Token]:
        """The German words; `order` is statement, question, last (verb at the end), inverted or imperative."""
        finite, rest = self._german_verbs(choices, last=order == "last", imperative=order == "imperative")
        if order == "last":
            question = self.question.german(choices) if self.question else []
            return question + self._middle(choices, subject=not self._asks("subject")) + rest + finite
        if self.question:
            return self.question.german(choices) + finite + self._middle(choices, not self._asks("subject")) + rest
        if order == "imperative":
            return finite + self._middle(choices, subject=False) + rest
        if order in ("question", "inverted"):
            return finite + self._middle(choices, subject=True) + rest
        if self.fronted:
            return self.fronted.german(choices) + finite + self._middle(choices, subject=True) + rest
        return self.subject.german("nom", choices) + finite + self._middle(choices, subject=False) + rest

    def verb_parts(self, choices: Choices) -> tuple[list[Token], list[Token]]:
        """The finite verb and what closes the clause, for sentences built by hand."""
        return self._german_verbs(choices, last=False, imperative=False)

    def _asks(self, part: str) -> bool:
        return self.question is not None and self.question_part == part

    def _german_verbs(self, choices: Choices, *, last: bool, imperative: bool) -> tuple[list[Token], list[Token]]:
        """The finite verb and what closes the clause; at the end of a clause prefix and verb are one word."""
        verb, key = self.verb, (self.shift + VERB,)
        person = 2 if self._asks("subject") else self.subject.german_person(choices)
        if imperative:
            return self._german_imperative(choices)
        if self.modal and not self._plain_future(choices):
            infinitive = Token(verb.prefix + verb.infinitive, key)
            return [Token(self._german_modal(person, choices), (self.shift + MODAL,))], [infinitive]
        if self._unmarked() and choices.pick("unmarked", 2):
            return self._split(verb.present[person], last)
        if self.tense == "perfect" or (self.tense == "past" and self._prefers_perfect(choices)):
            auxiliary = VERBS["be" if verb.auxiliary == "sein" else "have"].present[person]
            return [self._german_auxiliary(auxiliary)], [Token(verb.german_participle, key)]
        return self._split((verb.preterite if self.tense == "past" else verb.present)[person], last)

    def _split(self, form: str, last: bool) -> tuple[list[Token], list[Token]]:
        """A finite form and its prefix, which is part of it at the end of the clause."""
        prefix, key = self.verb.prefix, (self.shift + VERB,)
        if last or not prefix:
            return [Token(prefix + form if last else form, key)], []
        return [Token(form, key)], [Token(prefix, key)]

    def _unmarked(self) -> bool:
        """ "They cut bread" may be past or present: nothing in the sentence shows which."""
        same = self.tense == "past" and self.verb.past == self.verb.base and self.alone
        return same and not self.negated and self.time is None and self.subject.english_person() != 2

    def _plain_future(self, choices: Choices) -> bool:
        """With an adverbial of time, the present expresses the future as well as "werden" does."""
        return self.modal is MODALS["will"] and self.time is not None and choices.pick("future", 2) == 1

    def _german_modal(self, person: int, choices: Choices) -> str:
        """The modal; "could" is the past of "can" or, without a time, also its subjunctive."""
        modal = self.modal
        assert modal is not None
        if self.tense != "past":
            return modal.present[person]
        form = modal.preterite[person]
        if modal.name == "can" and self.time is None and choices.pick("could", 2):
            return form.replace("o", "ö")
        return form

    def _prefers_perfect(self, choices: Choices) -> bool:
        """The spoken past is the perfect, except for some verbs. Usually the other tense is correct too."""
        flags = self.verb.flags
        if "pret" not in flags:
            return choices.pick("tense", 2) == 0
        return "both" in flags and choices.pick("state tense", 2) == 1

    def _german_auxiliary(self, form: str) -> Token:
        if self.tense == "past" and (self.negated or self._english_do()):
            return Token(form, (), (self.shift + VERB,))
        return Token(form, (self.shift + AUXILIARY,))

    def _english_do(self) -> bool:
        return self.asked and not self._asks("subject")

    def _german_imperative(self, choices: Choices) -> tuple[list[Token], list[Token]]:
        verb, key = self.verb, (self.shift + VERB,)
        person = self.subject.german_person(choices)
        if person == 1:
            forms = verb.imperatives
            which = choices.pick("imperative", len(forms)) if len(forms) > 1 else 0
            finite = [Token(forms[which], key)]
        elif person == 4:
            finite = [Token(verb.present[4], key)]
        else:
            finite = [Token(verb.infinitive, key), Token("Sie")]
        return finite, [Token(verb.prefix, key)] if verb.prefix else []

    def _middle(self, choices: Choices, subject: bool) -> list[Token]:
        """The middle field in its standard order, or in another correct order if `choices` says so."""
        light, heavy = self._german_objects(choices)
        head = self.subject.german("nom", choices) if subject else []
        if subject and self._may_swap(light) and choices.pick("light", 2):
            head, light = light, head
        return head + light + self._core(choices, heavy) + self._german_tail(choices)

    def _may_swap(self, light: list[Token]) -> bool:
        """A pronoun may come before a noun that is the subject, unless it could be mistaken for the subject."""
        return bool(light) and not self.subject.pronominal and light[0].text not in ("sie", "Sie", "es")

    def _german_objects(self, choices: Choices) -> tuple[list[Token], list[tuple[bool, list[Token]]]]:
        """The pronouns (accusative before dative) and the full noun phrases (dative before accusative)."""
        light: list[Token] = []
        heavy: list[tuple[bool, list[Token]]] = []
        for case, part in (("dat", self.dative), ("acc", self.accusative)):
            if part is None or self._asks("dative" if case == "dat" else "accusative"):
                continue
            words = part.german_negated(case, choices) if self._uses_kein() else part.german(case, choices)
            if self.shift:
                words = [self._shifted(token) for token in words]
            if case == "dat" and self.verb.frame == "to":
                words = [Token(w.text, w.sure, (self.shift + DATIVE,)) for w in words[:1]] + words[1:]
            if part.pronominal:
                light = words + light if case == "acc" else light + words
            else:
                heavy.append((part.definite, words))
        return light, heavy

    def _shifted(self, token: Token) -> Token:
        if NEGATION not in token.sure:
            return token
        return Token(token.text, tuple(k + self.shift if k == NEGATION else k for k in token.sure), token.possible)

    def _core(self, choices: Choices, heavy: list[tuple[bool, list[Token]]]) -> list[Token]:
        """Time, frequency and full objects. A known object may also come before the time."""
        adverbs: list[Token] = []
        for phrase in (self.time, self.frequency):
            if phrase is not None and phrase is not self.fronted:
                adverbs += phrase.german(choices)
        if not heavy:
            return adverbs
        known = next((place for place, (definite, _) in enumerate(heavy) if not definite), len(heavy))
        before = choices.pick(f"order {self.shift}", known + 1) if adverbs and known else 0
        if self.late_adverb:
            before = known - before
        parts = [words for _, words in heavy]
        parts.insert(before, adverbs)
        return [token for words in parts for token in words]

    def _german_tail(self, choices: Choices) -> list[Token]:
        parts: list[Token] = []
        if self.negated and not self._uses_kein():
            parts.append(Token("nicht", (self.shift + NEGATION,)))
        for phrase in (self.manner, self.place, self.complement):
            if phrase is not None and phrase is not self.fronted:
                parts += phrase.german(choices)
        return parts

    def _uses_kein(self) -> bool:
        """German negates an object without a definite article by "kein"."""
        part = self.accusative
        if not self.negated or part is None or self._asks("accusative"):
            return False
        return isinstance(part, NounPhrase) and part.determiner in ("a", "none")


DATIVE, PREPOSITION = -5, -6
