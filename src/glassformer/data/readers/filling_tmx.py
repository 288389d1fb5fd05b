"""TMX files to fill in. Inline elements go through translation as numbered tags and come back as they were written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from glassformer.data.readers.opening import shown
from glassformer.data.readers.places import REASONS, Cutter, Fillable
from glassformer.data.readers.tmx import variants_of
from glassformer.data.readers.tmx_units import CODES, Unit, Units, Variant
from glassformer.errors import DataError

_TAG = re.compile(rb"""</?[^\s/>]+(?:[^>"']|"[^"]*"|'[^']*')*>""")  # an XML tag, at a position where one begins
_NUMBERED = re.compile(r"</?\d{1,3}/?>")
_MOST = 999  # elements in a segment; a placeholder's number has three digits

Elements = dict[str, str]  # a numbered tag -> what is written in its place


def fill_tmx(path: Path, raw: bytes, languages: tuple[str, str] | None, *, again: bool) -> Fillable:
    """Fills blank target variants and adds missing ones; with `again` it also replaces existing ones."""
    if languages is None:
        raise DataError(f"{shown(path)}: which two of its languages? Give --languages, for example en,de.")
    cutter = Cutter(raw)
    for unit in Units(iter([raw]), shown(path)):
        sources, targets = variants_of(unit, languages[0]), variants_of(unit, languages[1])
        if targets and (targets[0].text.strip() or targets[0].inline) and not again:
            continue
        found = None if unit.problem or not sources else _numbered(raw, sources[0])
        span = _span(raw, targets[0]) if targets else (unit.end, unit.end)
        if found is None or span is None:
            reason = unit.problem.detail if unit.problem else _reason(bool(sources), found is None, languages)
            cutter.found.skip(1 + raw.count(b"\n", 0, unit.place.byte) if cutter.found.skipped < REASONS else 0, reason)
            continue
        form = _form(raw, unit, sources[0], languages[1]) if not targets else _replacing(raw, targets[0])
        cutter.gap(*span, found[0], partial(_written, found[1], form))
    return cutter.done()


def _reason(has_source: bool, unreadable: bool, languages: tuple[str, str]) -> str:
    if not has_source:
        return f"no {languages[0]} variant"
    return f"no text to translate in the {languages[0]} variant" if unreadable else f"no <seg> for {languages[1]}"


def _form(raw: bytes, unit: Unit, source: Variant, language: str) -> tuple[str, str]:
    """What is around the translation in a new variant. Its tags have the same prefix as the source's."""
    tag = _TAG.match(raw, unit.place.byte)
    prefix = tag.group()[1:].split(b":")[0].decode() + ":" if tag and re.match(rb"<[^\s>:]+:tu\b", tag.group()) else ""
    attribute = "lang" if source.old_attribute else "xml:lang"
    opening = f"<{prefix}tuv {attribute}={quoteattr(language)}><{prefix}seg>"
    return opening, f"</{prefix}seg></{prefix}tuv>"


def _span(raw: bytes, variant: Variant) -> tuple[int, int] | None:
    """The bytes that a translation replaces: the content of <seg>, or all of <seg/>; None: there is no segment."""
    if variant.segment is None:
        return None
    start, end = variant.segment
    tag = _TAG.match(raw, start)
    if tag is None:
        return None
    return tag.span() if tag.group().endswith(b"/>") else (tag.end(), end)


def _replacing(raw: bytes, variant: Variant) -> tuple[str, str]:
    tag = _TAG.match(raw, variant.segment[0]) if variant.segment else None
    if tag is None or not tag.group().endswith(b"/>"):
        return "", ""
    opening = tag.group()[:-2].rstrip().decode()
    return f"{opening}>", f"</{opening[1:].split()[0]}>"


def _written(elements: Elements, form: tuple[str, str], text: str) -> str | None:
    """The segment with its elements; None if an element is missing, occurs twice, or would overlap another."""
    tags = _NUMBERED.findall(text) if elements else []
    if sorted(tags) != sorted(elements):
        return None
    parts = _NUMBERED.split(text) if elements else [text]
    inside = escape(parts[0]) + "".join(elements[tag] + escape(part) for tag, part in zip(tags, parts[1:], strict=True))
    return f"{form[0]}{inside}{form[1]}" if _is_well_formed(inside) else None


def _is_well_formed(inside: str) -> bool:
    try:
        expat.ParserCreate().Parse(f"<seg>{inside}</seg>".encode(), True)
    except expat.ExpatError:
        return False
    return True


# The source


@dataclass
class _Reader:
    """Turns the content of a segment into text with numbered tags."""

    raw: bytes
    parser: expat.XMLParserType
    texts: list[str] = field(default_factory=list)
    elements: Elements = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)  # the i of an open <bpt> -> its number
    open_: list[int] = field(default_factory=list)  # numbers of elements with text in them
    code: tuple[int, str, dict[str, str]] | None = None  # an open element that contains codes: where it begins
    depth: int = 0  # open elements in it
    count: int = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name, at = tag.rpartition(":")[2], self.parser.CurrentByteIndex
        if self.code is not None:
            self.depth += 1
        elif at and (name in CODES or self._tag_at(at).endswith(b"/>")):
            self.code, self.depth = (at, name, attributes), 0
        elif at:
            self.count += 1
            self.open_.append(self.count)
            self._element(f"<{self.count}>", at)

    def end(self, tag: str) -> None:  # noqa: ARG002
        at = self.parser.CurrentByteIndex
        if self.code is None:
            if self.open_:  # not the segment itself
                self._element(f"</{self.open_.pop()}>", at)
            return
        if self.depth:
            self.depth -= 1
            return
        start, name, attributes = self.code
        self.code = None
        empty = self._tag_at(start).endswith(b"/>")
        self._add(self._tag_of(name, attributes.get("i", "")), self._from(start, start if empty else at))

    def characters(self, text: str) -> None:
        if self.code is None:
            self.texts.append(text)

    def _tag_of(self, name: str, i: str) -> str:
        if name == "ept" and i in self.begun:
            return f"</{self.begun.pop(i)}>"
        self.count += 1
        if name == "bpt" and re.search(rf"""ept\s[^>]*\bi\s*=\s*["']{re.escape(i)}["']""".encode(), self.raw):
            self.begun[i] = self.count
            return f"<{self.count}>"
        return f"<{self.count}/>"

    def _element(self, tag: str, at: int) -> None:
        self._add(tag, self._from(at, at))

    def _from(self, start: int, last: int) -> str:
        """The bytes from `start` to the end of the tag at `last`."""
        return self.raw[start : last + len(self._tag_at(last))].decode()

    def _tag_at(self, place: int) -> bytes:
        found = _TAG.match(self.raw, place)
        return found.group() if found else b""

    def _add(self, tag: str, written: str) -> None:
        self.texts.append(tag)
        self.elements[tag] = written


def _numbered(raw: bytes, variant: Variant) -> tuple[str, Elements] | None:
    """The text of a variant with a numbered tag for each inline element; None: there is nothing to translate."""
    if not variant.text.strip() or variant.segment is None:
        return None
    if not variant.inline:
        return variant.text, {}
    start, end = variant.segment
    tag = _TAG.match(raw, start)
    if tag is None or _NUMBERED.search(variant.text):
        return None
    whole = b"<seg>" + raw[tag.end() : end] + b"</seg>"
    parser = expat.ParserCreate()
    reader = _Reader(whole, parser)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.Parse(whole, True)
    return ("".join(reader.texts), reader.elements) if reader.count <= _MOST else None
