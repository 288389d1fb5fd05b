"""Which scenes there are, what is said about them, and which combinations are held out.

A scene has one or two groups. A group is one to three equal shapes of one colour. Two groups are above each other or
side by side. A caption names both groups and their relation; both directions are right ("a circle above a square", "a
square below a circle").

A combination is (number, colour, shape, place), where the place is that of the group: alone, above, below, left or
right. Some combinations are held out: the training scenes contain none of them, and each validation or test scene has
at least one. A model can describe them only if it has learned counts, colours, shapes and relations separately.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COUNTS = ("a", "two", "three")
COLOURS = ("red", "green", "blue", "yellow", "purple", "orange")
SHAPES = ("circle", "square", "triangle", "star", "cross")
PLACES = ("alone", "above", "below", "left", "right")
WORDS = {"above": "above", "below": "below", "left": "to the left of", "right": "to the right of"}
OPPOSITES = {"above": "below", "below": "above", "left": "right", "right": "left"}
PARTS = ("train", "valid", "test")
HELD = 0.1  # share of the combinations held out for validation, and the same share for the test
ALONE = 0.15  # share of the scenes with one group
TRIES = 1000


class Combination(NamedTuple):
    """What is held out: a group at a place."""

    number: str
    colour: str
    shape: str
    place: str


@dataclass(frozen=True)
class Group:
    """n equal shapes. `centres` (n, 2) and `sizes` (n,) are in parts of the image; `turns` (n,) in radians."""

    number: str
    colour: str
    shape: str
    place: str
    centres: NDArray[np.float64]
    sizes: NDArray[np.float64]  # half of the height
    turns: NDArray[np.float64]

    @property
    def combination(self) -> Combination:
        return Combination(self.number, self.colour, self.shape, self.place)

    @property
    def words(self) -> str:
        article = "an" if self.number == "a" and self.colour[0] in "aeiou" else self.number
        return f"{article} {self.colour} {plural(self.shape) if self.number != 'a' else self.shape}"


@dataclass(frozen=True)
class Scene:
    """One group alone, or two groups."""

    groups: tuple[Group, ...]
    seed: int  # of the background and the noise


@dataclass(frozen=True)
class Scenes:
    """The scenes of the three parts."""

    train: list[Scene]
    valid: list[Scene]
    test: list[Scene]


def plural(shape: str) -> str:
    return shape + ("es" if shape.endswith("s") else "s")


def captions_of(scene: Scene) -> tuple[str, ...]:
    """All right captions: one for each direction of the relation."""
    if len(scene.groups) == 1:
        return (scene.groups[0].words,)
    first, second = scene.groups
    return (
        f"{first.words} {WORDS[first.place]} {second.words}",
        f"{second.words} {WORDS[second.place]} {first.words}",
    )


def part_of(one: Combination) -> str:
    """The part that a combination belongs to: a hash decides, so it is the same for every seed."""
    digest = hashlib.blake2b(" ".join(one).encode(), digest_size=4).digest()
    share = int.from_bytes(digest, "big") / 2**32
    return "valid" if share < HELD else "test" if share < 2 * HELD else "train"


COMBINATIONS = {one: part_of(one) for one in map(Combination._make, product(COUNTS, COLOURS, SHAPES, PLACES))}


def is_held(scene: Scene, part: str) -> bool:
    """Whether a scene may be in this part: training scenes have no held-out combination, others one of their own."""
    parts = {COMBINATIONS[group.combination] for group in scene.groups}
    return parts == {"train"} if part == "train" else part in parts and parts <= {"train", part}


def scenes(train: int, *, held: int = 1000, seed: int = 1) -> Scenes:
    """Scenes of the three parts, a function of the numbers and the seed."""
    sizes = {"train": train, "valid": held, "test": held}
    found = {part: list(_part(part, sizes[part], np.random.default_rng([seed, i]))) for i, part in enumerate(PARTS)}
    return Scenes(found["train"], found["valid"], found["test"])


def _part(part: str, count: int, random: np.random.Generator) -> Iterator[Scene]:
    for _ in range(count):
        for _ in range(TRIES):
            kinds = _kinds(random)
            if _fits(kinds, part):
                yield Scene(tuple(_placed(kind, random) for kind in kinds), int(random.integers(2**31)))
                break


def _fits(kinds: list[Combination], part: str) -> bool:
    parts = {COMBINATIONS[kind] for kind in kinds}
    return parts == {"train"} if part == "train" else part in parts and parts <= {"train", part}


def _kinds(random: np.random.Generator) -> list[Combination]:
    """What a scene shows. Two groups differ in colour or shape, so that a caption can name them apart."""
    alone = random.random() < ALONE
    place = "alone" if alone else PLACES[1 + int(random.integers(4))]
    first = _drawn(random, place)
    if alone:
        return [first]
    while True:
        second = _drawn(random, OPPOSITES[place])
        if (second.colour, second.shape) != (first.colour, first.shape):
            return [first, second]


def _drawn(random: np.random.Generator, place: str) -> Combination:
    number, colour, shape = (names[int(random.integers(len(names)))] for names in (COUNTS, COLOURS, SHAPES))
    return Combination(number, colour, shape, place)


# The middle and the half-width of the area of each place, as (y, x)
AREAS = {
    "alone": ((0.5, 0.5), (0.42, 0.42)),
    "above": ((0.26, 0.5), (0.2, 0.42)),
    "below": ((0.74, 0.5), (0.2, 0.42)),
    "left": ((0.5, 0.26), (0.42, 0.2)),
    "right": ((0.5, 0.74), (0.42, 0.2)),
}
SMALLEST, LARGEST = 0.085, 0.115  # half of the height of a shape
REACH = 1.15  # a turned shape reaches a little further
ASIDE = 0.12  # how far the middle of a group may be from the middle of the image, across its relation


def _placed(kind: Combination, random: np.random.Generator) -> Group:
    """Shapes side by side along the longer axis of their area, each at random in its own part: they do not touch.

    What is above something else must not also be beside it: a group of a relation stays near the middle of that axis.
    """
    middle, halves = AREAS[kind.place]
    count = 1 + COUNTS.index(kind.number)
    sizes = random.uniform(SMALLEST, LARGEST, count)
    along = int(random.integers(2)) if kind.place == "alone" else int(halves[1] > halves[0])
    draws = random.uniform(-1, 1, (2, count))
    cell = halves[along] / count  # half of the part of each
    starts = cell * (2 * np.arange(count) + 1) - halves[along]
    centres = np.empty((count, 2))
    room = cell - REACH * sizes
    centres[:, along] = middle[along] + starts + draws[0] * (room if kind.place == "alone" else np.minimum(room, ASIDE))
    centres[:, 1 - along] = middle[1 - along] + draws[1] * (halves[1 - along] - REACH * sizes)
    return Group(kind.number, kind.colour, kind.shape, kind.place, centres, sizes, random.uniform(-0.25, 0.25, count))
