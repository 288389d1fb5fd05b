"""The sinusoidal table: its numbers, its likeness to binary numbers, and the one matrix that moves every position."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.explain.lessons.lesson import Asked, Cell, Curves, Lab, Lesson, Section, matrix, table
from glassformer.nn.positions import angles, sinusoidal

LENGTH, WIDTH = 512, 64  # for what is measured
PAPER = 512
TOO_WIDE = 33  # the largest width whose table is printed whole
DISTANCES = (0, 1, 2, 5, 10, 50, 100)
LEARNED, RATE, UPDATES = 8, 0.4, 4000  # the width of the learned M, and its gradient descent
PLACES = 64


def shift_matrix(shift: int, width: int) -> Tensor:
    """M_c (width, width): rotates every pair (sin, cos) by its own fixed angle, so that M_c P(t) = P(t + c)."""
    turn = angles(shift + 1, width)[shift]  # (width/2,)
    blocks = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]], dtype=torch.float64) for a in turn]
    return torch.block_diag(*blocks)


def shift_error(shift: int) -> float:
    """The largest difference between M_c P(t) and P(t + c) over all t."""
    table = sinusoidal(LENGTH + shift, WIDTH)
    turned = table[:LENGTH] @ shift_matrix(shift, WIDTH).T
    return float((turned - table[shift:]).abs().max())


def learned_shift(seed: int) -> tuple[Tensor, list[float]]:
    """M learned by gradient descent on |M P(t) - P(t+1)|^2 from random numbers, and the error over time."""
    table = sinusoidal(PLACES + 1, LEARNED, base=10.0)  # speeds from 1 to 1/5.6: all of them turn within 64 places
    generator = torch.Generator().manual_seed(seed)
    m = torch.randn(LEARNED, LEARNED, generator=generator, dtype=torch.float64) / math.sqrt(LEARNED)
    errors = []
    for _ in range(UPDATES):
        gap = table[:-1] @ m.T - table[1:]  # (64, 8)
        errors.append(float(gap.square().sum(-1).mean()))
        m = m - RATE * gap.T @ table[:-1] / PLACES
    return m, errors


def run(asked: Asked) -> list[Section]:
    return [
        table_section(asked.length, asked.width),
        drawing_section(asked.width),
        binary_section(asked.width),
        moved_section(),
        near_section(),
        rotation_section(),
        learned_section(asked.seed),
    ]


def dimension_names(width: int) -> list[str]:
    return [f"{'cos' if i % 2 else 'sin'}, 2i = {i - i % 2}" for i in range(width)]


def table_section(length: int, width: int) -> Section:
    values = sinusoidal(length, width).T[:TOO_WIDE]  # one row per dimension
    names = dimension_names(width)[:TOO_WIDE]
    start = ", ".join(f"{value:.0f}" for value in sinusoidal(1, min(width, 6))[0].tolist())
    return Section(
        f"The table for d = {width}",
        "PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same). Position 0 is "
        f"{start}{', ...' if width > 6 else ''}. An odd width ends with a sine.",
        (matrix("table", values, rows=names, columns=[f"pos {p}" for p in range(length)]),),
    )


def drawing_section(width: int) -> Section:
    values = sinusoidal(48, width)
    shown = dict(zip(dimension_names(width), values.T.tolist(), strict=True))
    picked = list(shown)[: 8 if width <= 8 else None : max(2, width // 8 * 2)][:6]
    series = {name: tuple(shown[name]) for name in picked}
    return Section(
        "The waves",
        "Each dimension is a wave; the first are fast, the last hardly change within a sentence.",
        (Curves("waves", "position", series),),
    )


def binary_section(width: int) -> Section:
    bits: list[list[Cell]] = [[place, f"{place:04b}"] for place in range(16)]
    pairs = [i for i in range(0, width, 2)][:4]
    periods = [(f"bit {n}", 2 ** (n + 1), wave(width, i), period(width, i)) for n, i in enumerate(pairs)]
    return Section(
        "Like binary numbers",
        "Bit 0 changes with every number, bit 1 with every second, bit 2 with every fourth. The waves do the same "
        "without jumps: each is slower than the one before.",
        (
            table("binary", ("number", "bits"), bits),
            table("periods", ("bit", "repeats after", "wave", "repeats after"), periods, ".1f"),
        ),
    )


def wave(width: int, i: int) -> str:
    return f"sin, 2i = {i}, d = {width}"


def period(width: int, i: int) -> float:
    """The wavelength of dimension i: 2π · 10000^(2i/d) positions."""
    return float(2 * math.pi / angles(2, width)[1, i // 2])


def moved_section() -> Section:
    positions = sinusoidal(LENGTH, PAPER)
    zero = positions[0]
    rows = [
        (t, float(positions[t].norm()), math.degrees(math.acos(cosine(zero, positions[t]))))
        for t in (0, 1, 2, 10, 100, 511)
    ]
    return Section(
        "Moved by the same distance, in another direction",
        f"Adding P(t) moves every embedding by |P(t)| = √(d/2), {math.sqrt(PAPER / 2):.1f} for d = {PAPER}, whatever t "
        "is. Only the direction differs: little for neighbours, more for positions that are far apart.",
        (table("moved", ("t", "|P(t)|", "angle to P(0), degrees"), rows, "", ".3f", ".1f"),),
    )


def cosine(one: Tensor, other: Tensor) -> float:
    return min(1.0, float(torch.cosine_similarity(one, other, dim=0)))


def products(distances: Sequence[int] = DISTANCES) -> list[float]:
    """P(t) · P(t + k) for d = 512. It is the same for every t."""
    positions = sinusoidal(LENGTH, PAPER)
    return [float(positions[50] @ positions[50 + k]) for k in distances]


def near_section() -> Section:
    rows = list(zip(DISTANCES, products(), strict=True))
    return Section(
        "Near positions are similar",
        f"P(t) · P(t + k) for d = {PAPER}, the same for every t: a sum of cosines of k alone.",
        (table("near", ("k", "P(t) · P(t + k)"), rows, ".0f"),),
    )


def rotation_section() -> Section:
    rows = [(c, shift_error(c)) for c in (1, 5, 50)]
    m = shift_matrix(1, WIDTH)
    sizes = torch.linalg.eigvals(m).abs()
    power = torch.linalg.matrix_power(m, 7)
    facts = [
        ("M Mᵀ − 1 (unitary: lengths stay)", largest(m @ m.T - torch.eye(WIDTH, dtype=m.dtype))),
        ("sizes of the eigenvalues − 1", largest(sizes - 1)),
        ("M₁⁷ − M₇ (seven steps are one of 7)", largest(power - shift_matrix(7, WIDTH))),
    ]
    return Section(
        "P(t + c) = M_c P(t), with M_c a rotation",
        "M_c rotates each (sin, cos) pair by an angle that depends only on c, not on t: “five words later” is the same "
        "linear map everywhere, which a model can learn. Any M whose eigenvalues are larger than 1 would grow without "
        "bound, and with smaller ones positions would fade away.",
        (
            table("shift", ("c", f"largest |M_c P(t) − P(t+c)|, t < {LENGTH}"), rows, ".1e"),
            table("unitary", ("of M_1", "largest"), facts, ".1e"),
        ),
    )


def largest(values: Tensor) -> float:
    return float(values.abs().max())


def learned_section(seed: int) -> Section:
    m, errors = learned_shift(seed)
    sizes = torch.linalg.eigvals(m).abs().sort(descending=True).values.tolist()
    values = torch.tensor([sizes], dtype=torch.float64)
    return Section(
        "M can be learned",
        f"Gradient descent on |M P(t) − P(t+1)|² from random numbers (seed {seed}, d = {LEARNED}, {PLACES} positions). "
        "Nothing asks for a rotation; the data do: every eigenvalue comes out with size 1.",
        (
            Curves("learned", "update", {"squared error": tuple(errors[:: UPDATES // 100])}, step=UPDATES // 100),
            matrix("eigenvalues", values, rows=("size",), columns=[f"λ{i}" for i in range(1, LEARNED + 1)], digits=4),
        ),
    )


def lab(asked: Asked) -> Lab:
    return position_lab(asked.width)


def position_lab(width: int) -> Lab:
    """The table of a width, how similar positions are, and the rotation from one to another."""
    values = sinusoidal(LENGTH, width)
    near = values[50] @ values.T / values[50].square().sum()
    right = {"table": values[::16], "likeness": near[: 2 * PLACES]}
    if width % 2 == 0:  # a last sine without its cosine cannot be rotated
        right["rotated"] = torch.stack([values[7] @ shift_matrix(c, width).T for c in DISTANCES])
    settings = {"length": LENGTH, "width": width, "base": 10000, "shifts": list(DISTANCES)}
    return Lab("positions", settings, right=right)


LESSON = Lesson(
    "waves",
    "The table of waves",
    "The table of positions, its rotation, its likeness to bits.",
    run,
    source="Vaswani et al. 2017, section 3.5; rotations of pairs: Su et al. 2021, arXiv 2104.09864",
    files=("nn/positions.py:sinusoidal", "nn/positions.py:rotate"),
    takes={"length": 5, "width": 5, "seed": 1},
    examples=("--width 6 --length 2", "--width 128 --length 50"),
    lab=lab,
)
