"""The Hindi side of the phrasebook."""

from __future__ import annotations

import re
from dataclasses import replace

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import VERB, Clause
from glassformer.data.phrasebook.hindi.clauses import Sentence
from glassformer.data.phrasebook.hindi.documents import DOCUMENT_SENTENCES
from glassformer.data.phrasebook.hindi.expressions import ADVERBS, GREETINGS, NAMES
from glassformer.data.phrasebook.hindi.nominals import agreement, direct, familiar, marked, phrase_tokens, place_tokens
from glassformer.data.phrasebook.hindi.nouns import NOUNS
from glassformer.data.phrasebook.meaning import (
    Compared,
    Enjoyed,
    Existing,
    Greeted,
    Joined,
    Meaning,
    MissingWord,
    Said,
    fixed,
)
from glassformer.data.phrasebook.nominal import Fixed, Nominal, NounPhrase, Pronoun, Referring, linked
from glassformer.data.phrasebook.phrase import Vocative

__all__ = ["DOCUMENT_SENTENCES", "MARKS", "called", "render"]

MARKS = {".": "।"}
_COMMA = 990  # the key of the comma between two clauses
_BRACES = re.compile(r"\{([^}]*)\}")


def called(vocative: Vocative) -> list[str]:
    """अन्ना, बच्चो, श्री कोख़."""
    if vocative.english == ("children",):
        return ["बच्चो"]
    title = {"Mr": "श्री", "Mrs": "श्रीमती"}
    return [title.get(word) or NAMES[word] for word in vocative.english]


def render(meaning: Meaning, choices: Choices) -> list[Token]:
    """What is said, in Hindi."""
    if isinstance(meaning, Said):
        return Sentence(meaning.clause, choices, order=meaning.order).words()
    if isinstance(meaning, Joined):
        return _joined(meaning, choices)
    if isinstance(meaning, Compared):
        return _compared(meaning, choices)
    if isinstance(meaning, Existing):
        return _existing(meaning, choices)
    if isinstance(meaning, Enjoyed):
        return _enjoyed(meaning, choices)
    return _greeted(meaning, choices)


def _joined(meaning: Joined, choices: Choices) -> list[Token]:
    """Two clauses: अगर and जब come first, with तो before the main clause; the others follow it."""
    one, other = _respectful(meaning.main, meaning.second), _respectful(meaning.second, meaning.main)
    each_time = meaning.conjunction is not None and meaning.conjunction.source == "when"
    main, second = Sentence(one, choices).words(), Sentence(other, choices, general=each_time).words()
    if meaning.conjunction is None:
        asked = meaning.second.question
        return [*main, Token("कि", (), (asked.key,) if asked else ()), *second]
    name, word, key = (
        meaning.conjunction.source,
        fixed(meaning.conjunction, ADVERBS, choices),
        (meaning.conjunction.key,),
    )
    comma = [Token(",", (_COMMA,))]
    if name in ("if", "when"):
        return [*word, *second, *comma, Token("तो", (), key), *main]
    if name == "although":
        if meaning.second_first:
            return [*word, *second, *comma, *[Token(part, (), key) for part in ("फिर", "भी")], *main]
        return [*main, *comma, *word, *second]
    if name == "whether":
        return [*main, *word, *second, *[Token(part, (), key) for part in ("या", "नहीं")]]
    return [*main, *(comma if name == "but" else []), *word, *second]


def _respectful(clause: Clause, other: Clause) -> Clause:
    """A pronoun for a father or an aunt of the other clause is वे, with the verb in the plural."""
    pronoun, noun = clause.subject, other.subject
    if type(pronoun) is not Pronoun or pronoun.person != 2 or not isinstance(noun, NounPhrase) or noun.plural:
        return clause
    known = NOUNS.get(noun.noun.english)
    if known is None or not known[0].honoured or noun.gender != pronoun.gender:
        return clause
    return replace(clause, subject=Referring(pronoun.key, 2, antecedent=noun))


def _compared(meaning: Compared, choices: Choices) -> list[Token]:
    """सेब संतरे से ज़्यादा मीठा है."""
    part = meaning.clause.complement
    assert isinstance(part, Fixed)
    sentence = Sentence(meaning.clause, choices)
    last = part.key + len(part.source.split()) - 1
    than = marked(meaning.other, "से", (meaning.key,), choices, sentence.owner)
    if meaning.adjective == "good":
        return sentence.words([*than, Token("बेहतर", (part.key,))])
    degree = [Token("ज़्यादा", (part.key,)), *sentence.agreeing(meaning.adjective, (last,))]
    return sentence.words([*than, *degree])


def _existing(meaning: Existing, choices: Choices) -> list[Token]:
    """शहर में दो संग्रहालय हैं; कोई संग्रहालय नहीं है."""
    thing = meaning.thing
    denied = [Token("नहीं", (thing.key + 2,))] if thing.determiner == "no" else []
    if denied:
        thing = NounPhrase(thing.key, thing.noun, "no", False, thing.adjective)
    verb = Token(Sentence.copula(meaning.past, agreement(thing, choices)), (VERB,), (meaning.key,))
    return [*place_tokens(meaning.where, choices), *phrase_tokens(thing, choices), *denied, verb]


def _enjoyed(meaning: Enjoyed, choices: Choices) -> list[Token]:
    """मुझे आइसक्रीम खाना पसंद है."""
    clause, key = meaning.clause, (meaning.key,)
    sentence = Sentence(clause, choices)
    lead = marked(clause.subject, "को", (), choices)
    host = [Token(sentence.verb.host, (VERB,))] if sentence.verb.host else []
    infinitive = Token(sentence.verb.stem + "ना", (VERB,))
    return [*lead, *sentence.objects(), *host, infinitive, Token("पसंद", key), Token("है", (), key)]


def _greeted(meaning: Greeted, choices: Choices) -> list[Token]:
    opening = meaning.opening
    if opening.source not in GREETINGS:
        raise MissingWord(opening.source)
    wordings = GREETINGS[opening.source]
    which = choices.pick(f"wording {opening.key}", len(wordings)) if len(wordings) > 1 else 0
    text = wordings[which]
    if "{" in text:
        to = familiar(choices)
        text = _BRACES.sub(lambda found: found[1].split("|")[to], text)
    size, key = len(opening.source.split()), opening.key
    if meaning.thing is None:
        return linked(key, size, text)
    rest = linked(key, size, text.replace("~", "").strip())
    if opening.source == "how is":
        return _asked_after(meaning.thing, key, choices)
    return _with_postposition(meaning.thing, rest, choices)


def _asked_after(who: Nominal, key: int, choices: Choices) -> list[Token]:
    """आपकी माँ कैसी हैं: the question word agrees."""
    one = agreement(who, choices)
    asked = {"m": ("कैसा", "कैसे"), "f": ("कैसी", "कैसी")}[one.gender][one.plural]
    return [*direct(who, choices), Token(asked, (key,)), Token("हैं" if one.plural else "है", (key + 1,))]


def _with_postposition(thing: Nominal, rest: list[Token], choices: Choices) -> list[Token]:
    """The first words after the noun are its postposition: के लिए, से, को."""
    size = 2 if rest[0].text == "के" else 1
    word = " ".join(token.text for token in rest[:size])
    return [*marked(thing, word, rest[0].sure, choices), *rest[size:]]
