"""The constructions with one clause: statements, questions, commands. Each function draws one phrase."""

from __future__ import annotations

from collections.abc import Callable

from glassformer.data.phrasebook import german
from glassformer.data.phrasebook.adverbials import MEN, SURNAMES, WOMEN, Adverb
from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import VERB, Clause
from glassformer.data.phrasebook.meaning import Enjoyed, Meaning, Said
from glassformer.data.phrasebook.nominal import Fixed, NounPhrase, Pronoun
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.phrase import Draft, Vocative
from glassformer.data.phrasebook.sampling import Draw
from glassformer.data.phrasebook.verbs import MODALS, VERBS, Modal, Verb

PRESENT_MODALS = tuple(modal for modal in MODALS.values() if modal.name not in ("will", "must not"))
PAST_MODALS = tuple(modal for modal in MODALS.values() if modal.english_past)
ASKED_MODALS = tuple(modal for modal in PRESENT_MODALS if modal.name not in ("should", "must"))
NEGATABLE_MODALS = tuple(modal for modal in MODALS.values() if modal.negatable)
_SIMPLE = ("acc", "acc", "acc", "none")
_ALREADY = tuple(
    Adverb(english, german, frozenset(), (variant,))
    for english, german, variant in (
        ("already", "schon", "bereits"),
        ("never", "noch nie", "nie"),
        ("just", "gerade", "eben"),
    )
)


def draft(
    draw: Draw,
    name: str,
    source: list[Token],
    render: Callable[[Choices], list[Token]],
    mark: str = ".",
    meaning: Meaning | None = None,
    calling: float = 0.4,
) -> Draft:
    """Finish a phrase. A sentence with "you" sometimes addresses somebody by name, which decides du, ihr or Sie.

    `calling` is the probability of that.
    """
    second = any(token.text in ("you", "your") for token in source) or mark == "!"
    vocative = _vocative(draw) if second and draw.chance(calling) else None
    lemmas = tuple(dict.fromkeys(draw.lemmas))
    return Draft(source, render, name, lemmas, tuple(draw.pairs), mark, vocative, meaning)


def _vocative(draw: Draw) -> Vocative:
    kind = draw.number(0, 3)
    if kind < 2:
        name = draw.one([name for name in (WOMEN if kind else MEN) if name not in draw.lemmas])
        return Vocative((name,), (name,), 0)
    if kind == 2:
        return Vocative(("children",), ("Kinder",), 1)
    title, german_title = draw.one((("Mr", "Herr"), ("Mrs", "Frau")))
    name = draw.one(SURNAMES)
    return Vocative((title, name), (german_title, name), 2)


def stated(draw: Draw, name: str, clause: Clause) -> Draft:
    """A clause as a statement."""
    clause.alone = True
    return draft(draw, name, clause.english(), clause.german, meaning=Said(clause))


def asked(draw: Draw, name: str, clause: Clause) -> Draft:
    """A clause as a question."""
    clause.asked = True
    meaning = Said(clause, "question")
    return draft(draw, name, clause.english(), lambda choices: clause.german(choices, "question"), "?", meaning)


# -------------------------------------------------------------------- statements


def present(draw: Draw, name: str) -> Draft:
    """I am reading a book. / Ich lese ein Buch."""
    return stated(draw, name, draw.event(draw.lasting_verb(_SIMPLE), "present"))


def perfect(draw: Draw, name: str) -> Draft:
    """I ate an apple. / Ich habe einen Apfel gegessen."""
    return stated(draw, name, draw.event(draw.verb(_SIMPLE), "past"))


def present_perfect(draw: Draw, name: str) -> Draft:
    """I have already read the book. / Ich habe das Buch schon gelesen."""
    verb = draw.verb(("acc", "acc", "acc", "dat", "double", "to"))
    while "timeless" in verb.flags:
        verb = draw.verb(("acc",))
    clause = draw.event(verb, "perfect", bare=True)
    clause.place = None
    clause.frequency = draw.adverb(_ALREADY)
    clause.late_adverb = True
    return stated(draw, name, clause)


def framed(*frames: str) -> Callable[[Draw, str], Draft]:
    """Statements with verbs of the given frames, in the present or the past."""

    def construction(draw: Draw, name: str) -> Draft:
        tense = "past" if draw.chance(0.5) else "present"
        verb = draw.verb(frames) if tense == "past" else draw.lasting_verb(frames)
        return stated(draw, name, draw.event(verb, tense))

    return construction


