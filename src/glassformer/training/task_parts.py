"""What the functions of a task get and return: examples, material, the setup of a run, parts of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from glassformer.text import Tokenizer

Example = Any  # what a task reads: a pair of sentences, a text with its label, ...
Tokenizers = Mapping[str, Tokenizer]  # by the name of their file in the run folder
TOKENIZER = "tokenizer.json"  # where there is one


@dataclass(frozen=True)
class Material:
    """The training examples of a run, as a stream that can be restarted, and its held-out examples."""

    train: Callable[[], Iterator[Example]]
    count: int  # examples that `train` gives
    valid: Sequence[Example]
    fingerprints: dict[str, str]  # "train" and "valid": sha256 of the examples; "files": of the raw files
    test: Sequence[Example] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # the task's own, e.g. what the checks found


@dataclass(frozen=True)
class Setup:
    """What a task's functions need besides data: the same on every rank, and when a run is loaded."""

    recipe: Any  # of the task's own class
    tokenizers: Tokenizers

    @property
    def tokenizer(self) -> Tokenizer:
        """The only one, where a task has one."""
        return self.tokenizers[TOKENIZER]


@dataclass(frozen=True)
class ReportParts:
    """What a task adds to the report of a finished run."""

    page: Mapping[str, Any] = field(default_factory=dict)  # fields of `explain.report.Report`
    record: Mapping[str, Any] = field(default_factory=dict)  # fields of the last line of metrics.jsonl
