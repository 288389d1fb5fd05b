"""The parts of a lesson. A lesson computes data first: tables, curves and lines, each with a name. The terminal view
(`view.py`), `--json` and any page are made from the same data.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from torch import Tensor

from glassformer.errors import SettingsError

Cell = str | int | float


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column names the rows. `formats` are those of its fractions, one or one per column."""

    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    formats: str | tuple[str, ...] = ".3f"
    grid: bool = False  # a matrix: columns that do not fit beside each other are shown below
    shaded: int = 0  # how many columns after the first are shares, to be shaded
    timed: bool = False  # measured with a clock, so different in each run

    def to_dict(self) -> dict[str, Any]:
        rows = [[plain(cell) for cell in row] for row in self.rows]
        return {"kind": "table", "key": self.key, "timed": self.timed, "columns": list(self.columns), "rows": rows}


@dataclass(frozen=True)
class Lines:
    """Lines of text, formulas or code."""

    key: str
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "lines", "key": self.key, "lines": list(self.lines)}


@dataclass(frozen=True)
class Curves:
    """One or several series of numbers over the same steps."""

    key: str
    x: str
    series: Mapping[str, tuple[float, ...]]
    first: int = 0  # the x of the first number
    step: int = 1  # from one number to the next

    def to_dict(self) -> dict[str, Any]:
        series = {name: [plain(value) for value in values] for name, values in self.series.items()}
        return {"kind": "curves", "key": self.key, "x": self.x, "first": self.first, "step": self.step, "y": series}


Shown = Table | Lines | Curves


@dataclass(frozen=True)
class Correction:
    """What is often written, and what is right."""

    said: str
    right: str


@dataclass(frozen=True)
class Section:
    """A heading, one or two sentences, and what was computed."""

    title: str
    text: str
    shown: tuple[Shown, ...] = ()
    corrections: tuple[Correction, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "text": self.text,
            "shown": [one.to_dict() for one in self.shown],
            "corrections": [{"said": one.said, "right": one.right} for one in self.corrections],
        }


class Candidate(Protocol):
    """One output of a model, with the log-probabilities of its tokens."""

    @property
    def text(self) -> str: ...
    @property
    def log_probs(self) -> Sequence[float]: ...


class Searcher(Protocol):
    """A trained model that searches for its best outputs."""

    def candidates(self, texts: str, *, beam: int, n_best: int) -> Sequence[Candidate]: ...


Progress = Callable[[int, int], None]  # called with what is done, and the whole


def no_progress(done: int, total: int) -> None:
    """Shows nothing."""


@dataclass(frozen=True)
class Asked:
    """What a learner can choose. A lesson names in `takes` what it reads, with its defaults."""

    texts: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    seed: int = 0
    width: int = 64
    heads: int = 8
    length: int = 16
    window: int = 4
    size: int = 300
    beam: int = 2
    step: int = 0
    sentences: int = 100
    mask: str = ""
    model: Searcher | None = None
    progress: Progress = no_progress


@dataclass(frozen=True)
class Lab:
    """What a page needs to compute a lesson again, and the lesson's own numbers to compare with."""

    kind: str  # which lab of the page
    settings: Mapping[str, Any]  # where its controls begin, for JSON
    arrays: Mapping[str, Tensor] = field(default_factory=dict)  # what a page cannot compute, such as random vectors
    right: Mapping[str, Tensor] = field(default_factory=dict)  # results with these settings


@dataclass(frozen=True)
class Lesson:
    """One idea, computed small. `run` computes everything that is shown."""

    name: str
    title: str
    summary: str
    run: Callable[[Asked], list[Section]]
    source: str  # the paper, with the place in it
    files: tuple[str, ...]  # where the project computes it: "nn/attention.py:attend"
    takes: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[str, ...] = ()  # arguments of the command, the plain one left out
    lab: Callable[[Asked], Lab] | None = None  # what a page lets a learner change


@dataclass(frozen=True)
class Computed:
    """A lesson with its results."""

    lesson: Lesson
    given: Mapping[str, Any]
    sections: tuple[Section, ...]
    next: str = ""  # the lesson after this one
    asked: Asked = field(default_factory=Asked)

    def lab(self) -> Lab | None:
        return None if self.lesson.lab is None else self.lesson.lab(self.asked)

    def to_dict(self) -> dict[str, Any]:
        return {
            "lesson": self.lesson.name,
            "title": self.lesson.title,
            "summary": self.lesson.summary,
            "given": {name: list(value) if isinstance(value, tuple) else value for name, value in self.given.items()},
            "sections": [one.to_dict() for one in self.sections],
            "source": self.lesson.source,
            "files": list(self.lesson.files),
            "next": self.next,
        }

    def table(self, key: str) -> Table:
        return next(one for part in self.sections for one in part.shown if isinstance(one, Table) and one.key == key)


def asked_for(lesson: Lesson, given: Mapping[str, Any], *, progress: Progress = no_progress) -> Asked:
    """The lesson's defaults with what the learner gave; an error if the lesson does not read it."""
    for name in given:
        if name not in lesson.takes:
            can = ", ".join(map(shown_option, lesson.takes)) or "nothing"
            raise SettingsError(f"The lesson {lesson.name} does not take {shown_option(name)}. It takes: {can}.")
    return replace(Asked(progress=progress), **{**lesson.takes, **given})


def shown_option(name: str) -> str:
    """How an option is written on the command line."""
    return {"texts": "texts", "queries": "--query"}.get(name, f"--{name}")


def lesson_named(lessons: Mapping[str, Lesson], name: str) -> Lesson:
    if name in lessons:
        return lessons[name]
    close = difflib.get_close_matches(name.lower(), lessons, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise SettingsError(f"There is no lesson {name!r}.{hint} Lessons: {', '.join(lessons)}.")


def matrix(
    key: str,
    values: Tensor,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    digits: int = 3,
    corner: str = "",
    sums: bool = False,
    shaded: bool = False,
) -> Table:
    """Numbers (rows, columns) with row and column names, and optionally the sum of each row."""
    cells = tuple((name, *row, *([sum(row)] if sums else [])) for name, row in zip(rows, values.tolist(), strict=True))
    names = (corner, *columns, *(["sum"] if sums else []))
    return Table(key, names, cells, f".{digits}f", grid=True, shaded=len(columns) if shaded else 0)


def table(key: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *formats: str) -> Table:
    """A table of any cells; `formats`: one for all fractions, or one for each column."""
    chosen = tuple(formats) if len(formats) > 1 else (formats or (".3f",))[0]
    return Table(key, tuple(columns), tuple(map(tuple, rows)), chosen)


def plain(value: Cell) -> Cell:
    """A cell as JSON can hold it: infinity and NaN as text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float, form: str = ".3f") -> str:
    """A number for people; minus infinity is −∞, and -0.000 is 0.000."""
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    written = format(value, form)
    return written.removeprefix("-") if not any(sign in "123456789" for sign in written.split("e")[0]) else written
