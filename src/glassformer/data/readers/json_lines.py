"""JSON lines: one object or array per line, with a sentence and its translation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.data.readers.columns import HOPELESS
from glassformer.data.readers.languages import is_language, matching
from glassformer.data.readers.lines import Line, lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.data.readers.sentences import UNUSABLE, unescaped_pair
from glassformer.errors import DataError

Choice = tuple[str, str] | None

_NAMES = (("source", "target"), ("src", "tgt"), ("src", "trg"), ("source_text", "target_text"))
_SHAPES = (
    '{"source": ..., "target": ...}, {"en": ..., "de": ...}, {"translation": {"en": ..., "de": ...}} or [..., ...]'
)


@dataclass(frozen=True)
class Keys:
    """The two texts' keys in an object, or indices in an array."""

    source: str | int
    target: str | int
    inside: str | None = None  # the key of an inner object that contains them


class _Unfit(Exception):
    """The reason why a value is not a pair."""


def read_json_lines(
    path: Path, *, columns: Choice = None, languages: Choice = None, on_read: Callable[[int], None] | None = None
) -> Iterator[Record]:
    """One record for each line. The keys of the texts are chosen, or determined from the first readable line."""
    name, keys = shown(path), None
    number = misses = texts = 0
    for number, line in enumerate(lines_of(blocks_of(path, on_read=on_read), path), 1):
        place = Place(name, number, line[1])
        value, problem = value_of(line, place)
        if problem is None and keys is None:
            keys = _choose(value, place, columns, languages)
        misses, texts = misses + (problem is not None), texts + bool(line[0].strip())
        if misses == number == HOPELESS and texts:
            break
        yield _no_pair(line, place, problem) if problem or keys is None else _record(value, keys, line, place)
    if misses == number and texts:
        raise not_json_lines(name, number)


def not_json_lines(name: str, lines: int, *, shapes: str = _SHAPES) -> DataError:
    return DataError(
        f"{name} does not look like JSON lines: none of its first {lines:,} lines is an object or an array. "
        f"Write one per line: {shapes}; jq -c '.[]' turns one large array into such lines."
    )


def _no_pair(line: Line, place: Place, problem: Problem | None) -> Record:
    notes = tuple(odd for odd in line[2] if odd.kind == "bom")
    return Record("", "", place, problem, notes)


def value_of(line: Line, place: Place) -> tuple[Any, Problem | None]:
    """The object or array of a line, or its problem."""
    text, _, oddities = line
    if oddities and (problem := next((odd for odd in oddities if odd.kind in UNUSABLE), None)):
        return None, problem
    if not text.strip():
        return None, Problem("blank", "both sides are blank", place)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        byte = place.byte + len(text[: error.pos].encode())
        return None, Problem("json", f"not JSON: {error.msg}", Place(place.file, place.number, byte))
    except RecursionError:
        return None, Problem("json", "JSON nested too deeply", place)
    except ValueError as error:  # a number with thousands of digits
        return None, Problem("json", f"not usable JSON: {str(error).split(';')[0]}", place)
    if not isinstance(value, dict | list):
        return None, Problem("json", f"{_what(value)} instead of an object or an array", place)
    return value, None


def _record(value: Any, keys: Keys, line: Line, place: Place) -> Record:
    try:
        inner = value if keys.inside is None else _member(value, keys.inside, dict)
        source, target = _member(inner, keys.source, str), _member(inner, keys.target, str)
    except _Unfit as reason:
        return _no_pair(line, place, Problem("json", str(reason), place))
    return unescaped_pair(source, target, place, oddities=line[2])


def _member(value: Any, key: str | int, kind: type) -> Any:
    if isinstance(key, int):
        if not isinstance(value, list) or len(value) <= key:
            raise _Unfit(f"{_what(value)} instead of an array of at least {key + 1}")
    elif not isinstance(value, dict) or key not in value:
        raise _Unfit(f"no {key!r} in it; it is {_what(value)}")
    found = value[key]
    if not isinstance(found, kind):
        name = f"item {key + 1}" if isinstance(key, int) else repr(key)
        raise _Unfit(f"{name} is {_what(found)} instead of {'a text' if kind is str else 'an object'}")
    return found


