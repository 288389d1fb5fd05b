"""Constructions that state facts: what things are like, where they are, what they cost, when they happen."""

from __future__ import annotations

from glassformer.data.phrasebook import english, german
from glassformer.data.phrasebook.adjectives import FITTING, Adjective
from glassformer.data.phrasebook.adverbials import MONTHS, PREPOSITIONS
from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import VERB, Clause
from glassformer.data.phrasebook.constructions import asked, draft, stated
from glassformer.data.phrasebook.meaning import Compared, Existing, Said
from glassformer.data.phrasebook.nominal import Fixed, Nominal, NounPhrase, Prepositional, Pronoun
from glassformer.data.phrasebook.nouns import NOUNS, Noun, nouns_of
from glassformer.data.phrasebook.phrase import Draft
from glassformer.data.phrasebook.sampling import Draw
from glassformer.data.phrasebook.verbs import VERBS

_DESCRIBED = tuple(noun for noun in NOUNS.values() if FITTING[noun.english])
_GROUPS = tuple(
    nouns_of(kinds)
    for kinds in (
        "person -baby", "kin", "animal", "fruit", "clothes", "vehicle", "furniture -lamp -shelf -mirror",
        "building -station", "text -message", "device -clock -telescope", "settlement",
        "heavy", "nature -forest -beach",
    )
)  # fmt: skip
_COMPARED = {noun.english: [a for a in FITTING[noun.english] if a.comparative] for noun in NOUNS.values()}
_CALLERS = tuple(noun for noun in NOUNS.values() if noun.kinds & {"person", "kin"})
_FAMILY = nouns_of("kin")
_JOBS = nouns_of("job")
_PRICED = nouns_of("clothes furniture vehicle device portable book novel ticket wine cheese cake -map -key")
_LYING, _STANDING = nouns_of("lying"), nouns_of("standing")
_SPOTS = {
    "on": nouns_of("table chair bed sofa"),
    "under": nouns_of("table chair bed sofa"),
    "behind": nouns_of("sofa door cupboard chair"),
    "next to": nouns_of("lamp bed sofa television computer"),
    "in front of": nouns_of("door window mirror"),
}


def _be(draw: Draw, subject: Nominal, complement: Fixed | Prepositional, tense: str = "present") -> Clause:
    draw.lemmas.append("be")
    return Clause(subject, VERBS["be"], tense, complement=complement)


def _described(draw: Draw) -> tuple[NounPhrase, Adjective]:
    noun = draw.fresh(_DESCRIBED)
    phrase = draw.noun_phrase(noun, None, agent=True, plain=True)
    adjective = draw.one(FITTING[noun.english])
    draw.lemmas.append(adjective.english)
    return phrase, adjective


# Nobody is too healthy: with these, "too" is rare, and "very" is meant.
_PRAISE = tuple([
    "beautiful", "clean", "clever", "fresh", "friendly", "good", "happy", "healthy", "lovely", "nice", "tasty",
])  # fmt: skip


def predicate(draw: Draw, name: str) -> Draft:
    """The soup is very hot. / Die Suppe ist sehr heiß."""
    phrase, adjective = _described(draw)
    degree = draw.one((("", ""), ("", ""), ("very ", "sehr "), ("too ", "zu ")))
    if degree[0] == "too " and adjective.english in _PRAISE:
        degree = ("very ", "sehr ")
    complement = Fixed(draw.key(), degree[0] + adjective.english, degree[1] + adjective.german)
    clause = _be(draw, phrase, complement, "past" if draw.chance(0.3) else "present")
    clause.negated, clause.contracted = draw.chance(0.25), draw.chance(0.4)
    return stated(draw, name, clause)


def predicate_question(draw: Draw, name: str) -> Draft:
    """Is the soup hot? / Ist die Suppe heiß?"""
    phrase, adjective = _described(draw)
    if phrase.determiner == "a":
        phrase.determiner = "the"
    complement = Fixed(draw.key(), adjective.english, adjective.german)
    return asked(draw, name, _be(draw, phrase, complement, "past" if draw.chance(0.3) else "present"))


def comparison(draw: Draw, name: str) -> Draft:
    """My brother is older than my sister. / Mein Bruder ist älter als meine Schwester."""
    group = draw.one(_GROUPS)
    first, second = draw.fresh(group), draw.fresh(group)
    shared = [a for a in _COMPARED[first.english] if a in _COMPARED[second.english]]
    while not shared or first is second:
        draw.lemmas, draw.nouns = [], set()
        first, second = draw.fresh(group), draw.fresh(group)
        shared = [a for a in _COMPARED[first.english] if a in _COMPARED[second.english]]
    adjective = draw.one(shared)
    draw.lemmas += [adjective.english, "than"]
    subject, other = _plain(draw, first), _plain(draw, second)
    clause = _be(draw, subject, Fixed(draw.key(), adjective.comparative, adjective.german_comparative))
    key = draw.key()
    source = [*clause.english(), Token("than", (key,)), *other.english()]
    meaning = Compared(clause, adjective.english, key, other)
    render = lambda c: [*clause.german(c), Token("als", (key,)), *other.german("nom", c)]  # noqa: E731
    return draft(draw, name, source, render, meaning=meaning)


