"""The constructions with two clauses: reasons, conditions, concessions, reported facts and questions."""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.data.phrasebook.adjectives import ADJECTIVES
from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import Clause
from glassformer.data.phrasebook.constructions import draft, located_verb, negate
from glassformer.data.phrasebook.meaning import Joined
from glassformer.data.phrasebook.nominal import Fixed, Name, Nominal, NounPhrase, Pronoun, Referring
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.phrase import Draft
from glassformer.data.phrasebook.sampling import Draw
from glassformer.data.phrasebook.verbs import MODALS, VERBS, Verb

_SECOND = -10  # the shift of the second clause's verb keys
_COMMA = 990
_PEOPLE = tuple(noun for noun in NOUNS.values() if noun.kinds & {"person", "kin"})
_WEAK = (("tired", "müde"), ("ill", "krank"))
_ACTS = {  # what people do in such a state
    ("tired", "müde"): ("sleep", "go", "drink", "stay"),
    ("ill", "krank"): ("sleep", "call", "stay", "drink"),
    ("hungry", "hungrig"): ("eat", "cook", "order", "bake"),
    ("sad", "traurig"): ("cry", "call", "visit", "talk to"),
}
_MONEY = ("buy", "order", "rent", "travel")
_GOOD_MOODS = (("happy", "glücklich"), ("proud", "stolz"), ("surprised", "überrascht"))
_BAD_MOODS = (("sad", "traurig"), ("angry", "wütend"), ("surprised", "überrascht"))


def joined(
    draw: Draw, name: str, main: Clause, conjunction: Fixed | None, second: Clause, *, first: str = "main"
) -> Draft:
    """Join a main and a subordinate clause; `first` says which one opens the sentence."""
    word = conjunction.english() if conjunction else []
    mark = "?" if main.asked else "."
    comma = [Token(",", (_COMMA,))]
    meaning = Joined(main, conjunction, second, first != "main")

    def subordinate(choices: Choices) -> list[Token]:
        return (conjunction.german(choices) if conjunction else []) + second.german(choices, "last")

    if first == "main":
        source = main.english() + word + second.english()
        order = "question" if main.asked else "statement"
        return draft(draw, name, source, lambda c: [*main.german(c, order), Token(","), *subordinate(c)], mark, meaning)
    source = word + second.english() + comma + main.english()
    return draft(draw, name, source, lambda c: subordinate(c) + comma + main.german(c, "inverted"), mark, meaning)


def person(draw: Draw) -> Nominal:
    """Somebody to whom a pronoun can refer without doubt about the gender."""
    subject = draw.subject(_PEOPLE)
    while subject.english_person() == 2 and subject.gender == "n":
        subject = draw.pronoun((0, 1, 2, 3, 5))
    return subject


def again(draw: Draw, subject: Nominal) -> Pronoun:
    """The pronoun for somebody mentioned before."""
    if isinstance(subject, Pronoun):
        return Pronoun(draw.key(), subject.person, subject.gender)
    return Pronoun(draw.key(), subject.english_person(), subject.gender)


def state(draw: Draw, subject: Nominal, options: Sequence[tuple[str, str]], tense: str) -> Clause:
    """Somebody is tired, is happy ..."""
    english, german = draw.one(options)
    draw.lemmas += [english, "be"]
    return Clause(subject, VERBS["be"], tense, complement=Fixed(draw.key(), english, german))


def having(draw: Draw, subject: Nominal, tense: str, act: Verb, determiner: str) -> Clause:
    """Somebody has (no) time, or (no) money if the act costs money."""
    noun = draw.fresh((NOUNS["time"], NOUNS["money"]) if act.name in _MONEY else (NOUNS["time"],))
    draw.lemmas.append("have")
    return Clause(subject, VERBS["have"], tense, accusative=NounPhrase(draw.key(), noun, determiner))


def weather(draw: Draw, tense: str, *, bad: bool) -> Clause:
    """It was raining. The weather was bad."""
    key = draw.key()
    if draw.chance(0.5):
        verb = VERBS["rain" if draw.chance(0.6) else "snow"]
        draw.lemmas.append(verb.name)
        return Clause(Expletive(key, 2, "n"), verb, tense)
    draw.lemmas += ["weather", "be", "bad" if bad else "good"]
    complement = Fixed(draw.key(), "bad", "schlecht") if bad else Fixed(draw.key(), "good", "gut")
    return Clause(Weather(key, 2, "n"), VERBS["be"], tense, complement=complement)


