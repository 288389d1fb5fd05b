"""What was found in a corpus of sentence pairs: the counts of `Tally`, filter hits, lengths and slips."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.data.checks.blocks import SIDES, Block
from glassformer.data.checks.filters import FILTERS
from glassformer.data.checks.held import HeldPart
from glassformer.data.checks.oddities import ODDITIES
from glassformer.data.checks.profile import Profile
from glassformer.data.checks.ratios import STEPS, Ratios
from glassformer.data.checks.tally import DROP, ICONV, NOTE, STOP, Finding, Kinds, Tally, finding_dict
from glassformer.data.slips.watch import FoundSlip

__all__ = ["ICONV", "Findings"]

READER_KINDS = {
    "encoding": "not UTF-8",
    "nul": "a NUL character",
    "too big": "far too long to be a sentence",
    "no partner": "lines of the longer file without a partner",
    "blank": "one side or both are blank",
    "columns": "a row with too few columns",
    "json": "not a JSON object with the two texts",
    "header": "a header, not a sentence",
    "fuzzy": "marked as fuzzy: not a confirmed translation",
    "obsolete": "marked as obsolete",
    "plural": "a further plural form",
    "syntax": "an entry that cannot be read",
    "language": "a unit without one of the two languages",
}
SLIP_KINDS = {"slip": "two files are out of step: lines are paired with the wrong lines"}
NOTE_KINDS = {
    "bom": "a byte order mark, dropped",
    "separator": "a character inside the sentence that other programs take for the end of a line",
    "variant": "a unit with several texts in one language; the first is used",
    "inline": "markup inside the text, dropped",
    "columns": "further columns, ignored",
}


@dataclass
class Lengths:
    """How long the lines of a side are. The last bin of each histogram also counts all longer lines."""

    characters: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1001, dtype=np.int64))
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(201, dtype=np.int64))
    total_characters: int = 0
    total_words: int = 0

    def add(self, characters: NDArray[np.int64], words: NDArray[np.int64]) -> None:
        for histogram, values in ((self.characters, characters), (self.words, words)):
            histogram += np.bincount(np.minimum(values, len(histogram) - 1), minlength=len(histogram))
        self.total_characters += int(characters.sum())
        self.total_words += int(words.sum())


class Findings(Tally):
    """Filled while pairs are screened; `to_dict()` gives everything as JSON data."""

    def __init__(self) -> None:
        super().__init__(READER_KINDS, NOTE_KINDS)
        self.hits = Kinds({name: one.help for name, one in FILTERS.items()}, DROP)
        self.slips = Kinds(SLIP_KINDS, STOP)
        self.oddities = Kinds({name: one.help for name, one in ODDITIES.items()}, NOTE)
        self.examined = False  # True: every filter judged every usable pair, and `hits` has what each alone would drop
        self.left: int | None = None  # after all recommended filters
        self.flattened = 0  # pairs whose line breaks or tabs became spaces because the output cannot hold them
        self.repeated_sources = 0  # pairs whose source was seen before with another target
        self.lengths = (Lengths(), Lengths())
        self.ratios = Ratios()
        self.profile = Profile()
        self.languages: tuple[str | None, str | None] = (None, None)
        self.held: list[HeldPart] = []
        self.found_slips: list[FoundSlip] = []

    def is_problem(self, reason: str) -> bool:
        return reason not in FILTERS

    def measure(self, block: Block) -> None:
        """Counts the lengths of the lines and the length ratios of the pairs."""
        for side, lengths in enumerate(self.lengths):
            words = np.array([len(words) for words in block.words[side]], dtype=np.int64)
            lengths.add(block.lengths[:, side], words)
        self.ratios.add(self.profile.length_deviation(block.lengths))

    def sorts(self) -> tuple[Kinds, ...]:
        return self.slips, self.problems, self.hits, self.notes, self.oddities

    def severity(self, finding: Finding) -> str:
        if finding is self.problems.get(finding.kind) and finding.kind == "no partner":
            return STOP
        if finding is self.hits.get(finding.kind):
            return DROP if FILTERS[finding.kind].recommended else NOTE
        return STOP if finding.kind in self.slips else super().severity(finding)

    def to_dict(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "used": self.used,
            "dropped": dict(self.dropped),
            "languages": list(self.languages),
            "findings": [finding_dict(finding, SIDES) for finding in self.ordered()],
            "filters": {name: self.hits[name].count if name in self.hits else 0 for name in FILTERS}
            if self.examined
            else None,
            "left_after_recommended": self.left,
            "flattened": self.flattened,
            "repeated_sources": self.repeated_sources,
            "sides": {name: lengths_dict(self.lengths[side]) for side, name in enumerate(SIDES)},
            "profile": profile_dict(self.profile),
            "pairs_by_ratio": {"places_per_doubling": STEPS, "counts": self.ratios.counts.tolist()},
            "slips": [
                {**asdict(found.slip), "source_file": found.source_file, "target_file": found.target_file}
                for found in self.found_slips
            ],
            "held": [held_dict(part) for part in self.held],
        }


def lengths_dict(lengths: Lengths) -> dict[str, Any]:
    """Histograms are lists: item n is the number of lines with n characters (words)."""
    return {
        "characters": lengths.total_characters,
        "words": lengths.total_words,
        "lines_by_characters": np.trim_zeros(lengths.characters, "b").tolist(),
        "lines_by_words": np.trim_zeros(lengths.words, "b").tolist(),
    }


def profile_dict(profile: Profile) -> dict[str, Any]:
    return {
        "pairs": profile.pairs,
        "target_characters_per_source_character": round(profile.length_factor, 4),
        "scripts": [sorted(scripts) for scripts in profile.scripts],
    }


def held_dict(part: HeldPart) -> dict[str, Any]:
    return {
        "name": part.name,
        "pairs": part.pairs,
        "unusable": part.unusable,
        "sources_in_train": part.sources_in_train,
        "pairs_in_train": part.pairs_in_train,
    }
