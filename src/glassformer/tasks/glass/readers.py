"""How a page turns typed texts into ids as Python does, and how it shows that it does: the same ids for many texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassformer.explain.glass.trace import NO_WORD, ReadBy, Side
from glassformer.text import Tokenizer
from glassformer.text.pieces import CONTINUES, MARK
from glassformer.text.tokenizer import MOST_TRACED
from glassformer.text.trace import Trace

PROBES = (
    "", " ", "a", "The dog sees the cat.", "  two  spaces   and more ", "UPPER lower MiXed", "don't, can't; it's",
    "3.14, 1,000,000 and 2026-11-20", "e-mail@example.org https://example.org/?q=a&b=c#d", "</s><unk><pad>[MASK]<mask>",
    "line one\nline two\r\nthree\tfour", "größer, ÜBER, naïve, façade, œuvre", "cafe\u0301 = caf\u00e9", "ﬁne ½ ² ℌ Å",
    "你好，世界。", "日本語のテキスト ﾊﾝｶｸ", "한국어 문장", "Привет, мир!", "שלום עולם", "مرحبا بالعالم",
    "नमस्ते दुनिया", "👩‍👩‍👧‍👦 🇩🇪 👍🏽 ☺️", "a\u200bb\u00adc\u00a0d\u3000e", "\u202eabc\u202c \ufeffx",
    "“quotes” — ‘dash’ …",
    "x" * 120, "aaaa bbbb aaaa bbbb", "({[<|>]})", "$€£¥ % ‰ # @ & * ~ ^ _ ` \\", "I ate an apple.\u0000\u0007end",
)  # fmt: skip


def read_by(tokenizer: Tokenizer, *, shown: bool = True, **more: Any) -> ReadBy:
    """A tokenizer for a page. `more` are the further fields of `ReadBy`."""
    probes = tuple((text, tuple(tokenizer.encode(text))) for text in PROBES)
    pieces = tuple(tokenizer.pieces_of(range(len(tokenizer)))) if shown else ()
    silent = tuple(number for number in range(len(tokenizer)) if is_silent(tokenizer, number))
    return ReadBy(tokenizer.text_only_json(), pieces, probes=probes, silent=silent, **more)


def is_silent(tokenizer: Tokenizer, number: int) -> bool:
    """Whether decoding leaves a token out: the special ones, and in most files the unknown one."""
    return tokenizer.is_special(number) or (number == tokenizer.unk_id and not tokenizer.decode([number]))


# Words


def side_of(pieces: Sequence[str], ids: Sequence[int], text: str | None, tokenizer: Tokenizer | None) -> Side:
    """The tokens of a sequence with the number of each one's word. `text` is what was read, if it was a text."""
    if tokenizer is None or not ids:
        return Side(tuple(pieces), (NO_WORD,) * len(pieces))
    found = None if text is None else words_in(text, ids, tokenizer)
    return Side(tuple(pieces), tuple(found or words_by_pieces(pieces, ids, tokenizer)))


def words_in(text: str, ids: Sequence[int], tokenizer: Tokenizer) -> list[int] | None:
    """By the tokenizer's own words, where the ids are those of the text between special ones."""
    own = tokenizer.encode(text)
    for start in range(len(ids) - len(own) + 1):
        if own and list(ids[start : start + len(own)]) == own:
            after = len(ids) - start - len(own)
            return [*[NO_WORD] * start, *tokenizer.word_ids(text), *[NO_WORD] * after]
    return None


def words_by_pieces(pieces: Sequence[str], ids: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """By how the pieces look: a space, or the absence of the mark of a continued word, begins one."""
    found, word, continued = [], -1, any(piece.startswith(CONTINUES) for piece in pieces)
    for piece, number in zip(pieces, ids, strict=True):
        if number >= len(tokenizer) or tokenizer.is_special(number):
            found.append(NO_WORD)
            continue
        begins = not piece.startswith(CONTINUES) if continued else piece.startswith(MARK) or not piece[:1].isalnum()
        word += begins or word < 0 or (bool(found) and found[-1] == NO_WORD)
        found.append(word)
    return found


def merges_of(text: str, side: Side, ids: Sequence[int], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """How each word became its pieces; all words together where one alone would become others. Empty for long texts."""
    ((own, spans),) = tokenizer.encode_with_spans([text])
    first = next((place for place, word in enumerate(side.words) if word != NO_WORD), 0)
    if list(ids[first : first + len(own)]) != own:
        return []
    found, end = [], 0
    for word in sorted({*side.words} - {NO_WORD}):
        places = [place for place, one in enumerate(side.words) if one == word]
        before, (start, _), (_, end) = end, spans[places[0] - first], spans[places[-1] - first]
        wanted = [ids[place] for place in places]
        for spelled in dict.fromkeys((text[before:end], text[start:end])):
            if len(spelled) <= MOST_TRACED and tokenizer.encode(spelled) == wanted:
                found.append(trace_dict(tokenizer.trace(spelled), first=places[0]))
                break
    if [number for one in found for number in one["ids"]] == own:
        return found
    return [trace_dict(tokenizer.trace(text), first=first)] if len(text) <= MOST_TRACED else []


def trace_dict(trace: Trace, *, first: int) -> dict[str, Any]:
    names = ("before", "merged", "after", "rank", "score", "tried")
    steps = [{name: getattr(one, name) for name in names} for one in trace.steps]
    return {
        "word": trace.word,
        "kind": trace.kind,
        "first": first,
        "pieces": trace.pieces,
        "ids": trace.ids,
        "steps": steps,
    }


def spans_of(text: str, side: Side, tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """The span of each piece in the text, in UTF-16 units, as JavaScript counts; (-1, -1) for special tokens."""
    ((_, spans),) = tokenizer.encode_with_spans([text])
    first = next((place for place, word in enumerate(side.words) if word != NO_WORD), 0)
    units = [0]
    for sign in text:
        units.append(units[-1] + (2 if ord(sign) > 0xFFFF else 1))
    found = [(-1, -1)] * len(side.pieces)
    for place, (start, end) in enumerate(spans[: len(side.pieces) - first], first):
        found[place] = (units[start], units[end])
    return found
