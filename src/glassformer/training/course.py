"""The course of a run: its first plan, and every change of plan since, each with the step at which it took effect.

Positions are counted in steps of the first plan, which is in config.toml. Learning rate, validations and averages are
functions of the position. A change of the number of steps never moves the position, only how fast it advances from
there, so the rate never jumps and always reaches its end. Changes are read and written as plain records, and the course
is a function of them: the same records give the same bytes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from glassformer.errors import RunError


@dataclass(frozen=True)
class Change:
    """A change of plan. If `steps` equals `step`, the run ends there."""

    step: int  # updates done when it takes effect
    steps: int  # the new total number of updates
    threads: int
    used: float = 0.0  # seconds of the budget used by then; for people to read, nothing is computed from it

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Change:
        try:
            change = cls(**record)
            sound = 0 <= change.step <= change.steps and change.threads >= 1
        except TypeError:
            sound = False
        if not sound:
            raise RunError(f"plan.jsonl has a line that is not a change of plan: {record}. Restore it from a copy.")
        return change

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "used": round(self.used, 2)}


class Course:
    """The plan as it is now, with its history."""

    def __init__(self, *, steps: int, threads: int, changes: Iterable[Change] = ()) -> None:
        self.first = steps  # in the first plan
        self.steps, self.threads = steps, threads
        self.knots: list[tuple[int, float, int]] = [(0, 0.0, steps)]  # step, its position, total steps from there on
        self.coming = list(changes)  # recorded earlier, not yet reached
        self.taken = 0

    def due(self, step: int) -> Change | None:
        """The next recorded change, if it took effect at this step."""
        return self.coming[0] if self.coming and self.coming[0].step <= step else None

    @property
    def is_replayed(self) -> bool:
        """Whether an earlier session has recorded changes for later steps."""
        return bool(self.coming)

    @property
    def has_ended(self) -> bool:
        """Whether a recorded change ends the run at this step."""
        step, _, steps = self.knots[-1]
        return self.taken > 0 and step == steps

    def take(self, change: Change) -> None:
        """Applies a change from its step on."""
        if self.coming and self.coming[0] == change:
            del self.coming[0]
        self.knots.append((change.step, self.position(change.step), change.steps))
        self.steps, self.threads = change.steps, change.threads
        self.taken += 1

    def position(self, step: int) -> float:
        """The position of a step in the first plan; the step itself until the first change."""
        start, position, steps = self.knots[max(0, bisect_right(self.knots, step, key=lambda knot: knot[0]) - 1)]
        if step >= steps:
            return float(self.first)
        return position + (self.first - position) * (step - start) / (steps - start)

    def pace(self) -> float:
        """How many steps of the first plan one step is worth now; 1 until the first change."""
        start, position, steps = self.knots[-1]
        return (self.first - position) / (steps - start) if steps > start else 1.0

    def crosses(self, before: int, now: int, every: int) -> bool:
        """Whether the position passes a multiple of `every` between two steps."""
        return math.floor(self.position(now) / every) > math.floor(self.position(before) / every)
