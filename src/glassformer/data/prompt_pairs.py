"""Prompts and the texts to write for them, of several tasks that an epoch mixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.batches import EncodedPairs
from glassformer.data.columns import Columns, Index, Ragged


@dataclass(frozen=True)
class PromptPairs(EncodedPairs):
    """Columns: `source`, `target`, and `task`, the number of the task. `takes`: how often an epoch uses an example."""

    tasks: Ragged
    takes: tuple[float, ...] = ()

    @property
    def columns(self) -> Columns:
        return Columns({"source": self.sources, "target": self.targets, "task": self.tasks})

    def of_epoch(self, random: np.random.Generator) -> PromptPairs:
        """The examples that an epoch uses, some perhaps several times."""
        if all(take == 1 for take in self.takes):
            return self
        chosen = self.columns.at(mixed_index(self.tasks.flat.astype(np.int64), self.takes, random))
        return PromptPairs(
            chosen["source"], chosen["target"], self.source_marks, self.target_marks, chosen["task"], self.takes
        )


def mixed_index(tasks: Index, takes: Sequence[float], random: np.random.Generator) -> Index:
    """Each task's examples, `takes` times as many as there are: all are used before one is used again."""
    found = []
    for task, take in enumerate(takes):
        order = random.permutation(np.flatnonzero(tasks == task))
        found.append(np.resize(order, round(take * len(order))))  # again from the beginning, as often as needed
    return np.concatenate(found)


def takes_of(examples: Sequence[int], weights: Sequence[float], *, cap: int, temperature: float) -> tuple[float, ...]:
    """How often an epoch uses an example of each task (Raffel et al. 2019, section 3.5.2).

    Shares are proportional to weight * min(examples, cap), to the power of 1 / temperature. An epoch has as many
    examples as the tasks have together, each counted up to the cap.
    """
    sizes = np.minimum(np.array(examples, dtype=np.float64), cap)
    rates = (np.array(weights) * sizes) ** (1 / temperature)
    wanted = rates / rates.sum() * sizes.sum()
    return tuple(float(one) for one in np.round(wanted / np.maximum(1, examples), 6))
