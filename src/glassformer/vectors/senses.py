"""A static vector is the average of a word's senses: apple in 9,000 sentences about fruit and 1,000 about technology.

The sentences are generated. Counted vectors are averages exactly; for word2vec it is measured: the same text also names
the senses apart, so that all three words are in one space, and apple's vector is fitted by those of its senses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassformer.vectors.corpus import corpus_of
from glassformer.vectors.counting import cooccurrences
from glassformer.vectors.settings import VectorSettings
from glassformer.vectors.training import train_on
from glassformer.vectors.word_vectors import similarity

WORD, FRUIT, TECHNOLOGY = "apple", "apple_fruit", "apple_technology"
SENSES = {
    FRUIT: (
        ("eat", "peel", "bake", "slice", "taste", "pick", "wash", "grow"),
        ("sweet", "ripe", "fresh", "green", "juicy", "red", "sour", "tasty"),
        ("garden", "tree", "kitchen", "basket", "cake", "juice", "orchard", "market"),
    ),
    TECHNOLOGY: (
        ("buy", "use", "launch", "sell", "design", "update", "build", "charge"),
        ("new", "fast", "expensive", "popular", "modern", "thin", "smart", "digital"),
        ("phone", "laptop", "software", "company", "screen", "store", "chip", "price"),
    ),
}
OTHERS = {FRUIT: ("pear", "plum", "orange", "cherry"), TECHNOLOGY: ("tablet", "printer", "camera", "keyboard")}
PEOPLE = ("people", "children", "friends", "neighbours", "students", "we", "they", "many")


@dataclass(frozen=True)
class Fit:
    """A vector as a weighted sum of two others, by least squares: shares that sum to 1, and how well it fits."""

    shares: tuple[float, float]
    cosine: float  # of the vector and the weighted sum


@dataclass(frozen=True)
class SensesFound:
    """What was computed. `mean`: the weighted mean of two sense vectors [1 0] and [0 1]."""

    sentences: tuple[int, int]
    mean: tuple[float, float]
    counted: Fit
    trained: Fit
    cosines: tuple[float, float]  # of apple's trained vector with those of its senses
    senses_cosine: float  # of the two senses with each other
    neighbours: list[str]


def senses(first: int = 9000, second: int = 1000, *, seed: int = 1, epochs: int = 5) -> SensesFound:
    """Generates the sentences, counts and trains."""
    corpus = corpus_of(sentences(first, second, seed=seed), min_count=1, split="spaces")
    settings = VectorSettings(width=50, window=4, min_count=1, epochs=epochs, seed=seed, sample=0)
    vectors = train_on(corpus, settings)
    counts = cooccurrences(corpus, window=4).dense()
    row = {word: counts[corpus.words.index(word)] for word in (WORD, FRUIT, TECHNOLOGY)}
    meaning = {word: one / one.sum() for word, one in row.items()}  # p(context | word)
    a, b = vectors.similarity(WORD, FRUIT).cosine, vectors.similarity(WORD, TECHNOLOGY).cosine
    total = first + second
    weights = np.array([first, second]) / total
    mean = weights @ np.eye(2)
    near = [one.word for one in vectors.neighbours(WORD, top=8) if one.word not in (FRUIT, TECHNOLOGY)]
    return SensesFound(
        (first, second),
        (float(mean[0]), float(mean[1])),
        fitted(meaning[WORD], meaning[FRUIT], meaning[TECHNOLOGY]),
        fitted(vectors[WORD], vectors[FRUIT], vectors[TECHNOLOGY]),
        (a, b),
        vectors.similarity(FRUIT, TECHNOLOGY).cosine,
        near[:5],
    )


def sentences(first: int, second: int, *, seed: int) -> list[str]:
    """Every sentence about apples twice: once with `apple`, once with the name of the sense; and others without."""
    random = np.random.default_rng(seed)
    found = []
    for sense, count in ((FRUIT, first), (TECHNOLOGY, second)):
        for _ in range(count):
            frame = sentence(sense, random)
            found += [frame.format(WORD), frame.format(sense)]
        for _ in range(max(first, second) // 2):
            found.append(sentence(sense, random).format(OTHERS[sense][random.integers(len(OTHERS[sense]))]))
    return [found[i] for i in random.permutation(len(found))]


def sentence(sense: str, random: np.random.Generator) -> str:
    verbs, kinds, places = (words[random.integers(len(words))] for words in SENSES[sense])
    who = PEOPLE[random.integers(len(PEOPLE))]
    return f"{who} {verbs} the {kinds} {{}} from the {places}\n"


def fitted(vector: NDArray[np.floating], first: NDArray[np.floating], second: NDArray[np.floating]) -> Fit:
    """a and b with the smallest |vector - a first - b second|, as shares of their sum."""
    basis = np.stack([first, second], axis=1).astype(np.float64)
    weights = np.linalg.lstsq(basis, vector.astype(np.float64), rcond=None)[0]
    shares = weights / weights.sum()
    return Fit((float(shares[0]), float(shares[1])), similarity(basis @ weights, vector).cosine)
