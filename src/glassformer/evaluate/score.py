"""A score: a number with its interval and how it was computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """A metric on held-out sentences with its 95% confidence interval."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    signature: str = ""  # how it was computed, so that others can compare
    sentences: int | None = None  # how many it was measured on

    @property
    def interval(self) -> str:
        """The interval in words, or nothing."""
        return "" if self.low is None or self.high is None else f"95% interval {self.low:.2f} to {self.high:.2f}"

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f}" + (f" ({self.interval})" if self.interval else "")
