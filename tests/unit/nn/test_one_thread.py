"""Copies by one thread: the same as torch's, and torch's where NumPy cannot."""

from __future__ import annotations

import pytest
import torch

from glassformer.nn.native.one_thread import copy, rows_of, zeros


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("learns", [False, True])
def test_they_are_what_torch_would_make(dtype: torch.dtype, learns: bool) -> None:
    x = torch.randn(5, 3, 7, 2, dtype=dtype, requires_grad=learns)
    rows = torch.tensor([4, 0, 0])
    for source in (x, x[:, :, :4], x.permute(0, 2, 1, 3)):
        found = rows_of(source, rows)
        assert torch.equal(found, source.index_select(0, rows))
        assert found.is_contiguous()
        assert found.requires_grad == learns
        room = zeros((5, *source.shape[1:]), like=source)
        assert room.dtype == dtype
        assert not room.any()
        copy(source.detach(), to=room)
        assert torch.equal(room, source)
