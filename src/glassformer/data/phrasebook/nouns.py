"""The nouns of the phrasebook: English and German forms, gender, and what kind of thing each one is.

One line per noun: `english plural | German gender plural [weak form] | kinds [| feminine feminine-plural]`.
A dash means "has no plural" (mass nouns); "_" is a blank. A weak noun gives its form outside the nominative singular.
The last column is for nouns where English does not distinguish men and women ("teacher": Lehrer, Lehrerin).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_TABLE = """
man men | Mann m Männer | person
woman women | Frau f Frauen | person
boy boys | Junge m Jungen Jungen | person youth
girl girls | Mädchen n Mädchen | person youth
child children | Kind n Kinder | person youth
baby babies | Baby n Babys | infant
guest guests | Gast m Gäste | person
king kings | König m Könige | royal
queen queens | Königin f Königinnen | royal
policeman policemen | Polizist m Polizisten Polizisten | person
waiter waiters | Kellner m Kellner | person
lady ladies | Dame f Damen | person
gentleman gentlemen | Herr m Herren Herrn | person
teacher teachers | Lehrer m Lehrer | person job | Lehrerin Lehrerinnen
doctor doctors | Arzt m Ärzte | person job | Ärztin Ärztinnen
student students | Student m Studenten Studenten | person job | Studentin Studentinnen
neighbour neighbours | Nachbar m Nachbarn Nachbarn | person owned | Nachbarin Nachbarinnen
friend friends | Freund m Freunde | person owned | Freundin Freundinnen
colleague colleagues | Kollege m Kollegen Kollegen | person owned | Kollegin Kolleginnen
astronomer astronomers | Astronom m Astronomen Astronomen | job scholar | Astronomin Astronominnen
mother mothers | Mutter f Mütter | kin single
father fathers | Vater m Väter | kin single
brother brothers | Bruder m Brüder | kin
sister sisters | Schwester f Schwestern | kin
son sons | Sohn m Söhne | kin
daughter daughters | Tochter f Töchter | kin
uncle uncles | Onkel m Onkel | kin single
aunt aunts | Tante f Tanten | kin single
grandmother grandmothers | Großmutter f Großmütter | kin single
grandfather grandfathers | Großvater m Großväter | kin single
dog dogs | Hund m Hunde | animal pet
cat cats | Katze f Katzen | animal pet
horse horses | Pferd n Pferde | animal
bird birds | Vogel m Vögel | animal
cow cows | Kuh f Kühe | animal
chicken chickens | Huhn n Hühner | animal
rabbit rabbits | Kaninchen n Kaninchen | animal pet
mouse mice | Maus f Mäuse | animal
bear bears | Bär m Bären Bären | animal wild
lion lions | Löwe m Löwen Löwen | animal wild
monkey monkeys | Affe m Affen Affen | animal wild
elephant elephants | Elefant m Elefanten Elefanten | animal wild
duck ducks | Ente f Enten | animal
animal animals | Tier n Tiere | animal
apple apples | Apfel m Äpfel | food fruit
orange oranges | Orange f Orangen | food fruit
banana bananas | Banane f Bananen | food fruit
pear pears | Birne f Birnen | food fruit
tomato tomatoes | Tomate f Tomaten | food fruit
strawberry strawberries | Erdbeere f Erdbeeren | food fruit
potato potatoes | Kartoffel f Kartoffeln | food cooked
egg eggs | Ei n Eier | food cooked
cake cakes | Kuchen m Kuchen | food baked
pizza pizzas | Pizza f Pizzas | food baked
biscuit biscuits | Keks m Kekse | food baked
sausage sausages | Wurst f Würste | food
food - | Essen n - | food mass
soup - | Suppe f - | food cooked hot mass
salad - | Salat m - | food mass
bread - | Brot n - | food baked mass
cheese - | Käse m - | food mass
meat - | Fleisch n - | food cooked mass
rice - | Reis m - | food cooked mass
fish - | Fisch m - | food cooked mass
chocolate - | Schokolade f - | food mass
ice-cream - | Eis n - | food mass
butter - | Butter f - | food mass
water - | Wasser n - | drink mass
milk - | Milch f - | drink mass
tea - | Tee m - | drink mass hot
coffee - | Kaffee m - | drink mass hot
juice - | Saft m - | drink mass
beer - | Bier n - | drink mass
wine - | Wein m - | drink mass
book books | Buch n Bücher | text lying
letter letters | Brief m Briefe | text lying sent
newspaper newspapers | Zeitung f Zeitungen | text lying
magazine magazines | Zeitschrift f Zeitschriften | text lying
story stories | Geschichte f Geschichten | text told
poem poems | Gedicht n Gedichte | text told
novel novels | Roman m Romane | text lying
postcard postcards | Postkarte f Postkarten | text lying sent
message messages | Nachricht f Nachrichten | text sent
article articles | Artikel m Artikel | text
sentence sentences | Satz m Sätze | phrase taught
word words | Wort n Wörter | phrase taught
question questions | Frage f Fragen | topic
language languages | Sprache f Sprachen | taught
dress dresses | Kleid n Kleider | clothes
shirt shirts | Hemd n Hemden | clothes
coat coats | Mantel m Mäntel | clothes
hat hats | Hut m Hüte | clothes
jacket jackets | Jacke f Jacken | clothes
skirt skirts | Rock m Röcke | clothes
scarf scarves | Schal m Schals | clothes
suit suits | Anzug m Anzüge | clothes
table tables | Tisch m Tische | furniture surface
chair chairs | Stuhl m Stühle | furniture surface
bed beds | Bett n Betten | furniture surface
cupboard cupboards | Schrank m Schränke | furniture container
sofa sofas | Sofa n Sofas | furniture surface
lamp lamps | Lampe f Lampen | furniture switched standing
shelf shelves | Regal n Regale | furniture container
mirror mirrors | Spiegel m Spiegel | furniture
car cars | Auto n Autos | vehicle
bicycle bicycles | Fahrrad n Fahrräder | vehicle
motorcycle motorcycles | Motorrad n Motorräder | vehicle
boat boats | Boot n Boote | vehicle
bus buses | Bus m Busse | transport
train trains | Zug m Züge | transport
ship ships | Schiff n Schiffe | transport
computer computers | Computer m Computer | device switched
camera cameras | Kamera f Kameras | device lying portable
television televisions | Fernseher m Fernseher | device switched
radio radios | Radio n Radios | device switched
clock clocks | Uhr f Uhren | device
window windows | Fenster n Fenster | opened
door doors | Tür f Türen | opened locked
gate gates | Tor n Tore | opened locked
box boxes | Kiste f Kisten | portable heavy standing
bottle bottles | Flasche f Flaschen | portable standing
suitcase suitcases | Koffer m Koffer | portable heavy standing
bag bags | Tasche f Taschen | portable heavy standing container
basket baskets | Korb m Körbe | portable heavy standing container
key keys | Schlüssel m Schlüssel | portable lying tiny
ring rings | Ring m Ringe | portable lying tiny
ball balls | Ball m Bälle | portable lying toy
doll dolls | Puppe f Puppen | portable lying toy
present presents | Geschenk n Geschenke | portable lying gift
flower flowers | Blume f Blumen | gift plant
picture pictures | Bild n Bilder | image
photo photos | Foto n Fotos | image lying
map maps | Karte f Karten | portable lying
ticket tickets | Fahrkarte f Fahrkarten | portable lying tiny
umbrella umbrellas | Regenschirm m Regenschirme | portable lying
telescope telescopes | Teleskop n Teleskope | device
knife knives | Messer n Messer | tableware lying
fork forks | Gabel f Gabeln | tableware lying
spoon spoons | Löffel m Löffel | tableware lying
cup cups | Tasse f Tassen | tableware standing fragile
plate plates | Teller m Teller | tableware standing fragile
glass glasses | Glas n Gläser | tableware standing fragile
house houses | Haus n Häuser | building home
flat flats | Wohnung f Wohnungen | home rented
hotel hotels | Hotel n Hotels | building public
restaurant restaurants | Restaurant n Restaurants | building public
museum museums | Museum n Museen | building public
school schools | Schule f Schulen | building public
church churches | Kirche f Kirchen | building public
theatre theatres | Theater n Theater | building public
cinema cinemas | Kino n Kinos | building public
library libraries | Bibliothek f Bibliotheken | building public
hospital hospitals | Krankenhaus n Krankenhäuser | building public
station stations | Bahnhof m Bahnhöfe | building public
airport airports | Flughafen m Flughäfen | public
bank banks | Bank f Banken | building public
castle castles | Schloss n Schlösser | building
bridge bridges | Brücke f Brücken | crossed built
shop shops | Geschäft n Geschäfte | building public
office offices | Büro n Büros | room
park parks | Park m Parks | outdoors public
garden gardens | Garten m Gärten | outdoors
market markets | Markt m Märkte | public
city cities | Stadt f Städte | settlement
village villages | Dorf n Dörfer | settlement
street streets | Straße f Straßen | crossed street
road roads | Straße f Straßen | crossed
square squares | Platz m Plätze | crossed street
forest forests | Wald m Wälder | outdoors nature
beach beaches | Strand m Strände | outdoors nature
lake lakes | See m Seen | outdoors nature
river rivers | Fluss m Flüsse | crossed nature
river_bank river_banks | Flussufer n Flussufer | shore
mountain mountains | Berg m Berge | nature
tree trees | Baum m Bäume | plant
island islands | Insel f Inseln | nature
kitchen kitchens | Küche f Küchen | room
bathroom bathrooms | Badezimmer n Badezimmer | room
bedroom bedrooms | Schlafzimmer n Schlafzimmer | room
room rooms | Zimmer n Zimmer | room rented
time - | Zeit f - | resource mass
money - | Geld n - | wealth mass
idea ideas | Idee f Ideen | thought
plan plans | Plan m Pläne | thought topic
problem problems | Problem n Probleme | topic
mistake mistakes | Fehler m Fehler | error
joke jokes | Witz m Witze | told
secret secrets | Geheimnis n Geheimnisse | told
song songs | Lied n Lieder | music
music - | Musik f - | sound mass
film films | Film m Filme | show
game games | Spiel n Spiele | played
party parties | Party f Partys | event
concert concerts | Konzert n Konzerte | event
exam exams | Prüfung f Prüfungen | event test
bill bills | Rechnung f Rechnungen | paid
"""


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun with its forms; `gender` is m, f or n, `oblique` the singular outside the nominative."""

    english: str
    plural: str
    german: str
    gender: str
    german_plural: str
    oblique: str
    kinds: frozenset[str]
    feminine: Noun | None = None

    @property
    def mass(self) -> bool:
        """True for uncountable nouns: water, money."""
        return "mass" in self.kinds


def _noun(line: str) -> Noun:
    english, german, kinds, *feminine = (part.split() for part in line.split("|"))
    english = [form.replace("_", " ") for form in english]
    tags = frozenset(kinds)
    woman = None
    if feminine:
        singular, plural = feminine[0]
        woman = Noun(english[0], english[1], singular, "f", plural, singular, tags)
    oblique = german[3] if len(german) > 3 else german[0]
    return Noun(english[0], english[1], german[0], german[1], german[2], oblique, tags, woman)


NOUNS: dict[str, Noun] = {line.split()[0].replace("_", " "): _noun(line) for line in _TABLE.strip().splitlines()}


@cache
def nouns_of(kinds: str) -> tuple[Noun, ...]:
    """The nouns of these `kinds` (separated by blanks); a noun's own name adds it, "-name" removes it."""
    named = [kind.replace("_", " ") for kind in kinds.split()]
    wanted = {kind for kind in named if not kind.startswith("-")}
    unwanted = {kind[1:] for kind in named if kind.startswith("-")}
    return tuple(
        noun
        for name, noun in NOUNS.items()
        if (noun.kinds & wanted or name in wanted) and name not in unwanted and not noun.kinds & unwanted
    )
