"""The whole tree of a search: every prefix that was followed, including those that were dropped."""

from __future__ import annotations

from dataclasses import dataclass, field

from glassformer.decode.rows import DEAD, Choice, Rows

ROOT = 0


@dataclass(frozen=True)
class Node:
    """A prefix: its last token, and the node that it continues."""

    number: int
    parent: int  # the root, the empty prefix, is its own parent
    token: int
    log_prob: float  # the model's log-probability of the token
    score: float  # of the whole prefix, not normalised


@dataclass
class Tree:
    """A `Watcher` that records the tree of a search."""

    nodes: dict[int, list[Node]] = field(default_factory=dict)  # of each sentence, the root first
    places: dict[int, list[int]] = field(default_factory=dict)  # the nodes of its current hypotheses

    def on_choice(self, rows: Rows, choice: Choice) -> None:
        for b, sentence in enumerate(rows.sentence.tolist()):
            nodes = self.nodes.setdefault(sentence, [Node(ROOT, ROOT, -1, 0.0, 0.0)])
            before, now = self.places.get(sentence, [ROOT]), []
            fields = (choice.parent, choice.token, choice.log_prob, choice.scores)
            for parent, token, log_prob, score in zip(*(values[b].tolist() for values in fields), strict=True):
                now.append(len(nodes) if score > DEAD else ROOT)
                if score > DEAD:
                    nodes.append(Node(len(nodes), before[parent], token, log_prob, score))
            self.places[sentence] = now
