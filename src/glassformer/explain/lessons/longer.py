"""Longer than in training: learned, sinusoidal, rotary and no positions, on texts of lengths that were never seen."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.errors import ModelError
from glassformer.explain.lessons.lesson import Asked, Cell, Correction, Curves, Lesson, Section, table
from glassformer.nn.attention import SelfAttention
from glassformer.nn.positions import LearnedPositions, RotaryPositions, sinusoidal

WIDTH, HEADS, SYMBOLS, SEED = 32, 2, 6, 0
TRAINED, LONGER, SHORTEST = 10, 20, 4  # words: the longest in training, in the test, and the shortest
UPDATES, RATE, TEXTS, TESTED = 200, 0.01, 16, 100
KINDS = ("none", "sinusoidal", "learned", "rotary")


class Before(nn.Module):
    """One attention layer that names the symbol at the place before each place, for which it needs positions."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.table = nn.Parameter(torch.randn(SYMBOLS, WIDTH))
        self.positions = LearnedPositions(TRAINED, WIDTH) if kind == "learned" else None
        self.rotary = RotaryPositions(WIDTH // HEADS) if kind == "rotary" else None
        self.attention = SelfAttention(WIDTH, heads=HEADS)
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) -> logits (B, T, symbols)."""
        x = self.table[ids]
        if self.positions is not None:
            x = x + self.positions(ids.size(1))
        if self.kind == "sinusoidal":
            x = x + sinusoidal(ids.size(1), WIDTH).float()
        rotation = None if self.rotary is None else self.rotary(ids.size(1))
        return self.head(self.attention(x, rotation=rotation))


def trained(kind: str, seed: int) -> tuple[Before, list[float]]:
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    model = Before(kind)
    torch.set_rng_state(state)
    generator = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    losses = []
    for _ in range(UPDATES):
        length = int(torch.randint(SHORTEST, TRAINED + 1, (), generator=generator))
        ids = torch.randint(SYMBOLS, (TEXTS, length), generator=generator)
        loss = F.cross_entropy(model(ids)[:, 1:].flatten(0, 1), ids[:, :-1].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    return model, losses


def right_share(model: Before, length: int, seed: int) -> float | None:
    """The share of places whose answer is right, in percent; None if the model refuses this length."""
    ids = torch.randint(SYMBOLS, (TESTED, length), generator=torch.Generator().manual_seed(seed + 1))
    try:
        with torch.no_grad():
            found = model(ids)[:, 1:].argmax(-1)
    except ModelError:
        return None
    return 100 * float((found == ids[:, :-1]).double().mean())


def run(asked: Asked) -> list[Section]:
    rows: list[tuple[Cell, ...]] = []
    series = {}
    for place, kind in enumerate(KINDS, start=1):
        model, losses = trained(kind, asked.seed)
        shares = [right_share(model, length, asked.seed) for length in (TRAINED, LONGER)]
        rows.append((kind, *("refused" if share is None else share for share in shares)))
        series[kind] = tuple(losses)
        asked.progress(place, len(KINDS))
    columns = ("positions", f"right, %, {TRAINED} words", f"right, %, {LONGER} words")
    return [
        Section(
            "The task",
            f"Name the symbol at the place before each place, out of {SYMBOLS}. Texts of {SHORTEST} to {TRAINED} "
            f"words, one attention layer, {UPDATES} updates, seed {asked.seed}. Guessing is right in "
            f"{100 / SYMBOLS:.0f}%.",
            (Curves("loss", "update", series),),
        ),
        Section(
            "As long as in training, and longer",
            "Learned positions have no vector for a place that was never seen, so the model refuses. Sinusoids have "
            "one for every place. That a model uses them well there is another question.",
            (table("right", columns, rows, ".0f"),),
            (
                Correction(
                    "Sinusoids extrapolate to longer texts.",
                    "The paper says that they may. They are defined everywhere, but the sums of embedding and "
                    "position at new places are new inputs: the last column is what this small model makes of them. "
                    "For texts as long as in training the paper found learned and sinusoidal positions nearly "
                    "identical.",
                ),
            ),
        ),
    ]


LESSON = Lesson(
    "longer",
    "Longer than in training",
    "Learned, sinusoidal, rotary, none: on texts longer than seen.",
    run,
    source="Vaswani et al. 2017, section 3.5 and table 3, row E; rotary: Su et al. 2021, arXiv 2104.09864",
    files=("nn/positions.py:LearnedPositions", "nn/positions.py:RotaryPositions"),
    takes={"seed": SEED},
    examples=("--seed 1",),
)
