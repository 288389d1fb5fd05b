"""Linear layers: x W^T + b, with the faster of torch's two libraries for products on a CPU.

torch multiplies float32 matrices with MKL, which uses half of the vector width of AMD's Zen 5. oneDNN, which is part of
torch too, uses all of it and takes about half the time there (benchmarks/training_products.py). It compiles kernels
for each shape, which takes milliseconds and half a megabyte; it keeps up to 1,024. So small products stay with MKL, and
the number of rows is rounded up, with rows of zeros, to one of a few.
Shapes: M rows, K inputs, N outputs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SMALLEST = 1 << 22  # multiplications; below, calling oneDNN takes longer than it saves
FEWEST_ROWS = 48  # with fewer, most rows would be added zeros
ROWS = 64  # row counts are rounded up to a multiple of this, above 2,048 to a sixteenth of the power of two below


class Linear(nn.Linear):
    """nn.Linear, by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(..., K) -> (..., N) by a weight (N, K) and a bias (N,): equal to `F.linear` except for rounding."""
    if not suits(x, weight, bias):
        return F.linear(x, weight, bias)
    rows = x.reshape(-1, x.size(-1))  # (M, K)
    y: Tensor = _Linear.apply(rows, weight, bias) if torch.is_grad_enabled() else product_of_rows(rows, weight, bias)
    return y.view(*x.shape[:-1], -1)


def suits(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    """Whether oneDNN can and should compute this product."""
    return (
        x.device.type == weight.device.type == "cpu"
        and not torch.compiler.is_compiling()
        and is_faster_here()
        and x.numel() * weight.size(0) >= SMALLEST
        and x.numel() >= FEWEST_ROWS * x.size(-1)
        and x.size(-1) == weight.size(1)
        and x.dtype == weight.dtype == torch.float32
        and (bias is None or (bias.shape == weight.shape[:1] and bias.dtype == torch.float32))
        and type(x) is Tensor
        and type(weight) in (nn.Parameter, Tensor)  # not a shard
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
    )


@cache
def is_faster_here() -> bool:
    """A rule and not a measurement, so that a run computes the same numbers every time.

    Zen 5 is the only one of AMD with this instruction; Zen 4 computes 512 bits in two halves, as MKL does.
    """
    found = torch.cpu.get_capabilities()
    return (
        torch.backends.mkldnn.is_available()
        and "AMD" in found.get("cpu_name", "")
        and bool(found.get("avx512_vp2intersect"))
    )


def usual_rows(count: int) -> int:
    """The number of rows, rounded up."""
    step = rows_step(count)
    return -(-count // step) * step


def fewer_rows(count: int) -> int:
    """The number of rows, rounded down to one that needs no padding; 0 if there is none."""
    return count // rows_step(count) * rows_step(count)


def rows_step(count: int) -> int:
    return max(ROWS, 1 << max(0, count.bit_length() - 5))


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
    bias = None if bias is None else bias.contiguous()  # oneDNN would ignore its stride
    found: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return found


def product_of_rows(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same for any number of rows."""
    return product(padded(a), b, bias).resize_(len(a), len(b))


def product_of_columns(a: Tensor, b: Tensor) -> Tensor:
    """a^T b: (M, N) and (M, K) -> (N, K). oneDNN needs one operand transposed: the one that costs less."""
    a, b = padded(a), padded(b)
    (rows, n), k = a.shape, b.size(1)
    if rows * n <= rows * k + n * k:
        return product(a.t().contiguous(), b.t())
    return product(b.t().contiguous(), a.t()).t().contiguous()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return product_of_rows(rows, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors  # (M, K), (N, K)
        for_x, for_weight, for_bias = ctx.needs_input_grad
        by_torch = torch.is_grad_enabled()  # for second derivatives
        grad_x = grad_weight = None
        if for_x:
            grad_x = grad @ weight if by_torch else product_of_rows(grad, weight.t())
        if for_weight:
            grad_weight = grad.t() @ rows if by_torch else product_of_columns(grad, rows)
        return grad_x, grad_weight, grad.sum(0) if for_bias else None
