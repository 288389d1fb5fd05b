"""Words as numbers, from one-hot vectors to the pairs that word2vec learns from: counts only, nothing is trained."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.explain.lessons.inputs import MOST_WORDS, words_of
from glassformer.explain.lessons.lesson import Asked, Lesson, Lines, Section, Table, matrix, table

TEXTS = (
    "The cake was chocolate flavoured",
    "The film was horrible today",
    "The film was terrible today",
    "The cake was great",
)
WINDOW = 4
GPT2 = 50_257
Floats = NDArray[np.float64]


def vocabulary_of(texts: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(word for words in texts for word in words))


def bags(texts: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Floats:
    """How often each word is in each text: (texts, V)."""
    return np.array([[words.count(word) for word in vocabulary] for words in texts], dtype=np.float64)


def co_occurrence(texts: Sequence[Sequence[str]], vocabulary: Sequence[str], window: int) -> Floats:
    """How often each word (row) has each other word (column) within `window` words: (V, V)."""
    place = {word: i for i, word in enumerate(vocabulary)}
    counts = np.zeros((len(vocabulary), len(vocabulary)))
    for words in texts:
        for i, word in enumerate(words):
            for other in (*words[max(0, i - window) : i], *words[i + 1 : i + 1 + window]):
                counts[place[word], place[other]] += 1
    return counts


def tf_idf(counts: Floats) -> Floats:
    """tf · idf with idf = ln(texts / texts with the word): a word of every text gets 0."""
    return counts * np.log(len(counts) / (counts > 0).sum(0))


def ppmi(counts: Floats) -> Floats:
    """max(0, log(p(a, b) / (p(a) p(b)))): how much more often two words meet than by chance."""
    total = counts.sum()
    if not total:
        return counts
    joint = counts / total
    by_chance = joint.sum(1, keepdims=True) @ joint.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(joint / by_chance)
    return np.where(counts > 0, np.maximum(found, 0), 0.0)


def cosines(rows: Floats) -> Floats:
    """The cosine of every two rows; 0 where a row is all zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit @ unit.T


def training_pairs(words: Sequence[str], window: int) -> list[tuple[list[str], str]]:
    """For each word: its context, and the word. CBOW predicts the word from the context, skip-gram the reverse."""
    return [([*words[max(0, i - window) : i], *words[i + 1 : i + 1 + window]], word) for i, word in enumerate(words)]


def run(asked: Asked) -> list[Section]:
    texts = [words_of(text) for text in asked.texts][:MOST_WORDS]
    vocabulary = vocabulary_of(texts)
    counts = co_occurrence(texts, vocabulary, asked.window)
    return [
        one_hot_section(vocabulary),
        bag_section(texts, vocabulary),
        co_occurrence_section(vocabulary, counts, asked.window),
        weights_section(texts, vocabulary, counts),
        pairs_section(texts[0], asked.window),
    ]


def shown_matrix(key: str, values: Floats, rows: Sequence[str], columns: Sequence[str], digits: int = 0) -> Table:
    return matrix(key, torch.from_numpy(values), rows=list(rows), columns=list(columns), digits=digits)


def one_hot_section(vocabulary: Sequence[str]) -> Section:
    eye = np.eye(len(vocabulary))
    return Section(
        "One-hot: a place for each word",
        f"A vocabulary of {len(vocabulary)} gives vectors of that length, with a single 1; GPT-2's {GPT2:,} tokens "
        f"would give vectors of {GPT2:,}. Any two different words have the product 0: nothing is similar to anything.",
        (shown_matrix("one_hot", eye, vocabulary, vocabulary),),
    )


