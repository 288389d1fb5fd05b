"""The tree of a beam search, to be read by people: the hypotheses it followed, their probabilities, and the winner."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.text import Text
from rich.tree import Tree as RichTree

from glassformer.decode.tree import ROOT, Fate, Node
from glassformer.explain.heat_map import visible
from glassformer.explain.view import title_view


@dataclass(frozen=True)
class Beginning:
    """A node of the tree: a hypothesis, with its last piece of text."""

    number: int
    parent: int
    piece: str
    probability: float  # of this piece, given those before it
    log_prob: float  # of all pieces so far
    ended: bool  # this piece ends the sentence
    best: bool  # part of the translation


@dataclass(frozen=True)
class Option:
    """A candidate for the next piece of a hypothesis, and what became of it."""

    piece: str
    probability: float
    log_prob: float  # of all pieces so far with it
    fate: Fate
    rule: str  # that forbids it
    beginning: int | None  # its number, if the search followed it


@dataclass(frozen=True)
class Row:
    """The most likely continuations of one hypothesis, best first."""

    beginning: int  # its number; 0 is the empty one
    options: tuple[Option, ...]


@dataclass(frozen=True)
class BeamTree:
    """Every hypothesis that a search followed, in the order of the search."""

    text: str
    translation: str
    beam: int
    beginnings: tuple[Beginning, ...]
    widened: bool = False  # a beam of 1 was requested; it has no branches, so a wider one is shown
    steps: tuple[tuple[Row, ...], ...] = ()  # what each hypothesis was chosen from

    @property
    def children(self) -> Mapping[int, list[Beginning]]:
        found: dict[int, list[Beginning]] = defaultdict(list)
        for one in self.beginnings:
            found[one.parent].append(one)
        return found

    def to_dict(self) -> dict[str, Any]:
        return finite(asdict(self))


def finite(value: Any) -> Any:
    """Plain data for JSON: the -inf of what is forbidden becomes null."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def beginnings_of(
    nodes: Sequence[Node], pieces: Sequence[str], probabilities: Sequence[float], *, eos: int, best: Sequence[int]
) -> tuple[Beginning, ...]:
    """`nodes` without the root; `best` are the tokens of the translation, with its end token."""
    path, here = set(), ROOT
    for token in best:
        here = next(node.number for node in nodes if node.parent == here and node.token == token)
        path.add(here)
    return tuple(
        Beginning(node.number, node.parent, piece, probability, node.score, node.token == eos, node.number in path)
        for node, piece, probability in zip(nodes, pieces, probabilities, strict=True)
    )


def tree_view(tree: BeamTree) -> RichTree:
    """One line for a chain of hypotheses with a single continuation each; a branch where there are several."""
    children = tree.children
    view = RichTree(title_view(tree.text, tree.translation), guide_style="dim")
    open_branches = [(view, one) for one in reversed(children[ROOT])]
    while open_branches:  # a loop, because deep trees would exceed the recursion limit
        above, first = open_branches.pop()
        run = [first]
        while len(following := children[run[-1].number]) == 1:
            run.append(following[0])
        branch = above.add(run_line(run, dropped=not following and not run[-1].ended))
        open_branches += [(branch, one) for one in reversed(following)]
    return view


def run_line(run: Sequence[Beginning], *, dropped: bool) -> Text:
    """`ein 0.93  Hund 0.71  ✗`: dim if the search dropped it, bold green on the path to the translation."""
    line = Text()
    for one in run:
        line.append(visible(one.piece), style="bold green" if one.best else "dim" if dropped else "")
        line.append(f" {one.probability:.2f}  ", style="dim")
    last = run[-1]
    mark = "✗" if dropped else "✓" if last.ended else ""
    if mark:
        line.append(f"{mark}  log P {last.log_prob:.2f}", style="bold green" if last.best else "dim")
    return line
