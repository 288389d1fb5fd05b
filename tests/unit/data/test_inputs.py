"""Names to inputs, inputs to one stream of records."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from glassformer.data.readers.inputs import Input, fingerprint, gather, gather_sides, languages_of, read_pairs
from glassformer.errors import DataError


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make(*names: str, content: str = "x\n") -> list[str]:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    return list(names)


def plain(inputs: list[Input]) -> list[tuple[str, ...]]:
    return [(one.kind, *map(str, one.paths)) for one in inputs]


@pytest.mark.parametrize(
    ("names", "inputs"),
    [
        (["a.en", "a.de"], [("aligned", "a.en", "a.de")]),
        (["one.txt", "other"], [("aligned", "one.txt", "other")]),
        (["a.en", "b.en", "a.de", "b.de"], [("aligned", "a.en", "a.de"), ("aligned", "b.en", "b.de")]),
        (["a.de", "b.en", "a.en", "b.de"], [("aligned", "a.de", "a.en"), ("aligned", "b.de", "b.en")]),
        (["a.en", "a.de", "b.en.txt", "b.de.txt"], [("aligned", "a.en", "a.de"), ("aligned", "b.en.txt", "b.de.txt")]),
        (
            ["x/a.de-en.de", "y/a.de-en.de", "x/a.de-en.en", "y/a.de-en.en"],
            [("aligned", "x/a.de-en.de", "x/a.de-en.en"), ("aligned", "y/a.de-en.de", "y/a.de-en.en")],
        ),
        (["a.src", "b.src", "b.tgt", "a.tgt"], [("aligned", "a.src", "a.tgt"), ("aligned", "b.src", "b.tgt")]),
        (
            ["t.tsv", "a.en", "m.tmx", "a.de", "p.po", "j.jsonl", "c.csv"],
            [
                ("tsv", "t.tsv"),
                ("aligned", "a.en", "a.de"),
                ("tmx", "m.tmx"),
                ("po", "p.po"),
                ("jsonl", "j.jsonl"),
                ("csv", "c.csv"),
            ],
        ),
        (["T.TSV", "n.ndjson", "x.json"], [("tsv", "T.TSV"), ("jsonl", "n.ndjson"), ("jsonl", "x.json")]),
    ],
)
def test_files_are_gathered_by_their_names(names: list[str], inputs: list[tuple[str, ...]]) -> None:
    assert plain(gather(make(*names))) == inputs


def test_the_suffix_of_a_packing_does_not_count() -> None:
    make("a.en", "a.de.gz", "b.en.gz", "b.de", "t.tsv.xz")
    assert plain(gather(["a.en", "a.de.gz", "b.en.gz", "b.de", "t.tsv.xz"])) == [
        ("aligned", "a.en", "a.de.gz"),
        ("aligned", "b.en.gz", "b.de"),
        ("tsv", "t.tsv.xz"),
    ]


def test_globs_are_expanded_in_order_and_folders_are_left_out() -> None:
    make("c/b.tsv", "c/a.tsv", "c/d.tsv/x")
    assert plain(gather(["c/*.tsv"])) == [("tsv", "c/a.tsv"), ("tsv", "c/b.tsv")]
    assert plain(gather(["**/[b].tsv"])) == [("tsv", "c/b.tsv")]


def test_a_file_whose_name_looks_like_a_glob_is_that_file() -> None:
    make("a[1].tsv", "a1.tsv")
    assert plain(gather(["a[1].tsv"])) == [("tsv", "a[1].tsv")]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], "No file was given"),
        ([""], "An empty name"),
        (["*.nix"], r"\*\.nix matches no file"),
        (["fold*"], r"fold\* matches only folders"),
        (["folder"], r"folder is a folder; give its files, by name or as a pattern: folder/\*"),
        (["nix.tsv"], r"nix\.tsv: no such file"),
        (["a.en"], r"a\.en has no partner among the files given.*must be named \.tsv"),
        (["a.en", "a.de", "b.en"], r"b\.en has no partner"),
        (["a.en", "a.de", "a.fr"], r"a\.en, a\.de, a\.fr: 3 files that belong together; a pair has two"),
        (["t.tsv", "t.tsv"], r"t\.tsv is given twice"),
        (["t.tsv", "link.tsv"], r"link\.tsv is the same file as t\.tsv"),
        (["a.en", "hard.de"], r"hard\.de is the same file as a\.en"),
        (["-", "-"], "stdin is given twice"),
        (["a.en/b"], r"a\.en/b: not a usable file name: not a directory"),
    ],
)
def test_files_that_cannot_be_gathered_are_reported(names: list[str], told: str) -> None:
    make("a.en", "a.de", "a.fr", "b.en", "t.tsv", "folder/x")
    Path("link.tsv").symlink_to("t.tsv")
    os.link("a.en", "hard.de")
    with pytest.raises(DataError, match=told):
        gather(names)


def test_sides_are_paired_in_order() -> None:
    make("a.en", "b.en", "a.de", "b.de")
    assert plain(gather_sides(["*.en"], ["a.de", "b.de"])) == [("aligned", "a.en", "a.de"), ("aligned", "b.en", "b.de")]


@pytest.mark.parametrize(
    ("sources", "targets", "told"),
    [
        (["*.en"], ["a.de"], r"2 source files \(a\.en, b\.en\), but 1 target file \(a\.de\)"),
        (["a.en"], ["a.en"], "given as source and as target"),
        (["-"], ["a.de"], "stdin cannot be one of two aligned files"),
    ],
)
def test_sides_that_do_not_fit_are_refused(sources: list[str], targets: list[str], told: str) -> None:
    make("a.en", "b.en", "a.de")
    with pytest.raises(DataError, match=told):
        gather_sides(sources, targets)


def test_all_inputs_come_in_one_stream() -> None:
    make("a.en", content="one\n")
    make("a.de", content="eins\n")
    make("t.tsv", content="two\tzwei\n")
    make("e.tsv", content="")
    make("j.jsonl", content='["three", "drei"]\n')
    make("p.po", content='msgid "four"\nmsgstr "vier"\n')
    make("m.tmx", content="<tmx><tu><tuv lang='en'><seg>5</seg></tuv><tuv lang='de'><seg>6</seg></tuv></tu></tmx>")
    records = read_pairs(gather(["a.en", "a.de", "t.tsv", "e.tsv", "j.jsonl", "p.po", "m.tmx"]))
    assert [(record.source, record.target) for record in records] == [
        ("one", "eins"),
        ("two", "zwei"),
        ("three", "drei"),
        ("four", "vier"),
        ("5", "6"),
    ]


def test_only_if_no_input_has_a_unit_it_is_an_error() -> None:
    make("a.tsv", "b.tsv", content="")
    with pytest.raises(DataError, match=r"a\.tsv, b\.tsv: no sentences found"):
        list(read_pairs(gather(["a.tsv", "b.tsv"])))


def test_stdin_is_a_tsv_and_may_be_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"one\teins\n"))))
    (record,) = read_pairs(gather(["-"]))
    assert (record.source, record.target, str(record.place)) == ("one", "eins", "stdin, line 1, byte 0")


def test_a_file_named_like_stdin_is_a_file() -> None:
    make("-", content="one\teins\n")
    make("t.en", content="x\n")
    (one,) = gather(["./-", "t.en"])
    assert [path.name for path in one.paths] == ["-", "t.en"]
    assert next(read_pairs([one])).source == "one\teins"


def test_progress_ends_with_all_packed_bytes() -> None:
    make("a.en", "a.de", content="a sentence\n" * 100_000)
    Path("t.tsv.gz").write_bytes(gzip.compress(b"one\teins\n"))
    heard: list[tuple[int, int]] = []
    for _ in read_pairs(gather(["a.en", "a.de", "t.tsv.gz"]), progress=lambda done, total: heard.append((done, total))):
        pass
    assert heard == sorted(heard)
    assert len(heard) > 4
    assert heard[-1] == (heard[0][1], heard[0][1]) == (sum(Path(n).stat().st_size for n in os.listdir()),) * 2


def test_reading_is_a_stream() -> None:
    make("t.tsv", content="one\teins\n" * 200_000)
    heard: list[int] = []
    records = read_pairs(gather(["t.tsv"]), progress=lambda done, _: heard.append(done))
    next(records)
    assert heard[-1] < Path("t.tsv").stat().st_size / 2


def test_the_fingerprint_is_of_kinds_and_bytes_not_of_names() -> None:
    make("a.en", "c.en", content="one\n")
    make("a.de", "c.de", content="eins\n")
    first = fingerprint(gather(["a.en", "a.de"]))
    assert first == fingerprint(gather(["c.en", "c.de"]))
    assert first != fingerprint(gather(["a.de", "a.en"]))
    assert len(first) == 64
    assert fingerprint([Input((Path("a.en"),), "tsv")]) != fingerprint([Input((Path("a.en"),), "csv")])
    assert fingerprint([]) != first
    Path("c.de").write_text("eins!\n")
    assert first != fingerprint(gather(["c.en", "c.de"]))


def test_stdin_has_no_fingerprint() -> None:
    with pytest.raises(DataError, match="only once"):
        fingerprint(gather(["-"]))


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        (["train.en", "train.de"], ("en", "de")),
        (["train.en.gz", "train.de"], ("en", "de")),
        (["train.en.txt", "train.pt_BR.txt"], ("en", "pt_BR")),
        (["a.src", "a.tgt"], (None, None)),
        (["a.en", "a.tgt"], ("en", None)),
        (["x.en-de.tsv"], ("en", "de")),
        (["deu-eng.tsv.xz"], ("deu", "eng")),
        (["wiki_en_de.jsonl"], ("en", "de")),
        (["pt_BR.po"], (None, None)),
        (["some-table.csv"], (None, None)),
        (["x.en-de.tsv", "y.en-de.tsv"], ("en", "de")),
        (["x.en-de.tsv", "y.de-en.tsv"], (None, None)),
        ([], (None, None)),
    ],
)
def test_languages_are_guessed_from_names(names: list[str], languages: tuple[str | None, str | None]) -> None:
    inputs = gather(make(*names)) if names else []
    assert languages_of(inputs) == languages


def test_files_given_in_crossed_order_are_refused(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("a.en", "b.en", "b.de", "a.de")]
    for name in names:
        Path(name).write_text("x\n")
    with pytest.raises(DataError, match="in the same order"):
        gather_sides(names[:2], names[2:])
    assert len(gather_sides(names[:2], names[:1:-1])) == 2
    with pytest.raises(DataError, match="given twice"):
        gather_sides([names[0]] * 2, names[2:])


def test_the_same_choice_for_both_sides_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"en": "a", "de": "b"}\n')
    with pytest.raises(DataError, match="must differ"):
        list(read_pairs(gather([str(path)]), columns=("en", "en")))