def bag_section(texts: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Section:
    rows = [f"text {i}" for i in range(1, len(texts) + 1)]
    turned = " ".join(reversed(texts[0][:6]))
    return Section(
        "Bag of words: a text as counts",
        f"The sum of its one-hot vectors. Order is lost: “{turned}” has the same bag as its reverse.",
        (shown_matrix("bags", bags(texts, vocabulary), rows, vocabulary),),
    )


def co_occurrence_section(vocabulary: Sequence[str], counts: Floats, window: int) -> Section:
    filled = 100 * float((counts > 0).mean())
    return Section(
        "Co-occurrence: a word is known by its company",
        f"How often two words are at most {window} words apart. Words in the same contexts get similar rows, also if "
        f"they never meet. The vectors are still as long as the vocabulary, and {100 - filled:.0f}% of the cells are "
        "0.",
        (
            shown_matrix("co_occurrence", counts, vocabulary, vocabulary),
            table("similar", ("word", "most similar word", "cosine of their rows"), nearest(vocabulary, counts)),
        ),
    )


def nearest(vocabulary: Sequence[str], rows: Floats) -> list[tuple[str, str, float]]:
    """Each word's most similar other word, most similar first."""
    similar = cosines(rows)
    np.fill_diagonal(similar, -math.inf)
    if len(vocabulary) < 2:
        return []
    found = [
        (word, vocabulary[int(line.argmax())], float(line.max()))
        for word, line in zip(vocabulary, similar, strict=True)
    ]
    return sorted(found, key=lambda one: -one[2])[:6]


def weights_section(texts: Sequence[Sequence[str]], vocabulary: Sequence[str], counts: Floats) -> Section:
    most = int(counts.sum(1).argmax())
    share = 100 * float(counts[most].sum() / max(1.0, counts.sum()))
    weighted = tf_idf(bags(texts, vocabulary))
    rows = [f"text {i}" for i in range(1, len(texts) + 1)]
    return Section(
        "Weights: TF-IDF and PMI",
        f"Frequent words drown raw counts: “{vocabulary[most]}” alone is in {share:.0f}% of all pairs. TF-IDF "
        "multiplies a count with ln(texts / texts with the word), so a word of every text weighs 0. PMI compares each "
        "pair with chance: log of p(a, b) / (p(a) p(b)), negative values set to 0.",
        (
            shown_matrix("tf_idf", weighted, rows, vocabulary, 2),
            shown_matrix("pmi", ppmi(counts), vocabulary, vocabulary, 2),
        ),
    )


def pairs_section(words: Sequence[str], window: int) -> Section:
    pairs = training_pairs(words, window)
    cbow = [
        (" ".join([*context[: min(i, window)], "____", *context[min(i, window) :]]), word)
        for i, (context, word) in enumerate(pairs)
    ]
    skip = [(word, ", ".join(context)) for context, word in pairs]
    lookups = ("A one-hot vector times a matrix is one row of it: the network's first layer is a table of vectors.",)
    return Section(
        "word2vec: predict instead of count",
        f"CBOW predicts the word from its context, skip-gram the context from the word (window {window}, first text). "
        "The vectors are short and dense, and words with similar contexts get similar ones. But each word has one "
        "vector, whatever its sentence: the lesson average shows what that costs. `glassformer vectors train` learns "
        "them from your texts.",
        (
            table("cbow", ("CBOW: context", "word to predict"), cbow),
            table("skip_gram", ("skip-gram: word", "context to predict"), skip),
            Lines("one_hot_times_matrix", lookups),
        ),
    )


LESSON = Lesson(
    "words",
    "From one-hot vectors to word2vec",
    "One-hot, bags of words, co-occurrence, PMI, word2vec's pairs.",
    run,
    source="Mikolov et al. 2013, arXiv 1301.3781; Jurafsky and Martin, Speech and Language Processing, chapter 6",
    files=("explain/lessons/words.py:co_occurrence", "vectors/counting.py:pmi", "vectors/pairs.py:examples_of"),
    takes={"texts": TEXTS, "window": WINDOW},
    examples=('"the cat chased the mouse" "the dog chased the cat" --window 2',),
)
