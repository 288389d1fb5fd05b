"""x W^T + b for a few rows on a CPU, in the form in which its matrix library is fastest.

A step of decoding multiplies each weight matrix with a few rows, so most of the work is reading the weights, and the
order of reading matters. With weights out of cache, 10,000 x 256, on two cores (benchmarks/products_few_rows.py),
W x^T takes a third to three quarters of the time of x W^T for 5 to 160 rows, and a single row is fastest with a
transposed copy of W. All give the same numbers except for rounding.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEW = 256  # rows; for more, the plain form is as fast
OUTPUTS = 1250  # at a time
FLIPPED = "transposed_weight"  # name of the copy in the layer


class Layer(Protocol):
    """A module with a weight (N, K) and perhaps a bias (N,)."""

    @property
    def weight(self) -> Tensor: ...
    @property
    def bias(self) -> Tensor | None: ...


def product(layer: Layer, x: Tensor) -> Tensor:
    """(R, K) -> (R, N) by the weight (N, K) and bias of a layer. The result may lie in memory as (N, R)."""
    weight, bias = layer.weight, layer.bias
    if x.device.type != "cpu" or len(x) > FEW or torch.is_autocast_enabled("cpu"):
        return F.linear(x, weight, bias)
    if len(x) > 1:
        return (torch.mm(weight, x.t()) if bias is None else torch.addmm(bias[:, None], weight, x.t())).t()
    if weight.size(0) <= weight.size(1) or weight.is_inference():  # changes of such a weight are not counted
        return F.linear(x, weight, bias)
    flipped = transposed(layer, weight)
    return torch.mm(x, flipped) if bias is None else torch.addmm(bias, x, flipped)


def product_by_rows(layer: Layer, x: Tensor) -> Tensor:
    """The same for a layer with many outputs; the numbers of a row are side by side in memory.

    Computed for some outputs at a time, so that the part to transpose is still in the cache.
    """
    weight, bias = layer.weight, layer.bias
    plain = x.device.type != "cpu" or not 1 < len(x) <= FEW or torch.is_autocast_enabled("cpu")
    if plain or torch.is_grad_enabled():  # writing in parts has no gradient
        return product(layer, x).contiguous()
    result, columns = x.new_empty(len(x), len(weight)), x.t()
    for part, outputs in zip(weight.split(OUTPUTS), result.split(OUTPUTS, dim=1), strict=True):
        outputs.copy_(torch.mm(part, columns).t())
    return result if bias is None else result.add_(bias)


def transposed(layer: Layer, weight: Tensor) -> Tensor:
    """The weight as (K, N), copied once, and again when it has changed (see `forget`). It is in no state dict."""
    now = (weight.data_ptr(), weight._version, weight.dtype)
    known = layer.__dict__.get(FLIPPED)
    if known is None or known[0] is not weight or known[1] != now:
        with torch.inference_mode(False), torch.no_grad():  # the copy may be used with gradients too
            known = layer.__dict__[FLIPPED] = (weight, now, weight.detach().t().contiguous())
    flipped: Tensor = known[2]
    return flipped


def forget(model: nn.Module) -> None:
    """Drops all copies. Call it before training: fused optimisers change weights without raising their versions."""
    for module in model.modules():
        module.__dict__.pop(FLIPPED, None)
