"""Cleaning: what is written where, what is refused, and that nothing is left of a failure."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from glassformer.data.checks.cleaning import clean, destination_of
from glassformer.data.checks.writing import NewFiles
from glassformer.data.readers.inputs import gather
from glassformer.errors import DataError, SettingsError

PAIRS = [
    ("The dog.", "Der Hund."),
    ("A\x07 cat.", "Eine Katze."),
    ("The dog.", "Der Hund."),
    ("", "Leer."),
    ("Two.", "Zwei."),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("train.en").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    Path("train.de").write_text("".join(f"{target}\n" for _, target in PAIRS))
    Path("corpus.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    return tmp_path


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def dropped_in(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


# What is written


def test_two_files_become_two_files_and_a_list(folder: Path) -> None:
    findings = clean(gather(["train.en", "train.de"]), "clean/train")
    assert (findings.units, findings.used) == (5, 2)
    assert Path("clean/train.en").read_text() == "The dog.\nTwo.\n"
    assert Path("clean/train.de").read_text() == "Der Hund.\nZwei.\n"
    assert files_below(folder / "clean") == ["train.de", "train.dropped.jsonl", "train.en"]
    assert dropped_in("clean/train.dropped.jsonl") == [
        {
            "reason": "control",
            "detail": "source: control character U+0007",
            "file": "train.en",
            "unit": "line",
            "number": 2,
            "byte": 9,
            "source": "A\x07 cat.",
            "target": "Eine Katze.",
        },
        {
            "reason": "duplicate",
            "detail": "the same pair was seen before",
            "file": "train.en",
            "unit": "line",
            "number": 3,
            "byte": 17,
            "source": "The dog.",
            "target": "Der Hund.",
        },
        {
            "reason": "blank",
            "detail": "the source is blank",
            "file": "train.en",
            "unit": "line",
            "number": 4,
            "byte": 26,
            "source": "",
            "target": "Leer.",
        },
    ]


def test_only_the_filters_asked_for_drop() -> None:
    findings = clean(gather(["corpus.tsv"]), "out.tsv", filters=["duplicate"])
    assert findings.dropped == {"duplicate": 1, "blank": 1}
    assert Path("out.tsv").read_text() == "The dog.\tDer Hund.\nA\x07 cat.\tEine Katze.\nTwo.\tZwei.\n"
    assert len(dropped_in("out.dropped.jsonl")) == 2
    assert clean(gather(["corpus.tsv"]), "all", filters=[]).used == 4


@pytest.mark.parametrize(
    ("suffix", "unpack"),
    [
        ("", bytes),
        (".gz", gzip.decompress),
        (".xz", lzma.decompress),
        (".bz2", bz2.decompress),
        (".zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
    ],
)
def test_one_file_is_packed_as_its_name_says(suffix: str, unpack: Callable[[bytes], bytes]) -> None:
    clean(gather(["corpus.tsv"]), f"out.tsv{suffix}")
    clean(gather(["corpus.tsv"]), f"other.jsonl{suffix}")
    assert unpack(Path(f"out.tsv{suffix}").read_bytes()) == b"The dog.\tDer Hund.\nTwo.\tZwei.\n"
    lines = unpack(Path(f"other.jsonl{suffix}").read_bytes()).decode().splitlines()
    assert json.loads(lines[0]) == {"source": "The dog.", "target": "Der Hund."}
    assert clean(gather([f"out.tsv{suffix}"]), "again").units == 2


@pytest.mark.parametrize(
    ("inputs", "suffixes"),
    [
        (["train.en", "train.de"], [".en", ".de"]),
        (["a.en.gz", "a.de.gz"], [".en", ".de"]),
        (["a.en.txt", "a.de.txt"], [".en", ".de"]),
        (["left.txt", "right.txt"], [".source", ".target"]),
        (["left", "right"], [".source", ".target"]),
        (["news.en-fr.tsv"], [".en", ".fr"]),
        (["corpus.tsv"], [".source", ".target"]),
    ],
)
def test_two_files_end_like_the_inputs(inputs: list[str], suffixes: list[str]) -> None:
    for name in inputs:
        Path(name).touch()
    found = destination_of("x/out", gather(inputs))
    assert [path.name for path in found.paths] == [f"out{suffix}" for suffix in suffixes]
    assert found.dropped == Path("x/out.dropped.jsonl")


def test_languages_that_were_given_name_the_files() -> None:
    found = destination_of("out", gather(["corpus.tsv"]), languages=("en", "de"))
    assert [path.name for path in found.paths] == ["out.en", "out.de"]


def test_line_breaks_and_tabs_become_spaces_where_the_format_needs_it() -> None:
    rows = [{"source": "one\ntwo", "target": "eins\tzwei"}, {"source": "one two", "target": "eins\tzwei"}]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for out, flattened, used in (("a.tsv", 2, 1), ("b", 1, 1), ("c.jsonl", 0, 2)):
        findings = clean(gather(["in.jsonl"]), out)
        assert (findings.flattened, findings.used) == (flattened, used)
    assert Path("a.tsv").read_text() == "one two\teins zwei\n"
    assert Path("b.target").read_text() == "eins\tzwei\n"
    assert [json.loads(line) for line in Path("c.jsonl").read_text().splitlines()] == rows
    assert dropped_in("a.dropped.jsonl")[0]["target"] == "eins\tzwei"  # as it was


def test_pairs_of_the_held_out_files_are_dropped() -> None:
    Path("val.tsv").write_text("the dog\tein Hund\n")
    findings = clean(gather(["corpus.tsv"]), "out.tsv", valid=gather(["val.tsv"]))
    assert findings.dropped == {"overlap": 2, "control": 1, "blank": 1}
    assert findings.held[0].sources_in_train == 1


# What is refused


@pytest.mark.parametrize(
    ("out", "there"),
    [
        ("train", "train.en"),
        ("corpus.tsv", "corpus.tsv"),
        ("new.tsv", "new.dropped.jsonl"),
        ("old", "old.dropped.jsonl"),
        ("link.tsv", "link.tsv"),
    ],
)
def test_nothing_that_exists_is_overwritten(folder: Path, out: str, there: str) -> None:
    if there == "link.tsv":
        Path(there).symlink_to("nowhere")
    elif not Path(there).exists():
        Path(there).write_text("mine")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.exists()}
    with pytest.raises(DataError, match=rf"{there} already exists"):
        clean(gather(["train.en", "train.de"]), out)
    assert {path: path.read_bytes() for path in folder.iterdir() if path.exists()} == before


@pytest.mark.parametrize("out", ["x.csv", "x.tmx", "x.po", "x.en.gz", ".", "..", "sub"])
def test_impossible_outputs_are_refused_with_the_possible_ones(out: str) -> None:
    Path("sub").mkdir()
    with pytest.raises(DataError, match=r"give a \.tsv or \.jsonl file"):
        clean(gather(["corpus.tsv"]), out)


def test_a_file_instead_of_a_folder_is_reported() -> None:
    with pytest.raises(DataError, match=r"corpus\.tsv is not a folder"):
        clean(gather(["corpus.tsv"]), "corpus.tsv/out")


def test_a_misspelt_filter_leaves_nothing(folder: Path) -> None:
    before = files_below(folder)
    with pytest.raises(SettingsError, match="Did you mean"):
        clean(gather(["corpus.tsv"]), "new/out.tsv", filters=["duplicat"])
    assert files_below(folder) == before


def test_files_of_different_length_are_refused_with_both_counts(folder: Path) -> None:
    Path("short.de").write_text("Der Hund.\nEine Katze.\n")
    before = files_below(folder)
    with pytest.raises(
        DataError, match=r"line 3 of train\.en has no partner: train\.en has 5 lines, short\.de has 2\."
    ):
        clean(gather(["train.en", "short.de"]), "new/out")
    assert files_below(folder) == before


def test_trim_drops_and_lists_the_lines_without_a_partner() -> None:
    Path("short.de").write_text("Der Hund.\nEine Katze.\n")
    findings = clean(gather(["train.en", "short.de"]), "out", filters=[], trim=True)
    assert (findings.used, findings.dropped) == (2, {"no partner": 3})
    assert [row["number"] for row in dropped_in("out.dropped.jsonl")] == [3, 4, 5]


# Failing


def test_an_interrupted_cleaning_leaves_nothing(folder: Path) -> None:
    before = files_below(folder)

    def interrupt(_done: int, _all: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clean(gather(["corpus.tsv"]), "new/deep/out.tsv.gz", progress=interrupt)
    assert files_below(folder) == before


def test_an_input_that_breaks_in_the_middle_leaves_nothing(folder: Path) -> None:
    whole = gzip.compress(b"".join(b"a line %d\teine Zeile %d\n" % (i, i) for i in range(90_000)))
    Path("cut.tsv.gz").write_bytes(whole[: len(whole) // 2])
    before = files_below(folder)
    with pytest.raises(DataError, match="cut off"):
        clean(gather(["cut.tsv.gz"]), "new/out")
    assert files_below(folder) == before


def test_a_full_disk_is_one_line_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    before = files_below(folder)
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(DataError, match=r"out\.tsv cannot be written \(No space left on device\)\. Nothing was left"):
        clean(gather(["corpus.tsv"]), "new/out.tsv")
    assert files_below(folder) == before


def test_of_several_files_none_appears_when_one_cannot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def fail_at_the_last(self: Path, target: Path) -> Path:
        if target.suffix == ".jsonl":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    before = files_below(folder)
    monkeypatch.setattr(Path, "rename", fail_at_the_last)
    with pytest.raises(DataError):
        clean(gather(["train.en", "train.de"]), "new/train")
    assert files_below(folder) == before


def test_the_files_have_their_names_only_at_the_end(folder: Path) -> None:
    with NewFiles([Path("a/x.txt"), Path("y.txt.gz")]) as (x, y):
        x.write("ä\n")
        y.write("z\n")
        assert not Path("a/x.txt").exists()
        assert not Path("y.txt.gz").exists()
    assert Path("a/x.txt").read_bytes() == "ä\n".encode()
    assert gzip.decompress(Path("y.txt.gz").read_bytes()) == b"z\n"
    assert files_below(folder) == ["a", "a/x.txt", "corpus.tsv", "train.de", "train.en", "y.txt.gz"]


def test_a_file_made_by_somebody_else_meanwhile_is_not_overwritten(folder: Path) -> None:
    def write_while_another_does() -> None:
        with NewFiles([Path("x.txt")]) as (file,):
            file.write("ours")
            Path("x.txt").write_text("theirs")

    with pytest.raises(DataError, match="already exists"):
        write_while_another_does()
    assert Path("x.txt").read_text() == "theirs"
    assert files_below(folder) == ["corpus.tsv", "train.de", "train.en", "x.txt"]
