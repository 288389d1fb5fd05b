"""The fixed expressions of the Hindi side: adverbs, places, names, greetings, by their English wording.

Each line is `English | Hindi [= another wording]`. A word may say which English words it translates (`कल:1`), and
braces hold what depends on the address: {आप|तुम}. Greetings with a noun phrase show its place as "~", before its
postposition.
"""

from __future__ import annotations

_ADVERBS = """
yesterday | कल
yesterday evening | कल शाम
this morning | आज:1 सुबह:2
last week | पिछले हफ़्ते
last year | पिछले साल
two days ago | दो दिन पहले
three weeks ago | तीन हफ़्ते पहले
an hour ago | एक घंटे पहले
today | आज
now | अब
right now | अभी:12
tomorrow | कल
tomorrow evening | कल शाम
this evening | आज शाम
next week | अगले हफ़्ते
next year | अगले साल
soon | जल्दी
on Monday | सोमवार:2 को:1
on Tuesday | मंगलवार:2 को:1
on Wednesday | बुधवार:2 को:1
on Thursday | गुरुवार:2 को:1
on Friday | शुक्रवार:2 को:1
on Saturday | शनिवार:2 को:1
on Sunday | रविवार:2 को:1
every day | हर दिन = रोज़:12
every morning | हर सुबह
every evening | हर शाम
every week | हर हफ़्ते
every year | हर साल
often | अक्सर
always | हमेशा
sometimes | कभी-कभी
usually | आमतौर:1 पर:1
never | कभी
rarely | बहुत:1 कम:1
already | पहले:1 ही:1
just | अभी-अभी
home | घर
at home | घर:2 पर:1
very much | बहुत:12
please | कृपया
because | क्योंकि
although | हालाँकि
if | अगर
when | जब
that | कि
whether | कि
but | लेकिन
why | क्यों
where | कहाँ
to Berlin | बर्लिन:2
to Vienna | वियना:2
to Munich | म्यूनिख:2
to Cologne | कोलोन:2
to London | लंदन:2
to Paris | पेरिस:2
in Berlin | बर्लिन:2 में:1
in Vienna | वियना:2 में:1
in Munich | म्यूनिख:2 में:1
in Cologne | कोलोन:2 में:1
in London | लंदन:2 में:1
in Paris | पेरिस:2 में:1
"""
_GREETINGS = """
how are you | {आप|तुम}:3 कैसे:1 {हैं|हो}:2
how are you today | आज:4 {आप|तुम}:3 कैसे:1 {हैं|हो}:2
how are you now | अब:4 {आप|तुम}:3 कैसे:1 {हैं|हो}:2
how are you this morning | आज:4 सुबह:5 {आप|तुम}:3 कैसे:1 {हैं|हो}:2
how were you yesterday | कल:4 {आप|तुम}:3 कैसे:1 थे:2
who are you | {आप|तुम}:3 कौन:1 {हैं|हो}:2
where are you | {आप|तुम}:3 कहाँ:1 {हैं|हो}:2
what is your name | {आपका|तुम्हारा}:3 नाम:4 क्या:1 है:2
thank you | धन्यवाद:12 = शुक्रिया:12
thank you very much | बहुत-बहुत:34 धन्यवाद:12
yes , thank you | हाँ:1 , धन्यवाद:34
no , thank you | नहीं:1 , धन्यवाद:34
I am fine , thank you | मैं:1 ठीक:3 हूँ:2 , धन्यवाद:56
thank you for the invitation | निमंत्रण:5 के:3 लिए:3 धन्यवाद:12
thank you for your help | {आपकी|तुम्हारी}:4 मदद:5 के:3 लिए:3 धन्यवाद:12
thank you for everything | सब:4 कुछ:4 के:3 लिए:3 धन्यवाद:12
many thanks | बहुत:1 धन्यवाद:2
congratulations | बधाई:1 हो:1 = मुबारक:1 हो:1
oh , congratulations | अरे:1 , बधाई:3 हो:3
yes , congratulations | हाँ:1 , बधाई:3 हो:3
congratulations again | फिर:2 से:2 बधाई:1 हो:1
hello , and congratulations | नमस्ते:1 , और:3 बधाई:4 हो:4
thank you , and congratulations | धन्यवाद:12 , और:4 बधाई:5 हो:5
good morning , and congratulations | सुप्रभात:12 , और:4 बधाई:5 हो:5
good evening , and congratulations | शुभ:1 संध्या:2 , और:4 बधाई:5 हो:5
hello , thank you | नमस्ते:1 , धन्यवाद:34
oh , thank you | अरे:1 , धन्यवाद:34
thank you again | फिर:3 से:3 धन्यवाद:12
good morning , and thank you | सुप्रभात:12 , और:4 धन्यवाद:56
good evening , and thank you | शुभ:1 संध्या:2 , और:4 धन्यवाद:56
congratulations on your exam | परीक्षा:4 के:2 लिए:2 बधाई:1
congratulations on the new flat | नए:4 फ़्लैट:5 के:2 लिए:2 बधाई:1
congratulations from all of us | हम:5 सबकी:3 ओर:2 से:2 बधाई:1
nice to meet you | {आपसे|तुमसे}:4 मिलकर:3 ख़ुशी:1 हुई:1
nice to see you | {आपको|तुम्हें}:4 देखकर:3 ख़ुशी:1 हुई:1
nice to see you again | {आपको|तुम्हें}:4 फिर:5 देखकर:3 ख़ुशी:1 हुई:1
good morning | सुप्रभात:12
good evening | शुभ:1 संध्या:2
good night | शुभ:1 रात्रि:2
welcome | स्वागत:1 है:1
hello | नमस्ते
goodbye | अलविदा
see you tomorrow | कल:3 मिलेंगे:12
see you soon | जल्दी:3 मिलेंगे:12
sleep well | अच्छे:2 से:2 {सोइए|सोओ}:1
I am sorry | मुझे:1 खेद:3 है:2
excuse me | माफ़:1 {कीजिए|करो}:1
how is | ~ कैसे:1
thank you for | ~ के:3 लिए:3 धन्यवाद:12
nice to meet | ~ से:2 मिलकर:3 ख़ुशी:1 हुई:1
nice to see | ~ को:2 देखकर:3 ख़ुशी:1 हुई:1
"""
NAMES = dict(
    zip(
        [
            "Anna", "Maria", "Julia", "Laura", "Emma", "Sophie", "Paul", "Peter", "Thomas", "Max", "Felix", "Martin",
            "Schmidt", "Weber", "Fischer", "Becker", "Wagner", "Koch",
        ],
        [
            "अन्ना", "मारिया", "जूलिया", "लौरा", "एम्मा", "सोफ़ी", "पॉल", "पीटर", "थॉमस", "मैक्स", "फ़ेलिक्स", "मार्टिन",
            "श्मिट", "वेबर", "फ़िशर", "बेकर", "वागनर", "कोख़",
        ],
        strict=True,
    )
)  # fmt: skip
ON = (  # places that take पर where English has in or at
    "bridge", "beach", "island", "sofa", "chair", "river bank", "station", "airport", "lake", "door", "window",
    "street", "road", "square",
)  # fmt: skip
SPOTS = {
    "on": "पर", "under": "के नीचे", "behind": "के पीछे", "next to": "के पास", "in front of": "के सामने", "with": "से",
    "in": "में", "into": "में", "at": "में",
}  # fmt: skip


def _table(text: str) -> dict[str, tuple[str, ...]]:
    entries = (line.split(" | ") for line in text.strip().splitlines())
    return {english: tuple(part.strip() for part in target.split(" = ")) for english, target in entries}


ADVERBS = _table(_ADVERBS)
GREETINGS = _table(_GREETINGS)
