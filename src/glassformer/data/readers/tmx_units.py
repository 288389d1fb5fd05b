"""Translation units from the blocks of a TMX file, by the expat parser of the standard library.

Nothing is fetched, no entity is expanded, and a unit is not kept in memory after it was yielded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from xml.parsers import expat

from glassformer.data.readers.languages import plain_code
from glassformer.data.readers.lines import MAX_LINE
from glassformer.data.readers.records import Place, Problem
from glassformer.errors import DataError

_DEEPEST = 200  # a real file has about ten levels
_TOKEN = 4 << 20  # maximum bytes of one tag or comment; expat keeps it in memory until it is complete
_CUT_OFF = {expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN}
_CUT_OFF |= {expat.errors.XML_ERROR_PARTIAL_CHAR, expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION}
_VARIANTS = 1000  # of one unit; further ones are ignored
_REPLACING = {"ph", "ut"}  # codes that replace something in the text, such as a line break
_GAP = "\0"  # cannot occur in XML text
_GAPS = re.compile(f"(.?){_GAP}+(.?)", re.DOTALL)
CODES = {"bpt", "ept", "it", "ph", "ut", "sub"}  # elements that contain formatting codes, not text


@dataclass
class Variant:
    """A unit's text in one language."""

    language: str  # as written in the file
    code: str = ""  # in standard spelling
    text: str = ""
    inline: bool = False
    segment: tuple[int, int] | None = None  # the bytes where the tags <seg> and </seg> begin
    old_attribute: bool = False  # lang instead of xml:lang


@dataclass
class Unit:
    """One translation unit."""

    place: Place
    variants: list[Variant] = field(default_factory=list)
    end: int = 0  # the byte where its closing tag begins
    size: int = 0  # characters of all segments
    problem: Problem | None = None


@dataclass
class _Segment:
    """The text of a variant while it is being read."""

    variant: Variant
    start: int  # byte
    texts: list[str] = field(default_factory=list)
    inside: int = 0  # open elements in it
    codes: int = 0  # those within formatting codes


class _Handler:
    """Receives expat's events and collects complete units, which are not kept once they have been taken."""

    def __init__(self, parser: expat.XMLParserType, name: str) -> None:
        self.parser, self.name = parser, name
        self.units: list[Unit] = []
        self.count = 0
        self.source_language: str | None = None
        self._depth = self._nested = 0
        self._unit: Unit | None = None
        self._variant: Variant | None = None
        self._segment: _Segment | None = None

    @property
    def is_open(self) -> bool:
        """Whether a unit has begun and not ended."""
        return self._unit is not None

    def where(self) -> str:
        return f"line {self.parser.CurrentLineNumber:,}, byte {self.parser.CurrentByteIndex:,}"

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self._check_depth(tag)
        if self._segment is not None:
            _start_inline(self._segment, tag)
        elif tag == "header":
            self.source_language = attributes.get("srclang")
        elif tag == "tu":
            self._start_unit()
        elif tag == "tuv" and self._unit is not None:
            language = attributes.get("xml:lang") or attributes.get("lang") or ""
            old = "xml:lang" not in attributes and "lang" in attributes
            self._variant = Variant(language.strip(), plain_code(language.strip()), old_attribute=old)
            if len(self._unit.variants) < _VARIANTS:
                self._unit.variants.append(self._variant)
        elif tag == "seg" and self._variant is not None and not self._variant.text:
            self._segment = _Segment(self._variant, self.parser.CurrentByteIndex)

    def _check_depth(self, tag: str) -> None:
        self._depth += 1
        if self._depth == 1 and tag != "tmx":
            raise DataError(f"{self.name} is not TMX: its root is <{tag[:40]}>, not <tmx>.")
        if self._depth > _DEEPEST:
            raise DataError(f"{self.name}, {self.where()}: over {_DEEPEST} nested elements, too deep for TMX.")

    def _start_unit(self) -> None:
        if self._unit is not None:
            self._nested += 1
            return
        self.count += 1
        self._unit = Unit(Place(self.name, self.count, self.parser.CurrentByteIndex, "unit"))

    def end(self, tag: str) -> None:
        self._depth -= 1
        tag = tag.rpartition(":")[2]
        if self._segment is not None:
            if not self._segment.inside:
                self._segment.variant.segment = (self._segment.start, self.parser.CurrentByteIndex)
            self._segment = _after_end(self._segment)
        elif tag == "tuv":
            self._variant = None
        elif tag == "tu" and self._nested:
            self._nested -= 1
        elif tag == "tu" and self._unit is not None:
            self._unit.end = self.parser.CurrentByteIndex
            self.units.append(self._unit)
            self._unit = None

    def characters(self, text: str) -> None:
        if self._unit is None or self._segment is None or self._segment.codes:
            return
        self._unit.size += len(text)
        if self._unit.size <= MAX_LINE:
            self._segment.texts.append(text)
        else:
            self._segment.texts.clear()
            self._spoil("too big", f"a unit of over {MAX_LINE:,} characters")

    def skipped_entity(self, entity: str, is_parameter: bool) -> None:
        """An entity whose definition is not read, so its text is unknown."""
        if self._segment is not None and not is_parameter:
            self._spoil("syntax", f"an entity that is not defined here: &{entity[:40]};")

    def _spoil(self, kind: str, detail: str) -> None:
        if self._unit is not None and self._unit.problem is None:
            self._unit.problem = Problem(kind, detail, self._unit.place)

    def refuse_entity(self, entity: str, *_: object) -> None:
        raise DataError(
            f"{self.name}, {self.where()}: it declares an entity ({entity[:40]!r}), which TMX does not need and which "
            "can be an attack. Write the text itself instead."
        )

    def refuse_reference(self, *_: object) -> int:
        raise DataError(f"{self.name}, {self.where()}: it refers to another file. Other files are never read.")

    def take(self) -> list[Unit]:
        units, self.units = self.units, []
        return units


