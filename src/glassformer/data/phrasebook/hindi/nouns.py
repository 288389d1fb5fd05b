"""The Hindi nouns and adjectives of the phrasebook, by their English names.

Nouns: `english | Hindi gender [flags] [| feminine]`. Flags: `same` (the singular never changes: पिता), `honoured`
(spoken of in the plural: मेरे पिता आए हैं). The other forms follow from the ending and the gender.
Adjectives: `english | Hindi`; those in -ा agree.
"""

from __future__ import annotations

from dataclasses import dataclass

_NOUNS = """
man | आदमी m
woman | औरत f
boy | लड़का m
girl | लड़की f
child | बच्चा m
baby | शिशु m
guest | मेहमान m
king | राजा m same
queen | रानी f
policeman | सिपाही m
waiter | बैरा m
lady | महिला f
gentleman | सज्जन m
teacher | अध्यापक m | अध्यापिका
doctor | डॉक्टर m | डॉक्टर
student | छात्र m | छात्रा
neighbour | पड़ोसी m | पड़ोसन
friend | दोस्त m | सहेली
colleague | सहकर्मी m
astronomer | खगोलशास्त्री m
mother | माँ f honoured
father | पिता m same honoured
brother | भाई m
sister | बहन f
son | बेटा m
daughter | बेटी f
uncle | चाचा m same honoured
aunt | चाची f honoured
grandmother | दादी f honoured
grandfather | दादा m same honoured
dog | कुत्ता m
cat | बिल्ली f
horse | घोड़ा m
bird | चिड़िया f
cow | गाय f
chicken | मुर्ग़ी f
rabbit | ख़रगोश m
mouse | चूहा m
bear | भालू m
lion | शेर m
monkey | बंदर m
elephant | हाथी m
duck | बत्तख़ f
animal | जानवर m
apple | सेब m
orange | संतरा m
banana | केला m
pear | नाशपाती f
tomato | टमाटर m
strawberry | स्ट्रॉबेरी f
potato | आलू m
egg | अंडा m
cake | केक m
pizza | पिज़्ज़ा m same
biscuit | बिस्कुट m
food | खाना m
soup | सूप m
salad | सलाद m
bread | रोटी f
cheese | पनीर m
meat | मांस m
rice | चावल m
fish | मछली f
chocolate | चॉकलेट f
ice-cream | आइसक्रीम f
butter | मक्खन m
water | पानी m
milk | दूध m
tea | चाय f
coffee | कॉफ़ी f
juice | रस m
beer | बीयर f
wine | शराब f
book | किताब f
letter | चिट्ठी f
newspaper | अख़बार m
magazine | पत्रिका f
story | कहानी f
poem | कविता f
novel | उपन्यास m
postcard | पोस्टकार्ड m
message | संदेश m
article | लेख m
sentence | वाक्य m
word | शब्द m
question | सवाल m
language | भाषा f
shirt | क़मीज़ f
coat | कोट m
hat | टोपी f
jacket | जैकेट f
suit | सूट m
table | मेज़ f
chair | कुरसी f
bed | बिस्तर m
cupboard | अलमारी f
sofa | सोफ़ा m
lamp | दीपक m
mirror | आईना m
car | गाड़ी f
bicycle | साइकिल f
motorcycle | मोटरसाइकिल f
boat | नाव f
bus | बस f
train | रेलगाड़ी f
ship | जहाज़ m
computer | कंप्यूटर m
camera | कैमरा m
television | टीवी m
radio | रेडियो m
clock | घड़ी f
window | खिड़की f
door | दरवाज़ा m
gate | फाटक m
box | डिब्बा m
bottle | बोतल f
suitcase | सूटकेस m
bag | थैला m
basket | टोकरी f
key | चाबी f
ring | अँगूठी f
ball | गेंद f
doll | गुड़िया f
present | तोहफ़ा m
flower | फूल m
picture | तस्वीर f
photo | फ़ोटो f
map | नक़्शा m
ticket | टिकट m
umbrella | छाता m
telescope | दूरबीन f
knife | चाकू m
fork | काँटा m
spoon | चम्मच m
cup | प्याला m
plate | थाली f
glass | गिलास m
house | घर m
flat | फ़्लैट m
hotel | होटल m
restaurant | रेस्तराँ m
museum | संग्रहालय m
school | स्कूल m
church | गिरजाघर m
theatre | रंगमंच m
cinema | सिनेमाघर m
library | पुस्तकालय m
hospital | अस्पताल m
station | स्टेशन m
airport | हवाई#अड्डा m
bank | बैंक m
castle | क़िला m
bridge | पुल m
shop | दुकान f
office | दफ़्तर m
park | पार्क m
garden | बग़ीचा m
market | बाज़ार m
city | शहर m
village | गाँव m
street | सड़क f
road | सड़क f
square | चौक m
forest | जंगल m
beach | समुद्र#तट m
lake | झील f
river | नदी f
river bank | नदी#का#किनारा m
mountain | पहाड़ m
tree | पेड़ m
island | द्वीप m
kitchen | रसोई f
bathroom | बाथरूम m
bedroom | शयनकक्ष m
room | कमरा m
time | समय m
money | पैसा m
idea | विचार m
plan | योजना f
problem | समस्या f
mistake | ग़लती f
joke | चुटकुला m
secret | राज़ m
song | गाना m
music | संगीत m
film | फ़िल्म f
game | खेल m
party | दावत f
concert | संगीत#समारोह m
exam | परीक्षा f
bill | बिल m
"""
_ADJECTIVES = """
old | पुराना
young | जवान
new | नया
big | बड़ा
small | छोटा
beautiful | सुंदर
red | लाल
blue | नीला
green | हरा
black | काला
white | सफ़ेद
expensive | महँगा
cheap | सस्ता
heavy | भारी
interesting | दिलचस्प
boring | उबाऊ
exciting | रोमांचक
good | अच्छा
bad | बुरा
funny | मज़ेदार
long | लंबा
short | छोटा
difficult | मुश्किल
simple | सरल
tasty | स्वादिष्ट
healthy | सेहतमंद
lovely | प्यारा
fresh | ताज़ा
hot | गरम
cold | ठंडा
sweet | मीठा
friendly | मिलनसार
nice | भला
clever | होशियार
strong | ताक़तवर
famous | मशहूर
rich | अमीर
tired | थका#हुआ
ill | बीमार
happy | ख़ुश
hungry | भूखा
loud | शोरभरा
quiet | शांत
clean | साफ़
dirty | गंदा
wide | चौड़ा
deep | गहरा
high | ऊँचा
fast | तेज़
empty | ख़ाली
important | महत्वपूर्ण
sad | उदास
angry | नाराज़
surprised | हैरान
"""
LIVING_OLD = "बूढ़ा"  # "old" of people and animals


