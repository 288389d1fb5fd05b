"""Searches of a tiny model, as Python records them; the page must search likewise (glass/test/search.test.ts).

`python tests/unit/explain/glass_search_cases.py` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.decode import Best, BestRefilled, Search
from glassformer.decode.choosers import Sample
from glassformer.decode.protocol import by_gnmt, by_length
from glassformer.decode.rules import Forbidden, ForcedPrefix, MergedEnds
from glassformer.decode.tree import watched

FILE = Path(__file__).parents[3] / "glass" / "test" / "fixtures" / "search.json"
TOKENS, PLACES, END = 11, 4, 2


@dataclass(frozen=True)
class Table:
    """The next token depends on the last one and on the position: logits (PLACES, TOKENS, TOKENS)."""

    logits: Tensor

    def start(self, batch: Any) -> int:  # noqa: ARG002
        return 0

    def step(self, ids: Tensor, state: int, *, want_attention: bool = False) -> tuple[Tensor, int, None]:  # noqa: ARG002
        return self.logits[state % PLACES, ids].contiguous(), state + 1, None

    def select(self, state: int, rows: Tensor) -> int:  # noqa: ARG002
        return state


@dataclass(frozen=True)
class Case:
    """What the page gets, in the names of its header."""

    width: int
    limit: int
    chooser: str = "Best"
    ranked: tuple[str, float] = ("by_length", 1.0)
    forbidden: Sequence[int] = ()
    ends: Sequence[int] = ()
    first: Sequence[int] = ()
    cut_last: bool = True
    seed: int = 1
    colder: float = 1.0  # the logits are multiplied by it

    def logits(self) -> Tensor:
        numbers = np.random.default_rng(self.seed).normal(size=(PLACES, TOKENS, TOKENS)) * self.colder
        return torch.tensor(np.round(numbers, 3), dtype=torch.float32)

    def search(self) -> Search:
        rules: list[Any] = []
        if self.forbidden:
            rules.append(Forbidden(tuple(self.forbidden)))
        if self.ends:
            rules.append(MergedEnds(END, tuple(self.ends)))
        if self.first:
            rules.append(ForcedPrefix([self.first]))
        name, alpha = self.ranked
        return Search(
            model=Table(self.logits()),
            batch=None,
            limits=np.array([self.limit]),
            bos=1,
            eos=END,
            device=torch.device("cpu"),
            chooser=BestRefilled(self.width, END) if self.chooser == "BestRefilled" else Best(self.width),
            rules=rules,
            ranked=partial({"by_length": by_length, "gnmt": by_gnmt}[name], alpha=alpha),
            cut_last=self.cut_last,
        )

    def to_dict(self) -> dict[str, Any]:
        tree, found = watched(self.search())
        name, alpha = self.ranked
        return {
            "width": self.width,
            "limit": self.limit,
            "chooser": self.chooser,
            "ranked": {name: alpha},
            "forbidden": list(self.forbidden),
            "ends": list(self.ends),
            "first": list(self.first),
            "cut_last": self.cut_last,
            "logits": self.logits().flatten().tolist(),
            "record": tree.to_dict(found[0], width=self.width),
        }


CASES = (
    Case(width=1, limit=9),
    Case(width=2, limit=0),
    Case(width=2, limit=1),
    Case(width=3, limit=8, seed=2, colder=2.0),
    Case(width=3, limit=7, seed=3, ranked=("by_length", 0.0)),
    Case(width=4, limit=6, seed=4, ranked=("gnmt", 0.6)),
    Case(width=2, limit=9, seed=5, chooser="BestRefilled", cut_last=False),
    Case(width=3, limit=6, seed=6, chooser="BestRefilled", forbidden=(0, 5)),
    Case(width=3, limit=7, seed=7, forbidden=(0, 3, 4), first=(6, 7)),
    Case(width=2, limit=8, seed=8, ends=(2, 3, 4)),
    Case(width=2, limit=6, seed=9, forbidden=tuple(range(TOKENS)), first=()),
    Case(width=13, limit=2, seed=10),
)
SAMPLING = ((1.0, 0, 1.0), (0.7, 0, 1.0), (1.3, 4, 1.0), (1.0, 0, 0.6), (0.5, 5, 0.9), (1.0, 1, 1.0))


def samples() -> Iterator[dict[str, Any]]:
    """Tokens that uniform numbers select."""
    uniform = [0.0, 0.05, 0.3, 0.5, 0.77, 0.95, 0.999999]
    for temperature, top_k, top_p in SAMPLING:
        log_probs = Case(width=1, limit=1, seed=11, colder=1.5).logits()[0, :1].log_softmax(dim=-1)
        chooser = Sample(len(uniform), [0], temperature=temperature, top_k=top_k, top_p=top_p)
        tokens = chooser.sampled(log_probs.expand(len(uniform), -1), torch.tensor(uniform, dtype=torch.float64))
        settings = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        yield {**settings, "log_probs": log_probs[0].tolist(), "uniform": uniform, "tokens": tokens.tolist()}


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def made() -> dict[str, Any]:
    return {"searches": [rounded(case.to_dict()) for case in CASES], "samples": [rounded(one) for one in samples()]}


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), separators=(",", ":")) + "\n")
