"""RMSNorm in training by rms_norm.c. Shapes: R rows, D width, P portions of the rows."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.native.compiler import kernels


def suits(x: Tensor, gain: Tensor) -> bool:
    """Whether the kernel can compute this: training on a CPU in float32, rows of whole vectors."""
    return (
        type(x) is Tensor
        and type(gain) in (Tensor, nn.Parameter)  # not a shard
        and x.device.type == gain.device.type == "cpu"
        and x.dtype == gain.dtype == torch.float32
        and x.size(-1) == len(gain)
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
        and not torch.is_autocast_enabled("cpu")
        and (library := kernels()) is not None
        and x.size(-1) % library.lanes() == 0
    )


def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    y: Tensor = _RmsNorm.apply(x.contiguous(), gain, eps)
    return y


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, eps: float) -> Tensor:
        width, y, library = x.size(-1), torch.empty_like(x), kernels()
        inverses = x.new_empty(x.numel() // width)  # (R,)
        assert library is not None
        given = (x.data_ptr(), gain.data_ptr(), y.data_ptr(), inverses.data_ptr())
        library.rms_norm(*given, len(inverses), width, eps, torch.get_num_threads())
        ctx.save_for_backward(x, gain, inverses)
        ctx.eps = eps
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, gain, inverses = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives
            return *by_torch(x, gain, ctx.eps, grad, ctx.needs_input_grad), None
        grad, dx, library = grad.contiguous(), torch.empty_like(x), kernels()
        assert library is not None
        rows, width = len(inverses), x.size(-1)
        sums = x.new_empty(library.rms_norm_portions(rows), width)  # (P, D)
        given = (x.data_ptr(), gain.data_ptr(), inverses.data_ptr(), grad.data_ptr(), dx.data_ptr(), sums.data_ptr())
        library.rms_norm_backward(*given, rows, width, torch.get_num_threads())
        return dx, sums.sum(0), None


def by_torch(x: Tensor, gain: Tensor, eps: float, grad: Tensor, needed: tuple[bool, ...]) -> list[Tensor | None]:
    """The gradients of x and gain, which can be differentiated again."""
    inputs = (x.view_as(x), gain.view_as(gain))  # as inputs of their own
    y = F.rms_norm(inputs[0], gain.shape, inputs[1], eps)
    wanted = [one for one, is_needed in zip(inputs, needed, strict=False) if is_needed]
    found = iter(torch.autograd.grad(y, wanted, grad, create_graph=True))
    return [next(found) if is_needed else None for is_needed in needed[:2]]
