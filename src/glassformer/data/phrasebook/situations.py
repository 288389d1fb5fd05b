"""Constructions about what somebody is, likes or uses, what a thing tastes of, and where somebody or something is."""

from __future__ import annotations

from glassformer.data.phrasebook.adjectives import FITTING
from glassformer.data.phrasebook.clause import PREPOSITION, Clause
from glassformer.data.phrasebook.constructions import asked, forget_object, stated
from glassformer.data.phrasebook.nominal import Fixed, Nominal, NounPhrase, PredicateNoun, Prepositional, Pronoun
from glassformer.data.phrasebook.nouns import NOUNS, nouns_of
from glassformer.data.phrasebook.phrase import Draft
from glassformer.data.phrasebook.sampling import Draw
from glassformer.data.phrasebook.verbs import VERBS

_PEOPLE = nouns_of("person kin -guest")
_ROLES = nouns_of("friend neighbour colleague student teacher doctor astronomer")
_KINDS = tuple(
    noun for noun in nouns_of("animal clothes vehicle furniture text food") if FITTING[noun.english] and not noun.mass
)
_GENERIC = nouns_of("food drink music pet animal -chicken -duck -fish -wild book film city")
_TOOLS = {
    "see": "telescope camera", "cut": "knife", "eat": "fork spoon knife", "photograph": "camera", "look for": "lamp",
    "translate": "computer", "write": "computer", "open": "key knife",
    "lock": "key", "look at": "telescope",
}  # fmt: skip
_TASTES = "chocolate strawberry orange apple banana pear cheese butter fish meat coffee wine tomato milk"
_TASTED = nouns_of("cake biscuit soup salad tea wine bread pizza juice sausage")
_WHERE = tuple(  # what may be where
    (nouns_of(kinds), tuple(NOUNS[name.replace("_", " ")] for name in places.split()))
    for kinds, places in (
        (
            "person kin",
            "park garden office hospital school kitchen library museum church station airport market cinema theatre "
            "restaurant hotel beach lake river_bank bridge bank village city",
        ),
        ("person kin", "bathroom bedroom kitchen house flat shop forest island"),
        ("pet horse bird cow", "garden kitchen house park river_bank forest"),
        ("money", "bank bag cupboard kitchen house bank"),
        ("key ring ticket book letter camera umbrella map money", "bag basket cupboard kitchen office bedroom bank"),
        ("boat duck", "lake river_bank beach"),
        ("car bicycle motorcycle boat", "street station garden river_bank park"),
    )
)


def predicate_noun(draw: Draw, name: str) -> Draft:
    """We are friends. / Wir sind Freunde. Your cat is a lovely cat. / Deine Katze ist eine liebe Katze."""
    draw.lemmas.append("be")
    tense = "past" if draw.chance(0.25) else "present"
    if draw.chance(0.5):
        subject, role = _group(draw), draw.fresh(_ROLES)
        woman = {"f": True, "m": False}.get(subject.gender) if isinstance(subject, NounPhrase) else None
        inner = NounPhrase(draw.key(), role, "none", plural=True, feminine=woman)
    else:
        noun = draw.fresh(_KINDS)
        determiner = draw.one(("0", "1", "2", "2f", "3", "5", "this", "the"))
        subject = NounPhrase(draw.key(), noun, determiner)
        inner = NounPhrase(draw.key(), noun, "a")
        inner.adjective = draw.one([one for one in FITTING[noun.english] if one.english != "ill"])
        draw.lemmas.append(inner.adjective.english)
    clause = Clause(subject, VERBS["be"], tense, complement=PredicateNoun(draw.key(), inner))
    return asked(draw, name, clause) if draw.chance(0.2) else stated(draw, name, clause)


def _group(draw: Draw) -> Pronoun | NounPhrase:
    """Several people: we, you, they, the women."""
    if draw.chance(0.6):
        return draw.pronoun((3, 3, 5))
    noun = draw.fresh(nouns_of("man woman boy girl brother sister son daughter"))
    return NounPhrase(draw.key(), noun, draw.one(_OWNERS if "kin" in noun.kinds else ("the", "this")), plural=True)


