"""Relative positions: which distances share a bucket, and where the learned numbers end up."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch.autograd import gradcheck

from glassformer.nn.relative import RelativeBias, distance_buckets
from glassformer.nn.taps import listen

SHAPES = [(32, 128), (8, 20), (6, 9), (12, 100), (7, 31)]


def bucket(distance: int, buckets: int, furthest: int, *, both_ways: bool) -> int:
    """Without logarithms: bucket exact + j begins where (d / exact)^n reaches (furthest / exact)^j, n wide buckets."""
    beyond = 0
    if both_ways:
        buckets //= 2
        beyond = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return beyond + distance
    wide = buckets - exact
    passed = Fraction(distance, exact) ** wide
    j = max(j for j in range(wide + 1) if passed >= Fraction(furthest, exact) ** j)
    return beyond + min(exact + j, buckets - 1)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("buckets", "furthest"), SHAPES)
def test_distances_fall_where_the_exact_steps_say(buckets: int, furthest: int, both_ways: bool) -> None:
    distances = torch.arange(-3 * furthest, 3 * furthest + 1)
    got = distance_buckets(distances, buckets=buckets, furthest=furthest, both_ways=both_ways).tolist()
    assert got == [bucket(d, buckets, furthest, both_ways=both_ways) for d in distances.tolist()]


@pytest.mark.parametrize("both_ways", [True, False])
def test_every_bucket_is_used_and_none_else(both_ways: bool) -> None:
    distances = torch.arange(-200, 201)
    got = set(distance_buckets(distances, buckets=32, furthest=128, both_ways=both_ways).tolist())
    # The bucket of distance 0 among keys further on is never met: 0 is not further on.
    assert got == set(range(32)) - ({16} if both_ways else set())


@pytest.mark.parametrize("length", [1, 5, 11])
def test_the_bias_of_all_at_once_is_that_of_each_distance(length: int) -> None:
    module = RelativeBias(3, buckets=8, furthest=5)
    got = module(length)
    assert got.shape == (3, length, length)
    for t in range(length):
        for k in range(length):
            assert torch.equal(got[:, t, k], module.at(torch.tensor(k - t)))


def test_gradients_reach_the_numbers() -> None:
    module = RelativeBias(2, buckets=6, furthest=9).double()
    assert gradcheck(lambda _: module(5), (module.weight,))


def test_the_bias_can_be_watched() -> None:
    module = RelativeBias(3)
    with listen(module) as heard:
        out = module(4)
    assert torch.equal(heard["bias"][0], out)
