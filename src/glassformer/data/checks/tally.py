"""What was found while data was read. Every unit is counted as used or dropped; each kind of finding has examples.

units = used + dropped, always.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from glassformer.data.readers.records import Place, Problem
from glassformer.printable import shortened

EXAMPLES = 5  # of each kind
STOP, DROP, NOTE = "stop", "drop", "note"  # to correct before training; the unit is not used; for information
UNREADABLE = {"encoding", "nul", "too big", "columns", "json", "syntax", "score"}
UNREADABLE_SHARE = 0.01  # above this, the file probably has another format,
FEW, FEW_SHARE = 5, 0.2  # unless only this many units are unreadable, and at most this share: mistakes in a small file
HARMLESS = {"header", "obsolete", "plural"}  # not examples: nothing is lost by dropping them
IN_TEST = "in test"  # the kind of a note: training would use it, and the score on the test data would be too high
SHOWS_MORE = "`glassformer doctor` shows more."
ICONV = "If a file is in an older encoding, convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW_FILE"


class Unit(Protocol):
    """One unit of an input, whatever the task: a pair, a row, a line."""

    @property
    def texts(self) -> tuple[str, ...]: ...
    @property
    def problem(self) -> Problem | None: ...
    @property
    def notes(self) -> tuple[Problem, ...]: ...


@dataclass(frozen=True)
class Example:
    """One case of a finding: where, what, and the beginning of the unit's texts."""

    problem: Problem
    texts: tuple[str, ...]

    @property
    def source(self) -> str:
        return self.texts[0]

    @property
    def target(self) -> str:
        return self.texts[1]


@dataclass
class Finding:
    """How often something was found, and the first few cases."""

    kind: str
    help: str
    severity: str
    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, problem: Problem, unit: Unit) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(Example(problem, tuple(map(shortened, unit.texts))))


class Kinds(dict[str, Finding]):
    """Findings of one sort, by kind. A kind is added when it is first found."""

    def __init__(self, helps: dict[str, str], severity: str) -> None:
        super().__init__()
        self.helps, self.severity = helps, severity

    def __missing__(self, kind: str) -> Finding:
        self[kind] = Finding(kind, self.helps.get(kind, kind), self.severity)
        return self[kind]


class Tally:
    """Counts units while they are read. `problems` are units that cannot be used, `notes` oddities of used ones."""

    def __init__(self, problems: dict[str, str], notes: dict[str, str]) -> None:
        self.units = 0
        self.used = 0
        self.dropped = Counter[str]()  # by reason
        self.first_dropped: dict[str, Problem] = {}  # by reason
        self.problems = Kinds(problems, DROP)
        self.notes = Kinds(notes, NOTE)
        self.refused = ""  # why training would not start with this data, as far as it is known

    def count(self, unit: Unit, reason: str | None) -> None:
        """Counts one unit: used, or dropped for this reason."""
        self.units += 1
        for note in {note.kind: note for note in reversed(unit.notes)}.values():  # each kind once per unit
            self.notes[note.kind].add(note, unit)
        if reason is None:
            self.used += 1
            return
        self.dropped[reason] += 1
        if unit.problem is None:
            return
        self.first_dropped.setdefault(reason, unit.problem)
        if self.is_problem(reason):
            self.problems[reason].add(unit.problem, unit)

    def is_problem(self, reason: str) -> bool:  # noqa: ARG002
        """Whether a drop for this reason is listed as a problem."""
        return True

    def sorts(self) -> tuple[Kinds, ...]:
        """All findings, by sort."""
        return self.problems, self.notes

    def ordered(self) -> list[Finding]:
        """All findings, the most serious first."""
        found = [finding for sort in self.sorts() for finding in sort.values()]
        for finding in found:
            finding.severity = self.severity(finding)
        order = (STOP, DROP, NOTE)
        return sorted((f for f in found if f.count), key=lambda f: (order.index(f.severity), -f.count, f.kind))

    def severity(self, finding: Finding) -> str:
        if finding is not self.problems.get(finding.kind):
            return STOP if finding.kind == IN_TEST else NOTE
        if finding.kind in UNREADABLE:
            unreadable = sum(self.dropped[kind] for kind in UNREADABLE)
            share = UNREADABLE_SHARE if unreadable > FEW else FEW_SHARE
            return STOP if unreadable > share * self.units else DROP
        return NOTE if finding.kind in HARMLESS else DROP

    @property
    def stops(self) -> list[Finding]:
        """Findings with which training does not start. It does not know the test data."""
        return [finding for finding in self.ordered() if finding.severity == STOP and finding.kind != IN_TEST]

    def refuse(self, error: Exception) -> None:
        """Remembers why training would not start; doctor, which shows this, is not named as the next step."""
        self.refused = str(error).removesuffix(SHOWS_MORE).rstrip()

    @property
    def lost(self) -> int:
        """How many units were dropped, without the headers of tables, which are no examples."""
        return self.units - self.used - self.dropped["header"]

    @property
    def examples_read(self) -> int:
        """All units without the headers of tables."""
        return self.units - self.dropped["header"]

    def left_out(self) -> str:
        """How many units were not used and why, with the first place of each reason, or all if few are unreadable."""
        if not self.examples_read:
            return "there is only a header" if self.units else "the input is empty"
        first = {
            reason: f" (first: {problem.place}{self._others(reason)})" for reason, problem in self.first_dropped.items()
        }
        lost = {reason: count for reason, count in self.dropped.items() if reason != "header"}
        reasons = [f"{count:,} {reason}{first.get(reason, '')}" for reason, count in lost.items()]
        return f"{self.lost:,} of {self.examples_read:,} left out: {'; '.join(reasons)}"

    def _others(self, reason: str) -> str:
        """The places after the first of a few unreadable units: `; a.tsv, line 7`."""
        if reason not in UNREADABLE or self.dropped[reason] > EXAMPLES or reason not in self.problems:
            return ""
        places = [one.problem.place for one in self.problems[reason].examples[1:]]
        return "".join(f"; {place.file}, {place.unit} {place.number:,}" for place in places)


def finding_dict(finding: Finding, names: tuple[str, ...] | None = None) -> dict[str, Any]:
    """A finding as JSON data. `names` are the names of the examples' texts; without them, the texts are a list."""
    examples = [{**place_dict(one.problem), **_texts_dict(one.texts, names)} for one in finding.examples]
    return {**asdict(finding), "examples": examples}


def _texts_dict(texts: tuple[str, ...], names: tuple[str, ...] | None) -> dict[str, Any]:
    return {"texts": list(texts)} if names is None else dict(zip(names, texts, strict=True))


def place_dict(problem: Problem) -> dict[str, Any]:
    """A problem as JSON data: its detail and place."""
    place: Place = problem.place
    return {
        "detail": problem.detail,
        "file": place.file,
        "unit": place.unit,
        "number": place.number,
        "byte": place.byte,
    }
