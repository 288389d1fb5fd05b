"""Hashes of the held-out sentences, to find those that are also in the training data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from glassformer.data.checks.blocks import Block
from glassformer.data.checks.seen import Flags, Hashes, is_in
from glassformer.data.readers.records import Record


@dataclass
class HeldPart:
    """One held-out part, such as "valid". Case, punctuation and spaces do not matter."""

    name: str
    pairs: int
    unusable: int
    sources: Hashes  # sorted, each once
    copies: Hashes  # how many of the part's pairs have that source
    both: Hashes  # hashes of source and target together, sorted, each once
    both_copies: Hashes
    sources_met: Flags = field(init=False)
    both_met: Flags = field(init=False)

    def __post_init__(self) -> None:
        self.sources_met = np.zeros(len(self.sources), dtype=np.bool_)
        self.both_met = np.zeros(len(self.both), dtype=np.bool_)

    def match(self, block: Block) -> Flags:
        """Which pairs of `block` have a source of this part. The part remembers which of its own pairs were found."""
        met = is_in(block.source_hashes, self.sources)
        if met.any():
            self.sources_met |= is_in(self.sources, np.sort(block.source_hashes[met]))
            self.both_met |= is_in(self.both, np.sort(block.folded_hashes[met]))
        return met

    @property
    def sources_in_train(self) -> int:
        """How many of the part's pairs have a source that is in the training data."""
        return int(self.copies[self.sources_met].sum())

    @property
    def pairs_in_train(self) -> int:
        """How many of the part's pairs are in the training data."""
        return int(self.both_copies[self.both_met].sum())


@dataclass
class Held:
    """All held-out parts of a corpus."""

    parts: list[HeldPart] = field(default_factory=list)

    def match(self, block: Block) -> None:
        """Remembers which held-out sentences are in `block`."""
        for part in self.parts:
            part.match(block)

    def add(self, name: str, records: Iterable[Record]) -> HeldPart:
        """Reads a whole held-out part; counts the pairs that cannot be used."""
        sources: list[str] = []
        targets: list[str] = []
        unusable = 0
        for record in records:
            if record.problem is None:
                sources.append(record.source)
                targets.append(record.target)
            else:
                unusable += 1
        block = Block(sources, targets)
        part = HeldPart(name, len(block), unusable, *_counted(block.source_hashes), *_counted(block.folded_hashes))
        self.parts.append(part)
        return part


def _counted(hashes: Hashes) -> tuple[Hashes, Hashes]:
    values, counts = np.unique(hashes, return_counts=True)
    return values, counts.astype(np.uint64)
