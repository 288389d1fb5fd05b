"""Questions to word vectors: neighbours, analogies, similarities; and their files, also damaged ones."""

from __future__ import annotations

import gzip
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from glassformer.errors import DataError, SettingsError
from glassformer.nn.native import word_lines
from glassformer.vectors import WordVectors, load, reading, similarity, word_vectors
from glassformer.vectors.word_tests import analogy_scores, is_analogies, pair_scores, read_analogies, read_pairs

ROYAL = {
    "king": [1, 1, 0], "queen": [1, 0, 1], "man": [0, 1, 0], "woman": [0, 0, 1], "Paris": [-1, 0.2, 0.1],
    "nothing": [0, 0, 0],
}  # fmt: skip


def royal(scale: float = 1.0) -> WordVectors:
    return WordVectors(ROYAL, scale * np.array(list(ROYAL.values()), np.float32))


# Questions


@pytest.mark.parametrize(
    ("v", "w", "dot", "cosine"),
    [
        ([1, 2], [2, 4], 10, 1),
        ([1, 2], [-2, -4], -10, -1),
        ([100, 200], [-1, 3], 500, 0.5**0.5),
        ([1, 0], [0, 5], 0, 0),
        ([0, 0], [1, 1], 0, 0),
    ],
)
def test_dot_product_against_cosine(v: list[float], w: list[float], dot: float, cosine: float) -> None:
    found = similarity(v, w)
    assert (found.dot, found.cosine) == pytest.approx((dot, cosine))


def test_king_minus_man_plus_woman() -> None:
    found = royal().analogy(["king", "woman"], ["man"], top=2)
    assert found[0].word == "queen"
    assert len(found) == 2
    assert not {"king", "woman", "man"} & {one.word for one in royal().analogy(["king", "woman"], ["man"], top=9)}


@pytest.mark.parametrize("at_a_time", [1, 6, 1 << 22])
def test_neighbours_are_sorted_by_cosine_and_do_not_depend_on_lengths(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_vectors, "AT_A_TIME", at_a_time)
    found = royal(7.0).neighbours("king", top=5)
    assert [one.word for one in found] == ["man", "queen", "woman", "Paris", "nothing"]
    assert found[0].cosine == pytest.approx(0.5**0.5)
    assert [one.word for one in royal().neighbours("king", top=9, among=2)] == ["queen"]
    assert royal().neighbours(np.array([0, 0, 2.0], np.float32), top=1)[0].word == "woman"


def test_unknown_words_are_an_error_that_helps() -> None:
    vectors = royal()
    with pytest.raises(DataError, match=r"'womn' has no vector among 6 words. Similar words that have one: woman"):
        vectors.neighbours("womn")
    with pytest.raises(KeyError):
        vectors["womn"]
    assert "womn" not in vectors
    assert np.array_equal(vectors["paris"], vectors["Paris"]), "the casing that exists"
    with pytest.raises(DataError, match="expected a word"):
        vectors.neighbours(3)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="top"):
        vectors.neighbours("king", top=0)
    with pytest.raises(DataError, match="list of words"):
        vectors.odd_one_out("king")  # type: ignore[arg-type]


def test_words_and_rows_must_fit() -> None:
    with pytest.raises(DataError, match="2 words"):
        WordVectors(["a", "b"], np.zeros((3, 2), np.float32))


# Tests with known answers


def test_analogies_count_what_cannot_be_answered(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(
        ": royal\nman king woman queen\nman king woman Paris\n: far\nman king woman duchess\n", encoding="utf-8"
    )
    assert is_analogies(path)
    found = analogy_scores(royal(), read_analogies(path))
    assert [(one.name, one.questions, one.answered, one.right) for one in found.categories] == [
        ("royal", 2, 2, 1), ("far", 1, 0, 0),
    ]  # fmt: skip
    assert found.total.score is not None
    assert (found.total.score.value, found.total.of_all) == (50, pytest.approx(100 / 3))
    assert found.total.score.low < 10 < 90 < found.total.score.high  # of two questions
    assert found.categories[1].score is None
    assert found.missing == ["duchess"]
    assert analogy_scores(royal(), read_analogies(path), among=2).total.answered == 0


def test_rated_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("# comment\nWord 1\tWord 2\tHuman\nking\tqueen\t8\nking\tman\t9\nKING\tparis\t1\nking\tduke\t7\n")
    assert not is_analogies(path)
    found = pair_scores(royal(), read_pairs(path))
    assert (found.pairs, found.rated, found.missing) == (4, 3, ["duke"])
    assert found.score is not None
    assert found.score.value == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "told"), [("a b c\n", "an analogy has four"), ("", "no analogies"), (": only\n", "no analogies")]
)
def test_broken_analogies(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=told):
        read_analogies(path)


