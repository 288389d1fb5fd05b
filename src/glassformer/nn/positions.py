"""Positions: sinusoidal, learned and rotary."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from glassformer.errors import ModelError

Rotation = tuple[Tensor, Tensor]  # cos and sin, each (T, E/2)
TableMaker = Callable[[int], Tensor]
Stretch = Callable[[Tensor], Tensor]  # the angle per position of each pair -> a smaller one


def angles(length: int, width: int, *, base: float = 10000.0) -> Tensor:
    """pos / base^(2i/width), (length, ceil(width/2)), in float64: position pos rotates pair i by this angle."""
    pair = torch.arange(0, width, 2, dtype=torch.float64) / width
    return torch.arange(length, dtype=torch.float64)[:, None] / base**pair


def sinusoidal(length: int, width: int, *, base: float = 10000.0) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same) (2017, section 3.5); odd widths too."""
    turn = angles(length, width, base=base)
    return torch.stack([turn.sin(), turn.cos()], dim=-1).flatten(1)[:, :width]  # (length, width)


def sinusoidal_halves(length: int, width: int, *, base: float = 10000.0) -> Tensor:
    """The same values in another order, all sines before all cosines, as in Marian's models."""
    turn = angles(length, width, base=base)
    return torch.cat([turn.sin(), turn.cos()[:, : width // 2]], dim=-1)


class FixedPositions(nn.Module):
    """A position table that is computed once and extended when a sentence is longer."""

    table: Tensor

    def __init__(self, make: TableMaker, *, length: int = 256) -> None:
        super().__init__()
        self.make = make
        self.register_buffer("table", make(length).to(torch.get_default_dtype()), persistent=False)

    def forward(self, length: int, *, start: int = 0) -> Tensor:
        """The vectors of positions start .. start+length-1: (length, D)."""
        table = self.table  # another thread may replace it at any time
        if start + length > table.size(0):
            with torch.inference_mode(False):  # decoding may extend it; training must be able to use it afterwards
                self.table = table = self.make(2 * (start + length)).to(table)
        return table[start : start + length]

    def at(self, places: Tensor) -> Tensor:
        """The vectors of any positions: (...) -> (..., D)."""
        return self(int(places.max()) + 1)[places]


class LearnedPositions(nn.Module):
    """One learned vector per position."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, width))
        nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, length: int, *, start: int = 0) -> Tensor:
        if start + length > self.weight.size(0):
            raise ModelError(
                f"The sentence has {start + length} tokens; this model learned {self.weight.size(0)} positions. "
                "Split the sentence, or train with a larger max_length or with sinusoidal positions."
            )
        return self.weight[start : start + length]

    def at(self, places: Tensor) -> Tensor:
        """The vectors of any positions: (...) -> (..., D)."""
        return self(int(places.max()) + 1)[places]


class RotaryPositions(nn.Module):
    """Rotary positions (Su et al. 2021): pair i of q and k at position t is rotated by the angle t * base^(-2i/E), so
    the product of q at t and k at s depends only on their distance t - s. A `stretch` makes the angles smaller, so that
    texts longer than the training texts stay within the angles seen in training."""

    def __init__(
        self, head_width: int, *, base: float = 10000.0, length: int = 256, stretch: Stretch | None = None
    ) -> None:
        super().__init__()
        self.turns = FixedPositions(partial(_turns, width=head_width, base=base, stretch=stretch), length=length)

    def forward(self, length: int, *, start: int = 0) -> Rotation:
        cos, sin = self.turns(length, start=start).unbind(1)  # (T, E/2) twice
        return cos, sin

    def at(self, places: Tensor) -> Rotation:
        """The rotation at any positions (B, T), for rows at different ones: (B, 1, T, E/2) twice."""
        cos, sin = self.turns.at(places).unsqueeze(1).unbind(-2)
        return cos, sin


def _turns(length: int, *, width: int, base: float, stretch: Stretch | None = None) -> Tensor:
    """Cosines and sines (length, 2, width//2). Angles would lose their precision in bfloat16."""
    turn = angles(length, width, base=base)[:, : width // 2]
    if stretch is not None:
        a_step = angles(2, width, base=base)[1, : width // 2]
        turn = torch.arange(length, dtype=torch.float64)[:, None] * stretch(a_step)
    return torch.stack([turn.cos(), turn.sin()], dim=1)


def stretched(turns: Tensor, *, factor: float) -> Tensor:
    """All angles divided by the same factor (position interpolation, Chen et al. 2023, arXiv 2306.15595)."""
    return turns / factor


def stretched_where_slow(turns: Tensor, *, factor: float, slow: float, fast: float, length: int) -> Tensor:
    """The same only for pairs that rotate fewer than `slow` times within `length` positions. Those with more than
    `fast` rotations stay; between the two the change is gradual (Grattafiori et al. 2024, arXiv 2407.21783)."""
    times = turns * length / (2 * math.pi)
    kept = ((times - slow) / (fast - slow)).clamp(0, 1)
    return turns * (kept + (1 - kept) / factor)


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Rotates neighbouring pairs (x_2i, x_2i+1) of x (B, H, T, E); an odd last value is not changed."""
    cos, sin = rotation
    pairs = 2 * cos.size(-1)
    if suits_complex(x, pairs):
        turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.complex(cos, sin)
        return torch.view_as_real(turned).flatten(-2)
    even, odd = x[..., 0:pairs:2], x[..., 1:pairs:2]  # (B, H, T, E/2)
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
    return turned if pairs == x.size(-1) else torch.cat([turned, x[..., pairs:]], dim=-1)


def suits_complex(x: Tensor, pairs: int) -> bool:
    """Whether pairs can be multiplied as complex numbers, in one pass over them."""
    *steps, last = x.stride()
    aligned = last == 1 and x.storage_offset() % 2 == 0 and not any(step % 2 for step in steps)
    return x.dtype in (torch.float32, torch.float64) and x.device.type == "cpu" and pairs == x.size(-1) and aligned
