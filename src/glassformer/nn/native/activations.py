"""Activations in training by activations.c: one pass over the values forward, and one backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from glassformer.nn.native.compiler import kernels

NUMBERS = {"relu": 1, "silu": 2, "gelu": 3, "gelu_tanh": 4}  # as in activations.h

InTorch = Callable[[Tensor], Tensor]


def suits(x: Tensor, times: Tensor | None) -> bool:
    """Whether the kernel can compute this: float32 on a CPU."""
    return (
        is_plain(x)
        and (times is None or (is_plain(times) and times.shape == x.shape))
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
        and kernels() is not None
    )


def is_plain(x: Tensor) -> bool:
    return type(x) is Tensor and x.device.type == "cpu" and x.dtype == torch.float32


def activated(name: str, in_torch: InTorch, x: Tensor, times: Tensor | None = None) -> Tensor:
    """act(x), or act(x) * times. `in_torch` is the same activation, for second derivatives."""
    x, times = x.contiguous(), None if times is None else times.contiguous()
    y: Tensor = _Activation.apply(x, times, name, in_torch)
    return y


class _Activation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, times: Tensor | None, name: str, in_torch: InTorch) -> Tensor:
        ctx.save_for_backward(x, times)
        ctx.number, ctx.in_torch = NUMBERS[name], in_torch
        y, library = torch.empty_like(x), kernels()
        assert library is not None
        library.activate(ctx.number, *addresses(x, times, y), x.numel(), torch.get_num_threads())
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, times = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives
            return *by_torch(ctx.in_torch, x, times, grad, ctx.needs_input_grad), None, None
        grad, library = grad.contiguous(), kernels()
        assert library is not None
        dx, dtimes = torch.empty_like(x), None if times is None else torch.empty_like(x)
        places = addresses(x, times, grad, dx, dtimes)
        library.activate_backward(ctx.number, *places, x.numel(), torch.get_num_threads())
        return dx, dtimes, None, None


def by_torch(
    in_torch: InTorch, x: Tensor, times: Tensor | None, grad: Tensor, needed: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of x and times, which can be differentiated again."""
    x = x.view_as(x)  # as inputs of their own: `times` may depend on x
    times = None if times is None else times.view_as(times)
    y = in_torch(x) if times is None else in_torch(x) * times
    inputs = [one for one, is_needed in zip((x, times), needed, strict=False) if one is not None and is_needed]
    found = iter(torch.autograd.grad(y, inputs, grad, create_graph=True))
    return next(found) if needed[0] else None, next(found) if times is not None and needed[1] else None


def addresses(*tensors: Tensor | None) -> list[int | None]:
    return [None if x is None else x.data_ptr() for x in tensors]
