"""TMX: languages, variants, inline tags, encodings, and memory that does not grow."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from glassformer.data.readers import tmx
from glassformer.data.readers.records import Record
from glassformer.errors import DataError

Read = Callable[..., list[Record]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def read(content: str | bytes, languages: tuple[str, str] | None = None) -> list[Record]:
        Path("x.tmx").write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(tmx.read_tmx(Path("x.tmx"), languages=languages))

    return read


def document(*units: str, srclang: str = "en", before: str = '<?xml version="1.0"?>') -> str:
    body = "\n".join(units)
    return f'{before}\n<tmx version="1.4">\n<header srclang="{srclang}"/>\n<body>\n{body}\n</body>\n</tmx>\n'


def unit(*variants: tuple[str, str], attribute: str = "xml:lang") -> str:
    parts = [f'<tuv {attribute}="{code}"><note>n</note><seg>{text}</seg></tuv>' for code, text in variants]
    return f"<tu tuid='1'><prop type='x'>p</prop>{''.join(parts)}</tu>"


def pairs(records: list[Record]) -> list[tuple[str, str]]:
    return [(record.source, record.target) for record in records if record.problem is None]


def problems(records: list[Record]) -> list[str | None]:
    return [record.problem and record.problem.kind for record in records]


ONE = unit(("de", "eins"), ("en", "one"))


def test_the_header_gives_the_source_language(read: Read) -> None:
    assert pairs(read(document(ONE))) == [("one", "eins")]
    assert pairs(read(document(ONE, srclang="de-DE"))) == [("eins", "one")]
    assert pairs(read(document(ONE, srclang="*all*"))) == [("eins", "one")]


def test_the_languages_chosen_decide_whatever_their_case(read: Read) -> None:
    content = document(unit(("EN-us", "one"), ("de_AT", "eins"), ("fr", "un")))
    assert pairs(read(content, languages=("de", "en"))) == [("eins", "one")]
    assert pairs(read(content, languages=("FR", "en-US"))) == [("un", "one")]


def test_regional_forms_are_one_language_unless_they_are_the_two(read: Read) -> None:
    mixed = document(unit(("en-US", "a"), ("de", "b")), unit(("en-GB", "c"), ("de", "d")))
    assert pairs(read(mixed)) == [("a", "b"), ("c", "d")]
    chinese = document(unit(("zh-TW", "a"), ("zh-CN", "b")), srclang="zh-CN")
    assert pairs(read(chinese)) == [("b", "a")]


def test_the_exact_language_wins_and_further_variants_are_noted(read: Read) -> None:
    content = document(unit(("en-US", "a"), ("en", "b"), ("en", "c"), ("de", "d")), ONE)
    first, second = read(content, languages=("en", "de"))
    assert (first.source, first.target) == ("b", "d")
    assert [str(note) for note in first.notes] == [
        f"x.tmx, unit 1, byte {content.index('<tu ')}: 3 variants for en: the first is used"
    ]
    assert second.notes == ()


def test_a_unit_without_one_of_the_languages_is_reported(read: Read) -> None:
    records = read(document(ONE, unit(("en", "two")), unit(("fr", "trois")), "<tu/>"), languages=("en", "de"))
    assert problems(records) == [None, "language", "language", "language"]
    assert records[1].problem is not None
    assert records[1].problem.detail == "nothing in 'de'; it has en"
    assert records[1].source == "two"


def test_languages_that_no_unit_has_are_refused_with_those_found(read: Read) -> None:
    with pytest.raises(DataError, match="no unit has both 'en' and 'it'; found: de, en"):
        read(document(ONE), languages=("en", "it"))


def test_the_older_attribute_for_the_language_is_read(read: Read) -> None:
    assert pairs(read(document(unit(("en", "one"), ("de", "eins"), attribute="lang")))) == [("one", "eins")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("a <bpt i='1'>&lt;b></bpt>b<ept i='1'>&lt;/b></ept> c", "a b c"),
        ("a<ph x='1'/>b", "a b"),
        ("a<ph x='1'/>, b <ph/>c<ut>x</ut>", "a, b c"),
        ("un<bpt i='1'>b</bpt>seen<ept i='1'/>", "unseen"),
        ("<it pos='begin'>x</it>a <hi type='b'>b <hi>c</hi></hi>", "a b c"),
        ("a<ph>code <sub>not this</sub> code</ph> b<ut>u</ut>", "a b"),
        ("a <unknown>b</unknown>", "a b"),
        ("<ph><ph>x</ph>y</ph>a", "a"),
    ],
)
def test_codes_are_dropped_and_highlighted_text_stays(read: Read, segment: str, text: str) -> None:
    (record,) = read(document(unit(("en", segment), ("de", "x"))))
    assert (record.source, record.problem) == (text, None)
    assert [note.kind for note in record.notes] == ["inline"]


def test_references_and_character_data_are_text(read: Read) -> None:
    (record,) = read(document(unit(("en", "a &amp; b &#xE4; <![CDATA[<c>]]>"), ("de", "x&#10;y"))))
    assert (record.source, record.target) == ("a & b ä <c>", "x\ny")
    assert [note.kind for note in record.notes] == ["separator"]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1", "windows-1252"])
def test_the_encoding_is_what_the_document_says(read: Read, encoding: str) -> None:
    content = document(unit(("en", "size"), ("de", "Größe")), before=f'<?xml version="1.0" encoding="{encoding}"?>')
    assert pairs(read(content.encode(encoding))) == [("size", "Größe")]


def test_a_document_type_is_never_fetched(read: Read) -> None:
    records = read(document(ONE, before='<!DOCTYPE tmx PUBLIC "-//X//EN" "http://127.0.0.1:9/tmx14.dtd">'))
    assert pairs(records) == [("one", "eins")]


def test_units_know_their_byte(read: Read) -> None:
    content = document(unit(("en", "ä"), ("de", "x")), ONE, ONE).encode()
    records = read(content)
    assert [record.place.number for record in records] == [1, 2, 3]
    assert all(content[record.place.byte :].startswith(b"<tu ") for record in records)


def test_what_came_before_the_cut_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = document(*[ONE] * 500)
    cut = content.index("<tu ", content.index("</tu>") + len(f"{ONE}\n") * 299)
    Path("x.tmx").write_text(content[: cut + 40])
    records = tmx.read_tmx(Path("x.tmx"))
    got = [next(records) for _ in range(300)]
    assert len(pairs(got)) == 300
    with pytest.raises(DataError, match=r"x\.tmx: cut off after 300 complete units, at line 305, byte \d+,\d+\."):
        next(records)


def test_units_within_units_are_one(read: Read) -> None:
    records = read(document(f"<tu>{ONE}</tu>", ONE))
    assert pairs(records) == [("one", "eins")] * 2


def test_nothing_of_earlier_units_is_kept() -> None:
    text = "word " * 200

    def blocks(*_: object, **__: object) -> Iterator[bytes]:
        yield b"<tmx><header srclang='en'/><body>"
        for _ in range(4000):
            yield unit(("en", text), ("de", text)).encode()
        yield b"</body></tmx>"

    with patch.object(tmx, "blocks_of", blocks):
        records = tmx.read_tmx(Path("x.tmx"))
        for _ in range(1000):
            next(records)
        tracemalloc.start()
        try:
            assert sum(1 for _ in records) == 3000
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()
