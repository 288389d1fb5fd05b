"""Gettext .po files: the texts of a program and their translations, entry by entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from glassformer.data.readers.lines import MAX_LINE, Line, lines_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Place, Problem, Record
from glassformer.data.readers.sentences import UNUSABLE, unescaped_pair
from glassformer.errors import DataError

_STATEMENT = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,3})\])?|domain)\s*(?=\")")
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_SIGNS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_SIGNS |= {sign: sign for sign in (b"\\", b'"', b"'", b"?")}
_CHARSET = re.compile(r"^content-type:.*charset=([^\s;]+)", re.IGNORECASE | re.MULTILINE)
_UTF8 = {"utf-8", "utf8", "ascii", "us-ascii", "charset"}  # the last is in templates


@dataclass
class Entry:
    """One entry, as read so far."""

    place: Place
    fuzzy: bool = False
    obsolete: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)  # msgctxt, msgid, msgid_plural, msgstr or msgstr[0], ...
    lines: dict[str, list[int]] = field(default_factory=dict)  # the line numbers of each of them, from 1
    last: str = ""  # the statement that a bare string continues
    size: int = 0
    oddities: list[Problem] = field(default_factory=list)

    @property
    def translated(self) -> bool:
        return self.last.startswith("msgstr")

    def text(self, statement: str) -> str:
        return "".join(self.texts.get(statement, []))


def read_po(path: Path, *, on_read: Callable[[int], None] | None = None) -> Iterator[Record]:
    """One record for each entry, or for each plural form of an entry."""
    name = shown(path)
    for number, entry in enumerate(_entries(lines_of(blocks_of(path, on_read=on_read), path), name), 1):
        entry.place = Place(name, number, entry.place.byte, "entry")
        yield from _records(entry, path)


def entries_of(path: Path) -> Iterator[Entry]:
    """The raw entries, each with its lines."""
    return _entries(lines_of(blocks_of(path), path), shown(path))


def fillable(entry: Entry, path: Path) -> bool:
    """Whether an entry can be translated: not the header, not obsolete, well-formed."""
    texts, problem = unescaped(entry)
    if "msgid" in texts and not texts["msgid"] and "msgctxt" not in texts:
        _check_charset(texts.get("msgstr", ""), path)
    return problem is None and not entry.obsolete and bool(texts["msgid"].strip())


def _entries(lines: Iterator[Line], name: str) -> Iterator[Entry]:
    """Entries. One ends at a blank line, or before a statement or comment that cannot belong to it."""
    entry: Entry | None = None
    flags: list[str] = []
    bom: list[Problem] = []
    for number, line in enumerate(lines, 1):
        place = Place(name, number, line[1])
        bom += [odd for odd in line[2] if odd.kind == "bom"]
        text, obsolete = ("", False) if _is_too_big(line) else _uncommented(line[0])
        if text is None:
            if entry is not None and (entry.translated or not line[0].strip()):
                yield entry
                entry = None
            flags += line[0].strip()[2:].replace(",", " ").split() if line[0].strip().startswith("#,") else []
            continue
        if entry is not None and _begins_anew(entry, text):
            yield entry
            entry = None
        if entry is None:
            entry = Entry(place, "fuzzy" in flags, obsolete, oddities=bom)
            flags, bom = [], []
        _take(entry, text, line, place)
    if entry is not None:
        yield entry


def _uncommented(text: str) -> tuple[str | None, bool]:
    """A line without comments, and whether it belongs to an obsolete entry."""
    text = text.strip()
    if text.startswith("#~") and not text.startswith("#~|"):
        return text[2:].strip() or None, True
    return (None, False) if not text or text.startswith("#") else (text, False)


def _is_too_big(line: Line) -> bool:
    return any(odd.kind == "too big" for odd in line[2])


def _begins_anew(entry: Entry, text: str) -> bool:
    if text.startswith("msgctxt"):
        return bool(entry.last)
    starts = text.startswith("msgid") and not text.startswith("msgid_plural")
    return starts and ("msgid" in entry.texts or entry.translated)


def _take(entry: Entry, text: str, line: Line, place: Place) -> None:
    """Adds a line to its entry, or a problem if it cannot be read."""
    odd = [one for one in line[2] if one.kind in UNUSABLE]
    statement = _STATEMENT.match(text)
    if statement:
        entry.last = statement[1]
        text = text[statement.end() :]
        if entry.last in entry.texts:
            odd.append(Problem("syntax", f"a second {entry.last} in one entry", place))
    string = _STRING.fullmatch(text)
    entry.size += len(text)
    if string is None and not odd:
        odd.append(Problem("syntax", f"not a line of a .po file: {text[:40]!r}", place))
    elif not entry.last:
        odd.append(Problem("syntax", "a string without msgid or msgstr before it", place))
    elif entry.size > MAX_LINE:
        odd.append(Problem("too big", f"an entry of over {MAX_LINE:,} characters", entry.place))
    elif string is not None:
        entry.texts.setdefault(entry.last, []).append(string[1])
        entry.lines.setdefault(entry.last, []).append(place.number)
    if not any(one.kind in UNUSABLE | {"syntax"} for one in entry.oddities):
        entry.oddities += odd[:1]


def _records(entry: Entry, path: Path) -> Iterator[Record]:
    """The pairs of an entry: msgid and its translation, or one for each plural form."""
    texts, problem = unescaped(entry)
    source, notes = texts.get("msgid", ""), tuple(odd for odd in entry.oddities if odd.kind == "bom")
    forms = sorted((name for name in texts if name.startswith("msgstr")), key=_form)
    if "msgid" in texts and not source and "msgctxt" not in texts and not entry.obsolete:
        _check_charset(texts.get("msgstr", ""), path)
        problem = problem or Problem("header", "the header of the file", entry.place)
    problem = problem or _status(entry)
    if problem is not None:
        yield Record(source.strip(), texts.get(forms[0], "").strip() if forms else "", entry.place, problem, notes)
        return
    for at, form in enumerate(forms):
        left = source if at == 0 else texts.get("msgid_plural", "")
        record = unescaped_pair(left, texts[form], entry.place, oddities=notes if at == 0 else ())
        if at > 1:
            record.problem = Problem("plural", f"plural form {at}: the source has only two forms", entry.place)
        yield record


def _form(statement: str) -> int:
    return int(statement[7:-1] or 0) if "[" in statement else -1


def _status(entry: Entry) -> Problem | None:
    if entry.obsolete:
        return Problem("obsolete", "obsolete: the program no longer has this text", entry.place)
    return Problem("fuzzy", "fuzzy: nobody has confirmed this translation", entry.place) if entry.fuzzy else None


def unescaped(entry: Entry) -> tuple[dict[str, str], Problem | None]:
    """The unescaped texts of an entry, and its problem if it cannot be read."""
    problem = next((odd for odd in entry.oddities if odd.kind != "bom"), None)
    texts = {}
    for statement in entry.texts:
        try:
            texts[statement] = _ESCAPE.sub(_sign, entry.text(statement).encode()).decode()
        except ValueError:
            problem = problem or Problem("syntax", f"a wrong escape in {statement}", entry.place)
    if problem is None and "msgid" not in texts:
        problem = Problem("syntax", "an entry without msgid", entry.place)
    if problem is None and not any(statement.startswith("msgstr") for statement in texts):
        problem = Problem("syntax", "an entry without msgstr", entry.place)
    return texts, problem


def _sign(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if code in _SIGNS:
        return _SIGNS[code]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    return bytes([int(code, 8)])  # a ValueError for an unknown escape, or a value over 255


def _check_charset(header: str, path: Path) -> None:
    charset = _CHARSET.search(header)
    if charset and charset[1].lower() not in _UTF8:
        name = shown(path)
        raise DataError(
            f"{name}: its header says charset={charset[1]}; UTF-8 is needed. "
            f"Convert it: msgconv --to-code=UTF-8 {name} -o NEW.po"
        )
