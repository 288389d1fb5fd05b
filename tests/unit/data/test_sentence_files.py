"""Sentence pairs from files: what a line is, what is refused and how it is told."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from glassformer.data.pairs import (
    Corpus,
    all_sides,
    hold_out,
    read_aligned,
    read_lines,
    read_pair_files,
    read_tsv,
    without_blanks,
)
from glassformer.errors import DataError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: bytes | str, name: str = "text.en") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(read: Callable[..., object], *paths: Path) -> str:
    with pytest.raises(DataError) as caught:
        read(*paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Lines


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\n", ["a\rb"]),
        ("a\n\n\nb\n", ["a", "", "", "b"]),
        ("\n", [""]),
        ("", []),
        ("\ufeffa\nb\n", ["a", "b"]),
        ("a\n\ufeffb\n", ["a", "\ufeffb"]),
        ("Äpfel, яблоки 🍎\n", ["Äpfel, яблоки 🍎"]),
    ],
)
def test_only_a_line_feed_ends_a_line(write: Write, content: str, lines: list[str]) -> None:
    assert read_lines(write(content)) == lines


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0c", "\x0b", "\x1c", "\x1e", "\r"])
def test_other_separators_stay_inside_the_sentence(write: Write, separator: str) -> None:
    assert read_lines(write(f"one{separator}two\nthree\n")) == [f"one{separator}two", "three"]


def test_a_gzip_file_reads_as_its_text(write: Write) -> None:
    assert read_lines(write(gzip.compress(b"a\r\nb"), "text.en.gz")) == ["a", "b"]


def test_bytes_that_are_not_utf8_are_told_with_line_and_byte(write: Write) -> None:
    path = write(b"good\nb\xe4d\n")
    assert refusal(read_lines, path).startswith(f"{path}, line 2, byte 2: not UTF-8 (got 0xe4).")


def test_the_number_of_a_late_line_has_commas(write: Write) -> None:
    assert "line 1,204, byte 1" in refusal(read_lines, write(b"x\n" * 1203 + b"\xff\n"))


def test_a_nul_is_refused_with_its_line(write: Write) -> None:
    assert "line 2: a NUL character" in refusal(read_lines, write("a\nb\0c\n"))


def test_utf16_is_refused(write: Write) -> None:
    assert "UTF-8" in refusal(read_lines, write("abc\n".encode("utf-16")))
    assert "UTF-16" in refusal(read_lines, write("abc\n".encode("utf-16-le")))


def test_files_that_cannot_be_read_are_named(write: Write, tmp_path: Path) -> None:
    whole = gzip.compress(b"sentence\n" * 50)
    file = write("x")
    cases = {
        tmp_path / "none.en": "no such file",
        tmp_path: "is a folder",
        file / "below": "cannot be read",
        Path("x" * 5000): "cannot be read",
        Path("nul\0inside"): "cannot be read",
        write(whole[:-9], "cut.gz"): "not a whole gzip file",
        write(whole[:5], "shorter.gz"): "not a whole gzip file",
        write(b"plain text", "plain.gz"): "not a whole gzip file",
        write(whole[:20] + b"\xff\xff\xff" + whole[23:], "broken.gz"): "not a whole gzip file",
    }
    for path, told in cases.items():
        message = refusal(read_lines, path)
        assert told in message
        assert path.name[:20].split("\0")[0] in message


# Aligned files and TSV


@pytest.mark.parametrize(("more", "less"), [("en", "de"), ("de", "en")])
def test_files_of_different_length_are_never_cut(write: Write, more: str, less: str) -> None:
    paths = {more: write("a\nb\nc\n", f"text.{more}"), less: write("x\ny\n", f"text.{less}")}
    counts = {more: 3, less: 2}
    assert refusal(read_aligned, paths["en"], paths["de"]) == (
        f"line 3 of {paths[more]} has no partner: {paths['en']} has {counts['en']} lines, "
        f"{paths['de']} has {counts['de']}. The two files must have the same number of lines."
    )


def test_blank_lines_keep_the_others_aligned_and_are_counted(write: Write) -> None:
    corpus = read_aligned(write("a\n\n c \nd\n", "x.en"), write("A\nB\nC\n \n", "x.de"))
    assert (corpus.sources, corpus.targets) == (["a", "c"], ["A", "C"])
    assert corpus.dropped == {"blank on one side": 2}
    assert len(corpus) == 2


def test_without_blank_lines_nothing_is_dropped() -> None:
    assert without_blanks(["a"], ["b"], origin="x").dropped == {}


@pytest.mark.parametrize("content", ["", "\n\n", " \n\t\n", "\u3000\n"])
def test_files_without_a_sentence_are_refused(write: Write, content: str) -> None:
    paths = write(content, "x.en"), write(content, "x.de")
    assert f"{paths[0]} and {paths[1]}: no sentence pair in it" in refusal(read_aligned, *paths)


def test_a_tsv_gives_its_first_two_columns(write: Write) -> None:
    corpus = read_tsv(write("a\tA\n\nb\tB\tmore\tcolumns\nc\t\n", "x.tsv"))
    assert (corpus.sources, corpus.targets, corpus.dropped) == (["a", "b"], ["A", "B"], {"blank on one side": 1})


def test_a_tsv_line_with_one_column_is_refused_with_its_number(write: Write) -> None:
    path = write("a\tA\n\nno tab\n", "x.tsv")
    assert refusal(read_tsv, path).startswith(f"{path}, line 3: got 1 column, need 2 separated by a tab")


def test_two_files_are_aligned_and_one_is_a_tsv(write: Write) -> None:
    english, german, table = write("a\n", "x.en"), write("A\n", "x.de"), write("a\tA\n", "x.tsv")
    assert read_pair_files([english, german]) == read_pair_files([table]) == Corpus(["a"], ["A"])


def test_all_sides_are_all_sentences() -> None:
    assert list(all_sides(Corpus(["a", "b"], ["A", "B"]))) == ["a", "b", "A", "B"]


def test_a_fingerprint_changes_with_any_sentence_its_side_and_its_order() -> None:
    corpora = [
        Corpus(["a", "b"], ["A", "B"]),
        Corpus(["b", "a"], ["B", "A"]),
        Corpus(["a", "b"], ["A", "C"]),
        Corpus(["A", "B"], ["a", "b"]),
        Corpus(["aA", "b"], ["", "B"]),
        Corpus(["a"], ["A"]),
    ]
    assert len({corpus.fingerprint() for corpus in corpora}) == len(corpora)
    assert corpora[0].fingerprint() == Corpus(["a", "b"], ["A", "B"], {"blank": 3}).fingerprint()


# Holding out


def numbered(count: int) -> Corpus:
    return Corpus([f"sentence {i}" for i in range(count)], [f"Satz {i}" for i in range(count)], {"blank": 3})


def test_the_held_out_part_is_the_same_each_time_and_about_its_share() -> None:
    corpus = numbered(5000)
    train, held = hold_out(corpus)
    assert (train, held) == hold_out(corpus)
    assert 60 <= len(held) <= 140
    assert len(train) + len(held) == 5000
    assert set(zip(train.sources, train.targets, strict=True)) | set(
        zip(held.sources, held.targets, strict=True)
    ) == set(zip(corpus.sources, corpus.targets, strict=True))
    assert train.dropped == corpus.dropped


def test_another_seed_holds_out_others() -> None:
    assert hold_out(numbered(1000), seed=1)[1].sources != hold_out(numbered(1000), seed=2)[1].sources


def test_of_a_large_corpus_no_more_than_wanted_is_held_out() -> None:
    assert 60 <= len(hold_out(numbered(5000), share=0.5, most=100)[1]) <= 140


def test_a_repeated_sentence_never_stands_on_both_sides() -> None:
    corpus = Corpus([f"sentence {i % 100}" for i in range(1000)], [f"Satz {i}" for i in range(1000)])
    train, held = hold_out(corpus, share=0.2)
    assert held.sources
    assert not set(train.sources) & set(held.sources)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_pairs_to_hold_some_out_are_refused(count: int) -> None:
    with pytest.raises(DataError, match=rf"Only {count} sentence pairs.*--valid"):
        hold_out(numbered(count))
