"""Why positions are sinusoids: simpler candidates, and the property that each lacks."""

from __future__ import annotations

import torch
from torch import Tensor

from glassformer.explain.lessons.lesson import Lesson, Section, number_table, text_table
from glassformer.nn.attention import attend
from glassformer.nn.positions import angles, sinusoidal

LENGTH, WIDTH = 512, 64
BITS = 9  # 2^9 = 512 positions
SEED = 3


def candidates() -> dict[str, Tensor]:
    """Each candidate's table of 512 positions, (512, width)."""
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
    distances = torch.cdist(table, table) + torch.diag(torch.full((len(table),), torch.inf, dtype=table.dtype))
    return float(distances.min())


def unevenness(table: Tensor) -> float:
    """The longest step from one position to the next, divided by the shortest; 1 if the path is smooth."""
    steps = table.diff(dim=0).norm(dim=-1)
    return float(steps.max() / steps.min())


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


def order_gap(*, with_positions: bool) -> float:
    """The distance of attention's outputs for “Nithish killed lion” and “lion killed Nithish”, word by word."""
    generator = torch.Generator().manual_seed(SEED)
    words = torch.randn(3, WIDTH, generator=generator, dtype=torch.float64)  # Nithish, killed, lion
    place = sinusoidal(3, WIDTH) * float(with_positions)
    one, other = words + place, words.flip(0) + place
    return float((attend(one, one, one)[0] - attend(other, other, other)[0].flip(0)).abs().max())


def run() -> list[Section]:
    return [order_section(), candidates_section(), one_sine_section(), table_section(), rotation_section()]


def order_section() -> Section:
    rows = [
        ("without", f"{order_gap(with_positions=False):.1e}"),
        ("with sinusoids", f"{order_gap(with_positions=True):.3f}"),
    ]
    return Section(
        "“Nithish killed lion” = “lion killed Nithish”",
        "Attention alone ignores order: each word gets the same output vector in both sentences.",
        (text_table(("positions", "largest difference of a word's vector"), rows),),
    )


def candidates_section() -> Section:
    fails = {"a count": "unbounded", "binary digits": "uneven", "one sine": "repeated", "sinusoids": "(holds)"}
    rows = [
        (name, f"{largest(table):.0f}", f"{unevenness(table):.1f}", f"{closest(table):.5f}", fails[name])
        for name, table in candidates().items()
    ]
    return Section(
        f"Four candidates over {LENGTH} positions",
        "Positions should be bounded, change smoothly, and never repeat. A count grows with the text; binary digits "
        "jump (from 255 to 256 all 9 change, from 0 to 1 only one); one sine returns to almost the same value.",
        (
            text_table(
                ("candidate", "largest value", "longest / shortest step", "closest pair", "fails by being"), rows
            ),
        ),
    )


def one_sine_section() -> Section:
    place = torch.tensor([0, 22, 44, 355], dtype=torch.float64)
    table = torch.stack([place.sin(), *sinusoidal(LENGTH, WIDTH)[place.long()].T[2:5]])
    rows = ("sin(pos)", *(f"dimension {i}" for i in (2, 3, 4)))
    return Section(
        "One sine repeats; several sines of different speeds do not",
        "sin(22), sin(44) and sin(355) are nearly sin(0); the slower waves of the table distinguish these positions.",
        (number_table(table, rows=rows, columns=[f"{int(p)}" for p in place], corner="position"),),
    )


def table_section() -> Section:
    table = sinusoidal(5, 5).T  # one row per dimension, as the notes print it
    names = ("sin, 2i = 0", "cos, 2i = 0", "sin, 2i = 2", "cos, 2i = 2", "sin, 2i = 4")
    return Section(
        "The table for d = 5",
        "PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same). Position 0 is 0, 1, 0, 1, 0.",
        (number_table(table, rows=names, columns=[f"pos {p}" for p in range(5)]),),
    )


def rotation_section() -> Section:
    rows = [(str(c), f"{shift_error(c):.1e}") for c in (1, 5, 50)]
    return Section(
        "A fixed rotation takes P(t) to P(t + c)",
        "M_c rotates each (sin, cos) pair by an angle that depends only on c, not on t: “five words later” is the same "
        "linear map everywhere, which a model can learn.",
        (text_table(("c", f"largest |M_c P(t) − P(t+c)|, t < {LENGTH}"), rows),),
    )


LESSON = Lesson("positions", "Why sinusoids", "Counts, binary digits and one sine fail; many sines do not.", run)
