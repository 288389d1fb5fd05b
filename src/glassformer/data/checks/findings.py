"""What was found in a corpus: every unit counted, as used or dropped, and every oddity with examples of where it is.

units = used + dropped, always.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.data.checks.blocks import SIDES, Block
from glassformer.data.checks.filters import FILTERS
from glassformer.data.checks.held import HeldPart
from glassformer.data.checks.oddities import ODDITIES
from glassformer.data.checks.printable import shortened
from glassformer.data.checks.profile import Profile
from glassformer.data.checks.ratios import STEPS, Ratios
from glassformer.data.checks.slippage import FoundSlip
from glassformer.data.readers.records import Place, Problem, Record

EXAMPLES = 5  # of each kind
STOP, DROP, NOTE = "stop", "drop", "note"  # to be mended before training; the pair is not used; for information
UNREADABLE = {"encoding", "nul", "too big", "columns", "json", "syntax"}
ICONV = "If a file is in an older encoding, convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW_FILE"
UNREADABLE_SHARE = 0.01  # more than this and the file is probably not what it is taken for
_HARMLESS = {"header", "obsolete", "plural"}  # no sentences, and none the worse for it

READER_KINDS = {
    "encoding": "not UTF-8",
    "nul": "a NUL character",
    "too big": "far too long to be a sentence",
    "no partner": "lines of the longer file without a partner",
    "blank": "one side or both are blank",
    "columns": "a row with too few columns",
    "json": "no JSON object with the two texts",
    "header": "a header, no sentence",
    "fuzzy": "marked as fuzzy, so not yet a translation",
    "obsolete": "marked as obsolete",
    "plural": "a further plural form",
    "syntax": "an entry that cannot be read",
    "language": "a unit without one of the two languages",
}
SLIP_KINDS = {"slip": "two files go out of step, so that lines stand beside wrong partners"}
NOTE_KINDS = {
    "bom": "a byte order mark, dropped",
    "separator": "a sign inside the sentence that others take for the end of a line",
    "variant": "a unit with several texts in one language; the first is used",
    "inline": "markup inside the text, dropped",
    "columns": "further columns, ignored",
}


@dataclass(frozen=True)
class Example:
    """One case of a finding: where, what, and the beginning of the two texts."""

    problem: Problem
    source: str
    target: str


@dataclass
class Finding:
    """How often something was found, and the first few cases."""

    kind: str
    help: str
    severity: str
    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, problem: Problem, record: Record) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(Example(problem, shortened(record.source), shortened(record.target)))


class Kinds(dict[str, Finding]):
    """Findings of one sort by their kind; those that nobody met are not in it."""

    def __init__(self, helps: dict[str, str], severity: str) -> None:
        super().__init__()
        self.helps, self.severity = helps, severity

    def __missing__(self, kind: str) -> Finding:
        self[kind] = Finding(kind, self.helps.get(kind, kind), self.severity)
        return self[kind]


@dataclass
class Lengths:
    """How long the lines of a side are. The last place of each histogram also holds all longer ones."""

    characters: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1001, dtype=np.int64))
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(201, dtype=np.int64))
    total_characters: int = 0
    total_words: int = 0

    def add(self, characters: NDArray[np.int64], words: NDArray[np.int64]) -> None:
        for histogram, values in ((self.characters, characters), (self.words, words)):
            histogram += np.bincount(np.minimum(values, len(histogram) - 1), minlength=len(histogram))
        self.total_characters += int(characters.sum())
        self.total_words += int(words.sum())


class Findings:
    """Filled while records are screened; `to_dict()` is all of it for a program."""

    def __init__(self) -> None:
        self.units = 0
        self.used = 0
        self.dropped = Counter[str]()  # by reason: a reader's kind, or a filter
        self.first_dropped: dict[str, Problem] = {}  # by the same
        self.problems = Kinds(READER_KINDS, DROP)  # units that cannot be used
        self.hits = Kinds({name: one.help for name, one in FILTERS.items()}, DROP)
        self.notes = Kinds(NOTE_KINDS, NOTE)
        self.slips = Kinds(SLIP_KINDS, STOP)
        self.oddities = Kinds({name: one.help for name, one in ODDITIES.items()}, NOTE)
        self.examined = False  # every filter was asked about every usable pair: then `hits` tells what each would drop
        self.left: int | None = None  # after all recommended filters
        self.flattened = 0  # pairs whose line breaks or tabs became spaces, since the output cannot hold them
        self.repeated_sources = 0  # pairs whose source stood before with another target
        self.lengths = (Lengths(), Lengths())
        self.ratios = Ratios()
        self.profile = Profile()
        self.languages: tuple[str | None, str | None] = (None, None)
        self.held: list[HeldPart] = []
        self.found_slips: list[FoundSlip] = []

    def count(self, record: Record, reason: str | None) -> None:
        """Takes down one unit: used, or dropped for this reason."""
        self.units += 1
        for note in {note.kind: note for note in reversed(record.notes)}.values():  # each kind once a unit
            self.notes[note.kind].add(note, record)
        if reason is None:
            self.used += 1
            return
        self.dropped[reason] += 1
        if record.problem is None:
            return
        self.first_dropped.setdefault(reason, record.problem)
        if reason not in FILTERS:
            self.problems[reason].add(record.problem, record)

    def measure(self, block: Block) -> None:
        """Takes down how long the lines are, alone and against each other."""
        for side, lengths in enumerate(self.lengths):
            words = np.array([len(words) for words in block.words[side]], dtype=np.int64)
            lengths.add(block.lengths[:, side], words)
        self.ratios.add(self.profile.length_deviation(block.lengths))

    def ordered(self) -> list[Finding]:
        """All that was found, the most serious first."""
        sorts = (self.slips, self.problems, self.hits, self.notes, self.oddities)
        found = [finding for sort in sorts for finding in sort.values()]
        for finding in found:
            finding.severity = self._severity(finding)
        order = (STOP, DROP, NOTE)
        return sorted((f for f in found if f.count), key=lambda f: (order.index(f.severity), -f.count, f.kind))

    def _severity(self, finding: Finding) -> str:
        if finding is self.problems.get(finding.kind):
            unreadable = sum(self.dropped[kind] for kind in UNREADABLE)
            if finding.kind == "no partner":
                return STOP
            if finding.kind in UNREADABLE:
                return STOP if unreadable > UNREADABLE_SHARE * self.units else DROP
            return NOTE if finding.kind in _HARMLESS else DROP
        if finding is self.hits.get(finding.kind):
            return DROP if FILTERS[finding.kind].recommended else NOTE
        return STOP if finding.kind in self.slips else NOTE

    @property
    def stops(self) -> list[Finding]:
        """What training refuses."""
        return [finding for finding in self.ordered() if finding.severity == STOP]

    def to_dict(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "used": self.used,
            "dropped": dict(self.dropped),
            "languages": list(self.languages),
            "findings": [finding_dict(finding) for finding in self.ordered()],
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


def finding_dict(finding: Finding) -> dict[str, Any]:
    examples = [{**place_dict(e.problem), "source": e.source, "target": e.target} for e in finding.examples]
    return {**asdict(finding), "examples": examples}


def place_dict(problem: Problem) -> dict[str, Any]:
    """A problem for a program: detail and place side by side."""
    place: Place = problem.place
    return {
        "detail": problem.detail,
        "file": place.file,
        "unit": place.unit,
        "number": place.number,
        "byte": place.byte,
    }


def lengths_dict(lengths: Lengths) -> dict[str, Any]:
    """Histograms are lists: at place n, how many lines have n characters (words)."""
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