def _plain(draw: Draw, noun: Noun) -> NounPhrase:
    phrase = draw.noun_phrase(noun, None, agent=True, plain=True)
    if phrase.determiner in ("a", "the"):
        phrase.determiner, phrase.plural = "the", False
    return phrase


def profession(draw: Draw, name: str) -> Draft:
    """My mother is a teacher. / Meine Mutter ist Lehrerin."""
    kind = draw.number(0, 2)
    subject: Nominal
    if kind == 0:
        subject = draw.pronoun((2,))
    elif kind == 1:
        subject = draw.name()
    else:
        subject = NounPhrase(draw.key(), draw.fresh(_FAMILY), draw.one(("0", "1", "2", "2f", "3", "5")))
    job = draw.fresh(_JOBS)
    word = job.feminine.german if job.feminine and subject.gender == "f" else job.german
    complement = Fixed(draw.key(), f"{english.article(job.english)} {job.english}", f"{word}:2")
    return stated(draw, name, _be(draw, subject, complement, "past" if draw.chance(0.3) else "present"))


def existence(draw: Draw, name: str) -> Draft:
    """There are two museums in the city. / Es gibt zwei Museen in der Stadt."""
    key, verb = draw.key(), VERB
    past = draw.chance(0.3)
    place = draw.fresh(_WHERE)
    noun = draw.fresh(_SIGHTS)
    determiner, plural = draw.one((("a", False), ("no", False), ("number", True), ("many", True), ("no", True)))
    thing = NounPhrase(draw.key(), noun, determiner, plural, count=draw.number(2, 12))
    where = draw.place(place)
    where.inner.determiner = draw.one(("the", "this"))  # type: ignore[union-attr]
    draw.lemmas.append("there is")
    form = ("were" if past else "are") if plural else "was" if past else "is"
    source = [Token("there", (key,)), Token(form, (verb,)), *thing.english(), *where.english()]
    finite = Token("gab" if past else "gibt", (verb,))

    def render(choices: Choices) -> list[Token]:
        es = Token("es", (key,))
        if choices.pick("front", 2):
            return [*where.german(choices), finite, es, *thing.german("acc", choices)]
        return [es, finite, *thing.german("acc", choices), *where.german(choices)]

    return draft(draw, name, source, render, meaning=Existing(thing, where, past, key))


_WHERE = nouns_of("city village street -square")
_SIGHTS = nouns_of("hotel restaurant museum school church theatre cinema library hospital shop park castle market bank")


def _spot(draw: Draw, case: str) -> Prepositional:
    preposition = draw.one(tuple(PREPOSITIONS))
    noun = draw.fresh(_SPOTS[preposition])
    draw.lemmas.append(preposition)
    inner = NounPhrase(draw.key(), noun, draw.one(("the", "the", "the", "this")))
    return Prepositional(draw.key(), preposition, (PREPOSITIONS[preposition],), case, inner)


def position(draw: Draw, name: str) -> Draft:
    """The book is lying on the table. / Das Buch liegt auf dem Tisch."""
    lying = draw.chance(0.5)
    thing = draw.fresh(_LYING if lying else _STANDING)
    subject = draw.noun_phrase(thing, None, agent=True)
    verb = VERBS["lie" if lying else "stand#thing"]
    draw.lemmas.append(verb.name)
    spot = _spot(draw, "dat")
    tense = "past" if draw.chance(0.3) else "progressive"
    clause = Clause(subject, verb, tense, complement=spot)
    if draw.chance(0.2):
        clause.question, clause.question_part, clause.complement = Fixed(draw.key(), "where", "wo"), "place", None
        return asked(draw, name, clause)
    return stated(draw, name, clause)


def placement(draw: Draw, name: str) -> Draft:
    """She put the bottle on the table. / Sie hat die Flasche auf den Tisch gestellt."""
    lying = draw.chance(0.5)
    verb = VERBS["put#lying" if lying else "put#standing"]
    subject = draw.subject(_CALLERS)
    noun = draw.fresh(_LYING if lying else _STANDING)
    draw.pairs.append((verb.name, noun.english))
    thing = draw.noun_phrase(noun, subject)
    draw.lemmas.append(verb.name)
    tense = draw.one(("past", "past", "progressive"))
    clause = Clause(subject, verb, tense, accusative=thing, complement=_spot(draw, "acc"))
    return stated(draw, name, clause)


