"""The tree of a search: every prefix that was followed, and at each step the candidates with their fates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch

from glassformer.decode.next_token import NextToken
from glassformer.decode.protocol import Hypothesis, Ranked, mean_per_token
from glassformer.decode.rows import DEAD, Choice, Completed, Rows
from glassformer.decode.rules import WithPrompts
from glassformer.decode.search import Rule, Search, steps

ROOT = 0
MORE = 2  # candidates of each row beyond the width of the beam
Fate = Literal["kept", "finished", "beaten", "forbidden"]


@dataclass(frozen=True)
class Node:
    """A prefix: its last token, and the node that it continues."""

    number: int
    parent: int  # the root, the empty prefix, is its own parent
    token: int
    log_prob: float  # the model's log-probability of the token
    score: float  # of the whole prefix, not normalised


@dataclass(frozen=True)
class Continuing:
    """A candidate for the next token of a prefix."""

    token: int
    log_prob: float  # the model's own
    sum: float  # of the whole prefix with it, after the rules; -inf if it is forbidden
    score: float  # the same, normalised by length
    fate: Fate
    rule: str = ""  # that forbids it
    node: int | None = None  # its number as a prefix, if it was kept or finished

    def to_dict(self) -> dict[str, Any]:
        numbers = {"log_prob": self.log_prob, "sum": self.sum, "score": self.score}
        finite = {name: value if value > DEAD else None for name, value in numbers.items()}
        more = {"rule": self.rule or None, "node": self.node}
        return {
            "token": self.token,
            **finite,
            "fate": self.fate,
            **{name: value for name, value in more.items() if value is not None},
        }


@dataclass(frozen=True)
class Branching:
    """A prefix at one step, with its most likely continuations, best first."""

    node: int
    candidates: tuple[Continuing, ...]


@dataclass
class Tree:
    """A `Watcher` that records the tree of a search."""

    eos: int = -1
    ranked: Ranked = mean_per_token
    nodes: dict[int, list[Node]] = field(default_factory=dict)  # of each sentence, the root first
    places: dict[int, list[int]] = field(default_factory=dict)  # the nodes of its current hypotheses
    steps: dict[int, list[list[Branching]]] = field(default_factory=dict)  # by length of the prefixes

    def on_choice(self, rows: Rows, choice: Choice, next_token: NextToken, rules: Sequence[Rule]) -> None:
        shown = Distribution.of(next_token, rules, rows, count=choice.scores.shape[1] + MORE)
        row = 0
        for b, sentence in enumerate(rows.sentence.tolist()):
            before = self.places.get(sentence, [ROOT])
            chosen = self._add(sentence, before, b, choice)
            step = []
            for slot in np.flatnonzero(rows.alive[b]).tolist():
                own = {token: node for (parent, token), node in chosen.items() if parent == slot}
                found = self._candidates(shown, row, float(rows.scores[b, slot]), own, length=rows.length + 1)
                step.append(Branching(before[slot], tuple(found)))
                row += 1
            self.steps.setdefault(sentence, []).append(step)

    def _add(self, sentence: int, before: Sequence[int], b: int, choice: Choice) -> dict[tuple[int, int], int]:
        """Adds the chosen prefixes; returns their nodes by (slot of the parent, token)."""
        nodes = self.nodes.setdefault(sentence, [Node(ROOT, ROOT, -1, 0.0, 0.0)])
        now, found = [], {}
        fields = (choice.parent, choice.token, choice.log_prob, choice.scores)
        for parent, token, log_prob, score in zip(*(values[b].tolist() for values in fields), strict=True):
            now.append(len(nodes) if score > DEAD else ROOT)
            if score > DEAD:
                found[parent, token] = len(nodes)
                nodes.append(Node(len(nodes), before[parent], token, log_prob, score))
        self.places[sentence] = now
        return found

    def _candidates(
        self, shown: Distribution, row: int, score: float, chosen: Mapping[int, int], *, length: int
    ) -> Iterator[Continuing]:
        for token in shown.tokens(row, also=chosen):
            log_prob, total = shown.values(row, token)
            total += score
            node, rule = chosen.get(token), shown.rule(row, token)
            kept: Fate = "finished" if token == self.eos else "kept"
            fate: Fate = "forbidden" if rule else "beaten" if node is None else kept
            yield Continuing(token, log_prob, total, self.ranked(total, length), fate, rule, node)

    def number_of(self, sentence: int, tokens: Sequence[int]) -> int:
        """The node of a prefix."""
        here = ROOT
        for token in tokens:
            here = next(node.number for node in self.nodes[sentence] if node.parent == here and node.token == token)
        return here

    def to_dict(self, hypotheses: Sequence[Hypothesis], *, width: int, sentence: int = 0) -> dict[str, Any]:
        """Plain data of one sentence's search; `hypotheses` are its complete ones, best first."""
        ends = [(*one.ids, *((self.eos,) if one.finished else ())) for one in hypotheses]
        nodes = self.nodes.get(sentence, [Node(ROOT, ROOT, -1, 0.0, 0.0)])
        return {
            "width": width,
            "nodes": [
                {"parent": one.parent, "token": one.token, "log_prob": one.log_prob, "sum": one.score} for one in nodes
            ],
            "steps": [
                [{"node": row.node, "candidates": [one.to_dict() for one in row.candidates]} for row in step]
                for step in self.steps.get(sentence, [])
            ],
            "hypotheses": [
                {
                    "node": self.number_of(sentence, tokens),
                    "ids": list(one.ids),
                    "log_probs": list(one.log_probs),
                    "score": one.score,
                    "finished": one.finished,
                }
                for one, tokens in zip(hypotheses, ends, strict=True)
            ],
        }


