"""Filling the gaps of a text in rounds: what is masked again, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.decode.choosers import Sample
from glassformer.decode.mask_predict import GapFilling, Gapped

MASK, VOCABULARY = 9, 10


class Counting:
    """Predicts at every place the token `place % 8`, more certain the more tokens are seen; keeps what it was asked."""

    def __init__(self) -> None:
        self.seen: list[list[list[int]]] = []  # the rows of each call
        self.asked: list[list[list[int]]] = []  # the places of each call

    def __call__(self, rows: Sequence[list[int]], places: Sequence[list[int]]) -> Tensor:
        self.seen.append([list(row) for row in rows])
        self.asked.append([list(own) for own in places])
        logits = []
        for row, own in zip(rows, places, strict=True):
            for place in own:
                assert row[place] == MASK
                logits.append(torch.zeros(VOCABULARY))
                logits[-1][place % 8] = 1 + 0.1 * place + sum(one != MASK for one in row)
        return torch.stack(logits).log_softmax(dim=-1)


def gapped(size: int, places: list[int], *, tail: bool = False) -> Gapped:
    ids = [MASK if place in places else 0 for place in range(size)]
    return Gapped(ids, places, np.random.default_rng(0), tail=[0] if tail else None)


def test_in_every_round_fewer_of_the_least_certain_gaps_are_masked_again() -> None:
    predict, one, two = Counting(), gapped(8, [1, 2, 3, 4, 5, 6]), gapped(5, [2, 3])
    GapFilling(predict, MASK).mask_predict([one, two], rounds=3)
    assert predict.asked[0] == [[1, 2, 3, 4, 5, 6], [2, 3]]
    assert predict.asked[1] == [[1, 2, 3, 4], [2]]  # N (T - t) / T, the lowest probabilities, which are on the left
    assert predict.asked[2] == [[5, 6]]  # they were chosen before the others; 2 / 3 of a gap is none
    assert one.ids == [0, 1, 2, 3, 4, 5, 6, 0]
    assert two.ids == [0, 0, 2, 3, 0]
    alone = torch.zeros(VOCABULARY)
    alone[2] = 1 + 0.2 + 4  # gap 2 was last chosen in round 2: four of five tokens were seen
    assert two.log_probs[0] == pytest.approx(float(alone.log_softmax(0)[2]))


def test_one_round_fills_everything_at_once() -> None:
    predict, text = Counting(), gapped(6, [1, 3, 4])
    GapFilling(predict, MASK).mask_predict([text], rounds=1)
    assert predict.asked == [[[1, 3, 4]]]
    assert text.ids == [0, 1, 0, 3, 4, 0]


def test_from_left_to_right_later_gaps_stay_masked() -> None:
    predict, two, three = Counting(), gapped(5, [2, 3], tail=True), gapped(5, [1, 2, 3])
    GapFilling(predict, MASK).left_to_right([two, three])
    assert predict.seen[0] == [[0, 0, MASK, MASK, 0], [0, MASK, MASK, MASK, 0]]
    assert predict.seen[1] == [[0, 0, 2, MASK, 0], [0, 1, MASK, MASK, 0]]
    assert predict.seen[2] == [[0, 1, 2, MASK, 0]]
    assert two.ids == [0, 0, 2, 3, 0]
    assert three.ids == [0, 1, 2, 3, 0]


def test_samples_follow_the_probabilities_and_the_generator() -> None:
    def filled(seed: int, temperature: float) -> list[int]:
        text = Gapped([MASK] * 400, list(range(400)), np.random.default_rng(seed))

        def predict(_: Sequence[list[int]], places: Sequence[list[int]]) -> Tensor:
            return torch.tensor([0.7, 0.2, 0.1]).log().expand(sum(map(len, places)), 3)

        GapFilling(predict, MASK, Sample(1, (), temperature=temperature)).mask_predict([text], rounds=1)
        return text.ids

    assert filled(1, 1.0) == filled(1, 1.0) != filled(2, 1.0)
    assert np.bincount(filled(1, 1.0)) / 400 == pytest.approx([0.7, 0.2, 0.1], abs=0.07)
    assert set(filled(1, 0.01)) == {0}


def test_progress_counts_every_gap_once() -> None:
    for way in ("mask_predict", "left_to_right"):
        texts, told = [gapped(8, [1, 2, 3, 4, 5]), gapped(5, [2, 3])], list[int]()
        filling = GapFilling(Counting(), MASK)
        more = {"rounds": 3} if way == "mask_predict" else {}
        getattr(filling, way)(texts, progress=told.append, **more)
        assert sum(told) == 7
