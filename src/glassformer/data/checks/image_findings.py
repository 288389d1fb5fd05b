"""What was found in images: sizes, classes, unreadable files, duplicates, constant images, leaks to held-out parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from glassformer.data.checks.held_texts import LEARNED, LEFT_OUT, TEST, held_sentence
from glassformer.data.checks.label_findings import label_order, missing_lines

SHOWN = 5  # names that are kept for each kind of finding

PROBLEMS = {  # kind: what it means; images with a problem are left out
    "unreadable": "cannot be read",
    "no label": "without a label",
    "overlap": "the same image is also held out",
    "new label": "held out with a label that training does not have",
}
NOTES = {
    "duplicate": "the same pixels with the same label as an earlier image",
    "conflict": "the same pixels as an earlier image, with another label",
    "constant": "all pixels are equal",
    "dark": "nearly black: 255, or 65,535 in a file of 16 bits, is white. Scale values of 12 bits to all",
}


@dataclass
class HeldImages:
    """A held-out part, and how many of its images are also in the training data."""

    name: str
    images: int
    met: int = 0
    examples: list[str] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)  # the names of the same images in the training data

    @classmethod
    def of(cls, name: str, images: Iterable[tuple[str, bytes]], learned: Mapping[bytes, str]) -> HeldImages:
        """`images` are the names and hashes of the part, `learned` the names in the training data by their hashes."""
        found = cls(name, 0)
        for own, mark in images:
            found.images += 1
            if mark in learned:
                found.met += 1
                if found.met <= SHOWN:
                    found.examples.append(own)
                    found.twins.append(learned[mark])
        return found

    def lines(self) -> list[str]:
        """How many of how many are in the training data, what it means and what to do, and some examples."""
        first = held_sentence(self.name, self.met, self.images, "images", compared="the same pixels after resizing")
        if not self.met:
            return [first]
        names = (f"  {own} is {twin}" for own, twin in zip(self.examples, self.twins, strict=True))
        return [f"{first}. {LEARNED if self.name == TEST else LEFT_OUT}", *names]


class ImageFindings:
    """Filled while images are read."""

    def __init__(self) -> None:
        self.units = 0  # images that were tried
        self.used = 0
        self.counts = Counter[str]()  # of problems and notes
        self.examples: dict[str, list[str]] = {}
        self.labels = Counter[str]()
        self.sizes = Counter[tuple[int, int]]()  # height, width
        self.channels = Counter[int]()
        self.ignored: tuple[str, ...] = ()
        self.empty: tuple[str, ...] = ()  # folders of classes without images
        self.held: list[HeldImages] = []
        self.missing: dict[str, list[str]] = {}  # held-out part: the labels that none of its images has
        self.captions: dict[str, int] = {}  # their number, words and longest, if the images have captions

    def add(self, kind: str, name: str) -> None:
        self.counts[kind] += 1
        kept = self.examples.setdefault(kind, [])
        if len(kept) < SHOWN:
            kept.append(name)

    def balance(self) -> dict[str, int]:
        return {label: self.labels[label] for label in label_order(self.labels)}

    @property
    def dropped(self) -> dict[str, int]:
        return {kind: self.counts[kind] for kind in PROBLEMS if self.counts[kind]}

    @property
    def notes(self) -> dict[str, int]:
        return {kind: self.counts[kind] for kind in NOTES if self.counts[kind]}

    def lines(self) -> list[str]:
        """Each finding in one line, with the first names."""
        known = {**PROBLEMS, **NOTES}
        return [*map(empty_line, self.empty), *missing_lines(self.missing)] + [
            f"{count:,} {'image' if count == 1 else 'images'}: {known[kind]} "
            f"({'; '.join(self.examples[kind][:2])}{'; ...' if count > 2 else ''})"
            for kind, count in {**self.dropped, **self.notes}.items()
        ]

    def size_words(self) -> str:
        """The sizes in a few words."""
        if len(self.sizes) == 1:
            ((height, width),) = self.sizes
            return f"all {height} x {width} pixels"
        heights, widths = zip(*self.sizes, strict=True) if self.sizes else ((0,), (0,))
        return (
            f"{len(self.sizes):,} sizes, from {min(heights)} x {min(widths)} to {max(heights)} x {max(widths)} pixels"
        )

    def to_dict(self) -> dict[str, Any]:
        found = {**self.dropped, **self.notes}
        return {
            "unit": "image",
            "units": self.units,
            "used": self.used,
            "dropped": self.dropped,
            **({"captions": self.captions} if self.captions else {"labels": self.balance()}),
            "sizes": [{"height": h, "width": w, "count": n} for (h, w), n in self.sizes.most_common(20)],
            "channels": dict(self.channels),
            "ignored": list(self.ignored[:SHOWN]),
            "empty": list(self.empty),
            "held": [vars(part) for part in self.held],
            "missing_labels": self.missing,
            "findings": [{"kind": kind, "count": n, "examples": self.examples[kind]} for kind, n in found.items()],
        }


def empty_line(folder: str) -> str:
    return f"Warning: the folder {folder} has no images, so this class does not exist for the model"
