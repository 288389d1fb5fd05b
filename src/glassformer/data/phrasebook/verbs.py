"""The verbs of the phrasebook: forms in both languages, what they govern, and who or what fits them.

One line per verb: `english past participle | German er-form preterite participle auxiliary | frame | subjects | objects
[| flags]`. A separable German prefix is joined by "+": "an+rufen". A dash means the
regular form. An English particle is joined by "_" (stays with the verb: look_for) or "+" (goes after a
pronoun: pick+up); "#" starts a note that distinguishes two senses (put#lying: legen, put#standing: stellen).

Frames: `none`, `acc`, `dat`, `double` (give him a book), `to` (explain the plan to him), `place` (live in ...),
`goal` (go to ...), and `auf:acc`, `mit:dat` ... for a German preposition with its case.
Flags: `twin` (English doubles the last consonant), `state` (no -ing form), `timeless` (a lasting state: no
adverbial of time, no modal), `point` (over in an instant: no -ing form), `mishap` (nobody plans it: no modal, no
imperative), `sudden` (the same, and no adverbial of the future), `happens` (not intended: no modal), `far` (goes
with "last year"), `stay` (not with "now"), `pret` (German prefers the preterite), `both` (but the perfect is correct
too), `rare` (not picked at random).
"""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.data.phrasebook import english, german
from glassformer.data.phrasebook.nouns import Noun, nouns_of

