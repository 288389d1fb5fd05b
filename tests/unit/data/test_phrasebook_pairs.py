"""Pairs of sentences checked by hand, with their alignments: clauses built from parts, no random numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from glassformer.data.phrasebook.adjectives import ADJECTIVES
from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import PREPOSITION, Clause
from glassformer.data.phrasebook.nominal import Fixed, Name, Nominal, NounPhrase, Prepositional, Pronoun, Referring
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.phrase import Draft, Phrase, Vocative
from glassformer.data.phrasebook.verbs import MODALS, VERBS

SECOND = -10  # the second clause's keys


def np(key: int, text: str) -> NounPhrase:
    """ "the|red|apple", "the|apple+" (plural), "3|apple+", "0|brother" (my), "none|milk"."""
    determiner, *middle, noun = text.split("|")
    plural = noun.endswith("+")
    adjective = ADJECTIVES[middle[0]] if middle else None
    number = int(determiner[1:]) if determiner.startswith("#") else 0
    return NounPhrase(key, NOUNS[noun.rstrip("+")], "number" if number else determiner, plural, adjective, number)


def i() -> Pronoun:
    return Pronoun(100, 0)


def you(key: int = 100) -> Pronoun:
    return Pronoun(key, 1)


def he(key: int = 100) -> Pronoun:
    return Pronoun(key, 2, "m")


def she(key: int = 100) -> Pronoun:
    return Pronoun(key, 2, "f")


def they() -> Pronoun:
    return Pronoun(100, 5)


def clause(subject: Nominal, verb: str, tense: str = "present", **parts: object) -> Clause:
    modal = MODALS[str(parts.pop("modal"))] if "modal" in parts else None
    return Clause(subject, VERBS[verb], tense, modal, **parts)  # type: ignore[arg-type]


def at(english: str, german: str, case: str, inner: Nominal, key: int = 300) -> Prepositional:
    return Prepositional(key, english, tuple(german.split()), case, inner)


def fixed(english: str, german: str, key: int = 400) -> Fixed:
    return Fixed(key, english, german)


def draft(source: list[Token], render: Callable[[Choices], list[Token]], mark: str, called: Vocative | None) -> Phrase:
    return Draft(source, render, "test", (), (), mark, called).phrase()


def say(part: Clause, called: Vocative | None = None) -> Phrase:
    return draft(part.english(), part.german, ".", called)


def ask(part: Clause, called: Vocative | None = None) -> Phrase:
    part.asked = True
    return draft(part.english(), lambda c: part.german(c, "question"), "?", called)


def command(part: Clause, called: Vocative | None = None) -> Phrase:
    please = part.frequency.english() if part.frequency else []
    source = please + part.english(imperative=True)
    return draft(source, lambda c: part.german(c, "imperative"), "!", called)


def joined(main: Clause, word: Fixed, second: Clause, *, first: bool = False) -> Phrase:
    second.shift = SECOND
    comma = [Token(",", (500,))]
    if first:
        source = word.english() + second.english() + comma + main.english()
        return draft(
            source,
            lambda c: [*word.german(c), *second.german(c, "last"), *comma, *main.german(c, "inverted")],
            ".",
            None,
        )
    source = main.english() + word.english() + second.english()
    return draft(
        source,
        lambda c: [*main.german(c), Token(","), *word.german(c), *second.german(c, "last")],
        ".",
        None,
    )


TODAY, YESTERDAY, OFTEN = ("today", "heute"), ("yesterday", "gestern"), ("often", "oft")
BECAUSE, THAT, IF, WHETHER, ALTHOUGH = (
    ("because", "weil"), ("that", "dass"), ("if", "wenn"), ("whether", "ob"), ("although", "obwohl"),
)  # fmt: skip
HERR_KOCH = Vocative(("Mr", "Koch"), ("Herr", "Koch"), 2)
KINDER = Vocative(("children",), ("Kinder",), 1)
ANNA = Vocative(("Anna",), ("Anna",), 0)


def _past_negated() -> Clause:
    return clause(np(10, "the|animal"), "cross", "past", accusative=np(20, "the|street"), negated=True, contracted=True)


def _it(antecedent: NounPhrase, adjective: str, german: str) -> Clause:
    pronoun = Referring(200, 2, antecedent=antecedent)
    return clause(pronoun, "be", "past", complement=fixed(f"too {adjective}", f"zu {german}", 210))


def _waiting(tense: str, **parts: object) -> Clause:
    inner = np(20, "the|bus")
    return clause(i(), "wait for", tense, complement=at("", "auf", "acc", inner, PREPOSITION), **parts)


# What was said, English, German, sure links as pairs of positions.
CASES: list[tuple[Callable[[], Phrase], str, str, str]] = [
    (
        lambda: say(clause(i(), "eat", "past", accusative=np(20, "a|apple"))),
        "I ate an apple.",
        "Ich habe einen Apfel gegessen.",
        "0-0 1-1 1-4 2-2 3-3 4-5",
    ),
    (
        lambda: say(clause(she(), "read", "progressive", accusative=np(20, "the|interesting|book"))),
        "She is reading the interesting book.",
        "Sie liest das interessante Buch.",
        "0-0 2-1 3-2 4-3 5-4 6-5",
    ),
    (
        lambda: say(clause(he(), "eat", frequency=fixed(*OFTEN), accusative=np(20, "none|fresh|bread"))),
        "He often eats fresh bread.",
        "Er isst oft frisches Brot.",
        "0-0 1-2 2-1 3-3 4-4 5-5",
    ),
    (
        lambda: say(clause(np(10, "the|old|man"), "buy", "past", accusative=np(20, "a|red|car"))),
        "The old man bought a red car.",
        "Der alte Mann hat ein rotes Auto gekauft.",
        "0-0 1-1 2-2 3-3 3-7 4-4 5-5 6-6 7-8",
    ),
    (
        lambda: say(clause(np(10, "the|boy"), "see", "past", accusative=np(20, "the|lion"))),
        "The boy saw the lion.",
        "Der Junge hat den Löwen gesehen.",
        "0-0 1-1 2-2 2-5 3-3 4-4 5-6",
    ),
    (
        lambda: say(clause(np(10, "the|dog"), "follow", "past", dative=np(20, "the|boy"))),
        "The dog followed the boy.",
        "Der Hund ist dem Jungen gefolgt.",
        "0-0 1-1 2-2 2-5 3-3 4-4 5-6",
    ),
    (
        lambda: say(clause(i(), "help", dative=np(20, "0|neighbour"), time=fixed(*TODAY))),
        "I help my neighbour today.",
        "Ich helfe heute meinem Nachbarn.",
        "0-0 1-1 2-3 3-4 4-2 5-5",
    ),
    (
        lambda: say(clause(they(), "thank", "past", dative=np(20, "the|child+"))),
        "They thanked the children.",
        "Sie haben den Kindern gedankt.",
        "0-0 1-1 1-4 2-2 3-3 4-5",
    ),
    (
        lambda: say(clause(she(), "give", "past", dative=np(20, "the|child"), accusative=np(30, "a|small|present"))),
        "She gave the child a small present.",
        "Sie hat dem Kind ein kleines Geschenk gegeben.",
        "0-0 1-1 1-7 2-2 3-3 4-4 5-5 6-6 7-8",
    ),
    (
        lambda: say(
            clause(he(), "explain", "progressive", dative=np(20, "3|guest+"), accusative=np(30, "the|problem"))
        ),
        "He is explaining the problem to our guests.",
        "Er erklärt unseren Gästen das Problem.",
        "0-0 2-1 3-4 4-5 6-2 7-3 8-6",
    ),
    (
        lambda: say(clause(np(10, "0|mother"), "recommend", "past", dative=i(), accusative=np(30, "this|hotel"))),
        "My mother recommended this hotel to me.",
        "Meine Mutter hat mir dieses Hotel empfohlen.",
        "0-0 1-1 2-2 2-6 3-4 4-5 6-3 7-7",
    ),
    (
        lambda: say(clause(i(), "call", "progressive", accusative=np(20, "0|brother"))),
        "I am calling my brother.",
        "Ich rufe meinen Bruder an.",
        "0-0 2-1 2-4 3-2 4-3 5-5",
    ),
    (
        lambda: say(clause(i(), "call", "past", accusative=he(20), time=fixed(*YESTERDAY))),
        "I called him yesterday.",
        "Ich habe ihn gestern angerufen.",
        "0-0 1-1 1-4 2-2 3-3 4-5",
    ),
    (
        lambda: say(clause(she(), "pick up", "past", accusative=Pronoun(20, 3))),
        "She picked us up.",
        "Sie hat uns abgeholt.",
        "0-0 1-1 1-3 2-2 3-3 4-4",
    ),
    (
        lambda: say(clause(he(), "turn off", modal="must", accusative=np(20, "the|radio"))),
        "He must turn off the radio.",
        "Er muss das Radio ausschalten.",
        "0-0 1-1 2-4 3-4 4-2 5-3 6-5",
    ),
    (
        lambda: say(clause(she(), "get up", "perfect", frequency=fixed("already", "schon"))),
        "She has already got up.",
        "Sie ist schon aufgestanden.",
        "0-0 1-1 2-2 3-3 4-3 5-4",
    ),
    (
        lambda: say(
            clause(Name(10, "Anna", "f"), "travel", "past", complement=at("to", "in", "acc", np(20, "the|city")))
        ),
        "Anna travelled to the city.",
        "Anna ist in die Stadt gefahren.",
        "0-0 1-1 1-5 2-2 3-3 4-4 5-6",
    ),
    (
        lambda: say(clause(i(), "go", "progressive", complement=at("to", "zu", "acc", np(20, "the|station")))),
        "I am going to the station.",
        "Ich gehe zum Bahnhof.",
        "0-0 2-1 3-2 4-2 5-3 6-4",
    ),
    (
        lambda: say(
            clause(
                i(), "go", "progressive", complement=at("to", "in", "acc", np(20, "the|cinema")), fronted=fixed(*TODAY)
            )
        ),
        "Today I am going to the cinema.",
        "Heute gehe ich ins Kino.",
        "0-0 1-2 3-1 4-3 5-3 6-4 7-5",
    ),
    (
        lambda: say(clause(they(), "live", complement=at("in", "in", "dat", np(20, "a|small|house")))),
        "They live in a small house.",
        "Sie wohnen in einem kleinen Haus.",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6",
    ),
    (
        lambda: say(clause(he(), "sit", "progressive", complement=at("in", "in", "dat", np(20, "the|garden")))),
        "He is sitting in the garden.",
        "Er sitzt im Garten.",
        "0-0 2-1 3-2 4-2 5-3 6-4",
    ),
    (
        lambda: say(clause(i(), "go", "past", complement=fixed("home", "nach Hause"))),
        "I went home.",
        "Ich bin nach Hause gegangen.",
        "0-0 1-1 1-4 2-2 2-3 3-5",
    ),
    (
        lambda: say(
            clause(i(), "stay", "past", complement=fixed("at home", "zu Hause"), time=fixed(*YESTERDAY, key=420))
        ),
        "I stayed at home yesterday.",
        "Ich bin gestern zu Hause geblieben.",
        "0-0 1-1 1-5 2-3 3-4 4-2 5-6",
    ),
    (
        lambda: say(_waiting("progressive")),
        "I am waiting for the bus.",
        "Ich warte auf den Bus.",
        "0-0 2-1 3-2 4-3 5-4 6-5",
    ),
    (
        lambda: say(_waiting("past", negated=True)),
        "I did not wait for the bus.",
        "Ich habe nicht auf den Bus gewartet.",
        "0-0 2-2 3-6 4-3 5-4 6-5 7-7",
    ),
    (
        lambda: say(
            clause(she(), "talk to", "past", complement=at("", "mit", "dat", np(20, "2f|student"), PREPOSITION))
        ),
        "She talked to her student.",
        "Sie hat mit ihrem Studenten gesprochen.",
        "0-0 1-1 1-5 2-2 3-3 4-4 5-6",
    ),
    (
        lambda: say(clause(i(), "dream of", "past", complement=at("", "von", "dat", np(20, "the|horse"), PREPOSITION))),
        "I dreamt of the horse.",
        "Ich habe vom Pferd geträumt.",
        "0-0 1-1 1-4 2-2 3-2 4-3 5-5",
    ),
    (
        lambda: say(clause(i(), "play", modal="can", negated=True, accusative=np(20, "this|game"))),
        "I cannot play this game.",
        "Ich kann dieses Spiel nicht spielen.",
        "0-0 1-1 1-4 2-5 3-2 4-3 5-6",
    ),
    (
        lambda: say(clause(you(), "open", modal="must not", negated=True, accusative=np(20, "the|window"))),
        "You must not open the window.",
        "Du darfst das Fenster nicht öffnen.",
        "0-0 1-1 2-4 3-5 4-2 5-3 6-6",
    ),
    (
        lambda: say(clause(she(), "work", modal="have to", negated=True)),
        "She does not have to work.",
        "Sie muss nicht arbeiten.",
        "0-0 2-2 3-1 5-3 6-4",
    ),
    (
        lambda: say(clause(he(), "sleep", "past", modal="want to")),
        "He wanted to sleep.",
        "Er wollte schlafen.",
        "0-0 1-1 3-2 4-3",
    ),
    (
        lambda: say(clause(np(10, "the|child+"), "dance", "past", modal="be allowed to")),
        "The children were allowed to dance.",
        "Die Kinder durften tanzen.",
        "0-0 1-1 3-2 5-3 6-4",
    ),
    (
        lambda: say(clause(i(), "visit", modal="would like to", accusative=np(20, "the|museum"))),
        "I would like to visit the museum.",
        "Ich möchte das Museum besuchen.",
        "0-0 1-1 2-1 4-4 5-2 6-3 7-5",
    ),
    (
        lambda: say(clause(you(), "sleep", modal="should")),
        "You should sleep.",
        "Du solltest schlafen.",
        "0-0 1-1 2-2 3-3",
    ),
    (
        lambda: say(clause(they(), "invite", modal="will", accusative=np(20, "3|friend+"))),
        "They will invite our friends.",
        "Sie werden unsere Freunde einladen.",
        "0-0 1-1 2-4 3-2 4-3 5-5",
    ),
    (
        lambda: say(clause(he(), "eat", "past", negated=True, accusative=np(20, "a|apple"))),
        "He did not eat an apple.",
        "Er hat keinen Apfel gegessen.",
        "0-0 2-2 3-4 4-2 5-3 6-5",
    ),
    (
        lambda: say(clause(i(), "drink", negated=True, accusative=np(20, "none|milk"))),
        "I do not drink milk.",
        "Ich trinke keine Milch.",
        "0-0 2-2 3-1 4-3 5-4",
    ),
    (
        lambda: say(clause(she(), "buy", "past", negated=True, contracted=True, accusative=np(20, "the|dress"))),
        "She didn't buy the dress.",
        "Sie hat das Kleid nicht gekauft.",
        "0-0 1-4 2-5 3-2 4-3 5-6",
    ),
    (
        lambda: say(clause(he(), "feed", "progressive", negated=True, accusative=np(20, "none|animal+"))),
        "He is not feeding animals.",
        "Er füttert keine Tiere.",
        "0-0 2-2 3-1 4-3 5-4",
    ),
    (
        lambda: say(clause(i(), "have", accusative=np(20, "no|time"))),
        "I have no time.",
        "Ich habe keine Zeit.",
        "0-0 1-1 2-2 3-3 4-4",
    ),
    (
        lambda: say(clause(they(), "have", "past", accusative=np(20, "#3|cat+"))),
        "They had three cats.",
        "Sie hatten drei Katzen.",
        "0-0 1-1 2-2 3-3 4-4",
    ),
    (
        lambda: say(clause(np(10, "the|soup"), "be", complement=fixed("hot", "heiß"))),
        "The soup is hot.",
        "Die Suppe ist heiß.",
        "0-0 1-1 2-2 3-3 4-4",
    ),
    (
        lambda: say(
            clause(
                np(10, "the|film+"),
                "be",
                "past",
                negated=True,
                contracted=True,
                complement=fixed("very good", "sehr gut"),
            )
        ),
        "The films weren't very good.",
        "Die Filme waren nicht sehr gut.",
        "0-0 1-1 2-2 2-3 3-4 4-5 5-6",
    ),
    (
        lambda: say(clause(np(10, "this|car"), "belong to", dative=np(20, "0|brother"))),
        "This car belongs to my brother.",
        "Dieses Auto gehört meinem Bruder.",
        "0-0 1-1 2-2 3-2 4-3 5-4 6-5",
    ),
    (
        lambda: say(
            clause(
                np(10, "the|bottle"),
                "stand#thing",
                "progressive",
                complement=at("on", "auf", "dat", np(20, "the|table")),
            )
        ),
        "The bottle is standing on the table.",
        "Die Flasche steht auf dem Tisch.",
        "0-0 1-1 3-2 4-3 5-4 6-5 7-6",
    ),
    (
        lambda: say(
            clause(
                she(),
                "put#standing",
                "past",
                accusative=np(20, "the|bottle"),
                complement=at("on", "auf", "acc", np(30, "the|table")),
            )
        ),
        "She put the bottle on the table.",
        "Sie hat die Flasche auf den Tisch gestellt.",
        "0-0 1-1 1-7 2-2 3-3 4-4 5-5 6-6 7-8",
    ),
    (
        lambda: say(
            clause(
                she(),
                "put#lying",
                "past",
                accusative=np(20, "the|book"),
                complement=at("next to", "neben", "acc", np(30, "the|lamp")),
            )
        ),
        "She put the book next to the lamp.",
        "Sie hat das Buch neben die Lampe gelegt.",
        "0-0 1-1 1-7 2-2 3-3 4-4 5-4 6-5 7-6 8-8",
    ),
    (
        lambda: say(clause(Pronoun(100, 3), "eat", "past", accusative=np(20, "the|cake"), fronted=fixed(*YESTERDAY))),
        "Yesterday we ate the cake.",
        "Gestern haben wir den Kuchen gegessen.",
        "0-0 1-2 2-1 2-5 3-3 4-4 5-6",
    ),
    (
        lambda: say(
            clause(
                np(10, "the|gentleman"),
                "thank",
                "past",
                dative=np(20, "the|gentleman"),
                time=fixed("two days ago", "vor:3 zwei:1 Tagen:2"),
            )
        ),
        "The gentleman thanked the gentleman two days ago.",
        "Der Herr hat vor zwei Tagen dem Herrn gedankt.",
        "0-0 1-1 2-2 2-8 3-6 4-7 5-4 6-5 7-3 8-9",
    ),
    (
        lambda: ask(clause(you(), "eat", "past", accusative=np(20, "the|apple"))),
        "Did you eat the apple?",
        "Hast du den Apfel gegessen?",
        "1-1 2-4 3-2 4-3 5-5",
    ),
    (
        lambda: ask(clause(you(), "help", modal="can", dative=Pronoun(20, 0)), HERR_KOCH),
        "Can you help me, Mr Koch?",
        "Können Sie mir helfen, Herr Koch?",
        "0-0 1-1 2-3 3-2 4-4 5-5 6-6 7-7",
    ),
    (
        lambda: ask(clause(you(), "come back", "progressive"), KINDER),
        "Are you coming back, children?",
        "Kommt ihr zurück, Kinder?",
        "1-1 2-0 2-2 3-0 3-2 4-3 5-4 6-5",
    ),
    (
        lambda: ask(clause(you(), "forget", "past", accusative=np(20, "1|key")), ANNA),
        "Did you forget your key, Anna?",
        "Hast du deinen Schlüssel vergessen, Anna?",
        "1-1 2-4 3-2 4-3 5-5 6-6 7-7",
    ),
    (
        lambda: ask(clause(np(10, "the|train"), "arrive", "past")),
        "Did the train arrive?",
        "Ist der Zug angekommen?",
        "1-1 2-2 3-3 4-4",
    ),
    (
        lambda: ask(
            clause(
                he(),
                "steal",
                "past",
                accusative=np(20, "the|picture"),
                question=fixed("who", "wer"),
                question_part="subject",
            )
        ),
        "Who stole the picture?",
        "Wer hat das Bild gestohlen?",
        "0-0 1-1 1-4 2-2 3-3 4-5",
    ),
    (
        lambda: ask(clause(you(), "read", "progressive", question=fixed("what", "was"), question_part="accusative")),
        "What are you reading?",
        "Was liest du?",
        "0-0 2-2 3-1 4-3",
    ),
    (
        lambda: ask(clause(she(), "meet", "past", question=fixed("who", "wen"), question_part="accusative")),
        "Who did she meet?",
        "Wen hat sie getroffen?",
        "0-0 2-2 3-3 4-4",
    ),
    (
        lambda: ask(clause(they(), "listen to", "progressive", question=fixed("who", "wem"), question_part="dative")),
        "Who are they listening to?",
        "Wem hören sie zu?",
        "0-0 2-2 3-1 3-3 4-1 4-3 5-4",
    ),
    (
        lambda: ask(clause(you(), "live", question=fixed("where", "wo"), question_part="place")),
        "Where do you live?",
        "Wo wohnst du?",
        "0-0 2-2 3-1 4-3",
    ),
    (
        lambda: ask(clause(he(), "run", "progressive", question=fixed("where", "wohin"), question_part="place")),
        "Where is he running?",
        "Wohin läuft er?",
        "0-0 2-2 3-1 4-3",
    ),
    (
        lambda: ask(clause(np(10, "the|woman"), "cry", "past", question=fixed("why", "warum"), question_part="why")),
        "Why did the woman cry?",
        "Warum hat die Frau geweint?",
        "0-0 2-2 3-3 4-4 5-5",
    ),
    (
        lambda: command(clause(you(), "open", accusative=np(20, "the|door"), frequency=fixed("please", "bitte"))),
        "Please open the door!",
        "Öffne bitte die Tür!",
        "0-1 1-0 2-2 3-3 4-4",
    ),
    (
        lambda: command(clause(you(), "read", accusative=np(20, "this|letter")), KINDER),
        "Read this letter, children!",
        "Lest diesen Brief, Kinder!",
        "0-0 1-1 2-2 3-3 4-4 5-5",
    ),
    (
        lambda: command(clause(you(), "turn on", accusative=np(20, "the|lamp")), HERR_KOCH),
        "Turn on the lamp, Mr Koch!",
        "Schalten Sie die Lampe ein, Herr Koch!",
        "0-0 0-4 1-0 1-4 2-2 3-3 4-5 5-6 6-7 7-8",
    ),
    (
        lambda: joined(
            clause(he(), "eat", "past", accusative=(apple := np(20, "the|apple"))),
            fixed(*BECAUSE),
            clause(Referring(200, 2, antecedent=apple), "be", "past", complement=fixed("tasty", "lecker", 210)),
        ),
        "He ate the apple because it was tasty.",
        "Er hat den Apfel gegessen, weil er lecker war.",
        "0-0 1-1 1-4 2-2 3-3 4-6 5-7 6-9 7-8 8-10",
    ),
    (
        lambda: joined(_past_negated(), fixed(*BECAUSE), _it(np(10, "the|animal"), "tired", "müde")),
        "The animal didn't cross the street because it was too tired.",
        "Das Tier hat die Straße nicht überquert, weil es zu müde war.",
        "0-0 1-1 2-5 3-6 4-3 5-4 6-8 7-9 8-12 9-10 10-11 11-13",
    ),
    (
        lambda: joined(_past_negated(), fixed(*BECAUSE), _it(np(20, "the|street"), "wide", "breit")),
        "The animal didn't cross the street because it was too wide.",
        "Das Tier hat die Straße nicht überquert, weil sie zu breit war.",
        "0-0 1-1 2-5 3-6 4-3 5-4 6-8 7-9 8-12 9-10 10-11 11-13",
    ),
    (
        lambda: joined(
            clause(i(), "know#fact"),
            fixed(*THAT),
            clause(she(200), "call", modal="want to", accusative=np(20, "0|brother")),
        ),
        "I know that she wants to call my brother.",
        "Ich weiß, dass sie meinen Bruder anrufen will.",
        "0-0 1-1 2-3 3-4 4-8 6-7 7-5 8-6 9-9",
    ),
    (
        lambda: joined(clause(i(), "hope"), fixed(*THAT), clause(you(200), "get up", "past")),
        "I hope that you got up.",
        "Ich hoffe, dass du aufgestanden bist.",
        "0-0 1-1 2-3 3-4 4-5 4-6 5-5 6-7",
    ),
    (
        lambda: joined(
            clause(she(), "know#fact", negated=True),
            fixed(*WHETHER),
            clause(he(200), "invite", "progressive", accusative=np(20, "2|aunt")),
        ),
        "She does not know whether he is inviting his aunt.",
        "Sie weiß nicht, ob er seine Tante einlädt.",
        "0-0 2-2 3-1 4-4 5-5 7-8 8-6 9-7 10-9",
    ),
    (
        lambda: joined(
            clause(i(), "visit", modal="will", accusative=you(20)),
            fixed(*IF),
            clause(Pronoun(200, 0), "have", accusative=np(30, "none|time")),
            first=True,
        ),
        "If I have time, I will visit you.",
        "Wenn ich Zeit habe, werde ich dich besuchen.",
        "0-0 1-1 2-3 3-2 4-4 5-6 6-5 7-8 8-7 9-9",
    ),
    (
        lambda: joined(
            clause(he(), "work", "past"),
            fixed(*ALTHOUGH),
            clause(he(200), "be", "past", complement=fixed("ill", "krank", 210)),
            first=True,
        ),
        "Although he was ill, he worked.",
        "Obwohl er krank war, hat er gearbeitet.",
        "0-0 1-1 2-3 3-2 4-4 5-6 6-5 6-7 7-8",
    ),
]


@pytest.mark.parametrize(("make", "english", "german", "sure"), CASES, ids=[case[1] for case in CASES])
def test_pair_and_alignment(make: Callable[[], Phrase], english: str, german: str, sure: str) -> None:
    phrase = make()
    assert phrase.source == english
    assert phrase.references[0] == german
    assert " ".join(f"{i}-{j}" for i, j in sorted(phrase.sure)) == sure
    assert phrase.sure <= phrase.possible


REFERENCES: list[tuple[Callable[[], Phrase], tuple[str, ...]]] = [
    (
        lambda: say(clause(i(), "eat", "past", accusative=np(20, "a|apple"))),
        ("Ich habe einen Apfel gegessen.", "Ich aß einen Apfel."),
    ),
    (
        lambda: ask(clause(you(), "help", modal="can", dative=np(20, "1|son"))),
        ("Kannst du deinem Sohn helfen?", "Könnt ihr eurem Sohn helfen?", "Können Sie Ihrem Sohn helfen?"),
    ),
    (
        lambda: say(clause(he(), "visit", "progressive", accusative=np(20, "2|aunt"), time=fixed(*TODAY))),
        ("Er besucht heute seine Tante.", "Er besucht seine Tante heute."),
    ),
    (
        lambda: say(clause(np(10, "the|teacher"), "sleep", "progressive")),
        ("Der Lehrer schläft.", "Die Lehrerin schläft."),
    ),
    (
        lambda: say(clause(i(), "sing", "past", modal="can", accusative=np(20, "the|song"))),
        ("Ich konnte das Lied singen.", "Ich könnte das Lied singen."),
    ),
    (
        lambda: say(clause(she(), "work", modal="will", time=fixed(*TODAY))),
        ("Sie wird heute arbeiten.", "Sie arbeitet heute."),
    ),
    (
        lambda: say(clause(i(), "see", "past", accusative=he(20), fronted=fixed(*YESTERDAY))),
        ("Gestern habe ich ihn gesehen.", "Gestern sah ich ihn."),
    ),
    (
        lambda: ask(clause(np(10, "the|man"), "ask", "progressive", accusative=he(20))),
        ("Fragt der Mann ihn?", "Fragt ihn der Mann?"),
    ),
    (
        lambda: say(clause(i(), "cut", "past", accusative=np(20, "none|bread"), alone=True)),
        ("Ich habe Brot geschnitten.", "Ich schnitt Brot.", "Ich schneide Brot."),
    ),
    (
        lambda: say(clause(he(), "cut", "past", accusative=np(20, "none|bread"), alone=True)),
        ("Er hat Brot geschnitten.", "Er schnitt Brot."),
    ),
    (  # "Fragt sie die Frau?" would be understood the other way round
        lambda: ask(clause(np(10, "the|woman"), "ask", "progressive", accusative=she(20))),
        ("Fragt die Frau sie?",),
    ),
    (
        lambda: command(clause(you(), "buy", accusative=np(20, "the|bread"))),
        ("Kauf das Brot!", "Kaufe das Brot!", "Kauft das Brot!", "Kaufen Sie das Brot!"),
    ),
]


@pytest.mark.parametrize(("make", "references"), REFERENCES, ids=[case[1][0] for case in REFERENCES])
def test_all_valid_translations_are_listed(make: Callable[[], Phrase], references: tuple[str, ...]) -> None:
    assert make().references == references
