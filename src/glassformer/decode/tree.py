"""The whole tree of a search: every beginning that was followed, also those that were given up."""

from __future__ import annotations

from dataclasses import dataclass, field

from glassformer.decode.rows import DEAD, Choice, Rows

ROOT = 0


@dataclass(frozen=True)
class Node:
    """A beginning: its last token, and what it goes on from."""

    number: int
    parent: int  # of the root, which says nothing, itself
    token: int
    log_prob: float  # of the token, as the model has it
    score: float  # of the whole beginning, not normalised


@dataclass
class Tree:
    """Watches a search."""

    nodes: dict[int, list[Node]] = field(default_factory=dict)  # of each sentence, the root first
    places: dict[int, list[int]] = field(default_factory=dict)  # the nodes of its hypotheses as they stand now

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
