"""Why positions are waves: the simpler candidates, and the property that each lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from glassformer.explain.lessons.inputs import one_text, word_vectors, words_of
from glassformer.explain.lessons.lesson import Asked, Cell, Correction, Lab, Lesson, Section, Table, matrix, table
from glassformer.explain.lessons.waves import position_lab
from glassformer.nn.attention import attend
from glassformer.nn.positions import sinusoidal

LENGTH, WIDTH = 512, 64
BITS = 9  # 2^9 = 512 positions
SEED = 3
TEXT = "Nithish killed lion"
SHOWN = (0, 1, 2, 3, 5, 10, 20, 50)  # steps of the growing candidates
DELTA = 1.5  # Δ and c

# Each rule gives P(t + 1) from P(t) and t.
GROWING: dict[str, Callable[[float, int], float]] = {
    "P(t) + Δ": lambda p, t: p + DELTA,  # noqa: ARG005
    "P(t) · c": lambda p, t: p * DELTA,  # noqa: ARG005
    "e^(P(t) Δ)": lambda p, t: math.exp(p * DELTA),  # noqa: ARG005
    "P(t) · max(t, 1) Δ": lambda p, t: p * max(t, 1) * DELTA,
    "P(t)^(max(t, 1) Δ)": lambda p, t: p ** (max(t, 1) * DELTA),
}


def grown(rule: Callable[[float, int], float], steps: int) -> list[float]:
    """P(0) .. P(steps), from P(0) = 1.1; infinity once a double has no space for it."""
    values = [1.1]
    for t in range(steps):
        try:
            values.append(rule(values[-1], t))
        except OverflowError:
            values.append(math.inf)
    return values


def candidates() -> dict[str, Tensor]:
    """Each bounded candidate's table of 512 positions, and the count's: (512, width)."""
    place = torch.arange(LENGTH, dtype=torch.float64)
    bits = torch.arange(LENGTH)[:, None] >> torch.arange(BITS) & 1  # (512, 9)
    return {
        "a count": place[:, None],
        "binary digits": bits.double(),
        "one sine": place.sin()[:, None],
        "sinusoids": sinusoidal(LENGTH, WIDTH),
    }


def largest(table: Tensor) -> float:
    """The largest value; it grows with the text if the candidate is unbounded."""
    return float(table.abs().max())


def closest(table: Tensor) -> float:
    """The smallest distance between two positions; near 0 if the table repeats itself."""
    exact = "donot_use_mm_for_euclid_dist"  # a product of matrices would lose the digits of close pairs
    distances = torch.cdist(table, table, compute_mode=exact).fill_diagonal_(torch.inf)
    return float(distances.min())


def unevenness(table: Tensor) -> float:
    """The longest step from one position to the next, divided by the shortest; 1 if the path is smooth."""
    steps = table.diff(dim=0).norm(dim=-1)
    return float(steps.max() / steps.min())


def order_gaps(text: str = TEXT, *, seed: int = SEED, with_positions: bool) -> tuple[float, float]:
    """How attention's outputs for the words and for the words in reverse differ: word by word, and place by place."""
    x = word_vectors(words_of(text), WIDTH, seed=seed)
    place = sinusoidal(len(x), WIDTH) * float(with_positions)
    one, other = x + place, x.flip(0) + place
    first, second = attend(one, one, one)[0], attend(other, other, other)[0]
    return float((first - second.flip(0)).abs().max()), float((first - second).abs().max())


def run(asked: Asked) -> list[Section]:
    text = one_text(asked.texts, "positions")
    return [
        order_section(text, asked.seed),
        growing_section(),
        normalised_section(),
        candidates_section(),
        one_sine_section(),
    ]


def order_section(text: str, seed: int) -> Section:
    backwards = " ".join(reversed(words_of(text)))
    short = [one if len(one) <= 40 else f"{one[:39]}…" for one in (text, backwards)]
    rows = [
        (name, order_gaps(text, seed=seed, with_positions=flag)[0])
        for name, flag in (("without", False), ("with sinusoids", True))
    ]
    moved = order_gaps(text, seed=seed, with_positions=False)[1]
    changed = (
        f" The outputs as a whole do change: compared place by place they differ by up to {moved:.2f} here."
        if moved > 1e-6
        else ""
    )
    return Section(
        f"“{short[0]}” = “{short[1]}”",
        "Attention alone ignores order: each word gets the same output vector in both sentences.",
        (table("order", ("positions", "largest difference of a word's vector"), rows, ".1e"),),
        (
            Correction(
                "Self-attention is permutation invariant.",
                f"It is equivariant: if the words move, their outputs move with them.{changed}",
            ),
        ),
    )


