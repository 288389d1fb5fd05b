"""The Italian side of the phrasebook."""

from __future__ import annotations

import re

from glassformer.data.phrasebook.aligned import Choices, Token
from glassformer.data.phrasebook.clause import VERB
from glassformer.data.phrasebook.italian import morphology
from glassformer.data.phrasebook.italian.clauses import Sentence, experiencer
from glassformer.data.phrasebook.italian.documents import DOCUMENT_SENTENCES
from glassformer.data.phrasebook.italian.expressions import ADVERBS, GREETINGS
from glassformer.data.phrasebook.italian.nominals import after_preposition, agreement, elided, phrase_tokens
from glassformer.data.phrasebook.italian.nouns import ADJECTIVES
from glassformer.data.phrasebook.italian.verb_groups import part_tokens
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
from glassformer.data.phrasebook.nominal import Fixed, Nominal, NounPhrase, Pronoun, address, linked
from glassformer.data.phrasebook.phrase import Vocative

__all__ = ["DOCUMENT_SENTENCES", "MARKS", "called", "render"]

MARKS: dict[str, str] = {}
_COMMA = 990  # the key of the comma between two clauses
_BRACES = re.compile(r"\{([^}]*)\}")
_COMPARATIVES = {"good": "migliore", "bad": "peggiore"}


def called(vocative: Vocative) -> list[str]:
    """Anna, bambini, signor Koch."""
    if vocative.english == ("children",):
        return ["bambini"]
    title = {"Mr": "signor", "Mrs": "signora"}
    return [title.get(word, word) for word in vocative.english]


def render(meaning: Meaning, choices: Choices) -> list[Token]:
    """What is said, in Italian."""
    if isinstance(meaning, Said):
        return elided(Sentence(meaning.clause, choices, order=meaning.order).words())
    if isinstance(meaning, Joined):
        return elided(_joined(meaning, choices))
    if isinstance(meaning, Compared):
        return elided(_compared(meaning, choices))
    if isinstance(meaning, Existing):
        return elided(_existing(meaning, choices))
    if isinstance(meaning, Enjoyed):
        return elided(_enjoyed(meaning, choices))
    return elided(_greeted(meaning, choices))


def _joined(meaning: Joined, choices: Choices) -> list[Token]:
    """Two clauses. The second leaves out a subject that the first has named."""
    one, other = meaning.main, meaning.second
    if meaning.second_first:
        one, other = other, one
    first = Sentence(one, choices).words()
    second = Sentence(other, choices, drop=_same(one.subject, other.subject)).words()
    word = fixed(meaning.conjunction, ADVERBS, choices) if meaning.conjunction else []
    if meaning.second_first:
        return [*word, *first, Token(",", (_COMMA,)), *second]
    comma = [Token(",", (_COMMA,))] if meaning.conjunction and meaning.conjunction.source == "but" else []
    return [*first, *comma, *word, *second]


def _same(first: Nominal, second: Nominal) -> bool:
    """True if a pronoun repeats the subject of the other clause."""
    if not isinstance(second, Pronoun):
        return False
    if isinstance(first, Pronoun):
        return (first.person, first.gender) == (second.person, second.gender)
    return second.person == first.english_person() and (second.person == 5 or second.gender == first.gender)


def _compared(meaning: Compared, choices: Choices) -> list[Token]:
    part = meaning.clause.complement
    assert isinstance(part, Fixed)
    if meaning.adjective not in ADJECTIVES:
        raise MissingWord(meaning.adjective)
    meaning.clause.complement = None
    try:
        sentence = Sentence(meaning.clause, choices)
        words = sentence.words()
    finally:
        meaning.clause.complement = part
    irregular = _COMPARATIVES.get(meaning.adjective)
    last = part.key + len(part.source.split()) - 1
    if irregular:
        degree = [Token(sentence.agreeing(irregular), (part.key,))]
    else:
        text = sentence.agreeing(ADJECTIVES[meaning.adjective].masculine)
        degree = [Token("più", (part.key,)), Token(text, (last,))]
    return [*words, *degree, *after_preposition("di", (meaning.key,), meaning.other, choices)]


def _existing(meaning: Existing, choices: Choices) -> list[Token]:
    """C'è un museo; ci sono due musei; non c'è nessun museo."""
    thing = meaning.thing
    plural = thing.plural
    verb = ("erano" if plural else "era") if meaning.past else "sono" if plural else "è"
    there = Token("ci" if plural and not meaning.past else "c'", (meaning.key,))
    denied = [Token("non", (thing.key + 2,))] if thing.determiner == "no" else []
    if denied and plural:
        thing = NounPhrase(thing.key, thing.noun, "none", True, thing.adjective)
    words = phrase_tokens(thing, choices)
    return [*denied, there, Token(verb, (VERB,)), *words, *part_tokens(meaning.where, choices)]


def _enjoyed(meaning: Enjoyed, choices: Choices) -> list[Token]:
    """Mi piace leggere libri; a Maria piace ballare."""
    clause = meaning.clause
    sentence = Sentence(clause, choices)
    lead, clitics = experiencer(clause.subject, agreement(clause.subject, choices), choices)
    sentence.negated = True  # no partitive: leggere libri
    infinitive = Token(sentence.verb.forms.infinitive, (VERB,))
    rest = [Token(word, (VERB,)) for word in sentence.verb.rest]
    if isinstance(sentence.direct, Pronoun):
        one = agreement(sentence.direct, choices)
        pronoun = morphology.clitic("acc", one.person, one.gender, one.polite)
        infinitive = Token(morphology.attached(infinitive.text, pronoun), (VERB, sentence.direct.key))
    return [*lead, *clitics, Token("piace", (meaning.key,)), infinitive, *rest, *sentence.objects()]


def _greeted(meaning: Greeted, choices: Choices) -> list[Token]:
    opening = meaning.opening
    if opening.source not in GREETINGS:
        raise MissingWord(opening.source)
    wordings = GREETINGS[opening.source]
    which = choices.pick(f"wording {opening.key}", len(wordings)) if len(wordings) > 1 else 0
    text, _, _ = wordings[which].partition("~")
    if "{" in text:
        to = address(choices)
        text = _BRACES.sub(lambda found: found[1].split("|")[to], text)
    said = linked(opening.key, len(opening.source.split()), text)
    if meaning.thing is None:
        return said
    return said + _noun_words(meaning.thing, choices)


def _noun_words(thing: Nominal, choices: Choices) -> list[Token]:
    if isinstance(thing, NounPhrase):
        return phrase_tokens(thing, choices, none="all")
    return thing.english()
