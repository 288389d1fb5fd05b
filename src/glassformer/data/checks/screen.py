"""Every record of a corpus in order, with the reason why it is dropped, or None. Doctor, clean and train all use this,
so they make the same decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from glassformer.data.checks.blocks import Block
from glassformer.data.checks.filters import FILTERS, Check, Filter, Hits, chosen_filters
from glassformer.data.checks.findings import Findings
from glassformer.data.checks.held import Held
from glassformer.data.checks.oddities import found_in
from glassformer.data.checks.profile import PAIRS, learn
from glassformer.data.checks.seen import SeenHashes
from glassformer.data.readers.records import Record

ROWS = 2048  # judged together
UNITS_PER_PAIR = 5  # at most this many units are read for each pair to learn from

Verdict = tuple[Record, str | None]


def screen(
    records: Iterable[Record],
    *,
    filters: Sequence[str] = (),
    findings: Findings,
    held: Held | None = None,
    examine: float = 0,
) -> Iterator[Verdict]:
    """Each record with the reason for its drop: the reader's problem, or the first of the `filters` that hits.

    A record that a filter drops gets a `problem` that says why. What is usual is learnt from the first pairs, which are
    held back until there are enough. The first `examine` usable pairs (rounded up to whole blocks) also go through all
    filters, to count what each would drop alone, and are searched for oddities; this drops nothing.
    """
    chosen = chosen_filters(filters)
    return _screened(iter(records), chosen, findings, held or Held(), examine)


def _screened(
    records: Iterator[Record], chosen: list[Filter], findings: Findings, held: Held, examine: float
) -> Iterator[Verdict]:
    first: list[Record] = []
    if chosen or examine:
        first = _first_usable(records, PAIRS)
        findings.profile = learn(_block(first))
    findings.held = held.parts
    checks = {one.name: one.start(findings.profile, held) for one in chosen}
    examiner = Examiner(findings, held) if examine else None
    stream, examined = chain(first, records), 0
    while rows := list(islice(stream, ROWS)):
        usable = [record for record in rows if record.problem is None]
        block = _block(usable)
        if examiner is not None and examined < examine:
            examiner.examine(block, usable)
            examined += len(block)
        else:
            held.match(block)  # overlap with held-out sentences is counted over the whole corpus
        _drop(usable, block, checks, findings)
        for record in rows:
            reason = None if record.problem is None else record.problem.kind
            findings.count(record, reason)
            yield record, reason


def _first_usable(records: Iterator[Record], count: int) -> list[Record]:
    """The first records, until this many of them are usable."""
    taken: list[Record] = []
    for record in islice(records, UNITS_PER_PAIR * count):  # bounds the memory if few are usable
        taken.append(record)
        count -= record.problem is None
        if not count:
            break
    return taken


def _block(records: Iterable[Record]) -> Block:
    usable = [record for record in records if record.problem is None]
    return Block([record.source for record in usable], [record.target for record in usable])


def _drop(usable: list[Record], block: Block, checks: dict[str, Check], findings: Findings) -> None:
    """Gives a problem to each record that a filter drops."""
    among = np.ones(len(block), dtype=np.bool_)
    for name, check in checks.items():
        for row, detail in check(block, among).items():
            if among[row]:
                among[row] = False
                flaw = usable[row].problem = usable[row].flaw(name, detail)
                if not findings.examined:
                    findings.hits[name].add(flaw, usable[row])


class Examiner:
    """Counts what each filter would drop alone, and everything else of interest about the usable pairs."""

    def __init__(self, findings: Findings, held: Held) -> None:
        self.findings = findings
        findings.examined, findings.left = True, 0
        self.checks = {name: one.start(findings.profile, held) for name, one in FILTERS.items()}
        self.sources = SeenHashes()

    def examine(self, block: Block, records: Sequence[Record]) -> None:
        findings = self.findings
        every = np.ones(len(block), dtype=np.bool_)
        hits = {name: check(block, every) for name, check in self.checks.items()}
        for name in hits:
            self._add_hits(name, hits[name], records)
        bad = {row for name in hits if FILTERS[name].recommended for row in hits[name]}
        findings.left = (findings.left or 0) + len(block) - len(bad)
        for name, row, detail in found_in(block):
            findings.oddities[name].add(records[row].flaw(name, detail), records[row])
        findings.measure(block)
        again = self.sources.add(block.source_hashes)
        again[[*hits["duplicate"], *hits["near-duplicate"]]] = False  # these have the same target too
        findings.repeated_sources += int(again.sum())

    def _add_hits(self, name: str, hits: Hits, records: Sequence[Record]) -> None:
        for row in sorted(hits):
            self.findings.hits[name].add(records[row].flaw(name, hits[row]), records[row])
