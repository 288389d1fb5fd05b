"""The Italian nouns and adjectives of the phrasebook, by their English names.

Nouns: `english | singular gender [plural] [| feminine feminine-plural]`. Without a plural the regular one is used.
Adjectives: `english | masculine singular [<]`; "<" means that it usually comes before its noun.
"""

from __future__ import annotations

from dataclasses import dataclass

_NOUNS = """
man | uomo m uomini
woman | donna f
boy | ragazzo m
girl | ragazza f
child | bambino m
baby | neonato m
guest | ospite m
king | re m re
queen | regina f
policeman | poliziotto m
waiter | cameriere m
lady | signora f
gentleman | signore m
teacher | insegnante m | insegnante insegnanti
doctor | medico m medici | dottoressa dottoresse
student | studente m | studentessa studentesse
neighbour | vicino m | vicina vicine
friend | amico m amici | amica amiche
colleague | collega m colleghi | collega colleghe
astronomer | astronomo m | astronoma astronome
mother | madre f
father | padre m
brother | fratello m
sister | sorella f
son | figlio m
daughter | figlia f
uncle | zio m zii
aunt | zia f
grandmother | nonna f
grandfather | nonno m
dog | cane m
cat | gatto m
horse | cavallo m
bird | uccello m
cow | mucca f
chicken | pollo m
rabbit | coniglio m
mouse | topo m
bear | orso m
lion | leone m
monkey | scimmia f
elephant | elefante m
duck | anatra f
animal | animale m
apple | mela f
orange | arancia f arance
banana | banana f
pear | pera f
tomato | pomodoro m
strawberry | fragola f
potato | patata f
cake | torta f
pizza | pizza f
biscuit | biscotto m
sausage | salsiccia f salsicce
food | cibo m
soup | zuppa f
salad | insalata f
bread | pane m
cheese | formaggio m
meat | carne f
rice | riso m
fish | pesce m
chocolate | cioccolato m
ice-cream | gelato m
butter | burro m
water | acqua f
milk | latte m
tea | tè m
coffee | caffè m
juice | succo m
beer | birra f
wine | vino m
book | libro m
letter | lettera f
newspaper | giornale m
magazine | rivista f
story | storia f
poem | poesia f
novel | romanzo m
postcard | cartolina f
message | messaggio m
article | articolo m
sentence | frase f
word | parola f
question | domanda f
language | lingua f
dress | vestito m
shirt | camicia f camicie
coat | cappotto m
hat | cappello m
jacket | giacca f giacche
skirt | gonna f
scarf | sciarpa f
suit | completo m
table | tavolo m
chair | sedia f
bed | letto m
cupboard | armadio m
sofa | divano m
lamp | lampada f
shelf | scaffale m
mirror | specchio m
car | macchina f
bicycle | bicicletta f
motorcycle | moto f moto
boat | barca f
bus | autobus m autobus
train | treno m
ship | nave f
computer | computer m computer
camera | macchina#fotografica f macchine#fotografiche
television | televisore m
radio | radio f radio
clock | orologio m
window | finestra f
door | porta f
gate | cancello m
box | scatola f
bottle | bottiglia f
suitcase | valigia f valigie
bag | borsa f
basket | cestino m
key | chiave f
ring | anello m
ball | palla f
doll | bambola f
present | regalo m
flower | fiore m
picture | quadro m
photo | foto f foto
map | mappa f
ticket | biglietto m
umbrella | ombrello m
telescope | telescopio m
knife | coltello m
fork | forchetta f
spoon | cucchiaio m
cup | tazza f
plate | piatto m
glass | bicchiere m
house | casa f
flat | appartamento m
hotel | albergo m
restaurant | ristorante m
museum | museo m
school | scuola f
church | chiesa f
theatre | teatro m
cinema | cinema m cinema
library | biblioteca f
hospital | ospedale m
station | stazione f
airport | aeroporto m
bank | banca f
castle | castello m
bridge | ponte m
shop | negozio m
office | ufficio m
park | parco m
garden | giardino m
market | mercato m
city | città f città
village | villaggio m
street | strada f
road | strada f
square | piazza f
forest | foresta f
beach | spiaggia f spiagge
lake | lago m
river | fiume m
river bank | riva#del#fiume f rive#del#fiume
mountain | montagna f
tree | albero m
island | isola f
kitchen | cucina f
bathroom | bagno m
bedroom | camera#da#letto f camere#da#letto
room | stanza f
time | tempo m
money | denaro m
idea | idea f
plan | piano m
problem | problema m problemi
mistake | errore m
joke | barzelletta f
secret | segreto m
song | canzone f
music | musica f
film | film m film
game | gioco m
party | festa f
concert | concerto m
exam | esame m
bill | conto m
"""
_ADJECTIVES = """
old | vecchio <
young | giovane <
new | nuovo <
big | grande <
small | piccolo <
beautiful | bello <
red | rosso
blue | blu
green | verde
black | nero
white | bianco
expensive | costoso
cheap | economico
heavy | pesante
interesting | interessante
boring | noioso
exciting | avvincente
good | buono <
bad | brutto <
funny | divertente
long | lungo
short | corto
difficult | difficile
simple | semplice
tasty | gustoso
healthy | sano
lovely | adorabile
fresh | fresco
hot | caldo
cold | freddo
sweet | dolce
friendly | gentile
nice | simpatico
clever | intelligente
strong | forte
famous | famoso
rich | ricco
tired | stanco
ill | malato
happy | felice
hungry | affamato
loud | rumoroso
quiet | tranquillo
clean | pulito
dirty | sporco
wide | largo
deep | profondo
high | alto
fast | veloce
empty | vuoto
important | importante
sad | triste
angry | arrabbiato
proud | orgoglioso
surprised | sorpreso
"""


@dataclass(frozen=True, slots=True)
class ItalianNoun:
    """A noun; `gender` is m or f."""

    singular: str
    gender: str
    plural: str


@dataclass(frozen=True, slots=True)
class ItalianAdjective:
    """An adjective by its masculine singular; `before` is True if it usually comes before its noun."""

    masculine: str
    before: bool


def plural_of(word: str, gender: str) -> str:
    """The regular plural: libri, case, cani, amiche, laghi, figli."""
    if word.endswith(("ca", "ga")):
        return word[:-1] + ("he" if gender == "f" else "hi")
    if word.endswith(("co", "go")):
        return word[:-1] + "hi"
    if word.endswith("io"):
        return word[:-1]
    if word.endswith("a"):
        return word[:-1] + ("e" if gender == "f" else "i")
    return word[:-1] + "i" if word[-1] in "oe" else word


def _nouns(table: str) -> dict[str, tuple[ItalianNoun, ItalianNoun | None]]:
    found = {}
    for line in table.strip().splitlines():
        name, forms, *woman = (part.strip() for part in line.split("|"))
        singular, gender, *plural = (part.replace("#", " ") for part in forms.split())
        noun = ItalianNoun(singular, gender, plural[0] if plural else plural_of(singular, gender))
        feminine = ItalianNoun(woman[0].split()[0], "f", woman[0].split()[1]) if woman else None
        found[name] = (noun, feminine)
    return found


def _adjectives(table: str) -> dict[str, ItalianAdjective]:
    found = {}
    for line in table.strip().splitlines():
        name, forms = (part.strip() for part in line.split("|"))
        masculine, *mark = forms.split()
        found[name] = ItalianAdjective(masculine, bool(mark))
    return found


NOUNS = _nouns(_NOUNS)
ADJECTIVES = _adjectives(_ADJECTIVES)
