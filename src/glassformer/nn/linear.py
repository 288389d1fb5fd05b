"""Linear layers: x W^T + b, with the faster of torch's two libraries for products on a CPU.

torch multiplies float32 matrices with MKL, which uses half of the vector width of AMD processors with AVX-512. oneDNN,
which is part of torch too, uses all of it: there it takes about half the time (benchmarks/training_products.py). It
compiles kernels for each shape, which takes milliseconds and half a megabyte. So small products stay with MKL, and the
number of rows is rounded up, with rows of zeros, to one of a few.
Shapes: M rows, K inputs, N outputs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

SMALLEST = 1 << 22  # multiplications; below, oneDNN is not faster
ROWS = 64  # the number of rows is a multiple of this, or of a sixteenth of the power of two below it


class Linear(nn.Linear):
    """nn.Linear, by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., K) -> (..., N) by a weight (N, K) and a bias (N,): equal to `F.linear` except for rounding."""
    if not suits(x, weight):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled():
        y: Tensor = _Linear.apply(x, weight, bias)
        return y
    rows = x.reshape(-1, x.size(-1))
    return product(padded(rows), weight, bias)[: len(rows)].view(*x.shape[:-1], -1)


def suits(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN can and should compute this product."""
    return (
        is_faster_here()
        and x.numel() * weight.size(0) >= SMALLEST
        and x.device.type == weight.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and type(x) is Tensor
        and type(weight) in (nn.Parameter, Tensor)  # not a shard
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
    )


@cache
def is_faster_here() -> bool:
    """A rule and not a measurement, so that a run computes the same numbers every time."""
    found = torch.cpu.get_capabilities()
    return torch.backends.mkldnn.is_available() and "AMD" in found.get("cpu_name", "") and bool(found.get("avx512_f"))


def usual_rows(count: int) -> int:
    """The number of rows, rounded up."""
    step = max(ROWS, 1 << max(0, count.bit_length() - 5))
    return -(-count // step) * step


def padded(rows: Tensor) -> Tensor:
    """(M, K) with rows of zeros up to a usual number; a copy only if some are missing."""
    count, wanted = len(rows), usual_rows(len(rows))
    if count == wanted:
        return rows
    found = rows.new_empty(wanted, rows.size(1))
    found[:count] = rows
    found[count:] = 0
    return found


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """a b^T + bias: (M, K) and (N, K), which may be a transposed view, -> (M, N). For operands that suit."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return found


def product_of_columns(a: Tensor, b: Tensor) -> Tensor:
    """a^T b: (M, N) and (M, K) -> (N, K). oneDNN needs one operand transposed: the one that costs less."""
    (rows, n), k = a.shape, b.size(1)
    if rows * n <= rows * k + n * k:
        return product(a.t().contiguous(), b.t())
    return product(b.t().contiguous(), a.t()).t().contiguous()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.shape = x.shape
        rows = padded(x.reshape(-1, x.size(-1)))  # (M, K)
        ctx.save_for_backward(rows, weight)
        return product(rows, weight, bias)[: x.shape[:-1].numel()].view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        g = padded(grad.reshape(-1, grad.size(-1)))  # (M, N)
        for_x, for_weight, for_bias = ctx.needs_input_grad
        grad_x = product(g, weight.t())[: ctx.shape[:-1].numel()].view(ctx.shape) if for_x else None
        return grad_x, product_of_columns(g, rows) if for_weight else None, g.sum(0) if for_bias else None
