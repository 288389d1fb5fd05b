"""`translate --input` fills in files that hold both sides; what is not a translation stays byte for byte."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from glassformer.cli.translating import stdin_blocks
from glassformer.data.readers.filling import open_to_fill

PO = """# A comment
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#: src/a.c:1
#, c-format
msgid "the dog eats bread."
msgstr ""

msgctxt "menu"
msgid "a cat "
"has us."
msgstr "fertig"

msgid "%d cat"
msgid_plural "%d cats\\n"
msgstr[0] ""
msgstr[1] ""

#~ msgid "old"
#~ msgstr ""
"""


def changed(before: str, after: str) -> list[tuple[str, str]]:
    return [(a, b) for a, b in zip(before.split("\n"), after.split("\n"), strict=True) if a != b]


def test_a_po_file_is_filled(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    source, out = tmp_path / "de.po", tmp_path / "new.po"
    source.write_text(PO, encoding="utf-8")
    assert command("translate", trained, "--input", source, "--output", out).code == 0
    found = changed(PO, out.read_text(encoding="utf-8"))
    assert [before for before, _ in found] == ['msgstr ""', 'msgstr[0] ""', 'msgstr[1] ""']
    assert all(after.startswith(before[:-1]) and len(after) > len(before) for before, after in found)
    assert "%d" in found[1][1]
    assert found[2][1].endswith('\\n"')
    marked = command("translate", trained, "--input", source, "--fuzzy").out
    assert marked.count("#, fuzzy\n") == 2
    assert marked.replace("#, fuzzy\n", "") == out.read_text(encoding="utf-8")


def test_what_needs_nothing_stays_byte_for_byte(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    texts = {
        "a.po": PO.replace('""\n\nmsgctxt', '"x"\n\nmsgctxt').replace('] ""', '] "y"').replace("\n", "\r\n"),
        "b.tsv": "a cat\teine Katze\tnote\r\n\n\tx\nlast\tletzte",
        "b2.tsv": "\ufeffid\ten\tde\n1\ta cat\teine Katze\n",
        "b.csv": 'en,de,note\r\n"a cat", "x"\r\n"a ""cat""","eine\r\nKatze",\r\n\r\n"",,n\r\nlast,letzte',
        "b.jsonl": '{"en":"a cat" , "n": 1.50, "de": "\\u00e4"}\r\n\n{"en": "", "de": ""}\n{"en": "a", "de": "b"}',
        "c.tmx": '<?xml version="1.0"?><tmx><header/><body><!-- c --><tu><tuv xml:lang="en"><seg>a cat</seg></tuv>'
        '<tuv xml:lang="de"><seg>x &amp; y</seg></tuv></tu></body></tmx>',
    }
    for name, text in texts.items():
        path, out = tmp_path / name, tmp_path / f"out-{name}"
        path.write_bytes(text.encode())
        options = ["--languages", "en,de"] if name.endswith("tmx") else []
        assert command("translate", trained, "--input", path, "--output", out, *options).code == 0
        assert out.read_bytes() == text.encode(), name


