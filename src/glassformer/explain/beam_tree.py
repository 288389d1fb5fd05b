"""The tree of a beam search, for people: which beginnings were followed, how likely each was, and which won."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.text import Text
from rich.tree import Tree as RichTree

from glassformer.decode.tree import ROOT, Node


@dataclass(frozen=True)
class Beginning:
    """A node with its piece of text."""

    number: int
    parent: int
    piece: str
    probability: float  # of this piece after what stands before it
    log_prob: float  # of all up to here
    ended: bool  # with this piece the sentence is at its end
    best: bool  # on the way to the translation


@dataclass(frozen=True)
class BeamTree:
    """Every beginning that a search has followed, in the order in which it did."""

    text: str
    translation: str
    beam: int
    beginnings: tuple[Beginning, ...]

    @property
    def children(self) -> Mapping[int, list[Beginning]]:
        found: dict[int, list[Beginning]] = defaultdict(list)
        for one in self.beginnings:
            found[one.parent].append(one)
        return found

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def beginnings_of(
    nodes: Sequence[Node], pieces: Sequence[str], probabilities: Sequence[float], *, eos: int, best: Sequence[int]
) -> tuple[Beginning, ...]:
    """`best`: the tokens of the translation, its end mark among them; nodes without the root."""
    way, here = set(), ROOT
    for token in best:
        here = next(node.number for node in nodes if node.parent == here and node.token == token)
        way.add(here)
    return tuple(
        Beginning(node.number, node.parent, piece, chance, node.score, node.token == eos, node.number in way)
        for node, piece, chance in zip(nodes, pieces, probabilities, strict=True)
    )


def tree_view(tree: BeamTree) -> RichTree:
    """Beginnings with one way to go on stand in one line; where the search was of two minds, it branches."""
    children = tree.children
    view = RichTree(Text.assemble(tree.text, ("  →  ", "bold"), (tree.translation, "bold")), guide_style="dim")
    open_branches = [(view, one) for one in reversed(children[ROOT])]
    while open_branches:  # deep trees must not meet the limit of recursion
        above, first = open_branches.pop()
        run = [first]
        while len(following := children[run[-1].number]) == 1:
            run.append(following[0])
        branch = above.add(line_of(run, given_up=not following and not run[-1].ended))
        open_branches += [(branch, one) for one in reversed(following)]
    return view


def line_of(run: Sequence[Beginning], *, given_up: bool) -> Text:
    """`ein 0.93  Hund 0.71  ✗`: what was given up is dim, the way to the translation bold."""
    line = Text()
    for one in run:
        line.append(one.piece or "''", style="bold green" if one.best else "dim" if given_up else "")
        line.append(f" {one.probability:.2f}  ", style="dim")
    last = run[-1]
    mark = "✗" if given_up else "✓" if last.ended else ""
    if mark:
        line.append(f"{mark}  log P {last.log_prob:.2f}", style="bold green" if last.best else "dim")
    return line
