"""The key/value cache."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from glassformer.nn.cache import KVCache

ROWS, GROUPS, WIDTH = 3, 2, 5


def pieces(*lengths: int) -> list[tuple[Tensor, Tensor]]:
    return [(torch.randn(ROWS, GROUPS, n, WIDTH), torch.randn(ROWS, GROUPS, n, WIDTH)) for n in lengths]


@pytest.mark.parametrize("lengths", [(1,) * 37, (7, 1, 1), (1, 40, 3), (17, 17)])
def test_a_cache_returns_all_that_was_appended_in_order(lengths: tuple[int, ...]) -> None:
    cache, given = KVCache(), pieces(*lengths)
    for count in range(len(given)):
        keys, values = cache.append(*given[count])
        assert torch.equal(keys, torch.cat([k for k, _ in given[: count + 1]], dim=2))
        assert torch.equal(values, torch.cat([v for _, v in given[: count + 1]], dim=2))
        assert cache.length == sum(lengths[: count + 1])


def test_a_cache_grows_rarely() -> None:
    cache, homes = KVCache(), set()
    for k, v in pieces(*(1,) * 200):
        cache.append(k, v)
        assert cache.store is not None
        homes.add(cache.store.keys.data_ptr())
    assert len(homes) <= 5


@pytest.mark.parametrize("rows", [[2, 0, 1], [1, 1, 1, 1, 0], [2], [0, 1, 2]])
def test_select_takes_the_named_rows_into_a_cache_of_its_own(rows: list[int]) -> None:
    cache, ((k, v), (next_k, next_v)) = KVCache(), pieces(7, 1)
    cache.append(k, v)
    index = torch.tensor(rows)
    chosen = cache.select(index)
    cache.append(next_k, next_v)
    assert chosen.length == 7
    keys, values = chosen.append(next_k[index] + 1, next_v[index] - 1)
    assert torch.equal(keys, torch.cat([k, next_k + 1], dim=2)[index])
    assert torch.equal(values, torch.cat([v, next_v - 1], dim=2)[index])
    assert torch.equal(cache.append(*pieces(1)[0])[0][:, :, :8], torch.cat([k, next_k], dim=2))


def test_an_empty_cache_can_be_selected_from() -> None:
    chosen = KVCache().select(torch.tensor([0, 0, 1]))
    assert chosen.length == 0
    k, v = pieces(2)[0]
    assert torch.equal(chosen.append(k, v)[0], k)


def test_a_cache_keeps_the_number_type() -> None:
    k = torch.randn(1, 1, 2, 3, dtype=torch.bfloat16)
    assert KVCache().append(k, k)[0].dtype == torch.bfloat16


def test_twins_share_until_they_part() -> None:
    """The one that goes on first stays in its place; the other takes a copy, and neither sees the other's."""
    cache, ((k, v), (next_k, next_v), (other_k, other_v)) = KVCache(), pieces(7, 1, 2)
    cache.append(k, v)
    twin = cache.share()
    assert twin.store is cache.store
    first = cache.append(next_k, next_v)
    second = twin.append(other_k, other_v)
    assert torch.equal(first[0], torch.cat([k, next_k], dim=2))
    assert torch.equal(second[0], torch.cat([k, other_k], dim=2))
    assert torch.equal(second[1], torch.cat([v, other_v], dim=2))
    assert torch.equal(cache.append(other_k, other_v)[1], torch.cat([v, next_v, other_v], dim=2))
    assert (cache.length, twin.length) == (10, 9)
