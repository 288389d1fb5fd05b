"""The adjectives of the phrasebook, each with the kinds of things it fits.

One line per adjective: `english comparative | German comparative [stem before an ending] | kinds`.
A dash means "not used as a comparative".
"""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.data.phrasebook.nouns import NOUNS, nouns_of

_TABLE = """
old older | alt älter | kin animal building vehicle furniture clothes text device man woman neighbour \
friend teacher settlement tree image
young younger | jung jünger | kin man woman teacher doctor lady policeman waiter animal
new newer | neu neuer | vehicle furniture clothes device teacher neighbour book flat school colleague \
museum
big bigger | groß größer | animal building settlement furniture tree suitcase box bag garden room \
kitchen park forest lake window
small smaller | klein kleiner | animal building settlement furniture tree child boy girl box garden \
room kitchen present flat dog
beautiful - | schön schöner | clothes flower building settlement nature image woman garden song horse \
park island city
red - | rot - | clothes vehicle apple tomato flower ball bag door cup
blue - | blau - | clothes vehicle ball bag box door cup flower
green - | grün - | clothes vehicle apple bag bottle door pear
black - | schwarz - | clothes vehicle pet horse bag suitcase umbrella
white - | weiß - | clothes house pet horse duck cup plate flower door
expensive more_expensive | teuer teurer teur | clothes vehicle furniture device ring restaurant hotel \
flat camera ticket wine present suitcase
cheap cheaper | billig billiger | clothes vehicle furniture device restaurant hotel ticket wine flat
heavy heavier | schwer schwerer | heavy book table cupboard television
interesting more_interesting | interessant interessanter | text film museum game idea plan language \
question man woman city show
boring more_boring | langweilig langweiliger | text film game museum party concert man
exciting more_exciting | spannend spannender | text film game story
good better | gut besser | food drink -butter text film idea plan restaurant hotel teacher doctor friend wine game \
student song
bad worse | schlecht schlechter | film idea plan restaurant hotel student song joke
funny funnier | lustig lustiger | text film joke song hat man boy girl game picture
long longer | lang länger | text film street bridge dress coat sentence word train knife
short shorter | kurz kürzer | text film street dress sentence word skirt
difficult more_difficult | schwierig schwieriger | question language sentence exam game topic word text
simple simpler | einfach einfacher | question plan sentence language game idea word exam
tasty tastier | lecker leckerer | food juice -butter -rice
healthy healthier | gesund gesünder | fruit salad fish tomato potato soup bread milk tea kin child man \
woman baby animal
lovely lovelier | lieb lieber | pet kin child girl woman friend teacher horse
fresh - | frisch frischer | fruit baked milk butter fish egg salad
hot hotter | heiß heißer | hot potato water milk pizza
cold colder | kalt kälter | drink soup milk room water lake
sweet sweeter | süß süßer | fruit chocolate cake tea juice biscuit wine -tomato
friendly friendlier | freundlich freundlicher | kin person dog
nice nicer | nett netter | kin person -gentleman
clever cleverer | klug klüger | kin person animal
strong stronger | stark stärker | kin man boy horse bear lion elephant policeman coffee
famous more_famous | berühmt berühmter | kin doctor image museum book film astronomer castle king \
queen song novel
rich richer | reich reicher | kin man woman lady gentleman king queen
tired - | müde müder | kin man woman child boy girl student dog baby
ill - | krank - | kin man woman child dog cat horse
happy happier | glücklich glücklicher | kin man woman child girl boy
hungry - | hungrig hungriger | kin child dog cat animal man guest
loud louder | laut lauter | music sound street dog radio child party television
quiet quieter | ruhig ruhiger | street village hotel room child park flat
clean cleaner | sauber sauberer | clothes room window tableware car bathroom kitchen beach hotel
dirty dirtier | schmutzig schmutziger | clothes room window tableware car bicycle ball dog
wide wider | breit breiter | street road river bridge bed
deep deeper | tief tiefer | lake river
high higher | hoch höher hoh | mountain bridge tree
fast faster | schnell schneller | vehicle train ship horse
empty - | leer - | bottle glass box room street cupboard suitcase bag
important more_important | wichtig wichtiger | letter message question exam plan word article
"""


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective with its comparative and the stem that takes the endings."""

    english: str
    comparative: str
    german: str
    german_comparative: str
    stem: str


def _adjective(line: str) -> tuple[Adjective, str]:
    source, target, kinds = (part.strip() for part in line.split("|"))
    english, comparative = source.split()
    german, german_comparative, *stem = target.split()
    given = (english, comparative.replace("_", " "), german, german_comparative)
    if comparative == "-":
        given = (english, "", german, "")
    return Adjective(*given, stem[0] if stem else german.rstrip("e")), kinds


_PARSED = [_adjective(line) for line in _TABLE.strip().splitlines()]
ADJECTIVES: dict[str, Adjective] = {adjective.english: adjective for adjective, _ in _PARSED}


def _fitting() -> dict[str, tuple[Adjective, ...]]:
    found: dict[str, list[Adjective]] = {name: [] for name in NOUNS}
    for adjective, kinds in _PARSED:
        for noun in nouns_of(kinds):
            found[noun.english].append(adjective)
    return {name: tuple(adjectives) for name, adjectives in found.items()}


FITTING: dict[str, tuple[Adjective, ...]] = _fitting()