def _start_inline(segment: _Segment, tag: str) -> None:
    segment.variant.inline = True
    if tag in _REPLACING and segment.texts and not segment.codes:
        segment.texts.append(_GAP)
    segment.inside += 1
    segment.codes += segment.codes > 0 or tag in CODES


def _closed(gap: re.Match[str]) -> str:
    """A space in place of a code between two words; nothing if there is already a space or punctuation."""
    return f"{gap[1]} {gap[2]}" if gap[1].isalnum() and gap[2].isalnum() else gap[1] + gap[2]


def _after_end(segment: _Segment) -> _Segment | None:
    """Handles the end of an element inside the segment, or of the segment itself."""
    if not segment.inside:
        segment.variant.text = _GAPS.sub(_closed, "".join(segment.texts))
        return None
    segment.inside -= 1
    segment.codes -= segment.codes > 0
    return segment


class Units:
    """All translation units of a file in order. `source_language` is set when the first unit is read."""

    def __init__(self, blocks: Iterable[bytes], name: str) -> None:
        self._blocks, self._name = blocks, name
        self._parser = expat.ParserCreate()
        self._handler = _Handler(self._parser, name)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._handler.start
        self._parser.EndElementHandler = self._handler.end
        self._parser.CharacterDataHandler = self._handler.characters
        self._parser.SkippedEntityHandler = self._handler.skipped_entity
        self._parser.EntityDeclHandler = self._handler.refuse_entity
        self._parser.ExternalEntityRefHandler = self._handler.refuse_reference

    @property
    def source_language(self) -> str | None:
        return self._handler.source_language

    def __iter__(self) -> Iterator[Unit]:
        fed = 0
        for block in chain(self._blocks, [b""]):
            fed += len(block)
            error = self._parse(block, fed) if fed else None
            yield from self._handler.take()
            if error is not None:
                raise error

    def _parse(self, block: bytes, fed: int) -> DataError | None:
        try:
            self._parser.Parse(block, not block)
        except DataError as error:
            return error
        except expat.ExpatError as error:
            return self._broken(error)
        except (LookupError, ValueError) as error:  # an encoding that Python or expat does not know
            return DataError(f"{self._name}: its encoding cannot be read ({error}). Save it as UTF-8.")
        if fed - self._parser.CurrentByteIndex > _TOKEN + len(block):
            return DataError(f"{self._name}, {self._handler.where()}: a tag or comment of over {_TOKEN >> 20} MB.")
        return None

    def _broken(self, error: expat.ExpatError) -> DataError:
        reason = expat.errors.messages[error.code].removeprefix("not well-formed (").removesuffix(")")
        what = "cut off" if reason in _CUT_OFF else f"not well-formed ({reason})"
        done = self._handler.count - self._handler.is_open
        return DataError(
            f"{self._name}: {what} after {done:,} complete units, at line {error.lineno:,}, "
            f"byte {self._parser.ErrorByteIndex:,}. Create or copy it again, or fix it there."
        )
