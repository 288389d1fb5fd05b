"""JSON lines: shapes that are understood, choices, and what is told of the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.data.readers.fields import read_fields
from glassformer.data.readers.json_lines import read_json_lines
from glassformer.data.readers.records import Record
from glassformer.data.readers.roles import Roles
from glassformer.errors import DataError

Read = Callable[..., list[Record]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def read(*lines: str, **options: tuple[str, str]) -> list[Record]:
        Path("x.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return list(read_json_lines(Path("x.jsonl"), **options))

    return read


SHAPES = [
    '{"source": "one", "target": "eins"}',
    '{"src": "one", "tgt": "eins", "score": 0.5}',
    '{"trg": "eins", "src": "one"}',
    '{"en": "one", "de": "eins"}',
    '{"id": "7", "en": "one", "de": "eins"}',
    '{"en_US": "one", "de_DE": "eins"}',
    '{"translation": {"en": "one", "de": "eins"}}',
    '{"translation": {"english": "one", "german": "eins"}, "id": 3}',
    '["one", "eins"]',
    '["one", "eins", "more"]',
]


@pytest.mark.parametrize("line", SHAPES)
def test_shapes_that_are_understood_by_themselves(read: Read, line: str) -> None:
    records = read(line, line)
    assert [(record.source, record.target, record.problem) for record in records] == [("one", "eins", None)] * 2
    assert [record.place.byte for record in records] == [0, len(line) + 1]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ('{"q": "one", "a": "eins"}', {"columns": ("q", "a")}),
        ('{"source": "x", "target": "y", "q": "one", "a": "eins"}', {"columns": ("q", "a")}),
        ('{"translation": {"fr": "un", "de": "eins", "en": "one"}}', {"columns": ("en", "de")}),
        ('{"translation": {"fr": "un", "de": "eins", "en": "one"}}', {"languages": ("en", "de")}),
        ('{"fr": "un", "de-AT": "eins", "EN": "one"}', {"languages": ("en", "de")}),
        ('{"source": "one", "target": "eins"}', {"languages": ("en", "de")}),
        ('["x", "eins", "one"]', {"columns": ("3", "2")}),
    ],
)
def test_the_choice_decides(read: Read, line: str, options: dict[str, tuple[str, str]]) -> None:
    (record,) = read(line, **options)
    assert (record.source, record.target, record.problem) == ("one", "eins", None)


@pytest.mark.parametrize(
    ("line", "options", "told"),
    [
        ('{"q": "one", "a": "eins"}', {}, "no two texts found in an object of 'q', 'a'"),
        ('{"q": "one", "a": "eins"}', {"columns": ("q", "z")}, "no 'z' in an object of 'q', 'a'"),
        ('{"en": "one", "de": "eins", "fr": "un"}', {}, r"3 languages \(en, de, fr\); a pair has two"),
        ('{"translation": {"en": "one"}}', {}, r"1 languages \(en\)"),
        ('{"source": "a", "target": "b", "en": "c", "de": "d"}', {}, "not clear where the two texts are"),
        ("{}", {}, "no two texts found in an empty object"),
    ],
)
def test_what_is_not_clear_is_refused(read: Read, line: str, options: dict[str, tuple[str, str]], told: str) -> None:
    with pytest.raises(DataError, match=rf"x\.jsonl, line 2, byte 5: {told}"):
        read("nope", line, **options)


GOOD = SHAPES[0]


@pytest.mark.parametrize(
    ("line", "kind", "told"),
    [
        ('{"source": "ä", "target": }', "json", "byte 63: not JSON: Expecting value"),
        ('{"source": "one"}', "json", "byte 36: no 'target' in it; it is an object of 'source'"),
        ('{"source": "one", "target": 7}', "json", "'target' is a number instead of a text"),
        ('{"source": null, "target": "x"}', "json", "'source' is null instead of a text"),
        ('["one", "eins"]', "json", "no 'source' in it; it is an array of 2"),
        ("[" * 200_000, "json", "JSON nested too deeply"),
        ("7", "json", "a number instead of an object or an array"),
        ('{"source": "", "target": "x"}', "blank", "the source is blank"),
        ("  ", "blank", "both sides are blank"),
        ('{"source": "a\\u0000", "target": "x"}', "nul", "a NUL character"),
        ('{"source": "a", "target": "\\udc00"}', "encoding", "half a character (got U+DC00)"),
    ],
)
def test_a_line_that_is_not_a_pair_is_reported_and_the_next_is_read(
    read: Read, line: str, kind: str, told: str
) -> None:
    first, bad, last = read(GOOD, line, GOOD)
    assert first.problem is None
    assert last.problem is None
    assert bad.problem is not None
    assert bad.problem.kind == kind
    assert told in str(bad.problem)
    (bad.source + bad.target).encode()


def test_newlines_that_were_escaped_are_noted(read: Read) -> None:
    (record,) = read('{"source": "a\\nb", "target": "c\\n"}')
    assert (record.source, record.target) == ("a\nb", "c")
    assert [note.kind for note in record.notes] == ["separator"]


def test_languages_that_are_not_there_are_refused(read: Read) -> None:
    with pytest.raises(DataError, match="no en and fr in an object of 'en', 'de'"):
        read('{"en": "one", "de": "eins"}', languages=("en", "fr"))


def test_columns_of_arrays_are_numbers(read: Read) -> None:
    with pytest.raises(DataError, match="must be two numbers"):
        read('["one", "eins"]', columns=("en", "de"))


@pytest.mark.parametrize(
    ("roles", "shape"),
    [
        (Roles(None, has_label=True), '{"text": ..., "label": ...}'),
        (Roles(("a", "b", "c"), has_label=True), '{"a": ..., "b": ..., "c": ...}'),
        (Roles(None, has_label=False), '{"text": ...}'),
    ],
)
def test_the_advice_fits_the_task(tmp_path: Path, roles: Roles, shape: str) -> None:
    (tmp_path / "a.jsonl").write_text("no\nJSON\n")
    with pytest.raises(DataError, match=re.escape(f"Write one per line: {shape};")):
        list(read_fields(tmp_path / "a.jsonl", "jsonl", roles))
