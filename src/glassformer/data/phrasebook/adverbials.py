"""Adverbs, times, places, prepositions and names of the phrasebook."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Adverb:
    """An adverbial of fixed wording. `times` lists the tenses it goes with: past, now, future."""

    english: str
    german: str
    times: frozenset[str]
    variants: tuple[str, ...] = ()


def _adverbs(table: str) -> tuple[Adverb, ...]:
    entries = []
    for line in table.strip().splitlines():
        english, german, times = (part.strip() for part in line.split("|"))
        first, *others = (part.strip() for part in german.split("/"))
        entries.append(Adverb(english, first, frozenset(times.split()), tuple(others)))
    return tuple(entries)


TIMES = _adverbs("""
yesterday | gestern | past
yesterday evening | gestern Abend | past
this morning | heute Morgen | past
last week | letzte Woche | past
last year | letztes Jahr | past
two days ago | vor:3 zwei:1 Tagen:2 | past
three weeks ago | vor:3 drei:1 Wochen:2 | past
an hour ago | vor:3 einer:1 Stunde:2 | past
today | heute | past now future
now | jetzt | now
right now | gerade | now
tomorrow | morgen | future
tomorrow evening | morgen Abend | future
this evening | heute Abend | now future
next week | nächste Woche | future
next year | nächstes Jahr | future
soon | bald | future
on Monday | am Montag | past future
on Tuesday | am Dienstag | past future
on Wednesday | am Mittwoch | past future
on Thursday | am Donnerstag | past future
on Friday | am Freitag | past future
on Saturday | am Samstag | past future
on Sunday | am Sonntag | past future
at the weekend | am:12 Wochenende:3 | past future
""")
HABITS = _adverbs("""
every day | jeden Tag | habit
every morning | jeden Morgen | habit
every evening | jeden Abend | habit
every week | jede Woche | habit
every year | jedes Jahr | habit
""")
FREQUENCIES = _adverbs("""
often | oft | habit
always | immer | habit
sometimes | manchmal | habit
usually | normalerweise | habit
never | nie | habit
rarely | selten | habit
""")
MONTHS = dict(
    zip(
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        strict=True,
    )
)
WOMEN = ["Anna", "Maria", "Julia", "Laura", "Emma", "Sophie"]
MEN = ["Paul", "Peter", "Thomas", "Max", "Felix", "Martin"]
SURNAMES = ["Schmidt", "Weber", "Fischer", "Becker", "Wagner", "Koch"]
TOWNS = {
    "Berlin": "Berlin",
    "Vienna": "Wien",
    "Munich": "München",
    "Cologne": "Köln",
    "London": "London",
    "Paris": "Paris",
}

# Noun: English preposition of place, its German one; English preposition of direction, its German ones, best first.
PLACES: dict[str, tuple[str, str, str, str]] = {
    name.replace("_", " "): (place, german_place, goal, german_goal)
    for names, place, german_place, goal, german_goal in (
        ("cinema theatre museum restaurant hotel library church", "in", "in", "to", "in"),
        ("park garden city village forest hospital office", "in", "in", "to", "in"),
        ("school", "at", "in", "to", "in zu"),
        ("kitchen bathroom bedroom room flat house castle cupboard bag basket", "in", "in", "into", "in"),
        ("shop", "in", "in", "to", "in zu"),
        ("bank", "in", "in", "to", "zu"),
        ("station airport", "at", "an", "to", "zu"),
        ("bridge", "on", "auf", "to", "zu"),
        ("beach", "on", "an", "to", "an zu"),
        ("lake", "at", "an", "to", "an zu"),
        ("market", "at", "auf", "to", "auf zu"),
        ("island sofa chair", "on", "auf", "to", "auf"),
        ("square", "on", "an", "to", "auf"),
        ("table window door gate", "at", "an", "to", "an"),
        ("bed street tree", "in", "in", "to", "in"),
        ("river_bank", "on", "an", "to", "an"),
    )
    for name in names.split()
}
PREPOSITIONS = {  # two-way: the dative for a place, the accusative for a direction
    "on": "auf",
    "under": "unter",
    "behind": "hinter",
    "next to": "neben",
    "in front of": "vor",
}
