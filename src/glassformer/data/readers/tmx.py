"""TMX translation memories: one record for each unit, in the order of the document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from glassformer.data.readers.columns import HOPELESS
from glassformer.data.readers.languages import plain_code
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.records import Problem, Record
from glassformer.data.readers.sentences import unescaped_pair
from glassformer.data.readers.tmx_units import Unit, Units, Variant
from glassformer.errors import DataError

_PEEK = 100  # units that determine the languages if none are chosen

Choice = tuple[str, str] | None


def read_tmx(path: Path, *, languages: Choice = None, on_read: Callable[[int], None] | None = None) -> Iterator[Record]:
    """The units in the two chosen languages, or in the header's source language and the only other language."""
    name = shown(path)
    source = Units(blocks_of(path, on_read=on_read), name)
    units = iter(source)
    peek = list(islice(units, _PEEK))
    if not peek:
        return
    requested = languages or _decide(peek, source.source_language, name)
    found: dict[str, None] = {}
    number = misses = 0
    for number, unit in enumerate(chain(peek, units), 1):
        record = _record(unit, requested)
        misses += record.problem is not None and record.problem.kind == "language"
        if misses == number <= HOPELESS:
            found |= dict.fromkeys(variant.language for variant in unit.variants[:20])
            if number == HOPELESS:
                break
        yield record
    if misses == number:
        raise _no_pair(name, found, f"no unit has both {requested[0]!r} and {requested[1]!r}")


def _decide(units: Sequence[Unit], source_language: str | None, name: str) -> tuple[str, str]:
    """The two languages of a file. Regional forms are merged if that leaves two languages."""
    codes = dict.fromkeys(one.code for unit in units for one in unit.variants if one.language)
    bare = dict.fromkeys(code.split("-")[0] for code in codes)
    two = list(codes if len(codes) == 2 else bare)
    if len(two) != 2:
        raise _no_pair(name, codes, f"{len(codes)} languages, a pair has two")
    header = plain_code(source_language or "")
    turned = two[1] in (header, header.split("-")[0]) and two[0] != header
    return (two[1], two[0]) if turned else (two[0], two[1])


def _no_pair(name: str, found: dict[str, None], what: str) -> DataError:
    listed = ", ".join(language[:20] for language in list(found)[:20] if language) or "none"
    return DataError(f"{name}: {what}; found: {listed}. Choose two of them with --languages.")


def _record(unit: Unit, requested: tuple[str, str]) -> Record:
    chosen, oddities = [], []
    for language in requested:
        variants = variants_of(unit, language)
        chosen += variants[:1]
        if len(variants) > 1:
            detail = f"{len(variants)} variants for {language}: the first is used"
            oddities.append(Problem("variant", detail, unit.place))
    if len(chosen) < 2 or chosen[0] is chosen[1]:
        return _missing(unit, requested)
    if any(variant.inline for variant in chosen):
        oddities.append(Problem("inline", "tags inside the sentence were dropped", unit.place))
    record = unescaped_pair(chosen[0].text, chosen[1].text, unit.place, oddities=tuple(oddities))
    record.problem = unit.problem or record.problem
    return record


def variants_of(unit: Unit, language: str) -> list[Variant]:
    """The variants of a unit in a language: those with exactly this code, then the regional ones."""
    code = plain_code(language)
    exact = [one for one in unit.variants if one.code == code]
    return exact + [one for one in unit.variants if one.code.startswith(f"{code}-")]


def _missing(unit: Unit, requested: tuple[str, str]) -> Record:
    texts = [(variants_of(unit, language) or [Variant("")])[0].text.strip() for language in requested]
    absent = [repr(language) for language in requested if not variants_of(unit, language)]
    missing = " and ".join(absent) or repr(requested[1])
    has = ", ".join(variant.language[:20] or "none" for variant in unit.variants[:8]) or "nothing"
    problem = Problem("language", f"nothing in {missing}; it has {has}", unit.place)
    return Record(texts[0], texts[1], unit.place, problem)