def test_tables_and_memories_packed_or_not(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    table = tmp_path / "a.tsv.gz"
    table.write_bytes(gzip.compress(b"a cat has us.\t\tnote\nthe dog eats bread.\ndone\tfertig\n"))
    lines = command("translate", trained, "--input", table).out.split("\n")
    assert [line.count("\t") for line in lines] == [2, 1, 1, 0]
    assert lines[0].startswith("a cat has us.\t")
    assert lines[0].endswith("\tnote")
    assert lines[2] == "done\tfertig"
    memory = tmp_path / "a.tmx"
    text = '<tmx><header/><body><tu><tuv xml:lang="en"><seg>a cat</seg></tuv></tu></body></tmx>'
    memory.write_text(text, encoding="utf-8")
    done = command("translate", trained, "--input", memory, "--languages", "en,de").out
    start, end = text.split("</tu>")
    assert done.startswith(start + '<tuv xml:lang="de"><seg>')
    assert done.endswith("</seg></tuv></tu>" + end)


def test_options_that_do_not_suit_the_input_are_refused(
    trained: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    po, table, lines = tmp_path / "a.po", tmp_path / "a.csv", tmp_path / "a.jsonl"
    po.write_text(PO, encoding="utf-8")
    table.write_text("English,German\na cat,\n", encoding="utf-8")
    lines.write_text("x\n", encoding="utf-8")
    for arguments, said in (
        (["a cat", "--output", tmp_path / "x"], "go to stdout"),
        (["a cat", "--columns", "1,2"], "go to stdout"),
        (["--input", po, "--columns", "1,2"], "no columns"),
        (["--input", table, "--columns", "1"], "need two"),
        (["--input", table, "--columns", "1,1"], "must differ"),
        (["--input", table, "--columns", "French,German"], "no column is named 'French'"),
        (["--input", table, "--fuzzy"], "only entries of .po files"),
        (["--input", lines], "does not look like JSON lines"),
    ):
        done = command("translate", trained, *arguments)
        assert done.code == 2, arguments
        assert said in done.err


@pytest.mark.parametrize("again", [False, True])
def test_existing_translations_stay_unless_asked_for(
    trained: Path, tmp_path: Path, command: Callable[..., Any], again: bool
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("the dog eats bread.\tso\n", encoding="utf-8")
    done = command("translate", trained, "--input", path, *["--again"] * again).out
    assert (done == "the dog eats bread.\tso\n") != again


CSV = """id;"English";German;note
1;the dog eats bread.;;"a;b"
2;"a ""cat""; has
us.";"";x
3;a cat;eine Katze;y
4;a cat
5;;;
"""


def test_a_csv_file_is_filled(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "new.csv"
    path.write_bytes(CSV.replace("\n", "\r\n").encode())
    done = command("translate", trained, "--input", path, "--columns", "English,German", "--output", out)
    assert (done.code, done.err.count("could not be filled")) == (0, 0)
    raw = out.read_bytes().decode()
    before = list(csv.reader(io.StringIO(CSV.replace("\n", "\r\n"), newline=""), delimiter=";"))
    after = list(csv.reader(io.StringIO(raw, newline=""), delimiter=";"))
    filled = [2, 3, 5]  # the first row is the header
    for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
        assert [*new[:2], *new[3:]] == [*old[:2], *old[3:]]
        assert bool(new[2:3] != old[2:3]) == (number in filled)
    assert '2;"a ""cat""; has\r\nus.";"' in raw  # quoting stays, that of the empty cell too
    assert after[2][2].count("\r\n") == 1
    assert raw.startswith('id;"English";German;note\r\n1;the dog eats bread.;')


def test_a_column_that_is_not_there_is_added(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    for name, text, options, first in (
        ("a.csv", "id,English\n1,a cat\n", ["--columns", "English,German"], "id,English,German"),
        ("b.csv", "en,id\na cat,1\n", ["--languages", "en,de"], "en,id,de"),
        ("c.tsv", "source\na cat\n", [], "source\ttarget"),
        ("d.tsv", "x\ta cat\n", ["--columns", "2,4"], "x\ta cat\t\t"),
    ):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        done = command("translate", trained, "--input", path, *options)
        assert done.code == 0, done.err
        lines = done.out.splitlines()
        assert lines[0].startswith(first)
        assert len(lines[-1]) > len(text.splitlines()[-1]) + 1


def test_json_lines_are_filled(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        '{"id": 1, "translation": {"en": "a cat", "de": ""}, "x": 1.50}',
        '{"id":2,"translation":{"en":"the dog eats bread."},"x":[ 1,2 ]}',
        '{"id": 3, "translation": {"de": null, "en": "a cat"}}',
        '{"id": 4, "translation": {"de": "eine Katze", "en": "a cat"}}',
        '{"id": 5, "translation": 7}',
        "not json",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    done = command("translate", trained, "--input", path, "--languages", "en,de")
    found = done.out.split("\n")
    assert "2 units could not be filled and were left unchanged: line 5: 'en' holds no text; line 6: " in done.err
    texts = [json.loads(line)["translation"]["de"] for line in found[:4]]
    assert all(texts)
    assert texts[3] == "eine Katze"
    written = [json.dumps(text, ensure_ascii=False) for text in texts]
    assert found[0] == lines[0].replace('""', written[0])
    assert found[1] == lines[1].replace('bread."', f'bread.","de":{written[1]}')
    assert found[2] == lines[2].replace("null", written[2])
    assert found[3:] == lines[3:]


def memory(*units: str) -> str:
    body = "\n".join(f"<tu>{unit}</tu>" for unit in units)
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>\n'


def both(source: str, target: str) -> str:
    return f'<tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de">{target}</tuv>'


def test_blank_variants_are_filled_and_others_only_again(
    trained: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    path = tmp_path / "a.tmx"
    text = memory(
        both("a cat", "<seg> </seg>"),
        both("the dog", "<seg />"),
        both("a dog", "<seg>ein &lt; Hund</seg>"),
        both("x", ""),
    )
    path.write_text(text, encoding="utf-8")
    done = command("translate", trained, "--input", path, "--languages", "en,de")
    assert "1 unit could not be filled and was left unchanged: line 5: no <seg> for de." in done.err
    pattern = re.escape(text).replace(r"<seg>\ </seg>", "<seg>[^<]+</seg>").replace(r"<seg\ />", "<seg>[^<]+</seg>")
    assert re.fullmatch(pattern, done.out)
    again = command("translate", trained, "--input", path, "--languages", "en,de", "--again")
    assert "Hund</seg>" not in again.out or "&lt;" not in again.out
    assert len(re.findall("<seg>[^<]+</seg>", again.out)) == 7


def test_inline_elements_of_a_memory_are_carried(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    path = tmp_path / "a.tmx"
    inline = (
        'the <bpt i="1" x="1">&lt;b&gt;</bpt>dog<ept x="1" i="1">&lt;/b&gt;</ept> eats <ph x="2"><sub>s</sub></ph> '
        "<hi type='a>b'>bread</hi><it pos=\"begin\"/>."
    )
    text = memory(f'<tuv xml:lang="en"><seg>{inline}</seg></tuv>', both("a <hi>cat</hi>", "<seg></seg>"))
    path.write_text(text, encoding="utf-8")
    done = command("translate", trained, "--input", path, "--languages", "en,de")
    assert (done.code, done.err.count("could not be filled")) == (0, 0)
    new = ElementTree.fromstring(done.out).findall(".//tuv[2]/seg")
    old = ElementTree.fromstring(text).find(".//seg")
    assert sorted(one.tag for one in new[0].iter()) == sorted(one.tag for one in old.iter())
    target = done.out.split('xml:lang="de"')[1].split("</seg>")[0]
    for element in ('<bpt i="1" x="1">&lt;b&gt;</bpt>', '<ph x="2"><sub>s</sub></ph>', "<hi type='a>b'>", "</hi>"):
        assert target.count(element) == 1
    assert [one.tag for one in new[1]] == ["hi"]
    assert "".join(new[1].itertext()).strip()


def test_an_exported_translator_leaves_segments_whose_elements_it_loses(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(memory('<tuv xml:lang="en"><seg>a <hi>cat</hi></seg></tuv>'), encoding="utf-8")
    room = open_to_fill(path, languages=("en", "de"))
    assert room.sources == ["a <1>cat</1>"]
    assert room.filled(["eine Katze"]) == path.read_text(encoding="utf-8")
    assert room.skipped == 1
    assert "<seg>eine <hi>Katze</hi></seg>" in room.filled(["eine <1>Katze</1>"])
    assert "</1>" not in room.filled(["eine </1>Katze<1>"])


def test_samples_of_a_filled_file_depend_on_the_line_not_on_the_chunk(
    trained: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of one line draw what one chunk of all lines draws."""
    lines = ["the dog eats bread."] * 4
    written = tmp_path / "in.tsv"
    written.write_text("".join(f"{line}\t\n" for line in lines))
    sampled = ("translate", trained, "--input", written, "--sample", "--temperature", "2", "--seed", "3")
    found = []
    for chunk in (512, 1):
        monkeypatch.setattr("glassformer.cli.filling.CHUNK", chunk)
        found.append(command(*sampled).out)
    assert found[0] == found[1]
    assert len(set(found[0].split("\n")[:4])) > 1  # lines that are alike get other samples


def test_the_empty_forms_of_a_plural_are_filled(tmp_path: Path) -> None:
    text = 'msgid "%d cat"\nmsgid_plural "%d cats"\nmsgstr[0] ""\nmsgstr[1] "DA"\nmsgstr[2] ""\n'
    path = tmp_path / "a.po"
    path.write_text(text, encoding="utf-8")
    room = open_to_fill(path)
    assert room.sources == ["%d cat", "%d cats"]
    filled = text.replace('[0] ""', '[0] "x"').replace('[2] ""', '[2] "y"')
    assert room.filled(["x", "y"]) == filled


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    for name, text in (("a.tsv", "a cat\t\n"), ("a.csv", '"a cat",""\n'), ("a.jsonl", '{"en": "a cat", "de": ""}\n')):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8-sig")
        room = open_to_fill(path, languages=("en", "de") if name.endswith("jsonl") else None)
        assert room.sources == ["a cat"]
        assert room.filled(["x"]).startswith("\ufeff" + text[:3])


@pytest.mark.parametrize("blocks", [[b"\xef\xbb\xbfA dog.\nb"], [b"\xef", b"\xbb\xbfA dog.", b"\nb"]])
def test_a_byte_order_mark_on_stdin_is_no_text(blocks: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = iter(blocks)
    stdin = SimpleNamespace(buffer=SimpleNamespace(read1=lambda _: next(waiting, b"")))
    monkeypatch.setattr("sys.stdin", stdin)
    assert [line for lines in stdin_blocks() for line in lines] == ["A dog.", "b"]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ('msgid "x\nmsgstr ""\n', "a.po, line 5"),
        ('msgid "x"\nmsgstr "\n', "a.po, line 6"),
        ('msgid "x"\n', "an entry without msgstr"),
        ("some words\n", "a.po, line 5"),
    ],
)
def test_a_malformed_po_file_is_refused_with_its_line(
    trained: Path, tmp_path: Path, command: Callable[..., Any], broken: str, words: str
) -> None:
    source, out = tmp_path / "a.po", tmp_path / "b.po"
    source.write_text(f'msgid "the dog"\nmsgstr ""\n\n# next\n{broken}', encoding="utf-8")
    refused = command("translate", trained, "--input", source, "--output", out)
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert words in refused.err
    assert not out.exists()


def test_an_output_of_another_format_is_refused(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    source = tmp_path / "a.po"
    source.write_text('msgid "the dog"\nmsgstr ""\n', encoding="utf-8")
    for name in ("a.xx.csv", "b.txt"):
        refused = command("translate", trained, "--input", source, "--output", tmp_path / name)
        assert (refused.code, "it gets the format of --input" in refused.err) == (2, True)
        assert not (tmp_path / name).exists()
    for name in ("b.pot", "b.po.gz", "b"):
        assert command("translate", trained, "--input", source, "--output", tmp_path / name).code == 0


@pytest.mark.parametrize("name", ["a.xliff", "a.HTML", "a.xml.gz", "a.srt", "a.yaml", "a.properties"])
def test_files_with_marks_are_refused_by_name(
    trained: Path, tmp_path: Path, command: Callable[..., Any], name: str
) -> None:
    (tmp_path / name).write_text("<p>the dog</p>\n")
    refused = command("translate", trained, "--input", tmp_path / name)
    assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert "Files that are filled in: .po, .tsv, .csv, .jsonl and .tmx" in refused.err
    assert "pipe it in" in refused.err


@pytest.mark.parametrize(
    ("text", "what"), [(PO, "a .po file"), ("\n<?xml version='1.0'?>\n<p>the dog</p>\n", "XML or HTML"), ("a cat", "")]
)
def test_marks_in_lines_without_a_name_are_noted(
    trained: Path, tmp_path: Path, command: Callable[..., Any], text: str, what: str
) -> None:
    (tmp_path / "plain").write_text(text)
    piped, named = (
        command("translate", trained, stdin=text.encode()),
        command("translate", trained, "--input", tmp_path / "plain"),
    )
    for done in (piped, named):
        assert done.code == 0
        assert len(done.lines) == len(text.removesuffix("\n").split("\n"))
        assert (f"the input looks like {what}, but" in done.err) == bool(what)