_OWNERS = ("0", "1", "2", "2f", "3", "5")


def fondness(draw: Draw, name: str) -> Draft:
    """I love you very much. / Ich liebe dich sehr. She loves apples. / Sie liebt Äpfel."""
    verb = VERBS[draw.one(("love", "love", "like"))]
    draw.lemmas.append(verb.name)
    subject = draw.subject(_PEOPLE)
    if draw.chance(0.5):
        thing = draw.object(verb, subject, _PEOPLE)
        if isinstance(thing, NounPhrase):
            thing.determiner = thing.determiner if thing.determiner[0].isdigit() else "the"
    else:
        noun = draw.fresh(_GENERIC)
        draw.pairs.append((verb.name, noun.english))
        thing = NounPhrase(draw.key(), noun, "none", plural=not noun.mass)
    manner = Fixed(draw.key(), "very much", "sehr:12") if draw.chance(0.5) else None
    return stated(draw, name, Clause(subject, verb, accusative=thing, manner=manner))


def instrument(draw: Draw, name: str) -> Draft:
    """The man saw the astronomer with a telescope. / Der Mann hat den Astronomen mit einem Teleskop gesehen."""
    verb = VERBS[draw.one(tuple(_TOOLS))]
    tool = draw.fresh([NOUNS[word] for word in _TOOLS[verb.name].split()])
    clause = draw.event(verb, "past", bare=True)
    if verb.name == "see" and draw.chance(0.3):
        forget_object(draw, clause, "accusative")
        clause.accusative = NounPhrase(draw.key(), draw.fresh((NOUNS["astronomer"],)), "the")
        draw.pairs.append((verb.name, "astronomer"))
    draw.pairs.append((verb.name, tool.english))
    inner = NounPhrase(draw.key(), tool, draw.one(("a", "a", "the", "this")))
    clause.manner = Prepositional(draw.key(), "with", ("mit",), "dat", inner)
    return stated(draw, name, clause)


def tasting(draw: Draw, name: str) -> Draft:
    """The cake tasted of chocolate. / Der Kuchen hat nach Schokolade geschmeckt."""
    subject = NounPhrase(draw.key(), draw.fresh(_TASTED), draw.one(("the", "the", "this", "0", "1", "2f")))
    taste = draw.fresh([noun for noun in nouns_of(_TASTES) if noun is not subject.noun])
    inner = NounPhrase(draw.key(), taste, "none", plural=not taste.mass)
    draw.lemmas.append("taste of")
    complement = Prepositional(PREPOSITION, "", ("nach",), "dat", inner)
    clause = Clause(subject, VERBS["taste of"], draw.one(("past", "past", "present")), complement=complement)
    return asked(draw, name, clause) if draw.chance(0.15) else stated(draw, name, clause)


def whereabouts(draw: Draw, name: str) -> Draft:
    """The money is in the bank. / Das Geld ist auf der Bank. The boat is on the river bank. / ... am Flussufer."""
    nouns, places = draw.one(_WHERE)
    subject: Nominal = draw.subject(nouns)
    if isinstance(subject, NounPhrase) and subject.determiner not in ("the", "this") and subject.noun.kinds:
        subject.determiner = subject.determiner if subject.determiner[0].isdigit() else "the"
        subject.plural = subject.plural and not subject.noun.mass
    place = draw.fresh([noun for noun in places if noun is not subject.noun])
    draw.lemmas.append("be")
    where = draw.place(place)
    where.inner.determiner = "the"  # type: ignore[union-attr]
    if subject.noun is NOUNS["money"] and place is NOUNS["bank"]:
        where.german_prepositions = ("auf", "in")  # in the care of the bank, or in its building
    clause = Clause(subject, VERBS["be"], "past" if draw.chance(0.3) else "present", complement=where)
    if draw.chance(0.2):
        return asked(draw, name, clause)
    clause.negated, clause.contracted = draw.chance(0.15), draw.chance(0.4)
    return stated(draw, name, clause)
