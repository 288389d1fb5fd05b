"""The fixed expressions of the Italian side: adverbs, places, names, greetings, by their English wording.

Each line is `English | Italian [= another wording]`. A word may say which English words it translates (`ieri:1`), and
braces hold what depends on the address: {tu|voi|Lei}. Greetings with a noun phrase show its place as "~".
"""

from __future__ import annotations

_ADVERBS = """
yesterday | ieri
yesterday evening | ieri sera
this morning | questa:1 mattina:2 = stamattina:12
last week | la:12 settimana:2 scorsa:1
last year | l'anno:2 scorso:1
two days ago | due giorni fa
three weeks ago | tre settimane fa
an hour ago | un'ora:12 fa:3
today | oggi
now | adesso = ora
right now | proprio adesso
tomorrow | domani
tomorrow evening | domani sera
this evening | questa:1 sera:2 = stasera:12
next week | la:12 settimana:2 prossima:1
next year | l'anno:2 prossimo:1
soon | presto
on Monday | lunedì:12
on Tuesday | martedì:12
on Wednesday | mercoledì:12
on Thursday | giovedì:12
on Friday | venerdì:12
on Saturday | sabato:12
on Sunday | domenica:12
at the weekend | nel:12 fine:3 settimana:3
every day | ogni giorno = tutti:1 i:1 giorni:2
every morning | ogni mattina
every evening | ogni sera
every week | ogni settimana
every year | ogni anno
often | spesso
always | sempre
sometimes | a:1 volte:1
usually | di:1 solito:1
never | mai
rarely | raramente
already | già
just | appena
home | a:1 casa:1
at home | a casa
very much | molto:12
please | per:1 favore:1
because | perché
although | anche:1 se:1
if | se
when | quando
that | che
whether | se
but | ma
who | chi
what | che:1 cosa:1 = cosa:1
why | perché
where | dove
to Berlin | a Berlino
to Vienna | a Vienna
to Munich | a Monaco
to Cologne | a Colonia
to London | a Londra
to Paris | a Parigi
in Berlin | a Berlino
in Vienna | a Vienna
in Munich | a Monaco
in Cologne | a Colonia
in London | a Londra
in Paris | a Parigi
"""
_GREETINGS = """
how are you | come:1 {stai|state|sta}:23
how are you today | come:1 {stai|state|sta}:23 oggi:4
how are you now | come:1 {stai|state|sta}:23 adesso:4
how are you this morning | come:1 {stai|state|sta}:23 questa:4 mattina:5
how were you yesterday | come:1 {stavi|stavate|stava}:23 ieri:4
who are you | chi:1 {sei|siete|è}:23
where are you | dove:1 {sei|siete|è}:23
what is your name | come:1 {ti|vi|si}:3 {chiami|chiamate|chiama}:24
thank you | grazie:12
thank you very much | molte:34 grazie:12 = grazie:12 mille:34
yes , thank you | sì:1 , grazie:34
no , thank you | no:1 , grazie:34
I am fine , thank you | sto:12 bene:3 , grazie:56
thank you for the invitation | grazie:12 per:3 l':4 invito:5
thank you for your help | grazie:12 per:3 {il|il|il}:4 {tuo|vostro|Suo}:4 aiuto:5
thank you for everything | grazie:12 di:3 tutto:4
many thanks | tante:1 grazie:2
congratulations | congratulazioni = complimenti
oh , congratulations | oh:1 , congratulazioni:3
yes , congratulations | sì:1 , congratulazioni:3
congratulations again | ancora:2 congratulazioni:1
hello , and congratulations | ciao:1 , e:3 congratulazioni:4
thank you , and congratulations | grazie:12 , e:4 congratulazioni:5
good morning , and congratulations | buongiorno:12 , e:4 congratulazioni:5
good evening , and congratulations | buonasera:12 , e:4 congratulazioni:5
hello , thank you | ciao:1 , grazie:34
oh , thank you | oh:1 , grazie:34
thank you again | ancora:3 grazie:12
good morning , and thank you | buongiorno:12 , e:4 grazie:56
good evening , and thank you | buonasera:12 , e:4 grazie:56
congratulations on your exam | congratulazioni:1 per:2 {il|il|il}:3 {tuo|vostro|Suo}:3 esame:4
congratulations on the new flat | congratulazioni:1 per:2 il:3 nuovo:4 appartamento:5
congratulations from all of us | congratulazioni:1 da:2 tutti:3 noi:5
nice to meet you | piacere:1 di:2 {conoscerti|conoscervi|conoscerLa}:34
nice to see you | che:1 bello:1 {vederti|vedervi|vederLa}:34
nice to see you again | che:1 bello:1 {rivederti|rivedervi|rivederLa}:345
nice to hear from you | che:1 bello:1 {sentirti|sentirvi|sentirLa}:35
nice to meet you today | piacere:1 di:2 {conoscerti|conoscervi|conoscerLa}:34 oggi:5
good morning | buongiorno:12
good evening | buonasera:12
good night | buonanotte:12
good luck | buona:1 fortuna:2
happy birthday | buon:1 compleanno:2
welcome | benvenuto:1
hello | ciao = salve
goodbye | arrivederci
see you tomorrow | a:12 domani:3
see you soon | a:12 presto:3
sleep well | {dormi|dormite|dorma}:1 bene:2
I am sorry | mi:1 dispiace:23
excuse me | {scusa|scusate|scusi}:12
how is | come:1 sta:2 ~
thank you for | grazie:12 per:3 ~
nice to meet | piacere:1 di:2 conoscere:3 ~
nice to see | che:1 bello:1 vedere:3 ~
"""
# Preposition of place and of direction, if they are not "in" and "a".
PLACES = {
    "cinema": "a a", "theatre": "a a", "market": "a a", "restaurant": "a a", "station": "a a", "airport": "a a",
    "lake": "a a", "window": "a a", "door": "a a", "gate": "a a", "table": "a a", "beach": "su su", "bridge": "su su",
    "island": "su su", "sofa": "su su", "chair": "su su", "river bank": "su su", "kitchen": "in in",
    "bathroom": "in in", "bedroom": "in in", "room": "in in", "forest": "in in", "city": "in in",
}  # fmt: skip
BARE = {  # without an article
    "kitchen": "in", "bathroom": "in", "bedroom": "in", "city": "in", "office": "in", "school": "a",
}  # fmt: skip
SPOTS = {
    "on": "su", "under": "sotto", "behind": "dietro", "next to": "accanto a", "in front of": "davanti a",
    "with": "con", "in": "in", "into": "in", "at": "a", "to": "a",
}  # fmt: skip


def _table(text: str) -> dict[str, tuple[str, ...]]:
    entries = (line.split(" | ") for line in text.strip().splitlines())
    return {english: tuple(part.strip() for part in target.split(" = ")) for english, target in entries}


ADVERBS = _table(_ADVERBS)
GREETINGS = _table(_GREETINGS)
