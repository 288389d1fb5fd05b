"""Residual connections and norms, on and off: what they do to the gradient of a deep stack, and to learning."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.explain.lessons.lesson import Asked, Cell, Curves, Lesson, Progress, Section, table
from glassformer.nn.attention import SelfAttention
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import sinusoidal

WIDTH, HEADS, WORDS, SEED = 16, 2, 8, 0
DEPTHS = (1, 2, 4, 8, 16)
TRAINED, UPDATES, RATE, TEXTS = 4, 100, 1e-2, 16  # blocks of the stack that learns, and how
SYMBOLS = 10


@dataclass(frozen=True)
class Variant:
    name: str
    residual: bool
    norm: bool


VARIANTS = (
    Variant("residuals and norms", residual=True, norm=True),
    Variant("residuals only", residual=True, norm=False),
    Variant("norms only", residual=False, norm=True),
    Variant("neither", residual=False, norm=False),
)


class Stack(nn.Module):
    """Blocks of attention and feed-forward, with or without residuals and norms (pre-norm)."""

    def __init__(self, variant: Variant, depth: int) -> None:
        super().__init__()
        self.variant = variant
        self.parts = nn.ModuleList()
        for _ in range(depth):
            self.parts += [SelfAttention(WIDTH, heads=HEADS), FeedForward(WIDTH, 4 * WIDTH)]
        self.norms = nn.ModuleList(LayerNorm(WIDTH) for _ in self.parts)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        for part, norm in zip(self.parts, self.norms, strict=True):
            out = part(norm(x) if self.variant.norm else x)
            x = x + out if self.variant.residual else out
        return x


def stack_of(variant: Variant, depth: int, seed: int) -> Stack:
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    stack = Stack(variant, depth)
    torch.set_rng_state(state)
    return stack


def gradient_share(variant: Variant, depth: int, seed: int) -> float:
    """The gradient of the first block's weights, divided by that of the last block's: 1 if it arrives whole."""
    stack = stack_of(variant, depth, seed)
    generator = torch.Generator().manual_seed(seed)
    x, wanted = torch.randn(2, 4, WORDS, WIDTH, generator=generator)
    out = stack(x)
    (out * wanted).sum().backward()
    first, last = (float(norm_of(stack.parts[i])) for i in (1, -1))  # the feed-forward networks
    return first / last if last else 0.0


def norm_of(part: nn.Module) -> Tensor:
    return torch.cat([one.grad.flatten() for one in part.parameters() if one.grad is not None]).norm()


def learned(variant: Variant, seed: int) -> list[float]:
    """The loss while a stack learns to say, at each place, which symbol was at the place before."""
    stack = stack_of(variant, TRAINED, seed)
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(SYMBOLS, WIDTH, generator=generator)
    place = sinusoidal(WORDS, WIDTH).float()
    head = torch.zeros(SYMBOLS, WIDTH, requires_grad=True)
    adam = torch.optim.Adam([*stack.parameters(), head], lr=RATE)
    losses = []
    for _ in range(UPDATES):
        symbols = torch.randint(SYMBOLS, (TEXTS, WORDS), generator=generator)
        hidden = stack(table[symbols] + place)[:, 1:]  # (B, T-1, D)
        loss = F.cross_entropy((hidden @ head.T).flatten(0, 1), symbols[:, :-1].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    return losses


def run(asked: Asked) -> list[Section]:
    return [gradient_section(asked.seed), learning_section(asked.seed, asked.progress)]


def gradient_section(seed: int) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (one.name, *(gradient_share(one, depth, seed) for depth in DEPTHS)) for one in VARIANTS
    ]
    columns = ("first / last block", *(f"{depth} blocks" for depth in DEPTHS))
    return Section(
        "What arrives at the first block",
        "Random weights. With neither, each layer shrinks the gradient: it vanishes. A residual gives it a way "
        "around, since the derivative of x + f(x) is 1 + f′(x); without norms it then grows with the depth: it "
        "explodes. With both it grows slowly. Norms alone give each layer an input of the same size, so the gradient "
        "does not vanish steadily; but each layer replaces what it read, and the next table shows what that costs.",
        (table("gradient", columns, rows, ".2g"),),
    )


def learning_section(seed: int, progress: Progress) -> Section:
    series = {}
    for place, one in enumerate(VARIANTS, start=1):
        series[one.name] = tuple(learned(one, seed))
        progress(place, len(VARIANTS))
    rows = [(name, losses[0], sum(losses[-10:]) / 10) for name, losses in series.items()]
    return Section(
        "What it learns in the same time",
        f"{TRAINED} blocks learn to name the symbol before each place ({UPDATES} updates of Adam, seed {seed}). "
        f"Guessing has the loss ln {SYMBOLS} = 2.303.",
        (Curves("loss", "update", series), table("losses", ("stack", "first loss", "mean of the last 10"), rows)),
    )


LESSON = Lesson(
    "residuals",
    "Residuals and norms, on and off",
    "The gradient by depth; what a deep stack learns without them.",
    run,
    source="He et al. 2015, arXiv 1512.03385; pre-norm: Xiong et al. 2020, arXiv 2002.04745",
    files=("nn/residual.py:PreNorm", "nn/residual.py:PostNorm"),
    takes={"seed": SEED},
    examples=("--seed 1",),
)