def possession(draw: Draw, name: str) -> Draft:
    """I have two brothers. / Ich habe zwei Brüder."""
    verb = VERBS["have"]
    subject = draw.subject(verb.subjects)
    noun = draw.fresh(verb.objects)
    draw.lemmas.append("have")
    draw.pairs.append(("have", noun.english))
    thing = draw.noun_phrase(noun, None)
    thing.determiner, thing.plural, thing.count = _owned(draw, noun)
    clause = Clause(subject, verb, "past" if draw.chance(0.3) else "present", accusative=thing)
    return stated(draw, name, clause)


def _owned(draw: Draw, noun: Noun) -> tuple[str, bool, int]:
    if noun.mass:
        return draw.one(("none", "no")), False, 0
    if "single" not in noun.kinds and draw.chance(0.35):
        return "number", True, draw.number(2, 6)
    return draw.one(("a", "a", "no")), False, 0


def belonging(draw: Draw, name: str) -> Draft:
    """The car belongs to my brother. / Das Auto gehört meinem Bruder."""
    verb = VERBS["belong to"]
    noun = draw.fresh(nouns_of("vehicle clothes portable device text house -story -poem -message -article"))
    thing = draw.noun_phrase(noun, None, agent=True)
    draw.lemmas.append(verb.name)
    if thing.determiner == "a":
        thing.determiner = "the"
    receiver = draw.object(VERBS["help"], thing)
    draw.pairs.clear()
    clause = Clause(thing, verb, "past" if draw.chance(0.3) else "present", dative=receiver)
    return stated(draw, name, clause)


def liking(draw: Draw, name: str) -> Draft:
    """I like the dress. / Das Kleid gefällt mir."""
    key = VERB
    who = draw.subject(_CALLERS)
    noun = draw.fresh(nouns_of("clothes image house flat castle song film park garden city novel book music"))
    draw.lemmas += ["like"]
    draw.pairs.append(("like", noun.english))
    thing = _plain(draw, noun)
    third = who.english_person() == 2
    source = [*who.english_subject(), Token("likes" if third else "like", (key,)), *thing.english()]

    def render(choices: Choices) -> list[Token]:
        if choices.pick("liking", 2):
            return Clause(who, VERBS["like"], accusative=thing).german(choices)
        verb = Token("gefallen" if thing.plural else "gefällt", (key,))
        return [*thing.german("nom", choices), verb, *who.german("dat", choices)]

    meaning = Said(Clause(who, VERBS["like"], accusative=thing))
    return draft(draw, name, source, render, meaning=meaning)


# -------------------------------------------------------------------- numbers


def _amount(draw: Draw, noun: Noun) -> int:
    """A plausible price: low for cheap things, a round sum for expensive ones."""
    if noun.kinds & {"vehicle"} and noun.english != "bicycle":
        return 1000 * draw.number(1, 20) + draw.one((0, 0, 500))
    if noun.kinds & {"furniture", "device", "vehicle"}:
        return 10 * draw.number(5, 99)
    if noun.kinds & {"clothes"}:
        return draw.number(20, 99) if draw.chance(0.7) else 10 * draw.number(10, 30)
    return draw.number(2, 60)


def price(draw: Draw, name: str) -> Draft:
    """The hat costs twenty-five euros. / Der Hut kostet fünfundzwanzig Euro."""
    noun = draw.fresh(_PRICED)
    thing = draw.noun_phrase(noun, None, agent=True)
    draw.lemmas += ["cost", "euro"]
    if draw.chance(0.2):
        return _price_question(draw, name, thing)
    amount, key = _amount(draw, noun), draw.key()
    clause = Clause(thing, VERBS["cost"], "past" if draw.chance(0.3) and not thing.plural else "present")
    words = [Token(word, (key,)) for word in english.cardinal(amount).split()]
    source = [*clause.english(), *words, Token("euros", (key + 1,))]
    tail = [Token(german.cardinal(amount), (key,)), Token("Euro", (key + 1,))]

    def render(choices: Choices) -> list[Token]:
        finite, rest = clause.verb_parts(choices)
        return [*thing.german("nom", choices), *finite, *tail, *rest]

    return draft(draw, name, source, render)


def _price_question(draw: Draw, name: str, thing: NounPhrase) -> Draft:
    """How much does the hat cost? / Wie viel kostet der Hut?"""
    if thing.determiner == "a":
        thing.determiner = "the"
    draw.lemmas.remove("euro")
    question = Fixed(draw.key(), "how much", "wie viel", ("was:12",))
    clause = Clause(thing, VERBS["cost"], question=question, question_part="amount")
    return asked(draw, name, clause)


