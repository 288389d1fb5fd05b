"""Attention in training by attention.c: forward and backward pass of all heads, each in one call.

Shapes: B sentences, H heads, G key/value heads, T queries, K keys, E head width.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import torch
from torch import Tensor

from glassformer.nn.derivatives import first_derivative_only
from glassformer.nn.native.compiler import Pointer, Whole, kernels

TENSORS = ("q", "k", "v", "z", "dq", "dk", "dv", "dz")
SIZES = ("sentences", "heads", "groups", "queries", "keys", "width", "causal")


class Rows(ctypes.Structure):
    """A tensor (B, H, T, E): its address and strides, as in attention.c."""

    _fields_ = [("data", Pointer), ("sentence", Whole), ("head", Whole), ("row", Whole)]


class Attention(ctypes.Structure):
    """One call, field by field as in attention.c."""

    _fields_ = [
        *((name, Rows) for name in TENSORS),
        ("mask", Pointer),
        ("sums", Pointer),
        *((name, Whole) for name in SIZES),
        ("scale", ctypes.c_double),
    ]


@cache
def lanes() -> int:
    """Head widths must be a multiple of this; 0 without a compiled kernel that can use torch's threads."""
    library = kernels()
    return 0 if library is None or not library.has_threads() else int(library.lanes())


def suits(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether the kernel can compute this: training on a CPU in float32, with no mask but one of keys (B, 1, 1, K)."""
    return (
        all(type(x) is Tensor and x.device.type == "cpu" and x.dtype == torch.float32 for x in (q, k, v))
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and k.shape == v.shape
        and k.size(2) > 1
        and (len(q), q.size(3)) == (len(k), k.size(3))
        and q.size(1) % k.size(1) == 0
        and (mask is None or is_of_keys(mask, len(q), k.size(2)))
        and not torch.is_autocast_enabled("cpu")
        and lanes() > 0
        and q.size(3) % lanes() == 0
    )


def is_of_keys(mask: Tensor, sentences: int, keys: int) -> bool:
    return mask.shape == (sentences, 1, 1, keys) and mask.dtype == torch.float32 and not mask.requires_grad


def attention(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """softmax(scale Q K^T + M) V: q (B, H, T, E), k and v (B, G, K, E) -> (B, H, T, E).

    In memory the result is (B, T, H, E): the output projection reads it without a copy.
    """
    z: Tensor = _Attention.apply(q, k, v, mask, causal, scale)  # (B, T, H, E)
    return z.transpose(1, 2)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
        q, k, v = (rows_contiguous(x) for x in (q, k, v))
        z, sums = like(q), q.new_empty(*q.shape[:3], 2)
        mask = None if mask is None else mask.contiguous()
        run({"q": q, "k": k, "v": v, "z": z.transpose(1, 2)}, mask, sums, causal=causal, scale=scale)
        ctx.save_for_backward(q, k, v, sums, mask)
        ctx.causal, ctx.scale = causal, scale
        return z

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, sums, mask = ctx.saved_tensors
        found = {name: like(x).transpose(1, 2) for name, x in (("dq", q), ("dk", k), ("dv", v))}
        given = {"q": q, "k": k, "v": v, "dz": rows_contiguous(grad.transpose(1, 2))}
        run(given | found, mask, sums, causal=ctx.causal, scale=ctx.scale, backward=True)
        return *found.values(), None, None, None


def rows_contiguous(x: Tensor) -> Tensor:
    return x if x.stride(-1) == 1 else x.contiguous()


def like(x: Tensor) -> Tensor:
    """For x (B, H, T, E), an empty (B, T, H, E), as projections give and take it."""
    return x.new_empty(x.size(0), x.size(2), x.size(1), x.size(3))


def run(
    tensors: dict[str, Tensor],
    mask: Tensor | None,
    sums: Tensor,
    *,
    causal: bool,
    scale: float,
    backward: bool = False,
) -> None:
    q, k = tensors["q"], tensors["k"]
    rows = {name: Rows(x.data_ptr(), *x.stride()[:3]) for name, x in tensors.items()}
    sizes = dict(zip(SIZES, (*q.shape[:2], k.size(1), q.size(2), k.size(2), q.size(3), int(causal)), strict=True))
    pointers = {"mask": None if mask is None else mask.data_ptr(), "sums": sums.data_ptr()}
    job = Attention(**rows, **pointers, **sizes, scale=scale)
    library = kernels()
    assert library is not None
    if library.attention(ctypes.byref(job), int(backward), torch.get_num_threads()):
        raise MemoryError("There is not enough memory for attention.")
