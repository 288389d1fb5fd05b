"""Sentences that the founding documents of the project use as their examples, with translations and links."""

from __future__ import annotations

from glassformer.data.phrasebook.phrase import Phrase

# English / German references / sure links / further possible links / construction / lemmas; links count from 0.
_TABLE = """
I ate an apple. / Ich habe einen Apfel gegessen. = Ich aß einen Apfel. / 0-0 1-1 1-4 2-2 3-3 4-5 / / \
perfect / apple eat
He ate the apple because it was tasty. / Er hat den Apfel gegessen, weil er lecker war. = Er aß den \
Apfel, weil er lecker war. / 0-0 1-1 1-4 2-2 3-3 4-6 5-7 6-9 7-8 8-10 / / it-clause / apple eat tasty be
The animal didn't cross the street because it was too tired. / Das Tier hat die Straße nicht \
überquert, weil es zu müde war. = Das Tier überquerte die Straße nicht, weil es zu müde war. / 0-0 1-1 \
2-5 3-6 4-3 5-4 6-8 7-9 8-12 9-10 10-11 11-13 / 2-2 2-6 3-2 / it-clause / animal street cross tired be
The animal didn't cross the street because it was too wide. / Das Tier hat die Straße nicht überquert, \
weil sie zu breit war. = Das Tier überquerte die Straße nicht, weil sie zu breit war. / 0-0 1-1 2-5 \
3-6 4-3 5-4 6-8 7-9 8-12 9-10 10-11 11-13 / 2-2 2-6 3-2 / it-clause / animal street cross wide be
The chicken didn't cross the road because it was tired. / Das Huhn hat die Straße nicht überquert, \
weil es müde war. = Das Huhn überquerte die Straße nicht, weil es müde war. / 0-0 1-1 2-5 3-6 4-3 5-4 \
6-8 7-9 8-11 9-10 10-12 / 2-2 2-6 3-2 / it-clause / chicken road cross tired be
The chicken didn't cross the road because it was wide. / Das Huhn hat die Straße nicht überquert, weil \
sie breit war. = Das Huhn überquerte die Straße nicht, weil sie breit war. / 0-0 1-1 2-5 3-6 4-3 5-4 \
6-8 7-9 8-11 9-10 10-12 / 2-2 2-6 3-2 / it-clause / chicken road cross wide be
Your cat is a lovely cat. / Deine Katze ist eine liebe Katze. = Eure Katze ist eine liebe Katze. = \
Ihre Katze ist eine liebe Katze. / 0-0 1-1 2-2 3-3 4-4 5-5 6-6 / / predicate-noun / cat \
lovely be
I love food. / Ich liebe Essen. / 0-0 1-1 2-2 3-3 / / fondness / food love
I like eating ice-cream. / Ich esse gern Eis. / 0-0 1-2 2-1 3-3 4-4 / / gern / ice-cream eat like
I love you very much. / Ich liebe dich sehr. = Ich liebe euch sehr. = Ich liebe Sie sehr. / 0-0 1-1 \
2-2 3-3 4-3 5-4 / / fondness / love very much
How are you? / Wie geht es dir? = Wie geht es euch? = Wie geht es Ihnen? = Wie geht's dir? = Wie \
geht's euch? = Wie geht's Ihnen? = Wie geht's? / 0-0 1-1 1-2 2-3 3-4 / / greeting / how be
Thank you. / Danke. = Ich danke dir. = Ich danke euch. = Ich danke Ihnen. / 0-0 1-0 2-1 / / greeting / \
thank
Congratulations! / Herzlichen Glückwunsch! = Glückwunsch! = Gratulation! / 0-0 0-1 1-2 / / greeting / \
congratulations
Nice to meet you. / Schön, dich kennenzulernen. = Schön, euch kennenzulernen. = Schön, Sie \
kennenzulernen. = Freut mich, dich kennenzulernen. = Freut mich, euch kennenzulernen. = Freut mich, \
Sie kennenzulernen. / 0-0 1-3 2-3 3-2 4-4 / / greeting / nice meet
We are friends. / Wir sind Freunde. = Wir sind Freundinnen. / 0-0 1-1 2-2 3-3 / / predicate-noun / \
friend be
The apple is healthy. / Der Apfel ist gesund. / 0-0 1-1 2-2 3-3 4-4 / / predicate / apple healthy be
The apple is better than the orange. / Der Apfel ist besser als die Orange. / 0-0 1-1 2-2 3-3 4-4 5-5 \
6-6 7-7 / / comparison / apple good orange be than
The cake tasted of chocolate. / Der Kuchen hat nach Schokolade geschmeckt. = Der Kuchen schmeckte nach \
Schokolade. / 0-0 1-1 2-2 2-5 3-3 4-4 5-6 / / tasting / cake taste chocolate
The man saw the astronomer with a telescope. / Der Mann hat den Astronomen mit einem Teleskop gesehen. \
= Der Mann hat die Astronomin mit einem Teleskop gesehen. = Der Mann sah den Astronomen mit einem \
Teleskop. = Der Mann sah die Astronomin mit einem Teleskop. / 0-0 1-1 2-2 2-8 3-3 4-4 5-5 6-6 \
7-7 8-9 / / instrument / man see astronomer telescope
The money is in the bank. / Das Geld ist auf der Bank. = Das Geld ist in der Bank. \
/ 0-0 1-1 2-2 3-3 4-4 5-5 6-6 / / whereabouts / money bank be
The boat is on the river bank. / Das Boot ist am Flussufer. \
/ 0-0 1-1 2-2 3-3 4-3 5-4 6-4 7-5 / / whereabouts / boat river bank be
"""


def _links(text: str) -> frozenset[tuple[int, int]]:
    pairs = (pair.split("-") for pair in text.split())
    return frozenset((int(i), int(j)) for i, j in pairs)


def _phrase(line: str) -> Phrase:
    source, targets, sure, further, construction, lemmas = (part.strip() for part in line.split(" /"))
    references = tuple(target.strip() for target in targets.split(" = "))
    certain = _links(sure)
    return Phrase(source, references, certain, certain | _links(further), construction, tuple(lemmas.split()))


def phrases_of(table: str) -> tuple[Phrase, ...]:
    """The phrases of a table in the layout above; the other languages have theirs in the same layout."""
    return tuple(_phrase(line) for line in table.strip().splitlines())


DOCUMENT_SENTENCES: tuple[Phrase, ...] = phrases_of(_TABLE)
DOCUMENT_PAIRS = frozenset(
    (
        ("eat", "apple"),
        ("cross", "street"),
        ("see", "astronomer"),
        ("see", "telescope"),
        ("love", "food"),
        ("eat", "ice-cream"),
    )
)
