"""Tagged sentences in JSON lines: words with their labels, or a text with the spans of its entities.

{"tokens": ["Paris", "."], "tags": ["B-LOC", "O"]}
{"text": "In Paris.", "entities": [[3, 8, "LOC"]]}      also {"start": 3, "end": 8, "label": "LOC"}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glassformer.data.readers.columns import HOPELESS
from glassformer.data.readers.fields import OnRead
from glassformer.data.readers.json_lines import not_json_lines, value_of
from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem
from glassformer.data.readers.sentences import UNUSABLE, escape_flaw
from glassformer.data.readers.tagged import TaggedSentence
from glassformer.data.schemes import BIO, Span, labels_of
from glassformer.errors import DataError
from glassformer.text.word_spans import word_spans

SHAPES = '{"tokens": [...], "tags": [...]} or {"text": ..., "entities": [[start, end, label], ...]}'
WORDS = ("tokens", "words")
LABELS = ("tags", "labels", "ner_tags", "pos_tags", "upos")
SPANS = ("entities", "spans", "label", "labels")
DOCUMENTS = ("document", "doc_id", "doc")
Keys = tuple[str, str]


class _Unfit(Exception):
    """The reason why an object is not a tagged sentence."""


def read_tagged_json(
    path: Path, columns: tuple[str, ...] | None, *, on_read: OnRead = None
) -> Iterator[TaggedSentence]:
    """One record for each line. An object may name its document; objects with equal names are of one document."""
    name, keys, documents = shown(path), None, _Documents()
    number = misses = 0
    for number, line in enumerate(lines_of(blocks_of(path, on_read=on_read), path), 1):
        place = Place(name, number, line[1])
        value, problem = value_of(line, place)
        misses += problem is not None
        if misses == number == HOPELESS:
            raise not_json_lines(name, number, shapes=SHAPES)
        if problem is None and keys is None:
            keys = choose_keys(value, place, columns)
        notes = tuple(one for one in line[2] if one.kind not in UNUSABLE)
        if problem is not None or keys is None:
            if line[0].strip():
                yield TaggedSentence([], [], place, problem=problem, notes=notes)
            continue
        yield _sentence(value, keys, place, notes, documents.number(value))
    if number and misses == number:
        raise not_json_lines(name, number, shapes=SHAPES)


class _Documents:
    """Numbers the documents that objects name."""

    def __init__(self) -> None:
        self.numbers: dict[str | int, int] = {}

    def number(self, value: Any) -> int | None:
        found = next((value[key] for key in DOCUMENTS if isinstance(value, dict) and key in value), None)
        if not isinstance(found, str | int):
            return None
        return self.numbers.setdefault(found, len(self.numbers))


def choose_keys(value: Any, place: Place, columns: tuple[str, ...] | None) -> Keys:
    """The keys of the words or the text, and of the labels or spans."""
    if not isinstance(value, dict):
        raise DataError(f"{place}: an array instead of an object. Write one object per line: {SHAPES}.")
    if columns is not None:
        if missing := [key for key in columns if key not in value]:
            raise DataError(f"{place}: no {missing[0]!r} in it; its keys are {', '.join(map(repr, list(value)[:8]))}.")
        return columns[0], columns[1]
    words = next((key for key in (*WORDS, "text") if key in value), None)
    labels = next((key for key in (SPANS if words == "text" else LABELS) if key in value), None)
    if words is None or labels is None:
        found = ", ".join(map(repr, list(value)[:8]))
        raise DataError(f"{place}: its keys are {found}. Write {SHAPES}, or choose two keys with --columns.")
    return words, labels


def _sentence(value: Any, keys: Keys, place: Place, notes: tuple[Problem, ...], document: int | None) -> TaggedSentence:
    words, labels, wider = list[str](), list[str](), list[str]()
    try:
        given, tags = _member(value, keys[0]), _member(value, keys[1])
        if isinstance(given, str):
            words, labels, wider = labelled_text(given, [_span(one, len(given)) for one in _list(tags, keys[1])])
        else:
            words, labels = (
                [_word(one, keys[0]) for one in _list(given, keys[0])],
                [_label(one) for one in _list(tags, keys[1])],
            )
            if len(words) != len(labels):
                raise _Unfit(f"{len(words)} words, but {len(labels)} labels")
    except _Unfit as reason:
        return TaggedSentence(words, [], place, document, problem=Problem("json", str(reason), place), notes=notes)
    if flaw := next(filter(None, (escape_flaw(word, place) for word in words)), None):
        return TaggedSentence([], [], place, document, problem=flaw, notes=notes)
    if wider:
        notes = (*notes, Problem("widened", f"{wider[0]!r} is part of a word; the whole word is labelled", place))
    return TaggedSentence(words, labels, place, document, notes=notes)


def labelled_text(text: str, spans: list[tuple[int, int, str]]) -> tuple[list[str], list[str], list[str]]:
    """The words of a text, their labels (BIO), and the entities that do not begin and end at words: they are widened.

    An entity that overlaps the one before it is an error.
    """
    places, found, wider = word_spans(text), list[Span](), list[str]()
    ended = 0
    for start, end, kind in sorted(spans):
        inside = [i for i, (first, last) in enumerate(places) if first < end and last > start]
        if not inside:
            raise _Unfit(f"the entity {text[start:end]!r} holds no word")
        if inside[0] < ended:
            raise _Unfit(f"the entity {text[start:end]!r} overlaps another one")
        whole = text[places[inside[0]][0] : places[inside[-1]][1]]
        if whole != text[start:end].strip():
            wider.append(text[start:end])
        found.append((kind, inside[0], inside[-1] + 1))
        ended = inside[-1] + 1
    return [text[first:last] for first, last in places], labels_of(found, len(places), BIO), wider


def _member(value: Any, key: str) -> Any:
    if not isinstance(value, dict) or key not in value:
        raise _Unfit(f"no {key!r} in it")
    return value[key]


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise _Unfit(f"{key!r} is not an array")
    return value


def _word(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise _Unfit(f"an item of {key!r} is not a text")
    return value


def _label(value: Any) -> str:
    """Numbers are names too."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _Unfit("a label is neither a text nor a whole number")
    return str(value)


def _span(value: Any, length: int) -> tuple[int, int, str]:
    parts = [value.get(key) for key in ("start", "end", "label")] if isinstance(value, dict) else value
    if not isinstance(parts, list) or len(parts) != 3:
        raise _Unfit("an entity is not [start, end, label]")
    start, end, kind = parts
    if type(start) is not int or type(end) is not int or not isinstance(kind, str) or not kind.strip():
        raise _Unfit("an entity is not [start, end, label]: two whole numbers and a text")
    if not 0 <= start < end <= length:
        raise _Unfit(f"the entity [{start}, {end}] is not inside the text of {length} characters")
    return start, end, kind.strip()
