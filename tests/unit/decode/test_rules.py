"""Rules, each against its plain definition, and in a search where they must be obeyed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from test_search import BOS, EOS, TinyGRU, starts

from glassformer.decode import Best, Hypothesis, Sample, Search, search
from glassformer.decode.rows import Rows
from glassformer.decode.rules import (
    BannedWords,
    Forbidden,
    ForcedPrefix,
    MergedEnds,
    MinLength,
    NoRepeatNgram,
    RepetitionPenalty,
    WithPrompts,
)

V = 9


def run(model: TinyGRU, count: int, limit: int, *, width: int = 4, **given: Any) -> list[list[Hypothesis]]:
    limits = np.full(count, limit)
    task = Search(model, starts(count), limits, BOS, EOS, torch.device("cpu"), **{"chooser": Best(width), **given})
    return search(task)


def rows_of(histories: Sequence[Sequence[int]], *, width: int = 1) -> Rows:
    tokens = np.array(histories).reshape(-1, width, len(histories[0]))
    zeros = np.zeros(tokens.shape[:2])
    return Rows(np.arange(len(tokens)), np.full(len(tokens), width), zeros, tokens, np.zeros(tokens.shape))


def n_grams(ids: Sequence[int], n: int) -> list[tuple[int, ...]]:
    return [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_n_tokens_come_twice(n: int) -> None:
    found = run(TinyGRU(V), 12, 20, rules=[NoRepeatNgram(n)])
    without = run(TinyGRU(V), 12, 20)
    grams = [n_grams(h.ids, n) for hypotheses in found for h in hypotheses]
    assert all(len(set(one)) == len(one) for one in grams)
    assert any(len(set(n_grams(h.ids, n))) < len(n_grams(h.ids, n)) for hypotheses in without for h in hypotheses)


def test_what_would_repeat_is_forbidden_and_nothing_else() -> None:
    log_probs = torch.zeros(2, V)
    NoRepeatNgram(2).apply(log_probs, log_probs, rows_of([[3, 4, 3, 5, 3], [3, 4, 5, 6, 7]]))
    assert (log_probs == float("-inf")).nonzero().tolist() == [[0, 4], [0, 5]]


def test_nothing_ends_too_early() -> None:
    least = np.array([3, 0, 7, 5])
    for hypotheses, length in zip(run(TinyGRU(V, seed=2), 4, 12, rules=[MinLength(least, EOS)]), least, strict=True):
        assert all(len(h.ids) >= length for h in hypotheses)


def test_a_repetition_costs() -> None:
    log_probs = torch.log_softmax(torch.randn(2, V, dtype=torch.float64), dim=1)
    before = log_probs.clone()
    RepetitionPenalty(1.5).apply(log_probs, log_probs, rows_of([[3, 3, 4], [8, 0, 8]]))
    said = torch.tensor([[0, 0, 0, 1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 1]]).bool()
    torch.testing.assert_close(log_probs, torch.where(said, 1.5 * before, before))


SURFACES = [b"", b"", b" Hund", b"e", b" H", b"und", b" klein", b".", b" und", b" Hund.", b" Hunde"]


def says_word(ids: Sequence[int], word: str) -> bool:
    return re.search(rf"(?<!\w){word}(?!\w)", b"".join(SURFACES[i] for i in ids).decode()) is not None


def many(sentences: int) -> Sample:
    return Sample(width=60, numbers=range(sentences), temperature=3.0)


def test_words_that_may_not_be_said_are_not_however_they_are_spelled() -> None:
    rule = BannedWords([b"Hund"], SURFACES)
    free, found = (
        [h.ids for one in run(TinyGRU(11), 20, 9, rules=r, chooser=many(20), n_best=60) for h in one]
        for r in ([], [rule])
    )
    spelled = [[2], [4, 5], [9]]
    assert all(any(list(ids[i : i + len(s)]) == s for ids in free for i in range(9)) for s in spelled)
    assert any(says_word(ids, "Hund") for ids in free)
    assert not any(says_word(ids, "Hund") for ids in found)
    assert any(says_word(ids, "Hunde") for ids in found)
    assert any(says_word(ids, "und") for ids in found)


def test_a_sentence_begins_as_it_must_and_its_tokens_have_their_true_chance() -> None:
    prefixes = [[5, 6], [], [7], [3, 3, 3]]
    model = TinyGRU(V)
    for hypotheses, prefix in zip(run(model, 4, 8, rules=[ForcedPrefix(prefixes)]), prefixes, strict=True):
        assert all(list(h.ids[: len(prefix)]) == prefix for h in hypotheses)
        assert all(np.isfinite(h.log_probs).all() for h in hypotheses)


def test_rules_that_forbid_everything_leave_what_was_said_before() -> None:
    rules = [Nothing(after=1), ForcedPrefix([[5], [5], [5]])]
    for hypotheses in run(TinyGRU(V), 3, 8, rules=rules):
        assert [(h.ids, h.finished) for h in hypotheses] == [((5,), False)]


class Nothing:
    """Forbids all, from some length on."""

    def __init__(self, *, after: int) -> None:
        self.after = after

    def apply(self, allowed: torch.Tensor, log_probs: torch.Tensor, rows: Rows) -> None:  # noqa: ARG002
        if rows.length >= self.after:
            allowed.fill_(float("-inf"))


def test_what_is_given_is_said_whatever_other_rules_say() -> None:
    for hypotheses in run(TinyGRU(V), 3, 8, rules=[Nothing(after=0), ForcedPrefix([[5, 5, 5, 5]] * 3)]):
        assert [h.ids for h in hypotheses] == [(5, 5, 5, 5)]


@pytest.mark.parametrize(("sampled", "expected"), [(False, 0.4), (True, 0.7)])
def test_several_ends_count_as_one_by_their_maximum_or_their_sum(sampled: bool, expected: float) -> None:
    log_probs = torch.tensor([[0.1, 0.3, 0.2, 0.4]]).log()
    allowed = log_probs.clone()
    rule = MergedEnds(1, (1, 3), sampled=sampled)
    rule.apply(allowed, log_probs, Rows.first(np.arange(1), left=np.ones(1, dtype=np.int64)))
    for values in (allowed, log_probs):
        torch.testing.assert_close(values.exp(), torch.tensor([[0.1, expected, 0.2, 0.0]]))


def test_forbidden_tokens_are_in_no_output() -> None:
    found = run(TinyGRU(V), 12, 9, rules=[Forbidden((2, 5, 8))], chooser=many(12), n_best=60)
    assert {token for one in found for h in one for token in h.ids} == {0, 3, 4, 6, 7}


def test_a_rule_with_prompts_counts_their_tokens() -> None:
    log_probs = torch.zeros(2, V)
    rows = rows_of([[3, 4], [6, 7]])
    WithPrompts(NoRepeatNgram(2), [[4, 5], [8, 7, 2, 7, 1]]).apply(log_probs, log_probs, rows)
    assert (log_probs == float("-inf")).nonzero().tolist() == [[0, 5], [1, 1], [1, 2]]


# Sampling


def drawn(count: int, *, limit: int = 1, numbers: Sequence[int] | None = None, **given: Any) -> list[list[Hypothesis]]:
    chooser = Sample(numbers=range(count) if numbers is None else numbers, **{"width": 1, **given})
    start = starts(1).expand(count, -1)
    task = Search(
        TinyGRU(V), start, np.full(count, limit), BOS, EOS, torch.device("cpu"), chooser, n_best=chooser.width
    )
    return search(task)


def first_tokens(found: list[list[Hypothesis]]) -> np.ndarray[Any, Any]:
    return np.bincount([h.ids[0] if h.ids else EOS for one in found for h in one], minlength=V)


def shares(**given: Any) -> np.ndarray[Any, Any]:
    """The distribution to draw from, by its plain definition."""
    model = TinyGRU(V)
    logits = model.step(torch.tensor([BOS]), starts(1))[0][0].detach().numpy() / given.get("temperature", 1.0)
    p = np.exp(logits - logits.max())
    order = np.argsort(-p)
    p[order[given.get("top_k", 0) or V :]] = 0
    p /= p.sum()
    before = np.cumsum(p[order]) - p[order]
    p[order[before >= given.get("top_p", 1.0)]] = 0
    return p / p.sum()


@pytest.mark.parametrize(
    "given", [{}, {"temperature": 0.5}, {"temperature": 3.0}, {"top_k": 3}, {"top_p": 0.6}, {"top_k": 4, "top_p": 0.8}]
)
def test_tokens_are_sampled_as_often_as_they_should(given: dict[str, Any]) -> None:
    """Chi-square of 5,000 draws: above this once in a million times, and the seed is fixed."""
    counts, expected = first_tokens(drawn(5000, seed=3, **given)), 5000 * shares(**given)
    assert counts[expected == 0].sum() == 0
    kept = expected > 0
    assert ((counts - expected)[kept] ** 2 / expected[kept]).sum() < 45


def test_a_sentence_is_sampled_alike_whatever_is_around_it() -> None:
    together = drawn(6, limit=9, seed=5, width=3)
    for number in range(6):
        alone = drawn(1, limit=9, seed=5, width=3, numbers=[number])[0]
        assert [h.ids for h in alone] == [h.ids for h in together[number]]
    others = drawn(6, limit=9, seed=6, width=3)
    assert [[h.ids for h in one] for one in others] != [[h.ids for h in one] for one in together]


def test_very_cold_sampling_is_greedy() -> None:
    best = search(Search(TinyGRU(V), starts(5), np.full(5, 9), BOS, EOS, torch.device("cpu"), Best(1)))
    cold = Sample(width=1, numbers=range(5), temperature=1e-9)
    found = search(Search(TinyGRU(V), starts(5), np.full(5, 9), BOS, EOS, torch.device("cpu"), cold))
    assert [h.ids for (h,) in found] == [h.ids for (h,) in best]