# Files


@pytest.mark.parametrize("name", ["v.vec", "v.bin"])
def test_files_are_exact_both_ways(tmp_path: Path, name: str) -> None:
    random = np.random.default_rng(3)
    matrix = (random.standard_normal((300, 7)) * 10.0 ** random.integers(-30, 30, (300, 1))).astype(np.float32)
    words = [f"wörd{i}" for i in range(299)] + ["1999"]
    WordVectors(words, matrix).save(tmp_path / name)
    found = load(tmp_path / name)
    assert found.words == tuple(words)
    assert np.array_equal(found.matrix, matrix)
    assert load(tmp_path / name, most=5).words == tuple(words[:5])
    with pytest.raises(DataError, match="already exists"):
        found.save(tmp_path / name)


def test_the_bytes_are_those_of_gensim(tmp_path: Path) -> None:
    vectors = WordVectors(["ab", "ü"], np.array([[1, 2], [-0.5, 0.1]], np.float32))
    vectors.save(tmp_path / "v.bin")
    expected = b"2 2\nab " + struct.pack("<2f", 1, 2) + "ü ".encode() + struct.pack("<2f", -0.5, 0.1)
    assert (tmp_path / "v.bin").read_bytes() == expected
    vectors.save(tmp_path / "v.vec")
    assert (tmp_path / "v.vec").read_bytes() == "2 2\nab 1 2\nü -0.5 0.100000001\n".encode()
    vectors.save(tmp_path / "v.glove")
    assert (tmp_path / "v.glove").read_bytes() == "ab 1 2\nü -0.5 0.100000001\n".encode()


def test_binary_files_of_the_authors_have_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "theirs.bin"
    path.write_bytes(b"2 2\nab " + struct.pack("<2f", 1, 2) + b"\ncd " + struct.pack("<2f", 3, 4) + b"\n")
    assert load(path).matrix.tolist() == [[1, 2], [3, 4]]


GLOVE = "the 0.1 -2e-1 3\n. . 0.5 .25 -1\n1999 1 2 3\n\nnew york 1 2 3\r\n"


@pytest.mark.parametrize("in_c", [True, False])
def test_glove_has_no_first_line_and_words_with_spaces(
    tmp_path: Path, in_c: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_c:
        monkeypatch.setattr(word_lines, "kernels", lambda: None)
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(GLOVE.encode()))
    found = load(path)
    assert found.words == ("the", ". .", "1999", "new york")
    assert found.matrix == pytest.approx(np.array([[0.1, -0.2, 3], [0.5, 0.25, -1], [1, 2, 3], [1, 2, 3]]))


def test_a_first_line_that_is_half_a_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.vec"
    path.write_text("three 2\na 1 2\nb 3 4\nc 5 6\n")
    with pytest.raises(DataError, match=r"line 1: 'three 2' has one number and the next line 2"):
        load(path)
    path.write_text("three 2\na 1\nb 3\n")
    assert load(path).words == ("three", "a", "b")


def test_small_portions_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    vectors = WordVectors([f"w{i}" for i in range(2000)], random.standard_normal((2000, 9)).astype(np.float32))
    for name in ("v.vec", "v.bin", "v.glove"):
        vectors.save(tmp_path / name)
        with monkeypatch.context() as patch:
            for size, value in (("HEAD", 100), ("LINES", 1000), ("FIRST_ROWS", 8)):
                patch.setattr(reading, size, value)
            found = load(tmp_path / name)
        assert found.words == vectors.words
        assert np.array_equal(found.matrix, vectors.matrix)