def modal(draw: Draw, name: str) -> Draft:
    """I must help my brother. / Ich muss meinem Bruder helfen."""
    return stated(draw, name, draw.event(draw.planned_verb(), "present", modal=draw.one(PRESENT_MODALS)))


def modal_past(draw: Draw, name: str) -> Draft:
    """She wanted to sleep. / Sie wollte schlafen."""
    return stated(draw, name, draw.event(draw.planned_verb(), "past", modal=draw.one(PAST_MODALS)))


def future(draw: Draw, name: str) -> Draft:
    """I will visit my aunt. / Ich werde meine Tante besuchen."""
    return stated(draw, name, draw.event(draw.planned_verb(), "present", modal=MODALS["will"]))


def fronted(draw: Draw, name: str) -> Draft:
    """Today I am reading a book. / Heute lese ich ein Buch."""
    verb = draw.verb()
    while verb.flags & {"timeless", "sudden"}:
        verb = draw.verb()
    tense = "past" if draw.chance(0.55) or verb.flags & {"state", "point"} else "progressive"
    clause = draw.event(verb, tense, bare=True)
    clause.time = clause.fronted = draw.time("past" if tense == "past" else draw.one(("now", "future")), verb)
    return stated(draw, name, clause)


# -------------------------------------------------------------------- negation


def negate(clause: Clause) -> Clause:
    """Negate a clause, with phrases that both languages negate alike."""
    clause.negated = True
    clause.late_adverb = True  # "Ich habe den Apfel gestern nicht gegessen."
    clause.frequency = None
    part = clause.accusative
    if isinstance(part, NounPhrase) and part.determiner == "number":
        part.determiner = "none"
    if isinstance(clause.dative, NounPhrase) and clause.dative.determiner in ("a", "none", "number"):
        clause.dative.determiner = "the"
    if isinstance(clause.subject, NounPhrase) and clause.subject.determiner == "a":
        clause.subject.determiner = "the"
    return clause


def _negatable(draw: Draw, verb: Verb, tense: str, modal: Modal | None = None) -> Clause:
    clause = draw.event(verb, tense, modal=modal, bare=True)
    if draw.chance(0.3) and "timeless" not in verb.flags and clause.time is None:
        clause.time = draw.time("past" if tense == "past" else "negated", verb)
    if modal is None and clause.tense == "present" and clause.time and "state" in verb.flags:
        clause.time = None
    return negate(clause)


def negation(kein: bool) -> Callable[[Draw, str], Draft]:
    """I did not eat the apple (nicht), I did not eat an apple (kein)."""

    def construction(draw: Draw, name: str) -> Draft:
        tense = "past" if draw.chance(0.5) else "present"
        verb = draw.verb(("acc", "acc", "acc", "double", "to")) if kein else draw.verb()
        while tense == "present" and "point" in verb.flags:
            verb = draw.verb(("acc",)) if kein else draw.verb()
        clause = _negatable(draw, verb, tense)
        _choose_determiner(draw, clause, kein)
        return stated(draw, name, clause)

    return construction


def _choose_determiner(draw: Draw, clause: Clause, kein: bool) -> None:
    part = clause.accusative
    if not isinstance(part, NounPhrase):
        if kein:
            noun = draw.fresh([noun for noun in clause.verb.objects if "kin" not in noun.kinds] or clause.verb.objects)
            draw.pairs.append((clause.verb.name, noun.english))
            clause.accusative = NounPhrase(draw.key(), noun, "none" if noun.mass else "a")
        return
    if kein:
        plural = not part.noun.mass and draw.chance(0.3)
        part.plural, part.determiner = plural, "none" if plural or part.noun.mass else "a"
    elif part.determiner in ("a", "none"):
        part.determiner = "the"


def modal_negation(draw: Draw, name: str) -> Draft:
    """You must not open the window. / Du darfst das Fenster nicht öffnen."""
    return stated(draw, name, _negatable(draw, draw.planned_verb(), "present", draw.one(NEGATABLE_MODALS)))


# -------------------------------------------------------------------- questions


def _addressee(draw: Draw, verb: Verb) -> Pronoun | None:
    """ "You" in most cases, if the verb is about people."""
    return Pronoun(draw.key(), 1) if NOUNS["man"] in verb.subjects and draw.chance(0.5) else None


