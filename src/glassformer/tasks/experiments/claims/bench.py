"""What all claims share: sentences of the small language, runs that several claims use, and their models.

A run is trained once, by its variant, its sentences and its seed; each claim takes the runs that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from glassformer.store.run import RunFolder
from glassformer.tasks.experiments.small_language import SmallText, small_texts
from glassformer.tasks.experiments.translators import (
    PairFiles,
    Variant,
    diverged,
    loss_curve,
    pair_of,
    train_variant,
    translations,
    translator_of,
    written_pairs,
)
from glassformer.training.task import Listener

SEEDS, STEPS = 3, 1000
WIDTH = 32
SHAPE: Mapping[str, Any] = {"size": "nano", "N": 2, "d": WIDTH, "h": 4, "d_ff": 2 * WIDTH, "dropout": 0.0}
TRAIN: Mapping[str, Any] = {
    "batch_tokens": 512,
    "lr": 1e-2,
    "label_smoothing": 0.0,
    "valid_sentences": 1,
    "patience": 0,
    "best_by": "loss",
    "threads": 1,
    "device": "cpu",
}
TEXT: Mapping[str, Any] = {"kind": "word", "vocab_size": 200}


@dataclass(frozen=True)
class Sentences:
    """Texts to learn from, and how many clauses those to test on have."""

    key: str
    clauses: tuple[int, int]
    train: int
    tested: tuple[tuple[int, int], ...]  # clauses, number of texts
    updates: float = 1.0  # times as many as for others


SHORT = Sentences("short", (1, 2), 6000, ((1, 100), (2, 100), (3, 60), (4, 60), (6, 60)))
LONG = Sentences("long", (1, 6), 6000, tuple((clauses, 30) for clauses in range(1, 7)), updates=3.0)
VALID = 100


def shared_settings() -> dict[str, Any]:
    """What the results of every claim depend on, for the record."""
    sentences = {one.key: asdict(one) for one in (SHORT, LONG)}
    own = {"model": dict(SHAPE), "train": dict(TRAIN), "text": dict(TEXT)}
    return {"seeds": SEEDS, "steps": STEPS, **own, "sentences": sentences}


class Bench:
    """The runs of a folder, for a number of seeds and updates."""

    def __init__(self, folder: Path, *, seeds: int, steps: int, listener: Listener) -> None:
        self.folder, self.seeds, self.steps, self.listener = folder, seeds, steps, listener
        self._files: dict[str, PairFiles] = {}
        self._tests: dict[str, list[SmallText]] = {}
        self._written: dict[tuple[Any, ...], list[str]] = {}

    @cached_property
    def numbers(self) -> range:
        return range(1, self.seeds + 1)

    def files(self, sentences: Sentences) -> PairFiles:
        if sentences.key not in self._files:
            train = small_texts(sentences.train, clauses=sentences.clauses, seed=1)
            valid = small_texts(VALID, clauses=sentences.clauses, seed=2, without=train)
            each = [
                small_texts(count, clauses=(clauses, clauses), seed=3 + clauses, without=[*train, *valid])
                for clauses, count in sentences.tested
            ]
            self._tests[sentences.key] = [text for texts in each for text in texts]
            self._files[sentences.key] = written_pairs(
                self.folder / "data" / sentences.key,
                train=[pair_of(one.phrase) for one in train],
                valid=[pair_of(one.phrase) for one in valid],
            )
        return self._files[sentences.key]

    def tests(self, sentences: Sentences, clauses: Sequence[int] = ()) -> list[SmallText]:
        """The texts to test on, with these numbers of clauses or with any."""
        self.files(sentences)
        names = {f"{count} clauses" for count in clauses}
        return [one for one in self._tests[sentences.key] if not names or one.phrase.construction in names]

    def steps_on(self, sentences: Sentences) -> int:
        return max(1, round(sentences.updates * self.steps))

    def run(self, variant: Variant, seed: int, sentences: Sentences) -> Path:
        """The folder of a finished run, trained now if it is not there."""
        out = self.folder / "runs" / f"{sentences.key}-{variant.key}-{seed}"
        self.listener.on_stage(f"{variant.name}, {sentences.key} sentences, seed {seed}")
        steps = self.steps_on(sentences)
        train = {**TRAIN, "steps": steps, "valid_every": max(1, steps // 10), "seed": seed}
        return train_variant(variant, self.files(sentences), out, train=train, text=TEXT, listener=self.listener)

    def translator(self, variant: Variant, seed: int, sentences: Sentences) -> Any:
        return translator_of(variant, self.run(variant, seed, sentences))

    def written(
        self, variant: Variant, seed: int, sentences: Sentences, *, clauses: Sequence[int] = (), beam: int = 1
    ) -> list[str]:
        """Translations of the texts to test on; made once."""
        key = (variant.key, seed, sentences.key, tuple(clauses), beam)
        if key not in self._written:
            sources = [one.phrase.source for one in self.tests(sentences, clauses)]
            self._written[key] = translations(self.translator(variant, seed, sentences), sources, beam=beam)
        return self._written[key]

    def losses(self, variant: Variant, seed: int, sentences: Sentences) -> list[tuple[int, float]]:
        """Step and validation loss; an infinite loss at the end for a run that diverged."""
        run = self.run(variant, seed, sentences)
        curve = loss_curve(run) if not diverged(run) else []
        return [*curve, *([(self.steps_on(sentences), float("inf"))] if diverged(run) else [])]

    def facts(self, variant: Variant, seed: int, sentences: Sentences) -> dict[str, Any]:
        """What the manifest says about the training."""
        return dict(RunFolder(self.run(variant, seed, sentences)).about().get("training", {}))
