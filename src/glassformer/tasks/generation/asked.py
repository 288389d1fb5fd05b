"""What is asked of a text that is to be written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from glassformer.decode.protocol import Ranked, by_length
from glassformer.errors import SettingsError
from glassformer.tasks.asking import Lots


@dataclass(frozen=True)
class Asked:
    """How much, by what search or lots, and by what rules."""

    max_new: int = 128  # tokens, the end mark included
    min_new: int = 0
    beam: int = 1  # hypotheses of a search; 1 is greedy
    n_best: int = 1  # of each text: the best ones, or so many samples
    lots: Lots | None = None  # drawn instead of searched
    stop: tuple[str, ...] = ()  # a text ends before the first of these
    ban: tuple[str, ...] = ()  # words that are never said
    no_repeat: int = 0  # no so many tokens in a row twice, what is given included; 0: as often as they come
    repetition_penalty: float = 1.0  # above 1: what was said before is less likely
    alpha: float = 1.0  # hypotheses are ranked by log-probability / length^alpha

    def __post_init__(self) -> None:
        counts = {"max_new": self.max_new, "min_new": self.min_new, "no_repeat": self.no_repeat}
        counts |= {"beam": self.beam - 1, "n_best": self.n_best - 1}
        for name, value in counts.items():
            if value < 0:
                raise SettingsError(f"{name} = {getattr(self, name)}: it cannot be so little.")
        if self.min_new > self.max_new:
            raise SettingsError(f"min_new = {self.min_new} is more than max_new = {self.max_new}.")
        if self.repetition_penalty < 1:
            raise SettingsError(f"repetition_penalty = {self.repetition_penalty:g}: 1 is none; more makes them rarer.")
        if not all(self.stop) or not all(word.strip() for word in self.ban):
            raise SettingsError("Got an empty text to stop at, or a blank word that must not be said. Give words.")
        if self.lots is None and self.beam < self.n_best:
            raise SettingsError(f"{self.n_best} texts need a beam at least as wide; got a beam of {self.beam}.")
        if self.lots is not None:
            check_lots(self.lots, beam=self.beam)

    @property
    def width(self) -> int:
        """Hypotheses that are followed."""
        return self.n_best if self.lots is not None else self.beam

    @property
    def ranked(self) -> Ranked:
        return partial(by_length, alpha=self.alpha)


def check_lots(lots: Lots, *, beam: int) -> None:
    if beam > 1:
        raise SettingsError(f"Lots are drawn, a beam of {beam} searches: ask for one of the two.")
    if not lots.temperature > 0:
        raise SettingsError(f"temperature = {lots.temperature:g}: it must be above 0. Greedy search is without lots.")
    if lots.top_k < 0 or not 0 <= lots.top_p <= 1:
        raise SettingsError(f"top_k = {lots.top_k}, top_p = {lots.top_p:g}: from 0 on, and a share from 0 to 1.")