def question(draw: Draw, name: str) -> Draft:
    """Did you eat the apple? / Hast du den Apfel gegessen?"""
    verb = draw.verb()
    tense = "past" if draw.chance(0.5) or verb.flags & {"point"} else "present"
    clause = draw.event(verb, tense, subject=_addressee(draw, verb))
    return asked(draw, name, clause)


def modal_question(draw: Draw, name: str) -> Draft:
    """Can you help me? / Kannst du mir helfen?"""
    verb = draw.planned_verb()
    return asked(draw, name, draw.event(verb, "present", subject=_addressee(draw, verb), modal=draw.one(ASKED_MODALS)))


def subject_question(draw: Draw, name: str) -> Draft:
    """Who ate the apple? / Wer hat den Apfel gegessen?"""
    verb = draw.verb()
    while NOUNS["man"] not in verb.subjects:
        verb = draw.verb()
    tense = "past" if draw.chance(0.6) or verb.flags & {"point"} else "present"
    clause = draw.event(verb, tense, subject=Pronoun(draw.key(), 2), bare=draw.chance(0.6))
    clause.question, clause.question_part = Fixed(draw.key(), "who", "wer"), "subject"
    return asked(draw, name, clause)


_THINGS = tuple([
    "eat", "drink", "cook", "bake", "buy", "sell", "read", "write", "look_for", "find", "lose", "draw", "learn",
    "need", "repair", "order", "forget",
])  # fmt: skip
# The countable objects of a verb: nobody asks which milk, or how many, someone drinks.
_COUNTED = {
    verb: nouns
    for verb in (name.replace("_", " ") for name in _THINGS)
    if (nouns := [noun for noun in VERBS[verb].objects if not noun.mass and "kin" not in noun.kinds])
}
_PEOPLE = tuple([
    "see", "visit", "meet", "invite", "call", "ask", "pick_up", "greet", "look_for", "know",
    "photograph",
])  # fmt: skip
_SERVED = tuple(["help", "thank", "answer", "follow", "congratulate", "trust", "listen_to"])


def object_question(word: str, german_word: str, part: str, verbs: tuple[str, ...]) -> Callable[[Draw, str], Draft]:
    """What are you eating? / Was isst du?"""

    def construction(draw: Draw, name: str) -> Draft:
        verb = VERBS[draw.one(verbs).replace("_", " ")]
        tense = "past" if draw.chance(0.5) or verb.flags & {"point"} else "present"
        clause = draw.event(verb, tense, subject=_addressee(draw, verb), bare=draw.chance(0.7))
        clause.place = None
        clause.question, clause.question_part = Fixed(draw.key(), word, german_word), part
        forget_object(draw, clause, part)
        return asked(draw, name, clause)

    return construction


def forget_object(draw: Draw, clause: Clause, part: str) -> None:
    """The question word replaces the object: remove what was drawn for it."""
    phrase = clause.accusative if part == "accusative" else clause.dative
    if isinstance(phrase, NounPhrase):
        draw.lemmas = [lemma for lemma in draw.lemmas if lemma != phrase.noun.english]
        if phrase.adjective:
            draw.lemmas.remove(phrase.adjective.english)
    elif phrase is not None and not phrase.pronominal:
        draw.lemmas.remove(phrase.english()[0].text)
    draw.pairs = []
    setattr(clause, part, None)


what_question = object_question("what", "was", "accusative", _THINGS)
whom_question = object_question("who", "wen", "accusative", _PEOPLE)
dative_question = object_question("who", "wem", "dative", _SERVED)


def noun_question(draw: Draw, name: str) -> Draft:
    """How many eggs did you buy? / Wie viele Eier hast du gekauft? Which book ...? / Welches Buch ...?"""
    counted = draw.one(tuple(_COUNTED))
    verb = VERBS[counted]
    tense = "past" if draw.chance(0.6) or verb.flags & {"point"} else "present"
    clause = draw.event(verb, tense, subject=_addressee(draw, verb), bare=True)
    clause.place = None
    forget_object(draw, clause, "accusative")
    noun = draw.fresh(_COUNTED[counted])
    draw.pairs.append((verb.name, noun.english))
    key = draw.key()
    if draw.chance(0.5):
        clause.question = Fixed(key, f"how many {noun.plural}", f"wie viele {noun.german_plural}")
    else:
        which = german.der_word("welch", noun.gender, "acc")
        clause.question = Fixed(key, f"which {noun.english}", f"{which} {noun.oblique}")
    clause.question_part = "accusative"
    return asked(draw, name, clause)


