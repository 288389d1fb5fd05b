"""Attention without parameters: softmax(E E^T) E gives one static vector two meanings, from its neighbours alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.explain.lessons.inputs import numbered, word_vectors, words_of
from glassformer.explain.lessons.lesson import Asked, Lab, Lesson, Lines, Section, matrix, table
from glassformer.nn.attention import attend, parameter_free_attention

SENTENCES = (("money", "bank", "grows"), ("river", "bank", "flows"))
# Mixtures that "bank" must become; the second pair shows that others are possible.
BANK_MIXES = ((0.25, 0.70, 0.05), (0.20, 0.78, 0.02))
FIRST_MIXES = ((0.20, 0.70, 0.10), (0.50, 0.40, 0.10))
# All six rows of both tables.
TABLES = (
    ((0.70, 0.20, 0.10), (0.25, 0.70, 0.05), (0.10, 0.20, 0.70)),
    ((0.80, 0.15, 0.05), (0.20, 0.78, 0.02), (0.40, 0.01, 0.59)),
)
AXES = ("finance", "water", "motion")
BANK_LENGTH = 2.0
OWN_WIDTH = 4  # of random vectors: small, so that a word does not only look at itself
ALMOST_SAME = 0.995  # a cosine
MOST_IN_A_LAB = (6, 12)  # sentences, and words of each: more do not fit beside each other


def chosen_vectors(mixes: Sequence[Sequence[float]] = BANK_MIXES) -> dict[str, Tensor]:
    """Toy vectors (3,) for which bank's mixtures come out as chosen: solved for, not learned.

    bank's weights are the softmax of its products with each word, so word.bank = bank.bank + log(weight / bank's own).
    bank is halfway between finance and water; each neighbour is on its own side; the verbs also have a third dimension.
    """
    side = BANK_LENGTH / math.sqrt(2)
    vectors = {"bank": torch.tensor([side, side, 0.0], dtype=torch.float64)}
    for axis, (words, mix) in enumerate(zip(SENTENCES, mixes, strict=True)):
        for place, word in ((0, words[0]), (2, words[2])):
            vector = torch.zeros(3, dtype=torch.float64)
            vector[axis] = (BANK_LENGTH**2 + math.log(mix[place] / mix[1])) / side
            vector[2] = 1.0 if place == 2 else 0.0
            vectors[word] = vector
    return vectors


def mix(words: Sequence[str], vectors: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The context vectors (T, D) of a sentence and the weights (T, T) they are mixed with."""
    return parameter_free_attention(torch.stack([vectors[word] for word in words]))


def as_mixture(word: str, words: Sequence[str], weights: Tensor) -> str:
    """`bank = .25 money + .70 bank + .05 grows`; at most the 8 largest parts."""
    parts = sorted(zip(weights.tolist(), words, strict=True), reverse=True)[:8] if len(words) > 8 else []
    parts = parts or list(zip(weights.tolist(), words, strict=True))
    shown = " + ".join(f"{weight:.2f}".removeprefix("0") + f" {other}" for weight, other in parts)
    return f"{word} = {shown}" + (" + ..." if len(words) > 8 else "")


def run(asked: Asked) -> list[Section]:
    if asked.texts != TEXTS:
        return own_sections([words_of(text) for text in asked.texts], asked.seed)
    vectors = chosen_vectors()
    static = matrix("static", torch.stack(list(vectors.values())), rows=list(vectors), columns=AXES)
    sections = [
        Section(
            "One static vector per word",
            "These vectors are chosen, not learned: solved so that bank's mixtures get easy numbers. "
            "bank has one vector, the same in both sentences.",
            (static,),
        )
    ]
    both = (mixture_section(words, vectors) for words in SENTENCES)
    return [*sections, *both, contexts_section(vectors), first_version_section(), learned_section(asked.seed)]


def mixture_section(words: Sequence[str], vectors: dict[str, Tensor]) -> Section:
    mixed, weights = mix(words, vectors)
    e = torch.stack([vectors[word] for word in words])
    names = numbered(words)
    lines = tuple(as_mixture(word, words, row) for word, row in zip(words, weights, strict=True))
    key = "_".join(words[:3])
    axes = AXES if mixed.size(1) == len(AXES) else [f"dim {i}" for i in range(mixed.size(1))]
    return Section(
        f"“{' '.join(words[:8])}{' ...' if len(words) > 8 else ''}”: softmax(E Eᵀ) E",
        "Step 1: every product of two vectors, E Eᵀ, is a similarity. Step 2: the softmax makes each row sum to 1. "
        "Step 3: each new vector is the mixture of all vectors by its row. No parameter is involved.",
        (
            matrix(f"products_{key}", e @ e.mT, rows=names, columns=names, digits=2, corner="E Eᵀ"),
            matrix(f"weights_{key}", weights, rows=names, columns=names, sums=True, corner="softmax"),
            Lines(f"mixtures_{key}", lines),
            matrix(f"mixed_{key}", mixed, rows=names, columns=axes, corner="mixed"),
        ),
    )


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.cosine_similarity(one, other, dim=0))


def contexts_section(vectors: dict[str, Tensor]) -> Section:
    by_money, by_river = (mix(words, vectors)[0][1] for words in SENTENCES)
    rows = [
        ("bank, static, in both sentences", cosine(vectors["bank"], vectors["bank"])),
        ("bank near money, bank near river", cosine(by_money, by_river)),
    ]
    return Section(
        "The same word, two vectors",
        f"After mixing, bank is closer to finance next to money ({by_money[0]:.2f} against {by_money[1]:.2f}) and to "
        f"water next to river ({by_river[1]:.2f} against {by_river[0]:.2f}).",
        (table("contexts", ("vectors compared", "cosine"), rows),),
    )