class Expletive(Pronoun):
    """The "it" of the weather, "es" in German."""


class Weather(Pronoun):
    """ "the weather", which takes no plural and no adjective here."""

    def english_subject(self) -> list[Token]:
        """the weather"""
        return [Token("the", (self.key + 1,)), Token("weather", (self.key,))]

    def german(self, _case: str, _choices: Choices) -> list[Token]:
        """das Wetter"""
        return [Token("das", (self.key + 1,)), Token("Wetter", (self.key,))]


def _second(clause: Clause) -> Clause:
    clause.shift = _SECOND
    if clause.verb.frame == "prepositional" and clause.complement is not None:
        clause.complement.key += _SECOND
    return clause


def _happening(draw: Draw, tense: str, subject: Nominal | None = None, *, constrained: bool = False) -> Clause:
    """An event for a subordinate clause, sometimes with a modal, with few adverbials."""
    if draw.chance(0.25) or (subject is not None and tense == "present"):
        names = ("can", "have to") if subject or tense == "past" else ("can", "must", "have to", "want to")
        modal = MODALS["can" if constrained else draw.one(names)]
        return _second(draw.event(draw.planned_verb(), tense, subject=subject, modal=modal, bare=True))
    verb = draw.verb() if tense == "past" else draw.lasting_verb()
    if subject is not None and NOUNS["man"] not in verb.subjects:
        verb = VERBS["work"]
    clause = draw.event(verb, tense, subject=subject, bare=True)
    if tense == "past" and draw.chance(0.3) and "timeless" not in verb.flags:
        clause.time = draw.time("past", verb)
    return _second(clause)


def because(draw: Draw, name: str) -> Draft:
    """She is happy because Paul found the key. / Sie ist glücklich, weil Paul den Schlüssel gefunden hat."""
    conjunction = Fixed(draw.key(), "because", "weil")
    if draw.chance(0.5):
        return _because_reason(draw, name, conjunction)
    tense = "past" if draw.chance(0.6) else "present"
    subject = person(draw)
    event = _happening(draw, tense, again(draw, subject) if draw.chance(0.4) else None)
    forced = event.modal is not None and event.modal.name in ("have to", "must")
    bad = event.verb.flags & {"mishap"} or event.verb.name == "cry" or forced
    moods: Sequence[tuple[str, str]] = _BAD_MOODS if bad else _GOOD_MOODS
    if type(event.subject) is Pronoun:
        moods = moods[:2]  # people are not surprised by their own actions
    main = state(draw, subject, moods, "past" if tense == "past" and draw.chance(0.4) else "present")
    return joined(draw, name, main, conjunction, event)


def _because_reason(draw: Draw, name: str, conjunction: Fixed) -> Draft:
    """I did not visit my aunt because I was ill."""
    subject = person(draw)
    verb = _act(draw)
    main = negate(draw.event(verb, "past", subject=subject, bare=True))
    return joined(draw, name, main, conjunction, _second(_hindrance(draw, subject, verb)))


def _hindrance(draw: Draw, subject: Nominal, act: Verb) -> Clause:
    """What keeps people from an act: no time, bad weather, work, tiredness."""
    kind = draw.number(0, 3)
    if kind == 0:
        return having(draw, again(draw, subject), "past", act, "no")
    if kind == 1 and act.name in _OUTDOORS:
        return weather(draw, "past", bad=True)
    if kind == 2 and act.name != "work":
        return draw.event(VERBS["work"], "past", subject=again(draw, subject), modal=MODALS["have to"], bare=True)
    return state(draw, again(draw, subject), _WEAK, "past")


def _act(draw: Draw) -> Verb:
    """A verb for something that takes time and effort."""
    return VERBS[draw.one(_EFFORTS)]


_OUTDOORS = frozenset(("go", "travel", "run", "visit", "meet", "swim", "pick up", "photograph", "go out", "play"))
_EFFORTS = [
    "cook", "bake", "buy", "sell", "read", "write", "visit", "repair", "wash", "clean", "tidy up", "learn",
    "translate", "build", "draw", "paint", "photograph", "feed", "help", "call", "invite", "go", "travel", "swim",
    "dance", "work", "come back", "go out", "pick up", "prepare", "meet", "unpack", "play", "sing", "rent", "look for",
    "explain", "show", "send", "bring", "read out", "talk to", "answer", "listen to", "run", "order", "carry",
]  # fmt: skip


