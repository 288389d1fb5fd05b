"""Settings of data for text-to-text models: inputs with the texts to write for them, of one task or several."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from glassformer import limits
from glassformer.config import Settings
from glassformer.data.settings import FileSettings, comma_separated, one_or_several

Measure = Literal["auto", "bleu", "rouge", "exact", "f1"]


Take = Annotated[float, Field(ge=0, le=limits.RATIO)]


class TaskFiles(Settings):
    """One task of several: [data.tasks.NAME] in a recipe."""

    files: tuple[str, ...] = Field((), description="Its training files.")
    valid: tuple[str, ...] = Field((), description="Its validation files, or a share to hold out.")
    columns: tuple[str, ...] | None = Field(None, description="Input and output, by name or number.")
    metric: Measure = Field("auto", description="Its main metric: bleu, rouge, exact or f1 (of words).")
    weight: float = Field(1.0, gt=0, le=limits.RATIO, description="How much more often its examples are used.")

    @field_validator("files", "valid", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return one_or_several(value)

    @field_validator("columns", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any) -> Any:
        return comma_separated(value) or None


@dataclass(frozen=True)
class Group:
    """The files of one task. `name` is what its inputs begin with; None: the rows say it."""

    name: str | None
    files: tuple[str, ...]
    valid: tuple[str, ...]
    columns: tuple[str, ...] | None


class WrittenDataSettings(FileSettings):
    """Inputs and the texts to write for them."""

    widths: ClassVar = (2, 3)
    example: ClassVar = "input,output or input,output,task"

    files: tuple[str, ...] = Field(
        (),
        description="Files with an input and an output per row: .tsv, .csv or .jsonl (.gz, .xz, .bz2, .zst too). For "
        "several tasks in one model, PREFIX=FILE: the prefix is put before every input of the file.",
    )
    columns: tuple[str, ...] | None = Field(
        None,
        description="The columns or keys of input and output, by name or number; a third one names the row's task.",
    )
    valid: tuple[str, ...] = Field(
        (),
        description="Validation examples: files like the training files (PREFIX=FILE), or a share to hold out, such as "
        "5%. Default: 2% of each task, at most 1,000; 10%, at most 50, of little data.",
    )
    tasks: dict[str, TaskFiles] = Field(
        default_factory=dict,
        description="The same for several tasks as a table, [data.tasks.PREFIX] with files, valid, columns, metric and "
        "weight.",
    )
    max_tokens: int = Field(
        512, ge=2, le=limits.TOKENS, description="Maximum tokens of an input. Longer inputs are cut, and counted."
    )
    max_target: int = Field(
        128, ge=2, le=limits.TOKENS, description="Maximum tokens of an output. Longer ones are left out, and counted."
    )
    cap: int = Field(
        100_000,
        ge=1,
        le=limits.STEPS,
        description="Several tasks: a task counts at most this many examples in an epoch.",
    )
    temperature: float = Field(
        1.0,
        ge=1,
        le=limits.TEMPERATURE,
        description="Several tasks: above 1, small tasks are used more often; shares are taken to the power of 1/T.",
    )
    names: tuple[str, ...] = Field((), description="The tasks. Decided by the data.")
    measures: tuple[str, ...] = Field((), description="The main metric of each task. Decided by the data.")
    takes: tuple[Take, ...] = Field((), description="How often an epoch uses an example of each task. Decided.")

    @model_validator(mode="after")
    def _one_way(self) -> WrittenDataSettings:
        if self.tasks and (self.files or self.valid_files):
            raise ValueError("give either files and valid or the table [data.tasks], not both")
        return self

    def groups(self) -> list[Group]:
        """The files of each task, in the order in which they are given."""
        if self.tasks:
            shared = self.valid  # a share
            return [
                Group(name, one.files, one.valid or shared, one.columns or self.columns)
                for name, one in self.tasks.items()
            ]
        files, valid = by_prefix(self.files), by_prefix(self.valid_files)
        if unknown := [name for name in valid if name not in files]:
            known = ", ".join(map(repr, files)) or "none"
            raise ValueError(f"valid has {unknown[0]!r}, which is not a task of files: {known}")
        in_rows = self.columns is not None and len(self.columns) == 3
        if in_rows and set(files) != {""}:
            raise ValueError("either a third column names the task of each row, or PREFIX=FILE does; not both")
        share = self.valid if self.valid_share is not None else ()
        return [
            Group(None if in_rows else name, names, valid.get(name, share), self.columns)
            for name, names in files.items()
        ]


def by_prefix(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """["summarize=a.jsonl", "summarize=b.jsonl", ...] -> {"summarize": ("a.jsonl", "b.jsonl"), ...}."""
    found: dict[str, tuple[str, ...]] = {}
    for prefix, name in map(split_prefix, names):
        found[prefix] = (*found.get(prefix, ()), name)
    if "" in found and len(found) > 1:
        other = next(prefix for prefix in found if prefix)
        raise ValueError(f"{found[''][0]} has no task, but others have ({other!r}): write TASK={found[''][0]}")
    return found


def split_prefix(name: str) -> tuple[str, str]:
    """The task and the file. A file whose own name has "=" is a file."""
    prefix, equals, file = name.partition("=")
    if not equals or os.path.exists(name):
        return "", name
    return prefix.strip().removesuffix(":"), file
