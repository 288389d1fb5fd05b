"""What is reported about tagged sentences while they are read."""

from __future__ import annotations

from glassformer.data.checks.tag_findings import TagFindings
from glassformer.data.sources.examples import Listener
from glassformer.printable import counted, printable, shortened

SHOWN = 10
NAMES = {"io": "IO", "iob1": "IOB1", "bio": "BIO", "bilou": "BILOU", "iobes": "IOBES", "plain": "plain"}


def report(findings: TagFindings, listener: Listener) -> None:
    """Reports a summary of the findings."""
    documents = f" of {counted(findings.documents, 'document')}" if findings.documents else ""
    listener.on_stage(f"{counted(findings.used, 'sentence')}{documents} with {counted(findings.words, 'word')}")
    listener.on_stage(labels_line(findings))
    if findings.lost:
        listener.on_stage(f"Sentences: {findings.left_out()}")
    noted = [one for one in findings.ordered() if one is findings.notes.get(one.kind)]
    for one in noted:
        listener.on_stage(f"Used, but check: {one.count:,} {one.kind} (first: {one.examples[0].problem})")


def labels_line(findings: TagFindings) -> str:
    """`IO labels, 4 types of entities: LOC 1,014, MISC 712, ...`"""
    found = findings.counted()
    named = ", ".join(
        f"{shortened(printable(name), width=40)} {count:,}" for name, count in list(found.items())[:SHOWN]
    )
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    if not findings.has_spans:
        return f"A label for each word, {counted(len(found), 'label')}: {named}{more}"
    return f"{NAMES[findings.scheme]} labels, {counted(len(found), 'type')} of entities: {named}{more}"
