"""Sampling instead of a search, and checks of the words that users give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from glassformer.config import check_arguments
from glassformer.decode.settings import SamplingSettings
from glassformer.errors import SettingsError
from glassformer.tasks.model import described


@dataclass(frozen=True)
class Sampling:
    """Sampling; `SamplingSettings` explains the numbers and has their bounds."""

    seed: int = 0
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if self.temperature == 0:
            raise SettingsError("temperature = 0: sampling needs one above 0. For the most likely text, do not sample.")
        check_arguments(SamplingSettings, vars(self))


def check_sampling(sampling: object) -> None:
    if sampling is not None and not isinstance(sampling, Sampling):
        raise SettingsError(
            f"sampling = {described(sampling)}: give gf.Sampling(...), for example gf.Sampling(seed=1)."
        )


def words_given(name: str, given: object) -> tuple[str, ...]:
    """One string or several as a tuple; an error for anything else."""
    if isinstance(given, str):
        return (given,)
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, bytes | Mapping) else (given,)
    for one in found:
        if not isinstance(one, str):
            raise SettingsError(f"{name} has {described(one)}: give a string or several strings.")
    return tuple(one for one in found if isinstance(one, str))
