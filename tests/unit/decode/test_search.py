"""Greedy and beam search, spoken to a tiny recurrent model: nothing in decode/ knows Transformers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.decode import Best, BestRefilled, Hypothesis, Sample, Search, by_gnmt, by_length, search
from glassformer.decode.rows import DEAD, Choice, Rows
from glassformer.errors import ModelError
from glassformer.models.transformer import Transformer, TransformerConfig

BOS, EOS = 0, 1


class TinyGRU(nn.Module):
    """A recurrent generator: its state is one hidden vector per row."""

    def __init__(self, vocabulary: int, width: int = 7, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(vocabulary, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocabulary)
        self.double()
        with torch.no_grad():
            self.head.weight.mul_(4)

    def start(self, batch: Tensor) -> Tensor:
        return batch  # (B, width): the "sentence" is its initial state

    def step(self, ids: Tensor, state: Tensor, *, want_attention: bool = False) -> tuple[Tensor, Tensor, None]:
        assert not want_attention
        state = self.cell(self.embedding(ids), state)
        return self.head(state), state, None

    def select(self, state: Tensor, rows: Tensor) -> Tensor:
        return state[rows]


def transformer(vocabulary: int = 11) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(
        TransformerConfig(size="nano", d=12, h=3, d_ff=17), source_vocabulary=vocabulary, target_vocabulary=vocabulary
    )
    with torch.no_grad():
        model.head.weight.mul_(3)
    return model.double().eval()


def sentences(count: int) -> SimpleNamespace:
    torch.manual_seed(5)
    return SimpleNamespace(source=torch.randint(2, 11, (count, 6)), source_lengths=torch.randint(2, 7, (count,)))


def starts(count: int) -> Tensor:
    torch.manual_seed(9)
    return torch.randn(count, 7, dtype=torch.float64)


def beam_search(
    model: Any,
    batch: Any,
    *,
    width: int,
    bos: int,
    eos: int,
    limits: Tensor,
    alpha: float = 1.0,
    n_best: int = 1,
    normaliser: Callable[..., float] = by_length,
) -> list[list[Hypothesis]]:
    task = Search(
        model=model,
        batch=batch,
        limits=limits.numpy(),
        bos=bos,
        eos=eos,
        device=limits.device,
        chooser=Best(width),
        ranked=partial(normaliser, alpha=alpha),
        n_best=n_best,
    )
    return search(task)


@torch.no_grad()
def greedy(model: TinyGRU, start: Tensor, *, bos: int, eos: int, limits: Tensor) -> list[Hypothesis]:
    """Token by token, one sentence at a time: as simple as it can be said."""
    found = []
    for b, limit in enumerate(limits.tolist()):
        state, ids, chances = start[b : b + 1], [bos], []
        while len(ids) <= limit and (len(ids) == 1 or ids[-1] != eos):
            logits, state, _ = model.step(torch.tensor(ids[-1:]), state)
            best = logits.log_softmax(-1)[0].max(dim=0)
            ids, chances = [*ids, int(best.indices)], [*chances, float(best.values)]
        finished = ids[-1] == eos and len(ids) > 1
        said = ids[1:-1] if finished else ids[1:]
        found.append(
            Hypothesis(tuple(said), tuple(chances), by_length(sum(chances), len(chances), alpha=1.0), finished)
        )
    return found


def limits(count: int, length: int) -> Tensor:
    return torch.full((count,), length)


def log_probs_of(model: TinyGRU, start: Tensor, ids: tuple[int, ...]) -> list[float]:
    state, last, result = start[None], BOS, []
    for token in ids:
        logits, state, _ = model.step(torch.tensor([last]), state)
        result.append(logits.log_softmax(-1)[0, token].item())
        last = token
    return result


def exhaustive(
    model: TinyGRU, start: Tensor, vocabulary: int, limit: int, divisor: Callable[[int], float]
) -> list[tuple[float, tuple[int, ...]]]:
    words = [i for i in range(vocabulary) if i != EOS]
    ended = []
    for length in range(limit):
        for ids in itertools.product(words, repeat=length):
            log_probs = log_probs_of(model, start, (*ids, EOS))
            ended.append((sum(log_probs) / divisor(len(log_probs)), ids))
    return sorted(ended, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_a_beam_as_wide_as_all_outputs_is_exhaustive_search(alpha: float) -> None:
    model, start = TinyGRU(4), starts(2)
    found = beam_search(model, start, width=130, n_best=5, bos=BOS, eos=EOS, limits=limits(2, 4), alpha=alpha)
    for b in range(2):
        truth = exhaustive(model, start[b], 4, 4, lambda length: length**alpha)[:5]
        assert [h.ids for h in found[b]] == [ids for _, ids in truth]
        assert [h.score for h in found[b]] == pytest.approx([score for score, _ in truth], abs=1e-10)


@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
def test_so_it_is_with_gnmt_normalisation(alpha: float) -> None:
    model, start = TinyGRU(4), starts(2)
    found = beam_search(
        model, start, width=130, n_best=5, bos=BOS, eos=EOS, limits=limits(2, 4), alpha=alpha, normaliser=by_gnmt
    )
    for b in range(2):
        truth = exhaustive(model, start[b], 4, 4, lambda length: ((5 + length) / 6) ** alpha)[:5]
        assert [h.ids for h in found[b]] == [ids for _, ids in truth]
        assert [h.score for h in found[b]] == pytest.approx([score for score, _ in truth], abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_beam_one_is_greedy(seed: int) -> None:
    model = TinyGRU(13, seed=seed)
    one = greedy(model, starts(17), bos=BOS, eos=EOS, limits=limits(17, 9))
    beam = beam_search(model, starts(17), width=1, bos=BOS, eos=EOS, limits=limits(17, 9))
    assert [h.ids for h in one] == [b[0].ids for b in beam]
    assert [h.score for h in one] == pytest.approx([b[0].score for b in beam], abs=1e-10)
    assert {h.finished for h in one} == {True, False}


@pytest.mark.parametrize("width", [1, 3, 5])
def test_a_batch_gives_what_each_sentence_gives_alone(width: int) -> None:
    model, batch, ends = transformer(), sentences(7), torch.tensor([9, 3, 7, 1, 9, 5, 8])
    together = beam_search(model, batch, width=width, n_best=width, bos=BOS, eos=EOS, limits=ends)
    for i in range(7):
        length = int(batch.source_lengths[i])
        alone = SimpleNamespace(source=batch.source[i : i + 1, :length], source_lengths=torch.tensor([length]))
        single = beam_search(model, alone, width=width, n_best=width, bos=BOS, eos=EOS, limits=ends[i : i + 1])[0]
        assert [h.ids for h in together[i]] == [h.ids for h in single]
        assert [h.score for h in together[i]] == pytest.approx([h.score for h in single], abs=1e-10)


@pytest.mark.parametrize("width", [1, 5])
def test_in_single_precision_a_batch_differs_only_where_two_tokens_are_as_likely(width: int) -> None:
    """32 sentences together and one by one: the same tokens, or a tie below 1e-4; ties are counted."""
    model, batch, ends = transformer().float(), sentences(32), limits(32, 12)
    together = beam_search(model, batch, width=width, bos=BOS, eos=EOS, limits=ends)
    ties = 0
    for i in range(32):
        length = int(batch.source_lengths[i])
        alone = SimpleNamespace(source=batch.source[i : i + 1, :length], source_lengths=torch.tensor([length]))
        (single,) = beam_search(model, alone, width=width, bos=BOS, eos=EOS, limits=ends[i : i + 1])
        if single[0].ids != together[i][0].ids:
            ties += 1
            assert single[0].score == pytest.approx(together[i][0].score, abs=1e-4)
    assert ties <= 1


def test_log_probs_are_those_of_the_model() -> None:
    model, start = TinyGRU(7), starts(3)
    for b, found in enumerate(beam_search(model, start, width=4, n_best=4, bos=BOS, eos=EOS, limits=limits(3, 8))):
        for h in found:
            ids = (*h.ids, EOS) if h.finished else h.ids
            assert list(h.log_probs) == pytest.approx(log_probs_of(model, start[b], ids), abs=1e-10)


def test_n_best_is_sorted_and_distinct() -> None:
    for found in beam_search(TinyGRU(7), starts(5), width=6, n_best=6, bos=BOS, eos=EOS, limits=limits(5, 6)):
        finished = [h.score for h in found if h.finished]
        assert finished == sorted(finished, reverse=True)
        assert len({h.ids for h in found}) == len(found)


@pytest.mark.parametrize("normaliser", [by_length, by_gnmt])
def test_early_stopping_changes_no_result(normaliser: Callable[..., float]) -> None:
    """The n best of a search that may stop early are the first n of one that must fill all its hypotheses."""
    given = {"width": 5, "bos": BOS, "eos": EOS, "limits": limits(6, 7), "normaliser": normaliser}
    for seed in range(8):
        model, start = TinyGRU(6, seed=seed), starts(6)
        few = beam_search(model, start, n_best=2, **given)
        full = beam_search(model, start, n_best=5, **given)
        finished = [[h.ids for h in found if h.finished][:2] for found in full]
        assert [[h.ids for h in found if h.finished][:2] for found in few] == finished


def test_a_wider_beam_never_scores_worse_when_it_is_exhaustive() -> None:
    model, start = TinyGRU(4), starts(4)
    narrow = beam_search(model, start, width=2, bos=BOS, eos=EOS, limits=limits(4, 4))
    wide = beam_search(model, start, width=130, bos=BOS, eos=EOS, limits=limits(4, 4))
    assert all(w[0].score >= n[0].score - 1e-12 for n, w in zip(narrow, wide, strict=True) if n[0].finished)


def test_limit_zero_gives_the_empty_unfinished_output() -> None:
    empty = Hypothesis((), (), 0.0, finished=False)
    assert greedy(TinyGRU(5), starts(2), bos=BOS, eos=EOS, limits=limits(2, 0)) == [empty, empty]
    assert beam_search(TinyGRU(5), starts(2), width=3, bos=BOS, eos=EOS, limits=limits(2, 0)) == [[empty], [empty]]


def test_a_beam_wider_than_the_vocabulary_works() -> None:
    found = beam_search(TinyGRU(3), starts(1), width=50, n_best=50, bos=BOS, eos=EOS, limits=limits(1, 3))[0]
    assert len({h.ids for h in found}) == len(found)
    assert sum(h.finished for h in found) == 1 + 2 + 4  # every output of 0, 1 or 2 words
    assert sum(not h.finished for h in found) == 2**3  # and every beginning that the limit cut


def test_a_refilled_beam_as_wide_as_all_outputs_is_exhaustive_and_never_worse_than_one_that_shrinks() -> None:
    model, batch = TinyGRU(4), torch.randn(3, 7, dtype=torch.float64)
    common = {"model": model, "batch": batch, "limits": np.full(3, 4), "bos": BOS, "eos": EOS}
    common |= {"device": torch.device("cpu"), "n_best": 6}
    wide = search(Search(**common, chooser=Best(400)))
    refilled = search(Search(**common, chooser=BestRefilled(400, EOS)))
    assert [[one.ids for one in found] for found in refilled] == [[one.ids for one in found] for found in wide]


def test_a_refilled_beam_stays_full_after_one_has_ended() -> None:
    seen = []

    class Count:
        def on_choice(self, _: Rows, choice: Choice, *more: object) -> None:  # noqa: ARG002
            seen.append(int((choice.token[0][choice.scores[0] > DEAD] != EOS).sum()))

    model, batch = TinyGRU(5), torch.randn(1, 7, dtype=torch.float64)
    task = Search(
        model, batch, np.full(1, 6), BOS, EOS, torch.device("cpu"), BestRefilled(3, EOS), n_best=3, watcher=Count()
    )
    search(task)
    assert set(seen[1:]) == {3}


@pytest.mark.parametrize("chooser", [Best(1), Best(3), BestRefilled(2, EOS), Sample(2, [0, 1])])
def test_what_is_not_a_number_is_an_error(chooser: Any) -> None:
    model = TinyGRU(5)
    with torch.no_grad():
        model.head.bias[3] = float("nan")
    task = Search(model, starts(2), np.array([4, 4]), BOS, EOS, torch.device("cpu"), chooser)
    with pytest.raises(ModelError, match="not a number"):
        search(task)
