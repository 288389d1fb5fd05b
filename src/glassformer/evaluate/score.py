"""A score: a number with its interval and how it was computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """A metric on held-out examples with its 95% confidence interval."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    signature: str = ""  # how it was computed, so that others can compare
    sentences: int | None = None  # number of examples it was measured on
    decoding: str = ""  # how the predictions were made: greedy, or beam 5
    key: str = ""  # of its metric, if it has one
    unit: str = "sentences"  # what the examples are called

    @property
    def interval(self) -> str:
        """The interval in words; empty if there is none."""
        return "" if self.low is None or self.high is None else f"95% interval {self.low:.2f} to {self.high:.2f}"

    @property
    def measured_on(self) -> str:
        """`1,000 sentences, beam 5`, as far as known."""
        unit = self.unit.removesuffix("s") if self.sentences == 1 else self.unit
        count = "" if self.sentences is None else f"{self.sentences:,} {unit}"
        return ", ".join(part for part in (count, self.decoding) if part)

    def __str__(self) -> str:
        known = "; ".join(part for part in (self.interval, self.measured_on) if part)
        return f"{self.name} {self.value:.2f}" + (f" ({known})" if known else "")
