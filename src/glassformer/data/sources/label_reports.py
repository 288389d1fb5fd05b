"""What is reported about labelled examples while they are read."""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.data.checks.label_findings import LabelFindings, missing_lines
from glassformer.data.sources.examples import Listener
from glassformer.printable import counted, printable, shortened

SHOWN_LABELS = 10


def report(findings: LabelFindings, listener: Listener) -> None:
    """Reports a summary of the findings."""
    balance = findings.balance()
    named = ", ".join(f"{shown_label(label)} {count:,}" for label, count in list(balance.items())[:SHOWN_LABELS])
    more = f" and {len(balance) - SHOWN_LABELS:,} more" if len(balance) > SHOWN_LABELS else ""
    listener.on_stage(f"{counted(findings.used, 'example')} with {counted(len(balance), 'label')}: {named}{more}")
    for line in missing_lines(findings.missing):
        listener.on_stage(line)
    if findings.lost:
        listener.on_stage(f"Rows: {findings.left_out()}")
    if found := [one for one in findings.ordered() if one is findings.notes.get(one.kind)]:
        listener.on_stage("Used, but check: " + ", ".join(f"{one.count:,} {one.kind}" for one in found))


def report_first(texts: Sequence[str], label: str, findings: LabelFindings, listener: Listener, *, table: bool) -> None:
    """Reports the first example, and whether it may be a header: with an unusual name it is not recognised as one."""
    shown = " | ".join(shortened(printable(text), width=60) for text in texts)
    listener.on_stage(f"The first example: {shown} → {shortened(printable(label), width=60)}")
    if table and len(findings.labels) > 2 and findings.labels[label] == 1:
        named = shortened(printable(",".join((*texts, label))), width=60)
        listener.on_stage(
            f"Warning: the label {label!r} of the first row occurs only once. If that row is a header, give columns "
            f"by name: --columns {named}"
        )


def shown_label(label: str) -> str:
    return repr(shortened(printable(label), width=40))