def _what(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(str(key)[:30]) for key in list(value)[:8])
        return f"an object of {keys}" if keys else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "a text" if isinstance(value, str) else "a number"


def _choose(value: Any, place: Place, columns: Choice, languages: Choice) -> Keys:
    """Where the texts are: as chosen, or by the shape of the first value. Raises an error if that is not clear."""
    if isinstance(value, list):
        if columns is not None and _numbers(columns) is None:
            raise DataError(f"{place}: for an array, --columns must be two numbers (1 is the first), got {columns}.")
        return _numbers(columns) or Keys(0, 1)
    inside = "translation" if isinstance(value.get("translation"), dict) else None
    if columns is not None:
        return _named(value, inside, columns, place)
    inner = value[inside] if inside else value
    if languages is not None and (keys := _by_language(inner, inside, languages)):
        return keys
    if languages is not None and any(is_language(key) for key in inner):
        raise DataError(
            f"{place}: no {' and '.join(languages)} in {_what(inner)}. --languages must be two of its keys."
        )
    found = [Keys(a, b) for a, b in _NAMES if a in value and b in value]
    codes = [key for key in inner if is_language(key)]
    if len(codes) == 3 and not inside:
        codes = [key for key in codes if key != "id"]  # almost never Indonesian
    if inside or len(codes) > 1:
        found.append(_two_languages(codes, inside, value, place))
    if len(found) != 1:
        what = "not clear where the two texts are" if found else "no two texts found"
        raise DataError(f"{place}: {what} in {_what(value)}. Allowed: {_SHAPES}; choose two keys with --columns.")
    return found[0]


def choose_keys_to_fill(value: Any, place: Place, columns: Choice, languages: Choice) -> Keys:
    """The same for objects that may lack the target key."""
    if isinstance(value, list):
        return _choose(value, place, columns, languages)
    inside = "translation" if isinstance(value.get("translation"), dict) else None
    for holder in dict.fromkeys((None, inside)):
        inner = value[holder] if holder else value
        if columns is not None and columns[0] in inner:
            return Keys(*columns, inside=holder)
        if columns is None and languages is not None and (sources := matching(languages[0], inner)):
            return Keys(sources[0], (matching(languages[1], inner) or [languages[1]])[0], holder)
    if columns is not None:
        raise DataError(f"{place}: no {columns[0]!r} in {_what(value)}. Choose one of its keys as the source.")
    named = [(a, b) for a, b in _NAMES if a in value]
    if named and not any(b in value for _, b in named):
        return Keys(*named[0])
    return _choose(value, place, columns, languages)


def _numbers(columns: Choice) -> Keys | None:
    if columns is None or not all(column.isdecimal() and int(column) for column in columns):
        return None
    return Keys(int(columns[0]) - 1, int(columns[1]) - 1)


def _named(value: Any, inside: str | None, columns: tuple[str, str], place: Place) -> Keys:
    for holder in (None, inside):
        inner = value[holder] if holder else value
        if all(column in inner for column in columns):
            return Keys(*columns, inside=holder)
    missing = next(column for column in columns if column not in value)
    raise DataError(f"{place}: no {missing!r} in {_what(value)}. Choose two of its keys.")


def _by_language(inner: Any, inside: str | None, languages: tuple[str, str]) -> Keys | None:
    found = [matching(language, inner) for language in languages]
    return Keys(found[0][0], found[1][0], inside) if all(found) else None


def _two_languages(codes: list[str], inside: str | None, value: Any, place: Place) -> Keys:
    keys = codes if len(codes) > 1 or not inside else list(value[inside])
    if len(keys) != 2:
        found = ", ".join(keys[:20]) or "none"
        raise DataError(f"{place}: {len(keys)} languages ({found}); a pair has two. Choose them with --languages.")
    return Keys(keys[0], keys[1], inside)