@dataclass(frozen=True)
class Distribution:
    """The next token of every row, before and after the rules; after each of them where one forbids something."""

    log_probs: torch.Tensor  # (R, V)
    allowed: torch.Tensor  # (R, V)
    best: torch.Tensor  # (R, n), by the model alone
    stages: tuple[tuple[str, torch.Tensor], ...]  # the values after each rule

    @classmethod
    def of(cls, next_token: NextToken, rules: Sequence[Rule], rows: Rows, *, count: int) -> Distribution:
        log_probs, stages = next_token.log_probs, []
        after = log_probs.clone()
        for rule in rules:
            rule.apply(after, log_probs, rows)
            stages.append((name_of(rule), after.clone()))
        best = log_probs.topk(min(count, log_probs.size(1)), dim=1).indices
        return cls(log_probs, next_token.allowed, best, tuple(stages))

    def tokens(self, row: int, *, also: Mapping[int, int]) -> list[int]:
        """The most likely ones, and those that were chosen; the most likely first."""
        found = dict.fromkeys([*self.best[row].tolist(), *also])
        return sorted(found, key=lambda token: -float(self.log_probs[row, token]))

    def values(self, row: int, token: int) -> tuple[float, float]:
        return float(self.log_probs[row, token]), float(self.allowed[row, token])

    def rule(self, row: int, token: int) -> str:
        """The first rule that forbids a token; empty if none does."""
        if float(self.allowed[row, token]) > DEAD:
            return ""
        return next((name for name, values in self.stages if float(values[row, token]) == DEAD), "")


def name_of(rule: Rule) -> str:
    """The class of a rule in words: no repeat ngram."""
    own = rule.rule if isinstance(rule, WithPrompts) else rule
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(own).__name__).lower()


def watched(job: Search) -> tuple[Tree, list[list[Hypothesis]]]:
    """A search with its tree, and all complete hypotheses of each sentence, best first."""
    tree, completed = Tree(job.eos, job.ranked), [Completed() for _ in job.limits]
    for _ in steps(replace(job, watcher=tree), completed):
        pass
    return tree, [one.best(len(one.all), cut_last=job.cut_last) for one in completed]