def although(draw: Draw, name: str) -> Draft:
    """Although he was tired, he read the book. / Obwohl er müde war, hat er das Buch gelesen."""
    subject = person(draw)
    verb = _act(draw)
    early = draw.chance(0.5)
    opening = again(draw, subject) if early else subject
    conjunction = Fixed(draw.key(), "although", "obwohl")
    main = draw.event(verb, "past", subject=opening, bare=True)
    hindrance = _hindrance(draw, subject, verb)
    if early and isinstance(hindrance.subject, Pronoun) and type(hindrance.subject) is Pronoun:
        hindrance.subject = subject
    elif early:
        main.subject = subject
    return joined(draw, name, main, conjunction, _second(hindrance), first="second" if early else "main")


def condition(draw: Draw, name: str) -> Draft:
    """If it rains, we can stay at home. / Wenn es regnet, können wir zu Hause bleiben."""
    subject, verb = person(draw), _act(draw)
    modal = MODALS[draw.one(("can", "will", "want to", "should", "must"))]
    early = draw.chance(0.6)
    pronoun = again(draw, subject)
    clause = _means(draw, subject if early else pronoun, verb)
    if clause.subject is subject:
        subject = pronoun
    main = draw.event(_suiting(draw, clause, verb), "present", subject=subject, modal=modal, bare=True)
    _retire(draw, main, clause)
    conjunction = Fixed(draw.key(), "if", "wenn")
    return joined(draw, name, main, conjunction, _second(clause), first="second" if early else "main")


def _means(draw: Draw, subject: Nominal, act: Verb) -> Clause:
    """What an act depends on: time or money, the weather, the state of the person."""
    kind = draw.number(0, 2)
    if kind == 0 and act.name in _OUTDOORS:
        return weather(draw, "present", bad=draw.chance(0.3))
    if kind < 2:
        return having(draw, subject, "present", act, "none")
    return state(draw, subject, tuple(_ACTS), "present")


def _suiting(draw: Draw, clause: Clause, verb: Verb) -> Verb:
    """The verb of the act, or one that fits the state in `clause`."""
    if clause.verb.name != "be" or not isinstance(clause.complement, Fixed):
        return verb
    acts = _ACTS.get((clause.complement.source, clause.complement.target))
    return VERBS[draw.one(acts)] if acts else verb


def _retire(draw: Draw, main: Clause, clause: Clause) -> None:
    """People who are tired or ill go home or stay there."""
    if clause.verb.name != "be" or main.verb.name not in ("go", "stay") or type(clause.subject) is Weather:
        return
    draw.forget_pairs()
    staying = main.verb.name == "stay"
    key = draw.key()
    main.complement = Fixed(key, "at home", "zu Hause") if staying else Fixed(key, "home", "nach Hause")


def but(draw: Draw, name: str) -> Draft:
    """She was tired, but she read the book. / Sie war müde, aber sie hat das Buch gelesen."""
    subject, verb = person(draw), _act(draw)
    first = _second(_hindrance(draw, subject, verb))
    pronoun = type(first.subject) is Pronoun
    event = draw.event(verb, "past", subject=again(draw, subject) if pronoun else subject, bare=True)
    if pronoun:
        first.subject = subject
    comma, word = [Token(",", (_COMMA,))], Fixed(draw.key(), "but", "aber")
    source = [*first.english(), *comma, *word.english(), *event.english()]
    meaning = Joined(first, word, event)
    render = lambda c: [*first.german(c), *comma, *word.german(c), *event.german(c)]  # noqa: E731
    return draft(draw, name, source, render, meaning=meaning)


def whenever(draw: Draw, name: str) -> Draft:
    """I always drink tea when I am ill. / Ich trinke immer Tee, wenn ich krank bin."""
    subject, verb = person(draw), _act(draw)
    clause = _means(draw, again(draw, subject), verb)
    main = draw.event(_suiting(draw, clause, verb), "present", subject=subject, bare=True)
    _retire(draw, main, clause)
    main.tense, main.time, main.place, main.frequency = "present", None, None, habit(draw)
    draw.generic(main)
    return joined(draw, name, main, Fixed(draw.key(), "when", "wenn"), _second(clause))