def adverbial_question(word: str, german_word: str) -> Callable[[Draw, str], Draft]:
    """When is the train arriving? / Wann kommt der Zug an?"""

    def construction(draw: Draw, name: str) -> Draft:
        verb = located_verb(draw) if word == "where" else draw.verb()
        while "timeless" in verb.flags:
            verb = draw.verb()
        tense = "past" if draw.chance(0.6) or verb.flags & {"point", "state"} or word == "where" else "present"
        clause = draw.event(verb, tense, subject=_addressee(draw, verb), bare=True)
        clause.place = None
        clause.question, clause.question_part = Fixed(draw.key(), word, german_word), word
        return asked(draw, name, clause)

    return construction


def located_verb(draw: Draw) -> Verb:
    """A verb for what people do at a place worth asking about."""
    return VERBS[draw.one(_LOCATED)]


_LOCATED = [
    "buy", "find", "lose", "see", "meet", "read", "learn", "eat", "hide", "repair", "build", "rent", "hear",
    "photograph", "wait for", "sell", "write", "translate", "wash", "draw", "help", "talk to", "dance", "break",
]  # fmt: skip


def where_question(draw: Draw, name: str) -> Draft:
    """Where are you going? / Wohin gehst du? Where do you live? / Wo wohnst du?"""
    verb = VERBS[draw.one(("go", "travel", "run", "live", "stay", "sit", "stand", "sleep", "work"))]
    tense = "past" if draw.chance(0.4) else "present"
    clause = draw.event(verb, tense, subject=_addressee(draw, verb), bare=True)
    draw.forget_pairs()
    clause.complement = None
    word = "wohin" if verb.frame == "goal" else "wo"
    clause.question, clause.question_part = Fixed(draw.key(), "where", word), "place"
    return asked(draw, name, clause)


# -------------------------------------------------------------------- commands and likings


def imperative(draw: Draw, name: str) -> Draft:
    """Please open the window! / Öffne bitte das Fenster!"""
    verb = draw.planned_verb(("acc", "acc", "acc", "double", "to", "dat"))
    while "state" in verb.flags:
        verb = draw.planned_verb(("acc",))
    clause = draw.event(verb, "future", subject=Pronoun(draw.key(), 1), bare=True)
    clause.place = clause.time = None
    if isinstance(clause.accusative, NounPhrase) and clause.accusative.determiner == "none":
        clause.accusative.determiner = "the"
    if draw.chance(0.6):
        key = draw.key()
        clause.frequency = Fixed(key, "please", "bitte")
        draw.lemmas.append("please")
    meaning = Said(clause, "imperative")
    return draft(draw, name, _please(clause), lambda choices: clause.german(choices, "imperative"), "!", meaning)


def _please(clause: Clause) -> list[Token]:
    please = clause.frequency.english() if clause.frequency else []
    return please + clause.english(imperative=True)


def gern(draw: Draw, name: str) -> Draft:
    """She likes to read books. / Sie liest gern Bücher."""
    verb = draw.one(_PLEASANT)
    clause = draw.event(VERBS[verb], "present", bare=True)
    clause.place, clause.time, clause.tense = None, None, "present"
    key = draw.key()
    clause.frequency = Fixed(key, "like", "gern")
    draw.lemmas.append("like")
    draw.generic(clause)
    source = _likes(draw, clause, key)
    return draft(draw, name, source, clause.german, meaning=Enjoyed(clause, key))


_PLEASANT = [
    "eat", "drink", "cook", "bake", "read", "write", "sing", "dance", "swim", "sleep", "work", "play",
    "visit", "photograph",
]  # fmt: skip


def _likes(draw: Draw, clause: Clause, key: int) -> list[Token]:
    """likes to eat apples, or likes eating apples"""
    like = [Token("likes" if clause.subject.english_person() == 2 else "like", (key,))]
    if draw.chance(0.4):
        verb = Token(clause.verb.ing, (VERB,))
        return [
            *clause.subject.english_subject(),
            *like,
            verb,
            *(clause.accusative.english() if clause.accusative else []),
        ]
    like.append(Token("to", (), (key,)))
    rest = Clause(clause.subject, clause.verb, accusative=clause.accusative, complement=clause.complement)
    return clause.subject.english_subject() + like + rest.english(imperative=True)
