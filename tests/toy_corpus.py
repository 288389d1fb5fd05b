"""A small translation task and what a command gives back: what `conftest.py` makes fixtures of, for tests to import.

Tests do not import from `conftest`: there are several files of that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

SUBJECTS = {"the dog": "der Hund", "a cat": "eine Katze", "my boy": "mein Junge", "his wife": "seine Frau"}
VERBS = {"eats": "isst", "sees": "sieht", "has": "hat"}
OBJECTS = {"bread": "Brot", "two eggs": "zwei Eier", "old red wine": "alten roten Wein", "me": "mich", "us": "uns"}


def toy_pairs() -> list[tuple[str, str]]:
    """60 sentence pairs of a small grammar."""
    parts = product(SUBJECTS.items(), VERBS.items(), OBJECTS.items())
    return [(f"{s} {v} {o}.", f"{zs} {zv} {zo}.") for (s, zs), (v, zv), (o, zo) in parts]


@dataclass(frozen=True)
class Toy:
    """The pairs as aligned files in a folder, and a recipe that learns from them."""

    folder: Path
    pairs: list[tuple[str, str]]

    @property
    def source(self) -> Path:
        return self.folder / "toy.en"

    @property
    def target(self) -> Path:
        return self.folder / "toy.de"

    def recipe(self, **changed: dict[str, Any]) -> dict[str, Any]:
        """Settings of a tiny training; `changed` overrides some, section by section."""
        files = (str(self.source), str(self.target))
        tree: dict[str, dict[str, Any]] = {
            "data": {"source": files[0], "target": files[1], "valid": files},
            "text": {"kind": "word", "vocab_size": 60},
            "model": {"size": "nano", "N": 1, "d": 16, "h": 2, "d_ff": 24, "dropout": 0.1},
            "train": {
                "steps": 6,
                "batch_tokens": 150,
                "lr": 1e-2,
                "warmup": 2,
                "valid_every": 2,
                "valid_sentences": 4,
                "threads": 1,
                "device": "cpu",
            },
            "decode": {"beam": 2},
        }
        return {name: {**tree.get(name, {}), **changed.get(name, {})} for name in tree | changed}

    def arguments(self, out: Path | str, *settings: str) -> list[str]:
        """The same recipe for the command line."""
        tree = self.recipe()
        given = [
            f"{section}.{name}={value}"
            for section in ("text", "model", "train")
            for name, value in tree[section].items()
        ]
        files = ["--source", str(self.source), "--target", str(self.target)]
        files += ["--valid", str(self.source), str(self.target)]
        return ["train", *files, "--out", str(out), *(x for s in (*given, *settings) for x in ("--set", s))]


def write_toy(folder: Path) -> Toy:
    toy = Toy(folder, toy_pairs())
    toy.source.write_text("".join(f"{source}\n" for source, _ in toy.pairs), encoding="utf-8")
    toy.target.write_text("".join(f"{target}\n" for _, target in toy.pairs), encoding="utf-8")
    return toy


@dataclass(frozen=True)
class Outcome:
    """What a command left behind in this process."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.removesuffix("\n").split("\n")
