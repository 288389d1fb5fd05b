"""The words that a model finds easily behind a mask, and those that it does not, as tables of a report."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.data.masked_windows import MaskedBatch, MaskedWindows
from glassformer.explain.report import ShownTable
from glassformer.tasks.embedding import TextEncoder
from glassformer.text.pieces import on_page

SHOWN = 12  # words in a table
AROUND = 8  # tokens of context on each side
OFTEN = 3  # a word counts if it was masked this often, where enough words were
MOST_WINDOWS = 2000  # windows that are read for the tables
AT_ONCE = 64
HEAD = ("Word", "Masked", "Found", "Probability", "Instead of it", "For instance")
NOTE = (
    "Tokens that were masked {}, {} first. Probability: of the true token, as a geometric mean. Instead of it: the "
    "most frequent wrong guess. ␣ is a space."
)
Place = tuple[int, int]  # a window, and a place in it


@dataclass
class Found:
    """What happened to one token of the vocabulary."""

    log_probs: list[float] = field(default_factory=list)
    guesses: list[int] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return sum(self.log_probs) / len(self.log_probs)


def word_tables(
    user: TextEncoder, pool: MaskedWindows, look: Callable[[Any, MaskedBatch], tuple[Tensor, Tensor]]
) -> list[ShownTable]:
    """Two tables; `look` gives the log-probability of the true token at each mask, and the best guess."""
    words = looked_at(user, pool, look)
    least = OFTEN if sum(len(one.guesses) >= OFTEN for one in words.values()) >= 2 * SHOWN else 1
    often = "at least once" if least == 1 else f"at least {least} times"
    order = sorted((one for one in words if len(words[one].guesses) >= least), key=lambda one: -words[one].mean)
    chosen = {
        "easiest": ("The easiest masked words", "most probable", order[:SHOWN]),
        "hardest": ("The hardest masked words", "least probable", order[::-1][:SHOWN]),
    }
    return [
        ShownTable(key, title, NOTE.format(often, which), HEAD, tuple(row_of(user, pool, i, words[i]) for i in ids))
        for key, (title, which, ids) in chosen.items()
        if ids
    ]


@torch.inference_mode()
def looked_at(
    user: TextEncoder, pool: MaskedWindows, look: Callable[[Any, MaskedBatch], tuple[Tensor, Tensor]]
) -> dict[int, Found]:
    """What the model finds at every mask, by the true token."""
    found: dict[int, Found] = defaultdict(Found)
    windows = min(len(pool), MOST_WINDOWS)
    for start in range(0, windows, AT_ONCE):
        batch = pool.batch(np.arange(start, min(windows, start + AT_ONCE))).to(user.device)
        log_probs, guesses = look(user.model, batch)
        places = (batch.places % batch.ids.size(1)).tolist()
        rows = zip(
            batch.labels.tolist(), log_probs.tolist(), guesses.tolist(), batch.windows.tolist(), places, strict=True
        )
        for label, log_prob, guess, window, place in rows:
            one = found[label]
            one.log_probs.append(log_prob)
            one.guesses.append(guess)
            one.places.append((start + window, place))
    return found


def row_of(user: TextEncoder, pool: MaskedWindows, token: int, one: Found) -> tuple[str | int, ...]:
    """A row of the table: its example is the one with the median probability."""
    middle = int(np.argsort(one.log_probs)[len(one.log_probs) // 2])
    wrong = [guess for guess in one.guesses if guess != token]
    instead = named(user, max(wrong, key=wrong.count)) if wrong else ""
    window, place = one.places[middle]
    return (
        named(user, token),
        len(one.guesses),
        f"{100 * (1 - len(wrong) / len(one.guesses)):.0f}%",
        f"{math.exp(one.mean):.2g}",
        instead,
        context(user, pool.columns["text"][window].tolist(), place),
    )


def named(user: TextEncoder, token: int) -> str:
    return on_page(user.tokenizer.pieces_of([token])[0])


def context(user: TextEncoder, ids: Sequence[int], place: int) -> str:
    """The true text around a place, which is written as a mask."""
    before, after = ids[max(0, place - AROUND) : place], ids[place + 1 : place + 1 + AROUND]
    first, then = user.tokenizer.decode_batch([before, after])
    return " ".join(f"{first.rstrip()} [MASK] {then.lstrip()}".split())