def habit(draw: Draw) -> Fixed:
    """always, often, sometimes"""
    word = draw.one((("always", "immer"), ("often", "oft"), ("sometimes", "manchmal")))
    draw.lemmas.append(word[0])
    return Fixed(draw.key(), *word)


def childhood(draw: Draw, name: str) -> Draft:
    """When I was young, I often visited my aunt. / Als ich jung war, habe ich oft meine Tante besucht."""
    subject = person(draw)
    verb = draw.one(_CHILDHOOD)
    main = draw.event(VERBS[verb], "past", subject=again(draw, subject), bare=True)
    main.place, main.frequency = None, habit(draw)
    draw.generic(main)
    draw.lemmas += ["young", "be"]
    clause = Clause(subject, VERBS["be"], "past", complement=Fixed(draw.key(), "young", "jung"))
    return joined(draw, name, main, Fixed(draw.key(), "when", "als"), _second(clause), first="second")


_CHILDHOOD = [
    "eat", "drink", "read", "write", "sing", "draw", "visit", "help", "feed", "cook", "bake", "dance",
    "swim", "work", "play", "wear", "travel", "cry", "laugh", "photograph", "clean", "carry",
]  # fmt: skip


def that(draw: Draw, name: str) -> Draft:
    """I know that she ate the apple. / Ich weiß, dass sie den Apfel gegessen hat."""
    subject = draw.subject(_PEOPLE)
    verb = VERBS[draw.one(("know#fact", "believe", "hope", "say", "think"))]
    tense = "past" if draw.chance(0.5) or (verb.name == "hope" and draw.chance(0.3)) else "present"
    draw.lemmas.append(verb.name)
    main = Clause(subject, verb, "past" if tense == "past" and verb.name == "say" and draw.chance(0.5) else "present")
    event = _happening(draw, tense, _reported(draw, subject), constrained=verb.name == "hope")
    return joined(draw, name, main, Fixed(draw.key(), "that", "dass"), event)


def _reported(draw: Draw, subject: Nominal) -> Nominal | None:
    clear = isinstance(subject, Pronoun | Name)
    return again(draw, subject) if clear and draw.chance(0.25) else None


def whether(draw: Draw, name: str) -> Draft:
    """I do not know whether he is sleeping. / Ich weiß nicht, ob er schläft."""
    main = _not_knowing(draw)
    tense = "past" if draw.chance(0.5) else "present"
    return joined(draw, name, main, Fixed(draw.key(), "whether", "ob"), _happening(draw, tense))


def _not_knowing(draw: Draw) -> Clause:
    draw.lemmas.append("know")
    if draw.chance(0.35):
        return Clause(Pronoun(draw.key(), 1), VERBS["know#fact"], asked=True)
    return Clause(draw.subject(_PEOPLE), VERBS["know#fact"], negated=True, contracted=draw.chance(0.3))


def indirect(draw: Draw, name: str) -> Draft:
    """Do you know when the train arrived? / Weißt du, wann der Zug angekommen ist?"""
    main = _not_knowing(draw)
    word, german = draw.one((("when", "wann"), ("why", "warum"), ("where", "wo")))
    verb = located_verb(draw) if word == "where" else draw.verb()
    while "timeless" in verb.flags:
        verb = draw.verb()
    tense = "past" if draw.chance(0.6) or verb.flags & {"point", "state"} or word == "where" else "present"
    event = draw.event(verb, tense, bare=True)
    event.place = event.time = None
    event.question, event.question_part = Fixed(draw.key(), word, german), word
    return joined(draw, name, main, None, _second(event))


