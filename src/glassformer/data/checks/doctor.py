"""Examines a corpus before training."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from glassformer.data.checks.findings import Findings
from glassformer.data.checks.held import Held
from glassformer.data.checks.screen import screen
from glassformer.data.readers.inputs import Choice, Input, languages_of, read_pairs
from glassformer.data.slips.watch import SlipWatch, slip_problems

Progress = Callable[[int, int], None]


def examine(
    inputs: Sequence[Input],
    *,
    columns: Choice = None,
    languages: Choice = None,
    valid: Sequence[Input] = (),
    test: Sequence[Input] = (),
    progress: Progress | None = None,
) -> Findings:
    """Everything that one pass over the inputs can find. Nothing is written or changed."""
    held = read_held(valid=valid, test=test, columns=columns, languages=languages)
    findings = Findings()
    findings.languages = languages or languages_of(inputs)
    watch = SlipWatch(inputs)
    records = watch.passing(read_pairs(inputs, columns=columns, languages=languages, progress=progress))
    for _ in screen(records, findings=findings, held=held, examine=math.inf):
        pass
    record_slips(watch, findings)
    return findings


def record_slips(watch: SlipWatch, findings: Findings) -> None:
    """Adds to the findings where aligned files are out of step. Call it after the last record was read."""
    for one, slips in watch.slips():
        findings.found_slips += slips
        for problem, record in slip_problems(one, slips):
            findings.slips["slip"].add(problem, record)


def read_held(*, valid: Sequence[Input], test: Sequence[Input], columns: Choice, languages: Choice) -> Held:
    """The held-out parts that were given."""
    held = Held()
    for name, inputs in (("valid", valid), ("test", test)):
        if inputs:
            held.add(name, read_pairs(inputs, columns=columns, languages=languages))
    return held