def age(draw: Draw, name: str) -> Draft:
    """My sister is twelve years old. / Meine Schwester ist zwölf Jahre alt."""
    key = draw.key()
    if draw.chance(0.25):
        old = nouns_of("house church castle bridge tree school library")
        subject: Nominal = NounPhrase(key, draw.fresh(old), draw.one(("the", "this")))
        years = 10 * draw.number(1, 90) if draw.chance(0.6) else draw.number(10, 99)
    else:
        subject = draw.subject(_CALLERS)
        years = _years(draw, subject)
    if draw.chance(0.2):
        question = Fixed(draw.key(), "how old", "wie alt")
        draw.lemmas += ["old", "be"]
        return asked(draw, name, Clause(subject, VERBS["be"], question=question, question_part="age"))
    words = english.cardinal(years)
    size = len(words.split())
    numbered = f"{german.cardinal(years)}:{''.join(str(i + 1) for i in range(size))} Jahre:{size + 1} alt:{size + 2}"
    draw.lemmas += ["old", "year"]
    return stated(draw, name, _be(draw, subject, Fixed(draw.key(), f"{words} years old", numbered)))


def _years(draw: Draw, subject: Nominal) -> int:
    """A plausible age: children are young, grandparents are not."""
    noun = subject.noun
    if noun is None:
        return draw.number(4, 95)
    if "youth" in noun.kinds:
        return draw.number(2, 15)
    return draw.number(60, 99) if noun.english.startswith("grand") else draw.number(18, 89)


def _clock(draw: Draw) -> tuple[str, str]:
    """A time of day in words, English and German."""
    hour = draw.number(1, 12)
    after = hour % 12 + 1
    names = english.cardinal(hour), german.cardinal(hour)
    kind = draw.number(0, 5)
    if kind < 2:
        full = "ein" if hour == 1 else names[1]
        return f"{names[0]} o'clock", f"{full} Uhr"
    if kind == 2:
        return f"half past {names[0]}", f"halb:12 {german.cardinal(after)}:3"
    minutes = draw.one((("five", "fünf"), ("ten", "zehn"), ("twenty", "zwanzig"), ("a quarter", "Viertel")))
    past = kind < 5
    quarter = minutes[1] == "Viertel"
    words = f"{minutes[0]} {'past' if past else 'to'} {names[0]}"
    side = "nach" if past else "vor"
    if quarter:
        return words, f"Viertel:12 {side}:3 {names[1]}:4"
    return words, f"{minutes[1]}:1 {side}:2 {names[1]}:3"


def clock_time(draw: Draw, name: str) -> Draft:
    """The train arrives at half past three. / Der Zug kommt um halb vier an."""
    words, target = _clock(draw)
    if draw.chance(0.3):
        draw.lemmas += ["be", "o'clock"]
        return stated(
            draw, name, Clause(Pronoun(draw.key(), 2, "n"), VERBS["be"], complement=Fixed(draw.key(), words, target))
        )
    verb = VERBS[draw.one(("arrive", "get up", "come back", "wake up", "call", "pick up", "meet", "visit", "go"))]
    tense = draw.one(("past", "progressive"))
    clause = draw.event(verb, tense, bare=True)
    clause.time = _at(draw, words, target)
    return stated(draw, name, clause)


def _at(draw: Draw, words: str, target: str) -> Fixed:
    if ":" in target:
        shifted = [part.split(":") for part in target.split()]
        linked = " ".join(f"{word}:{''.join(str(int(d) + 1) for d in digits)}" for word, digits in shifted)
    else:
        linked = " ".join(f"{word}:{place + 2}" for place, word in enumerate(target.split()))
    return Fixed(draw.key(), f"at {words}", f"um:1 {linked}")


def date(draw: Draw, name: str) -> Draft:
    """The concert is on 3 May. / Das Konzert ist am 3. Mai."""
    day, month = draw.number(1, 30), draw.one(tuple(MONTHS))
    if month == "February" and day > 28:
        day = 28
    draw.lemmas.append(month)
    when = Fixed(draw.key(), f"on {day} {month}", f"am {day}. {MONTHS[month]}")
    if draw.chance(0.4):
        noun = draw.fresh(nouns_of("event"))
        subject = NounPhrase(draw.key(), noun, draw.one(("the", "0", "1", "3")) if noun.english != "concert" else "the")
        return stated(draw, name, _be(draw, subject, when, draw.one(("present", "past"))))
    clause = draw.event(draw.one(_DATED), draw.one(("past", "progressive")), bare=True)
    clause.time = when
    if draw.chance(0.4):
        clause.fronted = when
    return stated(draw, name, clause)


_DATED = tuple(VERBS[name] for name in ["arrive", "visit", "meet", "sell", "buy", "travel", "invite"])
