"""The record of a search: the candidates of every step, and what became of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.decode import Best, BestRefilled, Search, search
from glassformer.decode.rules import Forbidden, MinLength, NoRepeatNgram, WithPrompts
from glassformer.decode.search import Chooser, Rule
from glassformer.decode.tree import Tree, name_of, watched

START, END, A, B, C = range(5)
ODDS = {
    START: [0, 0.05, 0.5, 0.3, 0.15],
    A: [0, 0.6, 0.1, 0.2, 0.1],
    B: [0, 0.2, 0.5, 0.2, 0.1],
    C: [0, 0.2, 0.3, 0.3, 0.2],
}


@dataclass(frozen=True)
class Chain:
    """The next token depends on the last one only."""

    def start(self, batch: Any) -> None:
        """Nothing to read."""

    def step(self, ids: Tensor, state: None, *, want_attention: bool = False) -> tuple[Tensor, None, None]:  # noqa: ARG002
        return torch.tensor([ODDS[i] for i in ids.tolist()], dtype=torch.float64).log(), None, None

    def select(self, state: None, rows: Tensor) -> None:
        """No past to reorder."""


def job(chooser: Chooser, *rules: Rule, limit: int = 4) -> Search:
    return Search(Chain(), None, np.array([limit]), START, END, torch.device("cpu"), chooser, rules)


def fates(tree: Tree, step: int) -> dict[tuple[int, int], str]:
    return {(row.node, one.token): one.fate for row in tree.steps[0][step] for one in row.candidates}


def test_every_candidate_has_its_fate() -> None:
    tree, _ = watched(job(Best(2)))
    assert fates(tree, 0) == {(0, A): "kept", (0, B): "kept", (0, C): "beaten", (0, END): "beaten"}
    best = [one.token for one in tree.steps[0][0][0].candidates]
    assert best == [A, B, C, END]  # the width and two more, most likely first
    second = fates(tree, 1)  # 0.5 * 0.6 and 0.3 * 0.5 win
    assert second[1, END] == "finished"
    assert second[2, A] == "kept"
    assert sum(fate in ("kept", "finished") for fate in second.values()) == 2


def test_sums_and_scores_are_those_of_the_whole_prefix() -> None:
    tree, (found, *_) = watched(job(Best(2)))
    ended = next(one for one in tree.steps[0][1][0].candidates if one.fate == "finished")
    assert ended.sum == pytest.approx(math.log(0.5 * 0.6))
    assert ended.score == pytest.approx(math.log(0.5 * 0.6) / 2)
    assert ended.log_prob == pytest.approx(math.log(0.6))
    assert found[0].ids == (A,)
    assert found[0].score == pytest.approx(ended.score)
    assert ended.node == tree.number_of(0, (A, END))


def test_watching_changes_nothing() -> None:
    for chooser in (Best(1), Best(3), BestRefilled(2, END)):
        plain = job(chooser)
        _, found = watched(plain)
        assert found[0][0] == search(plain)[0][0]


def test_a_forbidden_candidate_names_its_rule() -> None:
    tree, found = watched(job(Best(2), Forbidden((A,)), MinLength(np.array([3]), END)))
    first = {one.token: one for one in tree.steps[0][0][0].candidates}
    assert (first[A].fate, first[A].rule) == ("forbidden", "forbidden")
    assert (first[END].fate, first[END].rule) == ("forbidden", "min length")
    assert first[A].to_dict()["sum"] is None
    assert all(len(one.ids) >= 3 for one in found[0])


def test_rules_have_names_in_words() -> None:
    assert name_of(NoRepeatNgram(2)) == name_of(WithPrompts(NoRepeatNgram(2), [[1]])) == "no repeat ngram"


def test_an_end_that_is_not_among_the_best_is_beaten_where_the_beam_is_refilled() -> None:
    tree, _ = watched(job(BestRefilled(2, END), limit=3))
    assert fates(tree, 0)[0, END] == "beaten"
    assert fates(tree, 1)[1, END] == "finished"
    assert sum(fate == "kept" for fate in fates(tree, 1).values()) == 2


def test_the_record_as_plain_data() -> None:
    tree, found = watched(job(Best(2)))
    data = tree.to_dict(found[0], width=2)
    assert data["nodes"][0] == {"parent": 0, "token": -1, "log_prob": 0.0, "sum": 0.0}
    assert data["hypotheses"][0]["ids"] == [A]
    for one in data["hypotheses"]:
        node, tokens = data["nodes"][one["node"]], []
        while node["token"] >= 0:
            tokens.append(node["token"])
            node = data["nodes"][node["parent"]]
        assert tokens[::-1] == one["ids"] + [END] * one["finished"]
