"""Greetings, thanks and congratulations: a list of fixed expressions, and some that take a noun phrase.

One line per expression: `English | German [= another wording] | final mark`. A German word may say which English words
it translates (`Guten:1 Morgen:2`). Braces hold what depends on the address: {du|ihr|Sie}. The last mark is that of both
languages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.constructions import draft
from glassformer.data.phrasebook.meaning import Greeted
from glassformer.data.phrasebook.nominal import Fixed, Nominal, NounPhrase, address, linked
from glassformer.data.phrasebook.nouns import nouns_of
from glassformer.data.phrasebook.phrase import Draft
from glassformer.data.phrasebook.sampling import Draw

_TABLE = """
how are you | wie:1 geht:2 es:2 {dir|euch|Ihnen}:3 = wie:1 geht's:2 {dir|euch|Ihnen}:3 = wie:1 geht's:23 | ?
how are you today | wie:1 geht:2 es:2 {dir|euch|Ihnen}:3 heute:4 | ?
how are you now | wie:1 geht:2 es:2 {dir|euch|Ihnen}:3 jetzt:4 | ?
how are you this morning | wie:1 geht:2 es:2 {dir|euch|Ihnen}:3 heute:4 Morgen:5 | ?
how were you yesterday | wie:1 ging:2 es:2 {dir|euch|Ihnen}:3 gestern:4 | ?
who are you | wer:1 {bist|seid|sind}:2 {du|ihr|Sie}:3 | ?
where are you | wo:1 {bist|seid|sind}:2 {du|ihr|Sie}:3 | ?
what is your name | wie:1 {heißt|heißt|heißen}:234 {du|ihr|Sie}:3 | ?
thank you | danke:12 = ich {danke|danke|danke}:1 {dir|euch|Ihnen}:2 | .
thank you very much | vielen:34 Dank:12 = danke:12 sehr:34 | .
yes , thank you | ja:1 , danke:34 | .
no , thank you | nein:1 , danke:34 | .
I am fine , thank you | mir:1 geht:2 es:2 gut:3 , danke:56 | .
thank you for the invitation | danke:12 für:3 die:4 Einladung:5 | .
thank you for your help | danke:12 für:3 {deine|eure|Ihre}:4 Hilfe:5 | .
thank you for everything | danke:12 für:3 alles:4 | .
many thanks | vielen:1 Dank:2 | !
congratulations | herzlichen:1 Glückwunsch:1 = Glückwunsch:1 = Gratulation:1 | !
oh , congratulations | oh:1 , herzlichen:3 Glückwunsch:3 | !
yes , congratulations | ja:1 , herzlichen:3 Glückwunsch:3 | !
congratulations again | nochmals:2 herzlichen:1 Glückwunsch:1 | !
hello , and congratulations | hallo:1 , und:3 herzlichen:4 Glückwunsch:4 | !
thank you , and congratulations | danke:12 , und:4 herzlichen:5 Glückwunsch:5 | !
good morning , and congratulations | guten:1 Morgen:2 , und:4 herzlichen:5 Glückwunsch:5 | !
good evening , and congratulations | guten:1 Abend:2 , und:4 herzlichen:5 Glückwunsch:5 | !
hello , thank you | hallo:1 , danke:34 | .
oh , thank you | oh:1 , danke:34 | .
thank you again | nochmals:3 danke:12 | .
good morning , and thank you | guten:1 Morgen:2 , und:4 danke:56 | .
good evening , and thank you | guten:1 Abend:2 , und:4 danke:56 | .
congratulations on your exam | herzlichen:1 Glückwunsch:1 zu:2 {deiner|eurer|Ihrer}:3 Prüfung:4 | !
congratulations on the new flat | herzlichen:1 Glückwunsch:1 zur:23 neuen:4 Wohnung:5 | !
congratulations from all of us | herzlichen:1 Glückwunsch:1 von:2 uns:5 allen:3 | !
nice to meet you | schön:1 , {dich|euch|Sie}:4 kennenzulernen:23 \
= freut:1 mich , {dich|euch|Sie}:4 kennenzulernen:23 | .
nice to see you | schön:1 , {dich|euch|Sie}:4 zu:2 sehen:3 | .
nice to see you again | schön:1 , {dich|euch|Sie}:4 wieder:5 zu:2 sehen:3 | .
nice to hear from you | schön:1 , von:4 {dir|euch|Ihnen}:5 zu:2 hören:3 | .
nice to meet you today | schön:1 , {dich|euch|Sie}:4 heute:5 kennenzulernen:23 | .
good morning | guten:1 Morgen:2 | !
good evening | guten:1 Abend:2 | !
good night | gute:1 Nacht:2 | !
good luck | viel:1 Glück:2 | !
happy birthday | alles:1 Gute:1 zum:2 Geburtstag:2 | !
welcome | willkommen | !
hello | hallo | !
goodbye | auf:1 Wiedersehen:1 | !
see you tomorrow | bis:12 morgen:3 | !
see you soon | bis:12 bald:3 | !
sleep well | {schlaf|schlaft|schlafen}:1 {||Sie}:1 gut:2 | !
I am sorry | es:1 tut:2 mir:1 leid:3 | .
excuse me | {entschuldige|entschuldigt|entschuldigen}:1 {||Sie}:1 bitte:2 | .
"""
_ADDRESSED = re.compile(r"\{([^|}]*)\|([^|}]*)\|([^|}]*)\}")


@dataclass(slots=True)
class Addressed(Fixed):
    """A fixed expression in which some words depend on how "you" is addressed."""

    def german(self, choices: Choices) -> list[Token]:
        """The wording for du, ihr or Sie."""
        target = self.target
        if self.variants:
            which = choices.pick(f"wording {self.key}", 1 + len(self.variants))
            target = (target, *self.variants)[which]
        if "{" in target:
            to = address(choices)
            target = _ADDRESSED.sub(lambda found: found[to + 1], target)
        return linked(self.key, len(self.source.split()), target)


def _expression(line: str) -> tuple[str, tuple[str, ...], str]:
    english, german, mark = (part.strip() for part in line.split(" | "))
    return english, tuple(wording.strip() for wording in german.split(" = ")), mark


EXPRESSIONS = tuple(_expression(line) for line in _TABLE.strip().splitlines())
_PEOPLE = nouns_of("kin owned doctor teacher")
_GIFTS = nouns_of("gift text toy food clothes lying -story -message -article -poem")
_SHARED = ("the", "the", "this")


def greeting(draw: Draw, name: str) -> Draft:
    """How are you? / Wie geht es dir? Thank you for the book. / Danke für das Buch."""
    kind = draw.number(0, 6)
    if kind == 0:
        return _about(draw, name, "how is", "wie:1 geht:2 es:2", "dat", "?")
    if kind == 1:
        return _thanks(draw, name)
    if kind == 2:
        return _meeting(draw, name)
    if kind == 3 and draw.chance(0.1):
        return _about(draw, name, "congratulations to", "herzlichen:1 Glückwunsch:1 an:2", "acc", "!")
    english, wordings, mark = draw.one(EXPRESSIONS)
    draw.lemmas.append(english)
    said = Addressed(draw.key(), english, wordings[0], wordings[1:])
    return draft(draw, name, said.english(), said.german, mark, Greeted(said), calling=0.5)


def _somebody(draw: Draw) -> Nominal:
    if draw.chance(0.2):
        return draw.name()
    noun = draw.fresh(_PEOPLE)
    return NounPhrase(draw.key(), noun, draw.one(("0", "1", "1", "2", "2f", "3", "5")))


def _about(draw: Draw, name: str, english: str, german: str, case: str, mark: str) -> Draft:
    """How is your mother? / Wie geht es deiner Mutter? Congratulations to Anna! / Herzlichen Glückwunsch an Anna!"""
    who = _somebody(draw)
    opening = Fixed(draw.key(), english, german)
    draw.lemmas.append(english)
    source = [*opening.english(), *who.english()]
    return draft(draw, name, source, lambda c: [*opening.german(c), *who.german(case, c)], mark, Greeted(opening, who))


def _thanks(draw: Draw, name: str) -> Draft:
    """Thank you for the apple. / Danke für den Apfel."""
    noun = draw.fresh(_GIFTS)
    plural = not noun.mass and draw.chance(0.3)
    gift = NounPhrase(draw.key(), noun, draw.one(("the", "the", "this", "1")), plural)
    opening = Fixed(draw.key(), "thank you for", "danke:12 für:3")
    draw.lemmas.append("thank you")
    source = [*opening.english(), *gift.english()]
    meaning = Greeted(opening, gift)
    return draft(draw, name, source, lambda c: [*opening.german(c), *gift.german("acc", c)], meaning=meaning)


def _meeting(draw: Draw, name: str) -> Draft:
    """Nice to meet your mother. / Schön, deine Mutter kennenzulernen."""
    who = _somebody(draw)
    if draw.chance(0.5):
        opening, closing = Fixed(draw.key(), "nice to meet", "schön:1"), "kennenzulernen:23"
    else:
        opening, closing = Fixed(draw.key(), "nice to see", "schön:1"), "zu:2 sehen:3"
    draw.lemmas.append(opening.source)
    end = Fixed(opening.key, opening.source, closing)
    source = [*opening.english(), *who.english()]
    render = lambda c: [*opening.german(c), Token(","), *who.german("acc", c), *end.german(c)]  # noqa: E731
    return draft(draw, name, source, render, meaning=Greeted(opening, who))
