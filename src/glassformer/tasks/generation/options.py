"""Options of generated text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from glassformer.config import check_arguments
from glassformer.decode.protocol import by_length
from glassformer.decode.settings import DecodeSettings, GenerationSettings
from glassformer.errors import SettingsError
from glassformer.tasks.sampling import Sampling, check_sampling, words_given
from glassformer.tasks.text_generator import Decoding


@dataclass(frozen=True)
class GenerateOptions:
    """How much to generate, by which search or sampling, and with which rules."""

    max_new: int = 128  # tokens, including the end mark
    min_new: int = 0
    beam: int = 1  # hypotheses of a search; 1 is greedy
    n_best: int = 1  # texts returned for each input: the best ones, or samples
    sampling: Sampling | None = None  # sample instead of searching
    stop: str | Sequence[str] = ()  # a text ends before the first of these
    ban: str | Sequence[str] = ()  # words that no text may contain
    no_repeat: int = 0  # never repeat an n-gram of this length, including those of the prompt; 0 allows it
    repetition_penalty: float = 1.0  # above 1: tokens of the text and the prompt are less likely
    alpha: float = 1.0  # hypotheses are ranked by log-probability / length^alpha
    rounds: int = 10  # of an encoder, which fills all gaps at once and then the least certain ones again
    left_to_right: bool = False  # an encoder fills one gap at a time instead

    def __post_init__(self) -> None:
        check_sampling(self.sampling)
        for name in ("stop", "ban"):
            object.__setattr__(self, name, words_given(name, getattr(self, name)))
        check_arguments(
            GenerationSettings, {name: getattr(self, name) for name in ("max_new", "min_new", "n_best", "rounds")}
        )
        shared = ("beam", "no_repeat", "repetition_penalty", "alpha")
        check_arguments(DecodeSettings, {name: getattr(self, name) for name in shared})
        if self.min_new > self.max_new:
            raise SettingsError(f"min_new = {self.min_new} is more than max_new = {self.max_new}.")
        if not all(self.stop):
            raise SettingsError("Got an empty stop text. Give at least one character.")
        if not all(word.strip() for word in self.ban):
            raise SettingsError("Got a blank word to ban. Give words.")
        if self.sampling is None and self.beam < self.n_best:
            raise SettingsError(f"{self.n_best} texts need a beam at least as wide; got a beam of {self.beam}.")
        if self.sampling is not None and self.beam > 1:
            raise SettingsError(f"Got sampling and a beam of {self.beam}, which searches: use one of the two.")

    @property
    def width(self) -> int:
        """The number of hypotheses that the search follows."""
        return self.n_best if self.sampling is not None else self.beam

    @property
    def decoding(self) -> Decoding:
        """The beam stays full, as in `transformers`. Only scores decide the rank: most texts have no natural end."""
        return Decoding(
            width=self.width,
            n_best=self.n_best,
            sampling=self.sampling,
            refill=True,
            ranked=partial(by_length, alpha=self.alpha),
            cut_last=False,
            no_repeat=self.no_repeat,
            repetition_penalty=self.repetition_penalty,
            ban=self.ban,
            stop=self.stop,
        )