# "it": what the reason is about decides what the pronoun refers to.
_REASONS = {
    "eat": (False, "tasty fresh"),
    "buy": (False, "cheap beautiful"),
    "sell": (False, "old small"),
    "read": (False, "interesting exciting short"),
    "throw away": (False, "old dirty"),
    "clean": (False, "dirty"),
    "wash": (False, "dirty"),
    "cross": (True, "too_wide too_long too_loud"),
    "carry": (True, "too_heavy"),
    "rent": (True, "too_expensive too_small"),
    "understand": (True, "too_difficult too_long"),
    "wear": (True, "too_short too_long dirty"),
    "drink": (True, "too_cold too_hot"),
    "translate": (True, "too_long too_difficult"),
    "need": (True, "too_old"),
}
_CROSSERS = tuple(noun for noun in NOUNS.values() if "animal" in noun.kinds)
_FITS = {
    "too_wide": "street road river square", "too_long": "bridge letter book story article dress coat skirt poem novel",
    "too_loud": "street road", "too_heavy": "suitcase box bag basket", "too_expensive": "flat house car boat room",
    "too_small": "flat house room boat", "too_difficult": "book text poem article sentence letter question",
    "too_short": "dress coat skirt", "dirty": "window bathroom kitchen shirt dress coat jacket skirt car dog",
    "too_cold": "coffee tea water milk juice", "too_hot": "coffee tea milk",
    "too_old": "bicycle camera umbrella coat jacket car", "tasty": "cake pizza soup bread cheese apple pear banana "
    "orange strawberry biscuit sausage fish meat chocolate salad", "fresh": "bread cake apple pear strawberry fish "
    "egg tomato salad", "cheap": "car bicycle dress coat jacket hat bag camera table bed lamp ring sofa shirt",
    "beautiful": "dress coat hat ring scarf lamp skirt suit", "old": "car bicycle sofa bed table computer jacket "
    "newspaper magazine box hat shirt house radio", "small": "car bed table house cupboard",
    "interesting": "book letter newspaper article story novel magazine", "exciting": "book novel story",
    "short": "article poem story letter",
}  # fmt: skip


def _reason(draw: Draw, verb: Verb) -> tuple[str, tuple]:
    """An adjective that explains the act, and the objects of the verb that it fits."""
    while True:
        reason = draw.one(_REASONS[verb.name][1].split())
        nouns = tuple(noun for noun in verb.objects if noun.english in _FITS[reason].split())
        if nouns:
            return reason, nouns


def pronoun_reason(draw: Draw, name: str) -> Draft:
    """He ate the apple because it was tasty. / Er hat den Apfel gegessen, weil er lecker war."""
    if draw.chance(0.45):
        return _crossing(draw, name)
    verb = VERBS[draw.one(tuple(_REASONS))]
    negated, _ = _REASONS[verb.name]
    reason, nouns = _reason(draw, verb)
    subject = draw.subject(_PEOPLE)
    noun = draw.fresh(nouns)
    draw.pairs.append((verb.name, noun.english))
    thing = NounPhrase(draw.key(), noun, draw.one(("the", "the", "this")), not noun.mass and draw.chance(0.25))
    draw.lemmas.append(verb.name)
    main = Clause(subject, verb, "past", accusative=thing, negated=negated, contracted=draw.chance(0.3))
    return _explained(draw, name, main, thing, reason)


def _explained(draw: Draw, name: str, main: Clause, what: NounPhrase, reason: str) -> Draft:
    english = reason.replace("too_", "")
    words = {a.english: a.german for a in ADJECTIVES.values()}
    draw.lemmas += [english, "be"]
    too = "too " if reason.startswith("too_") else ""
    complement = Fixed(draw.key(), too + english, ("zu " if too else "") + words[english])
    pronoun = Referring(draw.key(), 5 if what.plural else 2, antecedent=what)
    clause = Clause(pronoun, VERBS["be"], "past", complement=complement)
    return joined(draw, name, main, Fixed(draw.key(), "because", "weil"), _second(clause))


def _crossing(draw: Draw, name: str) -> Draft:
    """The animal did not cross the street because it was too tired, or too wide."""
    verb = VERBS["cross"]
    animal = NounPhrase(draw.key(), draw.fresh(_CROSSERS), draw.one(("the", "the", "this", "a")))
    noun = draw.fresh(verb.objects)
    draw.lemmas.append("cross")
    draw.pairs.append(("cross", noun.english))
    way = NounPhrase(draw.key(), noun, "the")
    main = Clause(animal, verb, "past", accusative=way, negated=True, contracted=draw.chance(0.5))
    too = draw.one(("", "too_"))
    if draw.chance(0.5):
        return _explained(draw, name, main, animal, too + draw.one(("tired", "old", "ill", "hungry", "young")))
    if animal.determiner == "a":
        animal.determiner = "the"
    fits = {"street": "wide loud dirty", "road": "wide loud dirty", "bridge": "long high",
            "river": "wide deep cold", "square": "wide loud"}  # fmt: skip
    return _explained(draw, name, main, way, too + draw.one(fits[noun.english].split()))