def test_a_word_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "twice.vec"
    path.write_text("3 2\na 1 2\nb 3 4\na 5 6\n")
    found = load(path)
    assert (found.words, found.about["repeated"]) == (("a", "b"), 1)
    assert found["a"].tolist() == [1, 2]


BROKEN = {
    "empty": (b"", "is empty"),
    "prose": (b"This is a text.\nIt has no vectors.\n", "not a file of word vectors"),
    "more words promised": (b"3 2\na 1 2\nb 3 4\n", "promises 3 words, but it has 2"),
    "fewer words promised": (b"1 2\na 1 2\nb 3 4\n", "promises 1 words, but it has 2"),
    "a short line": (b"2 3\na 1 2 3\nb 3 4\n", "line 3: expected a word and 3 numbers"),
    "no number": (b"2 2\na 1 2\nb 3 four\n", "line 3"),
    "nan": (b"a 1 2\nb nan 2\n", "line 2|NaN"),
    "too large a number": (b"2 2\na 1 2\nb 1e999 2\n", "NaN or infinite"),
    "a huge promise": (b"999999999999 300\na 1 2\n", "allowed are"),
    "a huge width": (b"2 999999999\na 1 2\n", "allowed are"),
    "a pickle": (b"\x80\x04\x95abc", "pickle"),
    "fastText": (b"\xba\x16\x4f\x2f\x0c\0\0\0", "fastText"),
    "numpy": (b"\x93NUMPY\x01\0", "numbers only"),
    "a cut binary": (b"2 2\nab " + struct.pack("<2f", 1, 2) + b"cd \0\0", "ends or is damaged after 1 of the 2"),
    "binary nan": (b"1 2\nab " + struct.pack("<2f", 1, float("nan")), "NaN or infinite"),
    "binary word": (b"1 2\n\xff\xfe " + struct.pack("<2f", 1, 2), "not UTF-8"),
    "binary promise": (b"16000000 9999\nab " + b"\0" * 99, "ends or is damaged after 0"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_errors_in_words(tmp_path: Path, name: str) -> None:
    content, told = BROKEN[name]
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told):
        load(path)


def test_damaged_files_never_crash(tmp_path: Path) -> None:
    random, path = np.random.default_rng(8), tmp_path / "v.bin"
    WordVectors(["ab", "cd", "ef"], random.standard_normal((3, 4)).astype(np.float32)).save(path)
    sound = path.read_bytes()
    for _ in range(150):
        content = bytearray(sound[: random.integers(1, len(sound) + 1)])
        content[random.integers(len(content))] = random.integers(256)
        path.write_bytes(content)
        with suppress(DataError):  # any other error fails the test
            assert np.isfinite(load(path).matrix).all()


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gf.load\(.*\).word_vectors"):
        load(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "none.vec")


@pytest.mark.parametrize(
    "number",
    ["0", "-0.0", "1", "+1.5", "-.25", "3.", "1e10", "1E-38", "16777217", "0.1", "1234567890123456789012", "1e-60"],
)
def test_numbers_are_read_as_python_reads_them(number: str) -> None:
    words, rows, problem = word_lines.parsed(f"w {number}\n".encode(), 1)
    assert (words, problem) == (["w"], None)
    assert rows[0, 0] == np.float32(float(number))


@pytest.mark.parametrize("wrong", ["", "-", ".", "e5", "1e", "1_000", "0x10", "1,5", "--1", "one"])
def test_other_things_are_no_numbers(wrong: str) -> None:
    for parse in (word_lines.parsed, word_lines.in_python):
        assert parse(f"a 1 2\nw 1 {wrong}\n".encode(), 2)[2] == 1


def test_words_that_no_format_can_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains spaces"):
        WordVectors(["new york"], np.ones((1, 2), np.float32)).save(tmp_path / "v.vec")
    with pytest.raises(DataError, match="not written"):
        royal().save(tmp_path / "v.vec.gz")
    assert list(tmp_path.iterdir()) == []
