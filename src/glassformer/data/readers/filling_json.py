"""JSON lines to fill in: finds where the value of the target key is, or where to insert it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from glassformer.data.readers.json_lines import Keys, choose_keys_to_fill, not_json_lines, value_of
from glassformer.data.readers.lines import lines_of
from glassformer.data.readers.opening import shown
from glassformer.data.readers.places import Cutter, Fillable
from glassformer.data.readers.records import Place

Choice = tuple[str, str] | None
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Member:
    """A value in an object or an array, and where it is in the line."""

    key: str | int
    value: Any
    start: int
    end: int


def fill_json_lines(path: Path, raw: bytes, *, columns: Choice, languages: Choice, again: bool) -> Fillable:
    """One object or array per line. Other keys, their order and all spaces are kept."""
    name, keys, cutter = shown(path), None, Cutter(raw)
    number = misses = 0
    for number, line in enumerate(lines_of(iter([raw]), path), 1):
        place = Place(name, number, line[1])
        value, problem = value_of(line, place)
        if problem is not None:
            misses += 1
            if problem.kind != "blank":
                cutter.found.skip(number, problem.detail)
            continue
        keys = keys or choose_keys_to_fill(value, place, columns, languages)
        _fill_line(cutter, number, line[0], line[1], keys, again=again)
    if number and misses == number and cutter.found.skipped:
        raise not_json_lines(name, number)
    return cutter.done()


def _fill_line(cutter: Cutter, number: int, text: str, byte: int, keys: Keys, *, again: bool) -> None:
    members = _members_of(text, keys)
    source, target = members.get(keys.source), members.get(keys.target)
    if source is None or not isinstance(source.value, str):
        cutter.found.skip(number, f"{keys.source!r} holds no text")
        return
    if not source.value.strip():
        return
    write = partial(_string, text.isascii() and "\\u" in text)
    if target is not None:
        if target.value is not None and not isinstance(target.value, str):
            cutter.found.skip(number, f"{keys.target!r} holds no text")
        elif again or not (target.value or "").strip():
            start, end = (byte + len(text[:at].encode()) for at in (target.start, target.end))
            cutter.gap(start, end, source.value, write)
        return
    if isinstance(keys.target, int) and keys.target != len(members):
        cutter.found.skip(number, "too few values")
        return
    last = max(members.values(), key=lambda member: member.end)
    at = byte + len(text[: last.end].encode())
    cutter.gap(at, at, source.value, partial(_added, _before(text, keys, source), write))


def _members_of(text: str, keys: Keys) -> dict[str | int, Member]:
    """The members of the object or array that contains the keys. If a key occurs twice, the last one counts."""
    start = len(text) - len(text.lstrip())
    if keys.inside is not None:
        outer = {member.key: member for member in _walk(text, start)}
        if keys.inside not in outer or not isinstance(outer[keys.inside].value, dict):
            return {}
        start = outer[keys.inside].start
    return {member.key: member for member in _walk(text, start)}


def _walk(text: str, start: int) -> Iterator[Member]:
    """The members of the object or array that begins at `start`; the text is valid JSON."""
    is_object = text[start] == "{"
    position, number = _skipped(text, start + 1), 0
    while text[position] not in "}]":
        key: str | int = number
        if is_object:
            key, position = _DECODER.raw_decode(text, position)
            position = _skipped(text, _skipped(text, position) + 1)  # after the colon
        value, end = _DECODER.raw_decode(text, position)
        yield Member(key, value, position, end)
        position, number = _skipped(text, end), number + 1
        if text[position] == ",":
            position = _skipped(text, position + 1)


def _skipped(text: str, position: int) -> int:
    while text[position] in " \t\r":
        position += 1
    return position


def _before(text: str, keys: Keys, source: Member) -> str:
    """What to insert before a new value, spaced like the rest of the line."""
    spaced = text[source.start - 1] == " " or ", " in text
    if isinstance(keys.target, int):
        return ", " if spaced else ","
    name = json.dumps(keys.target, ensure_ascii=text.isascii())
    return f", {name}: " if spaced else f",{name}:"


def _added(before: str, write: partial[str], text: str) -> str:
    return before + write(text)


def _string(as_ascii: bool, text: str) -> str:
    return json.dumps(text, ensure_ascii=as_ascii)
