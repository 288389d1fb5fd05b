"""The matrix products of training steps: which ones there are, and how long they take alone.

Every product that passes torch's dispatcher in forward and backward is noted with shapes and strides. The fused
attention kernel is one call there; its products are counted by the formula, each once: 2 forward (Q K^T, P V), 4
backward (the gradients of Q, K, V and P). What a kernel computes a second time, and what a causal one may leave out, is
not considered.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
LAST_TWO = {"mm": torch.mm, "bmm": torch.bmm}  # (out =) a b
ADDED = {"addmm": torch.addmm, "addmm_": torch.addmm, "baddbmm": torch.baddbmm, "baddbmm_": torch.baddbmm}  # c + a b
FLIPPED = "_linear_pointwise"  # a b^T, by oneDNN
FORWARD = "_scaled_dot_product_flash_attention_for_cpu"
BACKWARD = "_scaled_dot_product_flash_attention_for_cpu_backward"
SUSPICIOUS = ("mm", "linear", "attention", "conv", "matmul", "einsum", "mv", "dot")


@dataclass(frozen=True)
class Layout:
    """A tensor without its numbers."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, tensor: Tensor) -> Layout:
        return cls(tuple(tensor.shape), tensor.stride(), tensor.dtype)

    @classmethod
    def plain(cls, *shape: int, dtype: torch.dtype) -> Layout:
        return cls(shape, tuple(math.prod(shape[i + 1 :]) for i in range(len(shape))), dtype)

    @property
    def room(self) -> int:
        """Numbers from the first to the last."""
        return 1 + sum((size - 1) * step for size, step in zip(self.shape, self.stride, strict=True))


@dataclass(frozen=True)
class Call:
    """One product: which function, of what."""

    name: str
    operands: tuple[Layout, ...]

    @property
    def flops(self) -> int:
        left, right = self.operands[-2:]
        return 2 * math.prod(left.shape) * right.shape[0 if self.name == FLIPPED else -1]

    def prepared(self, numbers: Numbers) -> Callable[[], Tensor]:
        """The call with random operands and its result's place."""
        operands = [numbers.take(layout) for layout in self.operands]
        if self.name == FLIPPED:
            return lambda: torch.ops.mkldnn._linear_pointwise(*operands, None, "none", [], "")
        function = {**LAST_TWO, **ADDED}[self.name]
        left, right = self.operands[-2:]
        out = torch.empty(*left.shape[:-1], right.shape[-1], dtype=left.dtype)
        return lambda: function(*operands, out=out)


class Numbers:
    """Random operands, cut one after the other from one long row of numbers, which is reused from its start."""

    def __init__(self, calls: list[Call]) -> None:
        self.row = torch.randn(2 * max(layout.room for call in calls for layout in call.operands))
        self.rows = {torch.float32: self.row}
        self.place = 0

    def take(self, layout: Layout) -> Tensor:
        row = self.rows.setdefault(layout.dtype, self.row.to(layout.dtype))
        if self.place + layout.room > row.numel():
            self.place = 0
        begin, self.place = self.place, self.place + layout.room
        return row.as_strided(layout.shape, layout.stride, begin)


class Recorder(TorchDispatchMode):
    """Notes the products of the steps that run while it listens."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.ends: list[int] = []  # of each step, in `calls`
        self.tokens = 0
        self.unknown: set[str] = set()
        self.listening = False

    def __enter__(self) -> Recorder:
        self.listening = True
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.listening = False
        super().__exit__(*error)

    def end_step(self, tokens: int) -> None:
        """A step is over; `tokens` is the total so far."""
        self.ends.append(len(self.calls))
        self.tokens = tokens

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in LAST_TWO or name in ADDED or name == FLIPPED:
            operands = args[:2] if name == FLIPPED else args
            self.calls.append(Call(name, tuple(Layout.of(x) for x in operands if isinstance(x, Tensor))))
        elif name in (FORWARD, BACKWARD):
            self.calls += attention_products(args, backward=name == BACKWARD)
        elif any(part in name for part in SUSPICIOUS):
            self.unknown.add(name)
        return func(*args, **(kwargs or {}))


def attention_products(args: tuple[Any, ...], *, backward: bool) -> list[Call]:
    """The products of one attention; its backward call has the gradient before q, k and v."""
    q, k, v = args[1:4] if backward else args[:3]  # (B, H, T, E), (B, H, K, E) twice
    rows, queries, keys, width = q.shape[:2].numel(), q.size(2), k.size(2), v.size(3)

    def batched(m: int, n: int, o: int) -> Call:
        return Call("bmm", (Layout.plain(rows, m, n, dtype=q.dtype), Layout.plain(rows, n, o, dtype=q.dtype)))

    if not backward:
        return [batched(queries, width, keys), batched(queries, keys, width)]
    return [
        batched(keys, queries, width),  # dV = P^T dZ
        batched(queries, width, keys),  # dP = dZ V^T
        batched(queries, keys, width),  # dQ = dS K
        batched(keys, queries, width),  # dK = dS^T Q
    ]


def replay(recorder: Recorder) -> dict[str, Any]:
    """Seconds of all recorded products in their order, random operands at hand, results in places that wait for them.

    Each step's products run once before they are timed: what is measured is their best.
    """
    seconds, begin, numbers = 0.0, 0, Numbers(recorder.calls)
    for end in recorder.ends:
        prepared = [call.prepared(numbers) for call in recorder.calls[begin:end]]
        for product in prepared:
            product()
        began = time.perf_counter()
        for product in prepared:
            product()
        seconds += time.perf_counter() - began
        begin = end
    flops = sum(call.flops for call in recorder.calls[: recorder.ends[-1]])
    return {
        "seconds": seconds,
        "tokens": recorder.tokens,
        "tokens_per_second": recorder.tokens / seconds,
        "gflops_per_second": flops / seconds / 1e9,
        "flops_per_token": flops / recorder.tokens,
    }
