"""Terms that must be said: always said, and nothing changes where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from test_search import BOS, EOS, TinyGRU, starts

from glassformer.decode import Best, Hypothesis, Search, search
from glassformer.decode.rules import ForcedPrefix, NoRepeatNgram
from glassformer.decode.terms import BestWithTerms, Candidate, Form, Term, TermState, Vocabulary, divide_beam

V, LIMIT = 13, 24


def term(*forms: Sequence[int], opening: Sequence[Sequence[int]] = (), ordered: bool = False) -> Term:
    return Term(*(tuple(Form(tuple(one)) for one in some) for some in (forms, opening)), ordered=ordered)


def run(
    terms: Sequence[Sequence[Term]],
    *,
    width: int = 5,
    prolonging: Sequence[int] = (),
    limit: int = LIMIT,
    begin: Sequence[int] = (),
    rules: Sequence[Any] = (),
) -> list[list[Hypothesis]]:
    continuing = np.zeros(V, dtype=bool)
    continuing[list(prolonging)] = True
    count = len(terms)
    limits = np.full(count, limit)
    vocabulary = Vocabulary(EOS, continuing, np.zeros(V, dtype=bool))
    chooser = BestWithTerms(np.full(count, width), terms, limits, np.full(count, len(begin)), vocabulary)
    rules = [*rules, *([ForcedPrefix([begin] * count)] if begin else [])]
    device = torch.device("cpu")
    return search(Search(TinyGRU(V), starts(count), limits, BOS, EOS, device, chooser, rules, n_best=width))


def says(ids: Sequence[int], form: Sequence[int]) -> int:
    return sum(tuple(ids[i : i + len(form)]) == tuple(form) for i in range(len(ids)))


def random_terms(seed: int, count: int) -> list[list[Term]]:
    random = np.random.default_rng(seed)

    def form() -> tuple[int, ...]:
        return tuple(random.integers(2, V, size=random.integers(1, 4)).tolist())

    return [[term(*(form() for _ in range(1 + i % 2))) for _ in range(i % 4)] for i in range(count)]


@pytest.mark.parametrize("width", [1, 2, 5])
def test_every_term_is_said(width: int) -> None:
    asked = random_terms(width, 120)
    found = run(asked, width=width)
    for terms, hypotheses in zip(asked, found, strict=True):
        assert hypotheses
        for h in hypotheses:  # those that were cut too
            assert all(any(says(h.ids, form.tokens) for form in one.forms) for one in terms)


def test_terms_are_in_the_output_even_if_nothing_else_fits() -> None:
    terms = [term((4, 5, 6)), term((7, 8), (9,))]
    for limit in (4, 5, 6, 9):
        for hypotheses in run([terms] * 12, width=3, limit=limit):
            assert hypotheses
            for h in hypotheses:
                assert says(h.ids, (4, 5, 6))
                assert says(h.ids, (7, 8)) or says(h.ids, (9,))


def test_a_sentence_without_terms_is_searched_as_if_there_were_none() -> None:
    asked = [[], [term((4, 5))], [], [term((7,))]] * 10
    plain = search(Search(TinyGRU(V), starts(40), np.full(40, LIMIT), BOS, EOS, torch.device("cpu"), Best(5), n_best=5))
    found = run(asked)
    for terms, one, other in zip(asked, found, plain, strict=True):
        if not terms:
            assert [h.ids for h in one] == [h.ids for h in other]


def test_log_probs_stay_those_of_the_model() -> None:
    for h in run([[term((4, 5, 6))]])[0]:
        assert sum(h.log_probs) == pytest.approx(h.score * len(h.log_probs))
        assert all(p <= 0 for p in h.log_probs)


def test_a_term_asked_for_twice_is_said_twice() -> None:
    for hypotheses in run([[term((4, 5)), term((4, 5))]] * 12):
        assert all(says(h.ids, (4, 5)) >= 2 for h in hypotheses)


def test_two_terms_do_not_share_their_tokens() -> None:
    """The second stands inside the first."""
    for hypotheses in run([[term((4, 5, 6)), term((5,))]] * 12):
        assert all(says(h.ids, (4, 5, 6)) >= 1 and h.ids.count(5) >= 2 for h in hypotheses)


def test_terms_come_after_what_is_given_and_against_other_rules() -> None:
    for hypotheses in run([[term((4, 4, 4)), term((4, 4, 4))]] * 6, begin=[4, 4], rules=[NoRepeatNgram(2)]):
        for h in hypotheses:
            assert h.ids[:2] == (4, 4)
            assert h.ids.count(4) >= 6


def test_ordered_terms_come_in_their_order() -> None:
    terms = [term((9,), ordered=True), term((5,)), term((4,), ordered=True)]
    for hypotheses in run([terms] * 12):
        assert all(9 in h.ids[: h.ids.index(4)] or 4 in h.ids[h.ids.index(9) :] for h in hypotheses)


def test_a_longer_form_may_go_on_from_a_shorter_one() -> None:
    said = next(TermState((term((4,), (4, 8)),), first=False).after(4))
    assert (said.open, said.extended_by, said.closing) == ((), {8}, True)
    assert next(said.after(8)).open == ()
    unfinished = next(TermState((term((4,), (4, 8, 9)),), first=False).after(4))
    assert next(unfinished.after(8)).needed == 1  # now it must say 9: what it says is neither form
    assert next(unfinished.after(7)).open == ()
    found = run([[term((4,), (4, 8))]] * 60, prolonging=[8, 9, 10])
    after = {h.ids[h.ids.index(4) + 1] for one in found for h in one if h.ids[-1] != 4}
    assert 8 in after
    assert not after & {9, 10}


def test_a_sentence_is_searched_alike_whatever_is_around_it() -> None:
    asked = random_terms(3, 12)
    widths = np.array([5 + len(own) for own in asked])
    vocabulary = Vocabulary(EOS, np.zeros(V, dtype=bool), np.zeros(V, dtype=bool))

    def found(places: Sequence[int]) -> list[list[tuple[int, ...]]]:
        limits, own = np.full(len(places), LIMIT), [asked[i] for i in places]
        chooser = BestWithTerms(widths[list(places)], own, limits, 0 * limits, vocabulary)
        task = Search(TinyGRU(V), starts(12)[list(places)], limits, BOS, EOS, torch.device("cpu"), chooser, n_best=3)
        return [[h.ids for h in one] for one in search(task)]

    together = found(range(12))
    assert [found([i])[0] for i in range(12)] == together


def test_the_last_word_of_a_term_does_not_go_on() -> None:
    prolonging = [8, 9, 10, 11, 12]
    for hypotheses in run([[term((4,))]] * 12, prolonging=prolonging):
        for h in hypotheses:
            ends = [i for i, token in enumerate(h.ids) if token == 4]
            first = h.ids[ends[0] + 1 : ends[0] + 2] if ends else ()
            assert not set(first) & set(prolonging)


def test_at_the_beginning_a_term_has_its_other_form() -> None:
    said = TermState((term((4, 5), opening=[(6,)]),))
    assert said.wanted() == {6}
    assert next(said.after(6)).open == ()
    later = next(said.after(7))
    assert later.wanted() == {4}
    assert next(later.after(6)).open


def test_a_form_that_is_broken_off_begins_again() -> None:
    said = TermState((term((4, 4, 5)),), first=False)
    for token in (4, 4, 4):
        said = next(said.after(token))
    assert said.needed == 1  # the latest two are said
    assert next(said.after(5)).open == ()
    assert next(said.after(7)).needed == 3


def test_places_are_shared_among_those_that_need_as_much() -> None:
    states = [TermState(tuple(term((4,)) for _ in range(needed))) for needed in (2, 1, 0)]
    found = [Candidate(0, token, -float(token), -1.0, states[kind]) for kind in range(3) for token in range(5)]
    taken = divide_beam(found, 5)
    assert sorted(one.state.needed for one in taken) == [0, 0, 1, 1, 2]
    assert [one.score for one in taken] == sorted((one.score for one in taken), reverse=True)
    assert len(divide_beam(found, 99)) == 15
