"""Makes a record of two raw texts: strips white space, reports blank sides, notes odd characters."""

from __future__ import annotations

from typing import NamedTuple

from glassformer.data.readers.lines import separator_notes
from glassformer.data.readers.records import Place, Problem, Record

UNUSABLE = {"encoding", "nul", "too big"}  # oddities of a line that make it unusable


class Side(NamedTuple):
    """One side of a pair, as it was read."""

    text: str
    place: Place  # where the text begins
    oddities: tuple[Problem, ...] = ()


def pair(source: Side, target: Side) -> Record:
    """The record of a unit to be examined, whose texts are in the file without escapes."""
    return _judged(source, target, exact=True)


def unescaped_pair(source: str, target: str, place: Place, *, oddities: tuple[Problem, ...] = ()) -> Record:
    """The same for texts written with escapes: the unescaped text is examined, and places are those of the unit."""
    first, second = source.strip(), target.strip()
    if first and second and not oddities and first.isprintable() and second.isprintable():
        return Record(first, second, place)  # nothing to find: no printable character is odd
    found = tuple(flaw for flaw in (escape_flaw(source, place), escape_flaw(target, place)) if flaw)
    if found:
        source, target = (text.encode("utf-8", "replace").decode() for text in (source, target))
    return _judged(Side(source, place, (*oddities, *found)), Side(target, place), exact=False)


def _judged(source: Side, target: Side, *, exact: bool) -> Record:
    odd = (*source.oddities, *target.oddities)
    problem = next((one for one in odd if one.kind in UNUSABLE), None) or _blank(source, target)
    notes = [one for one in odd if one.kind not in UNUSABLE and one.kind != "separator"]
    if problem is None:
        notes += [note for side in (source, target) for note in _inner_separators(side, exact)]
    target_at = (target.place.file, target.place.byte)
    return Record(source.text.strip(), target.text.strip(), source.place, problem, tuple(notes), target_at)


def _blank(source: Side, target: Side) -> Problem | None:
    blanks = [side for side in (source, target) if not side.text.strip()]
    if len(blanks) == 2:
        return Problem("blank", "both sides are blank", source.place)
    if not blanks:
        return None
    return Problem("blank", f"the {'source' if blanks[0] is source else 'target'} is blank", blanks[0].place)


def _inner_separators(side: Side, exact: bool) -> tuple[Problem, ...]:
    text = side.text.strip()
    place = side.place
    if exact:
        before = side.text[: side.text.index(text)]
        place = Place(place.file, place.number, place.byte + len(before.encode()), place.unit)
    return separator_notes(text, place, exact=exact)


def escape_flaw(text: str, place: Place) -> Problem | None:
    """A problem that an escape can cause but a text file cannot: a NUL, half a character."""
    if "\0" in text:
        return Problem("nul", "a NUL character", place)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return Problem("encoding", f"half a character (got U+{ord(text[error.start]):04X})", place)
    return None
