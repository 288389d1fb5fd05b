"""Words over time, their map, and the senses of a word."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from glassformer.errors import DataError, SettingsError
from glassformer.vectors import WordVectors, over_time, senses
from glassformer.vectors.dated import dated_documents
from glassformer.vectors.map_page import render_map, word_map
from glassformer.vectors.over_time import Document, adjusted_chances, rotation, shuffled_periods, year_periods
from glassformer.vectors.projection import kept_neighbours, nearest, pca
from glassformer.vectors.settings import VectorSettings

# Over time


def test_the_rotation_is_found_again() -> None:
    random = np.random.default_rng(1)
    x = random.standard_normal((50, 7)).astype(np.float32)
    turn = np.linalg.qr(random.standard_normal((7, 7)))[0].astype(np.float32)
    found = rotation(x, x @ turn)
    assert found == pytest.approx(turn, abs=1e-5)
    assert found @ found.T == pytest.approx(np.eye(7), abs=1e-5)


def test_shuffled_periods_keep_their_sizes() -> None:
    period, lengths = np.repeat([0, 1, 2], [60, 30, 10]), np.full(100, 5)
    found = shuffled_periods(period, lengths, np.random.default_rng(1))
    assert np.bincount(found).tolist() == [60, 30, 10]
    assert not np.array_equal(found, period)


def test_chances_are_adjusted_by_hand() -> None:
    assert adjusted_chances(np.array([0.04, 0.01, 0.5, 0.03])) == pytest.approx([0.16 / 3, 0.04, 0.5, 0.16 / 3])


def changed_documents() -> list[Document]:
    """`mouse` lives with animals at first and with computers later; nothing else changes."""
    random = np.random.default_rng(2)
    worlds = {
        "animal": ["cat", "dog", "cheese", "tail", "fur", "farm", "hole", "barn"],
        "computer": ["screen", "key", "disk", "chip", "code", "cable", "port", "file"],
    }
    found = []
    for period in (0, 1):
        for _ in range(500):
            world = ["animal", "computer"][random.integers(2)]
            words = list(random.choice(worlds[world], 6))
            if world == ["animal", "computer"][period]:
                words.insert(3, "mouse")
            found.append(Document(" ".join(words), period))
    return found


def test_the_word_that_moved_is_found_and_shuffled_periods_have_none() -> None:
    settings = VectorSettings(width=10, min_count=5, epochs=8, window=3, sample=0)
    found = over_time.over_time(changed_documents(), ["then", "now"], settings, least=20, shuffles=8)
    first = found.moves[0]
    assert first.word == "mouse"
    assert first.change > 3 * found.moves[1].change
    assert set(first.neighbours[0]) <= {"cat", "dog", "cheese", "tail", "fur", "farm", "hole", "barn"}
    assert set(first.neighbours[1]) <= {"screen", "key", "disk", "chip", "code", "cable", "port", "file"}
    assert first.chance <= min(move.chance for move in found.moves)
    assert found.control < 2
    shown = over_time.as_data(found, top=1)
    assert json.loads(json.dumps(shown))["moves"][0]["word"] == "mouse"
    again = over_time.over_time(changed_documents(), ["then", "now"], settings, least=20, shuffles=0)
    assert {one.word: one.change for one in again.moves} == {one.word: one.change for one in found.moves}


def test_periods_of_years() -> None:
    assert year_periods([1790, 1899, 1901], starts=[1790, 1900], every=None) == ([0, 0, 1], ["1790-1899", "1900-1901"])
    assert year_periods([1790, 1801, 1815], starts=None, every=10) == (
        [0, 1, 2],
        ["1790-1799", "1800-1809", "1810-1815"],
    )
    assert year_periods([1700, 1990], starts=[1900], every=None)[0] == [-1, 0]


def test_documents_with_years(tmp_path: Path) -> None:
    table = tmp_path / "speeches.tsv"
    table.write_text("1790\tone text\nc. 1850 (copy)\ttwo texts\n", encoding="utf-8")
    found, names = dated_documents([str(table)], columns="2,1", starts=[1790, 1850], every=None)
    assert [(one.text, one.period) for one in found] == [("one text", 0), ("two texts", 1)]
    assert names == ["1790-1849", "1850-1850"]
    with pytest.raises(DataError, match="not a year"):
        dated_documents([str(table)], columns="1,2", starts=None, every=None)
    with pytest.raises(SettingsError, match="which columns"):
        dated_documents([str(table)], columns=None, starts=None, every=None)
    text = tmp_path / "a.txt"
    text.write_text("one\ntwo\n")
    with pytest.raises(DataError, match="one period"):
        dated_documents([str(text)], columns=None, starts=None, every=None)


def test_words_that_are_too_rare_to_compare() -> None:
    with pytest.raises(DataError, match="in the first and in the last"):
        over_time.over_time([Document("a b", 0), Document("c d", 1)], ["x", "y"], VectorSettings(min_count=1, epochs=1))


def test_fewer_shared_words_than_numbers_are_refused_before_training() -> None:
    documents = [Document("one two three four five", period) for period in (0, 1)]
    for width in (5, 50):
        with pytest.raises(DataError, match=rf"Only 5 words .* {width} numbers.*--least or --width"):
            over_time.over_time(documents, ["x", "y"], VectorSettings(min_count=1, width=width), least=1)


# Map


def test_pca_by_hand() -> None:
    points, share = pca(np.array([[2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0]], np.float32))
    assert np.abs(points) == pytest.approx(np.array([[2, 0], [2, 0], [0, 1], [0, 1]]), abs=1e-6)
    assert share == pytest.approx(1)
    assert pca(np.ones((4, 1), np.float32))[0].shape == (4, 2)


def test_kept_neighbours_of_a_faithful_picture() -> None:
    angle = np.linspace(0, 3, 40)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert kept_neighbours(points.astype(np.float32), points) == 1
    assert nearest(points.astype(np.float32), 1)[0].tolist() == [1]


def some_vectors(count: int = 30) -> WordVectors:
    words = [f"word{'abcdefghijklmnopqrstuvwxyz'[i % 26]}{'x' * (i // 26)}" for i in range(count)]
    return WordVectors(words, np.random.default_rng(6).standard_normal((count, 5)).astype(np.float32))


@pytest.mark.filterwarnings("ignore")  # of scikit-learn
def test_the_page_holds_everything_and_loads_nothing() -> None:
    vectors = some_vectors()
    odd = WordVectors([*vectors.words[:-1], "</script><b>"], vectors.matrix)
    drawn = word_map(odd, words=odd.words, method="both", title="<Words>")
    page = render_map(drawn)
    assert [one.name for one in drawn.layouts] == ["t-SNE", "PCA"]
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)
    assert "</script><b>" not in page
    assert "&lt;Words&gt;" in page
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert data["words"][-1] == "</script><b>"
    assert all(0 <= x <= 1 for one in data["layouts"] for point in one["points"] for x in point)
    assert render_map(word_map(odd, words=odd.words, method="both", title="<Words>")) == page


def test_the_map_shows_frequent_words_without_signs() -> None:
    words = [",", "1999", "a", "##ing", "हिन्दी", "में", "farmer's", "中国", "'s", "left"]
    vectors = WordVectors(words, np.ones((10, 2), np.float32))
    drawn = word_map(vectors, most=6, method="pca")
    assert drawn.words == ["1999", "a", "हिन्दी", "में", "farmer's", "中国"]
    assert drawn.left_out == 2
    assert word_map(vectors, most=50, method="pca").left_out == 3
    assert word_map(vectors, words=words, method="pca").left_out == 0
    with pytest.raises(DataError, match="3 to"):
        word_map(vectors, words=["a"], method="pca")
    with pytest.raises(SettingsError, match="pca, tsne"):
        word_map(vectors, method="umap")


# Senses


def test_a_static_vector_is_the_average_of_its_senses() -> None:
    found = senses.senses(900, 100)
    assert found.mean == pytest.approx((0.9, 0.1))
    assert found.counted.shares == pytest.approx((0.9, 0.1))
    assert found.counted.cosine == pytest.approx(1)
    assert found.trained.shares[0] > found.trained.shares[1] > 0
    assert found.cosines[0] > found.cosines[1]
    turned = senses.senses(100, 900)
    assert turned.trained.shares[1] > 0.5
