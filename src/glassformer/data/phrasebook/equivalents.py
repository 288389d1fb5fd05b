"""English sentences that another language does not distinguish: "did not" and "didn't", he and she, must and have to.

They are references for the direction into English. Nothing is guessed: a change counts only if the other side, rendered
again, is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from glassformer.data.phrasebook.aligned import Token
from glassformer.data.phrasebook.clause import CONTRACTED, MODAL, Clause
from glassformer.data.phrasebook.meaning import Compared, Existing, Greeted, Joined, Meaning
from glassformer.data.phrasebook.nominal import Fixed, NounPhrase, Pronoun, Referring
from glassformer.data.phrasebook.nouns import NOUNS
from glassformer.data.phrasebook.verbs import MODALS

_FULL = {short: full if full == "can" else f"{full} not" for full, short in CONTRACTED.items()} | {"can't": "cannot"}
_SHORT = {full: short for short, full in _FULL.items()}
_NEGATIONS = frozenset((-1, -11))  # the keys of "not" in a first and a second clause
_SWAPPED = {"he": "she", "she": "he", "him": "her", "his": "her", "himself": "herself"}
_DUTIES = {"must": "have to", "have to": "must"}
_WAYS = {"street": "road", "road": "street"}
_MOST = 4  # pronouns that are changed independently


def spelled_out(tokens: list[Token]) -> list[Token]:
    """Without contractions: "did not" for "didn't"; the links of each part stay with it."""
    found: list[Token] = []
    for token in tokens:
        full = _FULL.get(token.text, token.text).split()
        if len(full) == 1:
            found.append(token._replace(text=full[0]))
            continue
        verb = tuple(key for key in token.sure if key not in _NEGATIONS)
        found.append(Token(full[0], verb, token.possible))
        found.append(Token(full[1], tuple(key for key in token.sure if key in _NEGATIONS)))
    return found


def with_contractions(sentences: list[str]) -> list[str]:
    """The sentences, and each of them with contractions."""
    found = list(sentences)
    for text in sentences:
        short = text
        for full, contracted in _SHORT.items():
            short = short.replace(f" {full} ", f" {contracted} ")
        found.append(short)
    return found


def with_ways(sentences: list[str]) -> list[str]:
    """The sentences, and each of them with "road" for "street" or the other way round: one word in the others."""
    swapped = (" ".join(_WAYS.get(word, word) for word in text.split(" ")) for text in sentences)
    return [*sentences, *swapped]


def without_contractions(sentence: str) -> str:
    """The sentence with "did not" for "didn't", and so on."""
    for contracted, full in _FULL.items():
        sentence = sentence.replace(f" {contracted} ", f" {full} ")
    return sentence


def changed_wordings(meaning: Meaning | None, english: list[Token]) -> Iterator[list[Token]]:
    """The English tokens after each change that may make no difference, while `meaning` has the same change."""
    yield from _changed_grammar(meaning, english)
    for other in swapped_nouns(meaning, english):
        yield other
        yield from _changed_grammar(meaning, other)


def _changed_grammar(meaning: Meaning | None, english: list[Token]) -> Iterator[list[Token]]:
    yield from swapped_genders(meaning, english)
    yield from swapped_duties(meaning, english)


def swapped_nouns(meaning: Meaning | None, english: list[Token]) -> Iterator[list[Token]]:
    """ "road" for "street", and the other way round, which is Straße, strada, सड़क."""
    for part in _nominals(meaning):
        if not isinstance(part, NounPhrase) or part.noun.english not in _WAYS:
            continue
        before = part.noun
        part.noun = NOUNS[_WAYS[before.english]]
        texts = {before.english: part.noun.english, before.plural: part.noun.plural}
        yield [
            token._replace(text=texts.get(token.text, token.text)) if part.key in token.sure else token
            for token in english
        ]
        part.noun = before


def swapped_duties(meaning: Meaning | None, english: list[Token]) -> Iterator[list[Token]]:
    """ "must help" for "has to help", and the other way round."""
    for clause in _clauses(meaning):
        modal = clause.modal
        if modal is None or modal.name not in _DUTIES or clause.negated or clause.asked or clause.tense == "past":
            continue
        clause.modal = MODALS[_DUTIES[modal.name]]
        yield _reworded(english, clause.shift + MODAL, "has" if clause.subject.english_person() == 2 else "have")
        clause.modal = modal


def _reworded(english: list[Token], key: int, have: str) -> list[Token]:
    """must becomes have to; have to becomes must."""
    found: list[Token] = []
    for token in english:
        if key in token.sure:
            have_to = [Token(have, token.sure), Token("to", (), token.sure)]
            found += have_to if token.text == "must" else [token._replace(text="must")]
        elif key not in token.possible:
            found.append(token)
    return found


def swapped_genders(meaning: Meaning | None, english: list[Token]) -> Iterator[list[Token]]:
    """The English tokens after each change of he and she, while `meaning` has the same change."""
    parts = list(_third_persons(meaning))[:_MOST]
    for chosen in product((False, True), repeat=len(parts)):
        if not any(chosen):
            continue
        changed = [part for part, wanted in zip(parts, chosen, strict=True) if wanted]
        for part in changed:
            _swap(part)
        yield _changed(english, changed)
        for part in changed:
            _swap(part)


def _third_persons(meaning: Meaning | None) -> Iterator[Pronoun | NounPhrase]:
    """Every he and she, his and her."""
    for part in _nominals(meaning):
        plain = type(part) is Pronoun and part.person == 2 and part.gender in ("m", "f")
        if plain or (isinstance(part, NounPhrase) and part.determiner in ("2", "2f")):
            yield part  # type: ignore[misc]


def _clauses(meaning: Meaning | None) -> list[Clause]:
    if isinstance(meaning, Joined):
        return [meaning.main, meaning.second]
    return [] if meaning is None or isinstance(meaning, Existing | Greeted) else [meaning.clause]


def _nominals(meaning: Meaning | None) -> Iterator[object]:
    for clause in _clauses(meaning):
        yield from _of_clause(clause)
    if isinstance(meaning, Compared):
        yield meaning.other
    elif isinstance(meaning, Greeted):
        yield meaning.thing
    elif isinstance(meaning, Existing):
        yield from (meaning.thing, meaning.where.inner)


def _of_clause(clause: Clause) -> Iterator[object]:
    for part in (clause.subject, clause.dative, clause.accusative):
        if not isinstance(part, Referring):
            yield part
    for phrase in (clause.complement, clause.place, clause.manner):
        if phrase is not None and not isinstance(phrase, Fixed):
            yield phrase.inner


def _swap(part: Pronoun | NounPhrase) -> None:
    if isinstance(part, NounPhrase):
        part.determiner = "2" if part.determiner == "2f" else "2f"
    else:
        part.gender = "m" if part.gender == "f" else "f"


def _changed(english: list[Token], parts: list[Pronoun | NounPhrase]) -> list[Token]:
    """`parts` have their new gender already: "her" becomes him or his."""
    words = {}
    for part in parts:
        if isinstance(part, NounPhrase):
            words[part.key + 2] = "his" if part.determiner == "2" else "her"
        else:
            words[part.key] = ""
    found = []
    for token in english:
        text = next((words[key] for key in token.sure if key in words), None)
        if text == "":
            text = _SWAPPED.get(token.text, "him" if token.text == "her" else token.text)
        found.append(token if text is None else token._replace(text=text))
    return found
