"""A head that is taken out."""

from __future__ import annotations

import pytest
import torch

from glassformer.explain.ablation import without_head
from glassformer.nn.attention import SelfAttention
from glassformer.nn.taps import listen


@pytest.mark.parametrize("mean", [False, True])
@torch.no_grad()
def test_only_the_heads_own_part_is_replaced(mean: bool) -> None:
    attention, x = SelfAttention(15, heads=3), torch.randn(2, 7, 15)
    with listen(attention, lambda name: name.endswith("out.z")) as heard:
        whole = attention(x)
    z = heard["out.z"][0].clone()  # (B, H, T, E)
    before = z.clone()
    instead = torch.randn(5) if mean else None
    with without_head(attention.out, 1, instead=instead):
        found = attention(x)
    z[:, 1] = 0 if instead is None else instead
    expected = attention.out.linear(z.transpose(1, 2).flatten(2))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(found, whole, atol=1e-2)
    assert torch.equal(heard["out.z"][0], before), "what was heard before is not written over"
    torch.testing.assert_close(attention(x), whole)  # afterwards all is as before


@torch.no_grad()
def test_several_heads_and_what_goes_wrong_between() -> None:
    attention, x = SelfAttention(15, heads=3), torch.randn(2, 7, 15)
    whole = attention(x)
    with without_head(attention.out, 0), without_head(attention.out, 1), without_head(attention.out, 2):
        nothing = attention(x)
    torch.testing.assert_close(nothing, attention.out.linear.bias.expand_as(nothing))
    with pytest.raises(RuntimeError), without_head(attention.out, 0):
        raise RuntimeError
    torch.testing.assert_close(attention(x), whole)