_TABLE = """
eat ate eaten | essen isst aß gegessen h | acc | person | food
drink drank drunk | trinken - trank getrunken h | acc | person | drink
cook - - | kochen - - gekocht h | acc | person | cooked | far
bake - - | backen - backte gebacken h | acc | person | baked
order - - | bestellen - - bestellt h | acc | person | food drink
buy bought bought | kaufen - - gekauft h | acc | person | food drink clothes furniture vehicle text \
portable tableware device -story -poem -message -article -telescope | far
sell sold sold | verkaufen - - verkauft h | acc | person | furniture vehicle device clothes house \
image ring -telescope | far
read read read | lesen liest las gelesen h | acc | person | text
write wrote written | schreiben - schrieb geschrieben h | acc | person | text song sentence -newspaper \
-magazine | far
see saw seen | sehen sieht sah gesehen h | acc | person | person royal animal kin image building \
nature vehicle film | state far
hear heard heard | hören - - gehört h | acc | person | music sound animal told radio -secret | state \
happens
look_for looked looked | suchen - - gesucht h | acc | person | portable tableware clothes pet kin \
station hotel -mirror
find found found | finden - fand gefunden h | acc | person | portable tableware clothes pet mistake \
money station | point far
lose lost lost | verlieren - verlor verloren h | acc | person | tiny portable money -box -bottle \
-basket -present | mishap point far
open - - | öffnen - - geöffnet h | acc | person | opened suitcase bottle box letter present
close - - | schließen - schloss geschlossen h | acc | person | opened suitcase box
turn_on - - | ein+schalten - schaltete eingeschaltet h | acc | person | switched
turn_off - - | aus+schalten - schaltete ausgeschaltet h | acc | person | switched
pick+up - - | ab+holen - holte abgeholt h | acc | person | kin owned guest youth
call - - | an+rufen - rief angerufen h | acc | person | kin owned doctor teacher policeman | far
invite - - | ein+laden lädt lud eingeladen h | acc | person | kin owned guest | far
put_on put put | an+ziehen - zog angezogen h | acc | person | clothes | twin
take_off took taken | aus+ziehen - zog ausgezogen h | acc | person | clothes -dress -suit
try_on tried tried | an+probieren - probierte anprobiert h | acc | person | clothes
throw_away threw thrown | weg+werfen wirft warf weggeworfen h | acc | person | newspaper magazine \
letter postcard toy bag box bottle clothes ticket
tidy_up tidied tidied | auf+räumen - räumte aufgeräumt h | acc | person | room flat house
look_at - - | an+sehen sieht sah angesehen h | acc | person | image map clock
unpack - - | aus+packen - packte ausgepackt h | acc | person | suitcase bag present box
lock - - | ab+schließen - schloss abgeschlossen h | acc | person | locked vehicle cupboard -boat
prepare - - | vor+bereiten - bereitete vorbereitet h | acc | person | party concert exam
know knew known | kennen - kannte gekannt h | acc | person | person kin song story film poem hotel \
restaurant | state timeless
love - - | lieben - - geliebt h | acc | person | kin pet music city film chocolate | state timeless
like - - | mögen mag mochte gemocht h | acc | person | food drink kin owned teacher animal -wild | \
state pret timeless
visit - - | besuchen - - besucht h | acc | person | kin owned museum city castle village island school \
church | far
understand understood understood | verstehen - verstand verstanden h | acc | person | phrase topic \
joke text film language -newspaper -magazine | state timeless
learn - - | lernen - - gelernt h | acc | person | poem song word language | far
forget forgot forgotten | vergessen vergisst vergaß vergessen h | acc | person | tiny umbrella bag \
camera present word question song | state twin mishap point
repair - - | reparieren - - repariert h | acc | person | vehicle device switched gate -telescope | far
wash - - | waschen wäscht wusch gewaschen h | acc | person | clothes car dog tomato apple -hat -suit
clean - - | putzen - - geputzt h | acc | person | window bathroom kitchen mirror bicycle lamp
carry - - | tragen trägt trug getragen h | acc | person | heavy baby chair television
wear wore worn | tragen trägt trug getragen h | acc | person | clothes ring
draw drew drawn | zeichnen - - gezeichnet h | acc | person | animal house tree flower castle map \
bridge
paint - - | malen - - gemalt h | acc | person | picture mountain ship tree house flower horse castle | far
take took taken | nehmen nimmt nahm genommen h | acc | person | bus train key umbrella bag plate ball
need - - | brauchen - - gebraucht h | acc | person | resource wealth portable tableware car bicycle \
clothes doctor idea flat -toy -present | state
use - - | benutzen - - benutzt h | acc | person scholar | computer camera telescope map bicycle knife \
fork spoon umbrella
play - - | spielen - - gespielt h | acc | person | game song
sing sang sung | singen - sang gesungen h | acc | person | song
cross - - | überqueren - - überquert h | acc | person animal | crossed
build built built | bauen - - gebaut h | acc | person | house boat bridge castle shelf table school | far
break broke broken | zerbrechen zerbricht zerbrach zerbrochen h | acc | person | fragile lamp mirror \
bottle | mishap point
cut cut cut | schneiden - schnitt geschnitten h | acc | person | bread cheese cake tomato meat sausage \
apple pizza | twin
feed fed fed | füttern - - gefüttert h | acc | person | animal baby
steal stole stolen | stehlen stiehlt stahl gestohlen h | acc | man woman boy girl | vehicle portable \
money image -box -basket -present -umbrella | mishap point
hide hid hidden | verstecken - - versteckt h | acc | person | present key money letter ring ball \
chocolate
meet met met | treffen trifft traf getroffen h | acc | person | person kin scholar | far
greet - - | begrüßen - - begrüßt h | acc | person | person kin royal
photograph - - | fotografieren - - fotografiert h | acc | person | animal building kin bridge mountain \
tree flower
translate - - | übersetzen - - übersetzt h | acc | person | sentence word letter book poem article \
story message | far
count - - | zählen - - gezählt h | acc | person | money
pay paid paid | bezahlen - - bezahlt h | acc | person | bill
rent - - | mieten - - gemietet h | acc | person | rented car boat bicycle house | far
ask - - | fragen - - gefragt h | acc | person | person kin royal scholar
follow - - | folgen - - gefolgt s | dat | person dog | person kin animal car
help - - | helfen hilft half geholfen h | dat | person | person kin | far
thank - - | danken - - gedankt h | dat | person | person kin
answer - - | antworten - - geantwortet h | dat | person | person kin
congratulate - - | gratulieren - - gratuliert h | dat | person | person kin
trust - - | vertrauen - - vertraut h | dat | person | person kin | state timeless
listen_to - - | zu+hören - hörte zugehört h | dat | person | person kin -baby
give gave given | geben gibt gab gegeben h | double | person | gift portable tableware text money \
-story -poem -article -message -suitcase
show showed shown | zeigen - - gezeigt h | double | person | image map text house flat room clothes \
toy letter ring -story -message
bring brought brought | bringen - brachte gebracht h | double | person | food drink gift tableware \
newspaper letter umbrella -mass
send sent sent | schicken - - geschickt h | double | person | sent gift money image book
lend lent lent | leihen - lieh geliehen h | double | person | money vehicle book umbrella camera \
jacket coat bag -boat
tell told told | erzählen - - erzählt h | double | person | story joke
explain - - | erklären - - erklärt h | to | person | topic word sentence game idea map poem
recommend - - | empfehlen empfiehlt empfahl empfohlen h | to | person | restaurant hotel book film \
museum novel wine
return - - | zurück+geben gibt gab zurückgegeben h | to | person | money key book umbrella camera bag \
ball
read_out read read | vor+lesen liest las vorgelesen h | to | person | story poem letter message article
wait_for - - | warten - - gewartet h | auf:acc | person | person kin transport letter message -ship
think_of thought thought | denken - dachte gedacht h | an:acc | person | kin owned exam party
talk_about - - | sprechen spricht sprach gesprochen h | über:acc | person | topic film book party \
concert idea novel exam
laugh_about - - | lachen - - gelacht h | über:acc | person | joke story film mistake | sudden
talk_to - - | sprechen spricht sprach gesprochen h | mit:dat | person | person kin
play_with - - | spielen - - gespielt h | mit:dat | youth cat dog | toy pet baby
dream_of dreamt dreamt | träumen - - geträumt h | von:dat | person | island castle car house bicycle \
beach horse | sudden
sleep slept slept | schlafen schläft schlief geschlafen h | none | person royal animal baby
work - - | arbeiten - - gearbeitet h | none | person
laugh - - | lachen - - gelacht h | none | person baby | | sudden
cry cried cried | weinen - - geweint h | none | youth woman baby | | sudden
dance - - | tanzen - - getanzt h | none | person royal
swim swam swum | schwimmen - schwamm geschwommen s | none | person duck dog | | twin
get_up got got | auf+stehen - stand aufgestanden s | none | person | | twin
fall_asleep fell fallen | ein+schlafen schläft schlief eingeschlafen s | none | person dog cat baby | \
| point sudden
arrive - - | an+kommen - kam angekommen s | none | person transport | | happens
come_back came come | zurück+kommen - kam zurückgekommen s | none | person dog cat
go_out went gone | aus+gehen - ging ausgegangen s | none | person
wake_up woke woken | auf+wachen - wachte aufgewacht s | none | person baby dog | | happens
live - - | wohnen - - gewohnt h | place | person | home hotel city village castle island street -square | \
state timeless
stay - - | bleiben - blieb geblieben s | place | person | room hotel hospital garden home city village \
school | stay
sit sat sat | sitzen - saß gesessen h | place | person dog cat bird | park garden kitchen sofa chair \
table restaurant | twin
stand stood stood | stehen - stand gestanden h | place | person | bridge door window station gate
go went gone | gehen - ging gegangen s | goal | person | cinema theatre school park garden city \
station market restaurant museum church library beach kitchen room shop bank hospital | far
travel travelled travelled | fahren fährt fuhr gefahren s | goal | person | city lake beach airport \
station village hospital | twin far
run ran run | laufen läuft lief gelaufen s | goal | youth dog cat man woman | park garden forest \
station school bridge kitchen | twin
have had had | haben hat hatte gehabt h | acc | person | vehicle pet brother sister son daughter \
resource wealth idea plan \
question problem flat computer camera | state pret rare timeless
lie lay lain | liegen - lag gelegen h | place | | | rare pret both
stand#thing stood stood | stehen - stand gestanden h | place | | | rare pret both
put#lying put put | legen - - gelegt h | acc | person | lying | rare twin
put#standing put put | stellen - - gestellt h | acc | person | standing | rare twin
taste_of - - | schmecken - - geschmeckt h | nach:dat | | | rare state timeless
rain - - | regnen - - geregnet h | none | | | rare
snow - - | schneien - - geschneit h | none | | | rare
cost cost cost | kosten - - gekostet h | acc | | | rare state pret both
belong_to - - | gehören - - gehört h | dat | | | rare state pret both
know#fact knew known | wissen weiß wusste gewusst h | none | | | rare state pret
believe - - | glauben - - geglaubt h | none | | | rare state
hope - - | hoffen - - gehofft h | none | | | rare state
say said said | sagen - - gesagt h | none | | | rare state
think thought thought | denken - dachte gedacht h | none | | | rare state
be was been | sein ist war gewesen s | none | | | rare state pret
"""
_SPECIAL_PRESENT = {
    "sein": ("bin", "bist", "ist", "sind", "seid", "sind"),
    "haben": ("habe", "hast", "hat", "haben", "habt", "haben"),
    "wissen": ("weiß", "weißt", "weiß", "wissen", "wisst", "wissen"),
    "mögen": ("mag", "magst", "mag", "mögen", "mögt", "mögen"),
}


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with all its forms. German tuples run over the six persons."""

    name: str
    base: str
    third: str
    ing: str
    past: str
    participle: str
    particle: str
    moving_particle: bool
    prefix: str
    infinitive: str
    present: tuple[str, ...]
    preterite: tuple[str, ...]
    imperatives: tuple[str, ...]
    german_participle: str
    auxiliary: str
    frame: str
    preposition: str
    case: str
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    flags: frozenset[str]


def _english_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


def _verb(line: str) -> Verb:
    source, target, frame, subjects, *rest = (part.strip() for part in line.split(" |"))
    objects = rest[0] if rest else ""
    flags = frozenset(rest[1].split() if len(rest) > 1 else ())
    tagged, past, participle = source.split()
    name = tagged.partition("#")[0]
    base, mark, particle = name.partition("+" if "+" in name else "_")
    written, third, preterite, german_participle, auxiliary = target.split()
    prefix, _, infinitive = written.rpartition("+")
    third = "" if third == "-" else third
    preterite = german.weak_preterite(infinitive) if preterite == "-" else preterite
    kind, _, case = frame.partition(":")
    return Verb(
        name=name.replace("_", " ").replace("+", " "),
        base=base,
        third=english.third_singular(base),
        ing=english.ing(base, double="twin" in flags),
        past=_english_past(base) if past == "-" else past,
        participle=_english_past(base) if participle == "-" else participle,
        particle=particle,
        moving_particle=mark == "+",
        prefix=prefix,
        infinitive=infinitive,
        present=_SPECIAL_PRESENT.get(infinitive) or german.present(infinitive, third),
        preterite=german.preterite(preterite),
        imperatives=german.imperative(infinitive, third),
        german_participle=german_participle,
        auxiliary="sein" if auxiliary == "s" else "haben",
        frame="prepositional" if case else kind,
        preposition=kind if case else "",
        case=case,
        subjects=nouns_of(subjects.replace("person", "person kin")),
        objects=nouns_of(objects),
        flags=flags,
    )


VERBS: dict[str, Verb] = {}
for _line in _TABLE.strip().splitlines():
    _entry = _verb(_line)
    VERBS[_line.split()[0].replace("_", " ").replace("+", " ")] = _entry
COMMON_VERBS: tuple[Verb, ...] = tuple(verb for verb in VERBS.values() if "rare" not in verb.flags)


@dataclass(frozen=True, slots=True)
class Modal:
    """A modal verb. `kind` says how English builds it: true (can), verb (want to), be (is allowed to)."""

    name: str
    kind: str
    english: tuple[str, ...]
    english_past: tuple[str, ...]
    present: tuple[str, ...]
    preterite: tuple[str, ...]
    negatable: bool = True


def _modal(name: str, kind: str, words: str, past: str, forms: str, old: str, negatable: bool = True) -> Modal:
    first, second, plural, second_plural, *third = forms.split()
    present = (first, second, third[0] if third else first, plural, second_plural, plural)
    preterite = german.preterite(old) if old else ()
    return Modal(name, kind, tuple(words.split()), tuple(past.split()), present, preterite, negatable)


MODALS: dict[str, Modal] = {
    modal.name: modal
    for modal in (
        _modal("can", "true", "can", "could", "kann kannst können könnt", "konnte"),
        _modal("must", "true", "must", "", "muss musst müssen müsst", "", False),
        _modal("have to", "verb", "have to", "had to", "muss musst müssen müsst", "musste"),
        _modal("want to", "verb", "want to", "wanted to", "will willst wollen wollt", "wollte"),
        _modal("should", "true", "should", "", "sollte solltest sollten solltet", ""),
        _modal("be allowed to", "be", "allowed to", "allowed to", "darf darfst dürfen dürft", "durfte"),
        _modal("would like to", "true", "would like to", "", "möchte möchtest möchten möchtet", "", False),
        _modal("must not", "true", "must", "", "darf darfst dürfen dürft", ""),
        _modal("will", "true", "will", "", "werde wirst werden werdet wird", ""),
    )
}