@dataclass(frozen=True, slots=True)
class HindiNoun:
    """A noun: its stem forms by number and case, and whether it is spoken of in the plural."""

    text: str
    gender: str
    same: bool = False
    honoured: bool = False

    def form(self, *, plural: bool, oblique: bool) -> str:
        """The form for a number and a case (direct or oblique, before a postposition)."""
        if self.same and not (plural and oblique):
            return self.text
        if " का " in self.text:  # "bank of the river": both words change
            owner, _, owned = self.text.partition(" का ")
            inner = HindiNoun(owned, self.gender).form(plural=plural, oblique=oblique)
            return f"{owner} {'के' if plural or oblique else 'का'} {inner}"
        return _form(self.text, self.gender, plural=plural, oblique=oblique)


_SHORTENED = {"ी": "ि", "ई": "इ", "ू": "ु"}  # long vowels before -याँ, -यों and -ओं


def _form(text: str, gender: str, *, plural: bool, oblique: bool) -> str:
    last = text[-1]
    if last == "ो":  # रेडियो, फ़ोटो
        return text
    if text.endswith("ाँ") and plural and (gender == "f" or oblique):  # रेस्तराओं
        return text[:-1] + ("ओं" if oblique else "एँ")
    if gender == "m" and last == "ा":
        return text[:-1] + "ों" if plural and oblique else text[:-1] + "े" if plural or oblique else text
    if not plural or (gender == "m" and not oblique):
        return text
    if gender == "f" and text.endswith("िया"):
        return text[:-1] + ("ों" if oblique else "ाँ")
    if last in "ीई":
        return text[:-1] + _SHORTENED[last] + ("यों" if oblique else "याँ")
    if oblique:
        return _oblique_plural(text)
    return text + "एँ" if last in _VOWEL_SIGNS else text + "ें"


_VOWEL_SIGNS = "ािीुूेैोौईउएआओ"


def _oblique_plural(text: str) -> str:
    """किताबों, माताओं, आलुओं."""
    text = text[:-1] + _SHORTENED.get(text[-1], text[-1])
    return text + "ओं" if text[-1] in _VOWEL_SIGNS + "ु" else text + "ों"


def _nouns(table: str) -> dict[str, tuple[HindiNoun, HindiNoun | None]]:
    found = {}
    for line in table.strip().splitlines():
        name, forms, *woman = (part.strip() for part in line.split("|"))
        text, gender, *flags = forms.split()
        noun = HindiNoun(text.replace("#", " "), gender, "same" in flags, "honoured" in flags)
        found[name] = (noun, HindiNoun(woman[0], "f", woman[0] == text) if woman else None)
    return found


def _adjectives(table: str) -> dict[str, str]:
    pairs = (line.split("|") for line in table.strip().splitlines())
    return {name.strip(): text.strip().replace("#", " ") for name, text in pairs}


NOUNS = _nouns(_NOUNS)
ADJECTIVES = _adjectives(_ADJECTIVES)