def first_version_section() -> Section:
    vectors = chosen_vectors(FIRST_MIXES)
    lines = tuple(as_mixture("bank", words, mix(words, vectors)[1][1]) for words in SENTENCES)
    return Section(
        "Other vectors, other mixtures",
        "Other static vectors give other weights: the mixture is a function of the vectors and of nothing else.",
        (Lines("first_version", lines),),
    )


def solved_weights(seed: int) -> tuple[Tensor, Tensor]:
    """Static vectors E (5, 5) and a product W_Q W_K^T / sqrt(d) for which both sentences get TABLES.

    The scores must be log(table) + one number per row; E W E^T = S has the solution E^-1 S E^-T if E is invertible.
    """
    names = ["bank", "money", "grows", "river", "flows"]
    e = word_vectors(names, len(names), seed=seed)
    scores = torch.zeros(5, 5, dtype=torch.float64)
    for words, rows in zip(SENTENCES, TABLES, strict=True):
        place = [names.index(word) for word in words]
        logs = torch.tensor(rows, dtype=torch.float64).log()
        logs = logs - logs.diagonal()[:, None]  # a number per row is free: every word's score for itself becomes 0
        scores[torch.tensor(place)[:, None], torch.tensor(place)] = logs
    inverse = torch.linalg.inv(e)
    return e, inverse @ scores @ inverse.mT


def learned_section(seed: int) -> Section:
    names = ["bank", "money", "grows", "river", "flows"]
    e, w = solved_weights(seed)
    rows = []
    for words, wanted in zip(SENTENCES, TABLES, strict=True):
        x = e[[names.index(word) for word in words]]
        pattern = attend(x @ w * math.sqrt(len(names)), x, x)[1]
        gaps = (pattern - torch.tensor(wanted, dtype=torch.float64)).abs().amax(-1).tolist()
        mixtures = [as_mixture(word, words, row) for word, row in zip(words, pattern, strict=True)]
        rows += list(zip(mixtures, gaps, strict=True))
    return Section(
        "What W_Q and W_K add",
        "E Eᵀ is symmetric: money likes bank exactly as much as bank likes money. So no choice of vectors gives all "
        "three rows of a sentence's table at once. Scores E W_Q W_Kᵀ Eᵀ have no such limit: here one pair, solved "
        "for random static vectors, gives all six rows. Training finds such a pair from data: the lesson learning.",
        (table("six_rows", ("mixture", "largest difference from the table"), rows, ".1e"),),
    )


# The learner's own sentences


def own_sections(sentences: Sequence[tuple[str, ...]], seed: int) -> list[Section]:
    vectors = own_vectors(sentences, seed)
    intro = Section(
        "One static vector per word",
        f"Your words get random vectors of {OWN_WIDTH} numbers (seed {seed}), a word the same one in every sentence. "
        "Trained vectors would be similar for similar words; the steps are the same.",
        (matrix("static", torch.stack(list(vectors.values())), rows=list(vectors), columns=own_axes()),),
    )
    parts = [mixture_section(words, vectors) for words in sentences]
    return [intro, *parts, *shared_section(sentences, vectors)]


def own_vectors(sentences: Sequence[tuple[str, ...]], seed: int) -> dict[str, Tensor]:
    each = dict.fromkeys(word for words in sentences for word in words)
    return {word: word_vectors([word], OWN_WIDTH, seed=seed)[0] for word in each}


def own_axes() -> list[str]:
    return [f"dim {i}" for i in range(OWN_WIDTH)]


def shared_section(sentences: Sequence[tuple[str, ...]], vectors: dict[str, Tensor]) -> list[Section]:
    if len(sentences) < 2:
        return []
    one, other = sentences[:2]
    rows = [
        (word, 1.0, cosine(mix(one, vectors)[0][one.index(word)], mix(other, vectors)[0][other.index(word)]))
        for word in dict.fromkeys(one)
        if word in other
    ]
    said = "" if rows else " Your sentences share no word; try two with the same one in different contexts."
    if any(mixed > ALMOST_SAME for *_, mixed in rows):
        said += " Near 1: with these random vectors the word reads almost only itself. Another --seed may differ."
    return [
        Section(
            "Words in both sentences",
            f"One static vector each, and a different one in each context.{said}",
            (table("contexts", ("word", "cosine, static", "cosine after mixing"), rows),) if rows else (),
        )
    ]


# The page


def lab(asked: Asked) -> Lab:
    most, longest = MOST_IN_A_LAB
    sentences = [words_of(text)[:longest] for text in asked.texts[:most]]
    usual = asked.texts == TEXTS
    vectors = chosen_vectors() if usual else own_vectors(sentences, asked.seed)
    right: dict[str, Tensor] = {}
    for place, words in enumerate(sentences):
        e = torch.stack([vectors[word] for word in words])
        mixed, weights = mix(words, vectors)
        right |= {f"products {place}": e @ e.mT, f"weights {place}": weights, f"mixed {place}": mixed}
    settings = {
        "sentences": [list(words) for words in sentences],
        "vectors": {word: vector.tolist() for word, vector in vectors.items()},
        "axes": list(AXES) if usual else own_axes(),
    }
    return Lab("mixing", settings, right=right)


TEXTS = tuple(" ".join(words) for words in SENTENCES)
LESSON = Lesson(
    "mixing",
    "Attention without parameters",
    "One static “bank” becomes two, mixed from its neighbours.",
    run,
    source="Vaswani et al. 2017, equation 1, with Q = K = V = E and no scaling",
    files=("nn/attention.py:parameter_free_attention",),
    takes={"texts": TEXTS, "seed": 0},
    examples=('"the bank of the river" "money in the bank"',),
    lab=lab,
)
