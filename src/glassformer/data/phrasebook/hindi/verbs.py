"""The Hindi verbs of the phrasebook, by their English names.

One line per verb: `English name | stem [flags] [host gender] | marker`. The marker follows the object (से, को, पर);
"-" is a direct object, which takes को if it is a person or a definite animal. With "का" the object is the owner of the
host noun: उसकी मदद कर. Flags: `n` (the perfective has a subject with ने), `i` (the past is the habitual: जानता था),
`g` (no progressive with रहा).
"""

from __future__ import annotations

from dataclasses import dataclass

_TABLE = """
eat | खा n | -
drink | पी n | -
cook | पका n | -
bake | बना n | -
order | मँगवा n | -
buy | ख़रीद n | -
sell | बेच n | -
read | पढ़ n | -
write | लिख n | -
see | देख n g | -
hear | सुन n g | -
look for | ढूँढ n | -
find | पा n | -
lose | खो n | -
open | खोल n | -
close | कर n बंद - | -
turn on | कर n चालू - | -
turn off | कर n बंद - | -
call | कर n फ़ोन m | को
invite | बुला n | -
put on | पहन n | -
take off | उतार n | -
throw away | फेंक n | -
tidy up | सजा n | -
know | जान n i g | -
love | कर n प्यार m i g | से
like | हो पसंद - i g | -
understand | समझ n g | -
learn | सीख n | -
forget | भूल g | -
repair | कर n मरम्मत f | का
wash | धो n | -
clean | कर n साफ़ - | -
carry | उठा n | -
wear | पहन n | -
draw | बना n चित्र m | का
paint | रंग n | -
take | ले n | -
use | कर n इस्तेमाल m | का
play | खेल n | -
sing | गा n | -
cross | कर n पार - | -
build | बना n | -
break | तोड़ n | -
cut | काट n | -
feed | खिला n खाना m | को
steal | चुरा n | -
hide | छिपा n | -
meet | मिल | से
greet | कर n स्वागत m | का
photograph | खींच n तस्वीर f | का
translate | कर n अनुवाद m | का
count | गिन n | -
follow | कर n पीछा m | का
help | कर n मदद f | का
thank | कर n धन्यवाद m | का
answer | दे n जवाब m | को
ask | पूछ n | से
trust | कर n भरोसा m g | पर
listen to | सुन n बात f | का
congratulate | दे n बधाई f | को
give | दे n | -
show | दिखा n | -
bring | ला | -
send | भेज n | -
tell | सुना n | -
explain | समझा n | -
return | लौटा n | -
wait for | कर n इंतज़ार m | का
think of | सोच n g | के#बारे#में
talk about | कर n बात f | के#बारे#में
laugh about | हँस | पर
talk to | कर n बात f | से
play with | खेल | के#साथ
sleep | सो | -
work | कर n काम m | -
laugh | हँस | -
cry | रो | -
dance | नाच | -
swim | तैर | -
get up | उठ | -
arrive | पहुँच | -
come back | लौट | -
go out | जा बाहर - | -
wake up | जाग | -
live | रह i g | -
go | जा | -
travel | जा | -
have | हो i g | -
put | रख n | -
rain | हो बारिश f i | -
snow | गिर बर्फ़ f i | -
know#fact | जान n i g | -
say | कह n g | -
hope | कर n उम्मीद f g | -
think | सोच n g | -
believe | मान n g | -
taste of | हो i g | का
be | हो i g | -
"""


@dataclass(frozen=True, slots=True)
class HindiVerb:
    """A verb: its stem, its host noun ("" for none, gender "-" for a word that does not agree), and its marker."""

    stem: str
    host: str
    gender: str
    marker: str
    ergative: bool
    habitual: bool
    gerund: bool


def _verb(line: str) -> tuple[str, HindiVerb]:
    name, target, marker = (part.strip() for part in line.split("|"))
    stem, *others = target.split()
    flags = {word for word in others if word in ("n", "i", "g")}
    host = [word for word in others if word not in flags]
    return name, HindiVerb(
        stem,
        host[0] if host else "",
        host[1] if host else "",
        "" if marker == "-" else marker.replace("#", " "),
        "n" in flags,
        "i" in flags,
        "g" not in flags,
    )


VERBS: dict[str, HindiVerb] = dict(_verb(line) for line in _TABLE.strip().split("\n"))
