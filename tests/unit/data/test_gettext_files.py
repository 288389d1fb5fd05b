"""Gettext: contexts, plurals, fuzzy and obsolete entries, and reading on after a broken one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.data.readers.gettext import read_po
from glassformer.data.readers.records import Record
from glassformer.errors import DataError

Read = Callable[[str | bytes], list[Record]]

HEADER = r"""# German for the program.
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: 1\n"
"Content-Type: text/plain; charset=UTF-8\n"
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def read(content: str | bytes) -> list[Record]:
        Path("de.po").write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_po(Path("de.po")))

    return read


def pairs(records: list[Record]) -> list[tuple[str, str]]:
    return [(record.source, record.target) for record in records if record.problem is None]


def problems(records: list[Record]) -> list[str | None]:
    return [record.problem and record.problem.kind for record in records]


def test_entries_are_pairs_and_the_header_is_one_too_many(read: Read) -> None:
    records = read(HEADER + '\n#: a.c:1\n#, c-format\nmsgid "%d days"\nmsgstr "%d Tage"\n')
    assert problems(records) == ["header", None]
    assert pairs(records) == [("%d days", "%d Tage")]
    assert str(records[1].place) == f"de.po, entry 2, byte {len(HEADER) + 22}"


def test_strings_go_on_over_lines_and_lose_their_escapes(read: Read) -> None:
    (record,) = read('msgid ""\n"one\\t"\n  "\\"two\\" \\\\n"\nmsgstr "\\303\\274 \\x41"\n"\\n"\n')
    assert (record.source, record.target) == ('one\t"two" \\n', "ü A")


def test_entries_need_no_blank_line_between_them(read: Read) -> None:
    records = read(
        'msgid "a"\nmsgstr "b"\nmsgctxt "x"\nmsgid "a"\nmsgstr "c"\n# note\nmsgid "d"\nmsgstr "e"\n'
        'msgid "f"\nmsgstr "g"\n#~ msgid "h"\n#~ msgstr "i"\n'
    )
    assert pairs(records) == [("a", "b"), ("a", "c"), ("d", "e"), ("f", "g")]
    assert problems(records)[-1] == "obsolete"


def test_plurals_are_two_units_and_further_forms_are_reported(read: Read) -> None:
    records = read(
        'msgid "one file"\nmsgid_plural "%d files"\nmsgstr[0] "jeden"\nmsgstr[1] "dva"\nmsgstr[2] "pět"\n\n'
        'msgid "a day"\nmsgid_plural "%d days"\nmsgstr[0] "%d nichi"\n'
    )
    assert pairs(records) == [("one file", "jeden"), ("%d files", "dva"), ("a day", "%d nichi")]
    assert problems(records) == [None, None, "plural", None]
    assert [record.place.number for record in records] == [1, 1, 1, 2]
    assert records[2].target == "pět"


def test_fuzzy_obsolete_and_empty_translations_are_not_used(read: Read) -> None:
    records = read(
        '#, c-format, fuzzy\n#| msgid "old"\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr ""\n\n'
        '#~ msgctxt "x"\n#~ msgid "d"\n#~ msgstr ""\n#~ "e"\n\n#~| msgid "was"\n#~ msgid "f"\n#~ msgstr "g"\n'
    )
    assert problems(records) == ["fuzzy", "blank", "obsolete", "obsolete"]
    assert (records[2].source, records[2].target) == ("d", "e")


def test_a_fuzzy_mark_is_for_one_entry(read: Read) -> None:
    assert problems(read('#, fuzzy\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "d"\n')) == ["fuzzy", None]


@pytest.mark.parametrize(
    ("entry", "line", "told"),
    [
        ('msgid "open\nmsgstr "x"\n', 4, "not a line of a .po file: '\"open'"),
        ('msgid "a" b\nmsgstr "x"\n', 4, "not a line of a .po file"),
        ('msgid "a\\"\nmsgstr "x"\n', 4, "not a line of a .po file"),
        ('msgid "a"\nmsgstr x\n', 5, "not a line of a .po file: 'msgstr x'"),
        ('msgid "a"\nmsgstr[x] "b"\n', 5, "not a line of a .po file"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', 6, "a second msgstr in one entry"),
        ('"alone"\n', 4, "a string without msgid or msgstr before it"),
        ('msgid "a"\n', None, "an entry without msgstr"),
        ('msgstr "a"\n', None, "an entry without msgid"),
        ('msgid "\\w"\nmsgstr "x"\n', None, "a wrong escape in msgid"),
        ('msgid "a"\nmsgstr "\\400"\n', None, "a wrong escape in msgstr"),
        ('msgid "a"\nmsgstr "\\303"\n', None, "a wrong escape in msgstr"),
        ("<<<<<<< HEAD\n", 4, "not a line of a .po file: '<<<<<<< HEAD'"),
    ],
)
def test_a_broken_entry_is_reported_with_its_line_and_the_next_is_read(
    read: Read, entry: str, line: int | None, told: str
) -> None:
    before, after = 'msgid "ä"\nmsgstr "b"\n\n', '\nmsgid "y"\nmsgstr "z"\n'
    content = (before + entry + after).encode()
    records = read(content)
    assert problems(records) == [None, "syntax", None]
    problem = records[1].problem
    assert problem is not None
    assert told in problem.detail
    if line is not None:
        assert (problem.place.unit, problem.place.number) == ("line", line)
        assert content[: problem.place.byte].count(b"\n") == line - 1
    else:
        assert str(problem.place) == f"de.po, entry 2, byte {len(before.encode())}"


def test_a_bad_byte_spoils_its_entry_only_and_none_in_a_comment(read: Read) -> None:
    records = read(b'# J\xfcrgen\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "\xfc"\n\nmsgid "e"\nmsgstr "f"\n')
    assert problems(records) == [None, "encoding", None]
    assert str(records[1].problem) == "de.po, line 6, byte 49: not UTF-8 (got byte 0xfc)"


@pytest.mark.parametrize("charset", ["UTF-8", "utf8", "ASCII", "CHARSET"])
def test_charsets_that_are_utf8_are_fine(read: Read, charset: str) -> None:
    assert problems(read(HEADER.replace("UTF-8", charset))) == ["header"]


@pytest.mark.parametrize("name", ["Jürgen", "Juergen"])
def test_another_charset_is_refused_with_the_command_that_converts_it(read: Read, name: str) -> None:
    content = HEADER.replace("UTF-8", "ISO-8859-15").replace("Project-Id-Version: 1", f"Last-Translator: {name}")
    with pytest.raises(DataError, match=r"charset=ISO-8859-15; UTF-8 is needed\. Convert it: msgconv --to-code=UTF-8"):
        read(content.encode("latin-1"))


def test_a_text_of_several_lines_is_noted_and_a_mark_at_the_start_too(read: Read) -> None:
    (record,) = read('\ufeffmsgid "a\\nb\\n"\nmsgstr "c"\n')
    assert record.source == "a\nb"
    assert [note.kind for note in record.notes] == ["bom", "separator"]


def test_an_entry_without_end_is_given_up(read: Read) -> None:
    records = read('msgid "a"\n' + f'"{"x" * 1000}"\n' * 1500 + 'msgstr "b"\n\nmsgid "y"\nmsgstr "z"\n')
    assert problems(records) == ["too big", None]
    assert len(records[0].source) <= 1 << 20


def test_comments_alone_are_no_entry(read: Read) -> None:
    assert read("# nothing\n\n#: here\n") == []
