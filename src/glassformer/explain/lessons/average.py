"""One static vector for a word is the average of its senses."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from glassformer.errors import SettingsError
from glassformer.explain.lessons.inputs import named_values
from glassformer.explain.lessons.lesson import Asked, Curves, Lesson, Section, table

TEXTS = ("fruit=9000", "phone=1000")
UPDATES, SHOWN = 4000, 40
MOST = 1_000_000_000  # sentences of a sense


def counts_of(texts: tuple[str, ...]) -> dict[str, int]:
    """The senses of the word, and in how many sentences each is meant."""
    found: dict[str, int] = {}
    for name, value in named_values(texts, "a sense with its number of sentences, like fruit=9000").items():
        if not value.replace("_", "").isascii() or not value.replace("_", "").isdigit() or not 0 < int(value) <= MOST:
            raise SettingsError(f"{name}={value}: give a whole number of sentences from 1 to {MOST:,}.")
        found[name] = int(value)
    if len(found) < 2 or len(found) > 8:
        raise SettingsError(f"Senses given: {len(found)}. Give 2 to 8, like fruit=9000 phone=1000.")
    return found


def mean_vector(counts: Mapping[str, int]) -> list[float]:
    """The vector with the smallest squared distance from all occurrences: their mean. Each sense is one axis."""
    total = sum(counts.values())
    return [count / total for count in counts.values()]


def learned_vector(counts: Mapping[str, int], seed: int) -> tuple[list[float], list[list[float]]]:
    """The same by gradient descent, one random sentence at a time: v <- v - rate · (v - sense)."""
    generator = np.random.default_rng(seed)
    shares = np.array(mean_vector(counts))
    vector = generator.standard_normal(len(counts))
    path = [vector.tolist()]
    for update in range(1, UPDATES + 1):
        sense = np.eye(len(counts))[generator.choice(len(counts), p=shares)]
        vector = vector - (vector - sense) / max(10, update)
        path.append(vector.tolist())
    return vector.tolist(), path


def run(asked: Asked) -> list[Section]:
    counts = counts_of(asked.texts)
    mean = mean_vector(counts)
    return [mean_section(counts, mean), learned_section(counts, asked.seed), cost_section(counts, mean)]


def mean_section(counts: Mapping[str, int], mean: list[float]) -> Section:
    rows = [(name, count, share) for (name, count), share in zip(counts.items(), mean, strict=True)]
    written = ", ".join(f"{share:.2g}" for share in mean)
    return Section(
        "One word, several senses",
        f"A word, for instance apple, in {sum(counts.values()):,} sentences. Each sense is an axis. One vector must "
        f"serve all sentences; the one with the smallest squared error is the mean, [{written}].",
        (table("mean", ("sense", "sentences", "the vector's value"), rows),),
    )


def learned_section(counts: Mapping[str, int], seed: int) -> Section:
    vector, path = learned_vector(counts, seed)
    every = UPDATES // SHOWN
    series = {name: tuple(point[i] for point in path[::every]) for i, name in enumerate(counts)}
    rows = [(name, value) for name, value in zip(counts, vector, strict=True)]
    return Section(
        "Learned, not chosen",
        f"Gradient descent on random sentences ends near the mean by itself ({UPDATES:,} updates, seed {seed}).",
        (table("learned", ("sense", "learned value"), rows, ".2f"), Curves("path", "update", series, step=every)),
    )


def cost_section(counts: Mapping[str, int], mean: list[float]) -> Section:
    length = math.hypot(*mean)
    rows = []
    for i, name in enumerate(counts):
        distance = math.dist(mean, [float(i == j) for j in range(len(mean))])
        rows.append((name, mean[i] / length, distance))
    return Section(
        "What the average costs",
        "The vector is close to the frequent sense and far from the rare one, in every sentence, also where the rare "
        "sense is meant. Another collection of texts gives another vector. Attention solves this: it makes a new "
        "vector for each occurrence from the words around it.",
        (table("cost", ("sense", "cosine with the vector", "distance"), rows),),
    )


LESSON = Lesson(
    "average",
    "The average meaning of a word",
    "9,000 fruit and 1,000 phone apples give one vector, [.9 .1].",
    run,
    source="the mean minimises the sum of squared distances; static vectors: Mikolov et al. 2013",
    files=("explain/lessons/average.py:mean_vector", "vectors/senses.py:senses"),
    takes={"texts": TEXTS, "seed": 0},
    examples=("river=300 money=700", "a=1 b=1 c=2"),
)