def growing_section() -> Section:
    rows: list[list[Cell]] = []
    for name, rule in GROWING.items():
        values = grown(rule, LENGTH)
        ends = next((t for t, value in enumerate(values) if math.isinf(value)), None)
        cells = [values[t] for t in SHOWN]
        rows.append([name, *cells, f"at {ends}" if ends else f"not in {LENGTH}"])
    columns = ("P(t+1) =", *(f"t = {t}" for t in SHOWN), "overflows")
    return Section(
        "Growing candidates",
        f"A position made from the one before it (Δ = c = {DELTA}, P(0) = 1.1). All grow without bound, and most "
        "exceed the largest double (1.8e308) within a short text.",
        (Table("growing", columns, tuple(map(tuple, rows)), ".3g", grid=True),),
    )


def normalised_section() -> Section:
    rows = [(length, 1 / (length - 1), 2 / (length - 1)) for length in (5, 20, 50, 512)]
    return Section(
        "A count divided by the length",
        "t / (T − 1) is bounded by 1. But the step from one word to the next depends on the length of the text, so "
        "“the next word” is a different distance in every sentence.",
        (table("normalised", ("words", "one step", "the third word is at"), rows),),
    )


def candidates_section() -> Section:
    fails = {
        "a count": "unbounded, discrete",
        "binary digits": "uneven",
        "one sine": "repeated",
        "sinusoids": "(holds)",
    }
    rows = [
        (name, largest(table), unevenness(table), closest(table), fails[name]) for name, table in candidates().items()
    ]
    columns = ("candidate", "largest value", "longest / shortest step", "closest pair", "fails by being")
    return Section(
        f"Four candidates over {LENGTH} positions",
        "Positions should be bounded, change smoothly, and never repeat. A count grows with the text, and its product "
        "with another says nothing about their distance; binary digits jump (from 255 to 256 all 9 change, from 0 to 1 "
        f"only one); one sine returns to almost the same value. The sinusoids have {WIDTH} dimensions. Closest "
        "pair: the smallest distance between the vectors of two positions.",
        (table("candidates", columns, rows, "", ".0f", ".1f", ".5f", ""),),
    )


def one_sine_section() -> Section:
    place = torch.tensor([0, 22, 44, 355], dtype=torch.float64)
    values = torch.stack([place.sin(), *sinusoidal(LENGTH, WIDTH)[place.long()].T[2:5]])
    rows = ("sin(pos)", *(f"dimension {i}" for i in (2, 3, 4)))
    apart = closest(sinusoidal(LENGTH, WIDTH))
    return Section(
        "One sine repeats; several sines of different speeds do not",
        "sin(22), sin(44) and sin(355) are nearly sin(0); the slower waves of the table distinguish these positions.",
        (matrix("one_sine", values, rows=rows, columns=[f"{int(p)}" for p in place], corner="position"),),
        (
            Correction(
                "A position encoding must be periodic. / It must not be cyclic.",
                "Both are right about something else: each dimension is periodic, but their periods differ, so "
                f"the vector as a whole does not return: no two of {LENGTH} positions are closer than {apart:.2f} "
                f"(width {WIDTH}).",
            ),
        ),
    )


def lab(_: Asked) -> Lab:
    found = position_lab(WIDTH)
    right = dict(found.right)
    for name, values in candidates().items():
        facts = {"largest": largest(values), "unevenness": unevenness(values), "closest": closest(values)}
        right |= {f"{name}, {fact}": torch.tensor([value], dtype=torch.float64) for fact, value in facts.items()}
    return replace(found, right=right)


LESSON = Lesson(
    "positions",
    "Why positions are waves",
    "Counts, growing rules, bits, one sine fail; many sines do not.",
    run,
    source="Vaswani et al. 2017, section 3.5",
    files=("nn/positions.py:sinusoidal", "nn/attention.py:attend"),
    takes={"texts": (TEXT,), "seed": SEED},
    examples=('"the dog bit the man"',),
    lab=lab,
)
