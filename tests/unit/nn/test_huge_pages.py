"""Parts of large pages."""

from __future__ import annotations

import errno
import mmap

import pytest
import torch

from glassformer.nn.native.huge_pages import CHUNK, LARGE, LINE, Pages


def test_parts_do_not_touch_each_other_and_begin_on_a_line() -> None:
    pages = Pages()
    parts = [pages.take(count).fill_(count) for count in (3, 17, 1, LINE)]
    assert [part.unique().tolist() for part in parts] == [[3], [17], [1], [LINE]]
    assert [len(part) for part in parts] == [3, 17, 1, LINE]
    assert all(part.data_ptr() % (4 * LINE) == 0 for part in parts)


def test_a_large_request_gets_its_own_pages_and_the_first_ones_stay() -> None:
    pages = Pages()
    first = pages.take(5).fill_(1)
    large = pages.take(CHUNK // 4 + 1)
    assert len(large) == CHUNK // 4 + 1
    assert first.tolist() == [1] * 5
    assert pages.take(2).data_ptr() % 4 == 0


@pytest.mark.parametrize("large", [True, False])
def test_also_where_there_are_no_large_pages(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not large:
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    part = Pages().take(7)
    assert part.dtype == torch.float32
    assert part.fill_(2).sum() == 14
    assert not (large and hasattr(mmap, "MADV_HUGEPAGE") and part.data_ptr() % LARGE)


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system does not know of large pages")
def test_also_where_the_kernel_refuses_large_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(mmap.mmap):
        def madvise(self, *_: int) -> None:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Refusing)
    assert Pages().take(7).fill_(2).sum() == 14
