"""A tape: operations on rows of numbers, written down once and then run in one call of kernels.c.

Each method writes down one operation of every row. Buffers are (rows, width); a part of one, as `qkv[:, :width]`, is as
good as a whole one. What changes between runs (which slots attention looks at) is told to the written operation.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.nn.feed_forward import ACTIVATIONS
from glassformer.nn.native import Pointer, Whole, kernels
from glassformer.nn.norms import LayerNorm, RMSNorm
from glassformer.nn.pages import Pages
from glassformer.nn.products import Layer

Best = tuple[NDArray[Any], NDArray[np.int64]]  # the largest of each row, largest first, and their places: (R, n)

EMBED, NORM, RMS_NORM, PRODUCT, ROTATE, APPEND, ATTEND, BEST = range(8)
NO_SUCH_ID = 2
WORTH_SHARING = 2_000_000  # multiplications; fewer are done before another thread has begun
NUMBERS = {ACTIVATIONS[name]: number for number, name in enumerate(("relu", "silu", "gelu", "gelu_tanh"), start=1)}
POINTERS = {
    *("x", "y", "weight", "bias", "times", "plus", "ids", "keys", "values", "mask", "new_keys", "new_values"),
    *("owners", "places", "found"),
}
FIELDS = (
    *("kind", "activation", "x", "y", "x_step", "y_step", "weight", "bias", "times", "plus"),
    *("inputs", "outputs", "ids"),
    *("keys", "values", "mask", "new_keys", "new_values", "sentence_step", "head_step", "slot_step"),
    *("mask_sentence_step", "mask_row_step", "heads", "groups", "head_width", "slots", "first_slot", "together"),
    *("owners", "places", "found", "wanted"),
)


class Op(ctypes.Structure):
    """One operation, field by field as in kernels.c."""

    _fields_ = [
        *((name, Pointer if name in POINTERS else Whole) for name in FIELDS),
        ("number", ctypes.c_double),
    ]


class Tape:
    """Room for so many rows and operations. One thread at a time may run it."""

    def __init__(self, rows: int, *, room: int, panels: Panels | None = None) -> None:
        self.rows = rows
        self.panels = Panels() if panels is None else panels
        self.ops = (Op * room)()
        self.count = 0
        self.held: list[Tensor] = []  # what the pointers point to
        self.work = 0  # multiplications of a row

    def buffer(self, width: int) -> Tensor:
        """(rows, width), not filled."""
        return self.hold(empty(self.rows, width))

    def hold(self, tensor: Tensor) -> Tensor:
        self.held.append(tensor.detach())  # a parameter may be given other numbers; these stay
        return tensor

    def written(self, kind: int, *, x: Tensor | None = None, to: Tensor | None = None) -> Op:
        op: Op = self.ops[self.count]
        self.count += 1
        op.kind = kind
        if x is not None:
            op.x, op.x_step = self.hold(x).data_ptr(), x.stride(0)
        if to is not None:
            op.y, op.y_step, op.outputs = self.hold(to).data_ptr(), to.stride(0), to.size(1)
        return op

    def embed(self, table: Tensor, *, to: Tensor, scale: float) -> Op:
        """table[id] * scale + position; see `placed`."""
        op = self.written(EMBED, to=to)
        op.weight, op.number, op.inputs = self.hold(table).data_ptr(), scale, len(table)
        return op

    def norm(self, norm: LayerNorm | RMSNorm, x: Tensor, *, to: Tensor) -> None:
        """`to` may be x itself."""
        op = self.written(NORM if isinstance(norm, LayerNorm) else RMS_NORM, x=x, to=to)
        op.weight, op.number = self.hold(norm.gain).data_ptr(), norm.eps
        if isinstance(norm, LayerNorm) and norm.bias is not None:
            op.bias = self.hold(norm.bias).data_ptr()

    def product(
        self,
        layer: Layer,
        x: Tensor,
        *,
        to: Tensor,
        activation: object = None,
        times: Tensor | None = None,
        plus: Tensor | None = None,
    ) -> Op:
        """activation(x W^T + b) * times + plus; `times` and `plus` may be `to` itself."""
        panels, bias = self.panels.of(layer)
        op = self.written(PRODUCT, x=x, to=to)
        op.weight, op.bias = self.hold(panels).data_ptr(), self.hold(bias).data_ptr()
        op.inputs = x.size(1)
        self.work += panels.numel()
        op.activation = 0 if activation is None else NUMBERS[activation]  # type: ignore[index]
        for name, other in (("times", times), ("plus", plus)):
            if other is not None:
                assert other.stride(0) == to.stride(0)
                setattr(op, name, self.hold(other).data_ptr())
        return op

    def rotate(self, x: Tensor, *, head_width: int) -> Op:
        """Turns pairs of x (rows, heads * E) in their place; by how much, see `turned`."""
        op = self.written(ROTATE, to=x)
        op.heads, op.head_width = x.size(1) // head_width, head_width
        return op

    def append(self, keys_values: Tensor, *, groups: int, head_width: int) -> Op:
        """The new keys and values (rows, 2 * G * E) go to a cache; see `grown`."""
        op = self.written(APPEND, x=keys_values)
        op.groups, op.head_width = groups, head_width
        return op

    def attend(self, q: Tensor, *, to: Tensor, groups: int, head_width: int, scale: float | None) -> Op:
        """Queries (rows, H * E) read keys and values; see `looking`."""
        op = self.written(ATTEND, x=q, to=to)
        op.heads, op.groups, op.head_width = q.size(1) // head_width, groups, head_width
        op.number = head_width**-0.5 if scale is None else scale
        return op

    def run(self, rows: int) -> None:
        library = kernels()
        assert library is not None
        assert rows <= self.rows
        threads = torch.get_num_threads() if self.work * rows > WORTH_SHARING else 1
        failed = library.run(ctypes.addressof(self.ops), self.count, rows, threads)
        if failed == NO_SUCH_ID:
            raise IndexError("a token's number is not in the vocabulary")
        if failed:
            raise MemoryError("there is no memory for attention over so many tokens; use fewer hypotheses")


def empty(*shape: int) -> Tensor:
    """Room for numbers as kernels.c has them, whatever torch's defaults are."""
    return torch.empty(*shape, dtype=torch.float32, device="cpu")


def placed(op: Op, ids: Tensor, positions: Tensor | None, *, together: int) -> None:
    """What is embedded (whole numbers of 64 bits), and the positions (together, D) of the rows of each sentence."""
    op.ids, op.together = ids.data_ptr(), together
    op.bias = None if positions is None else positions.data_ptr()


def turned(op: Op, turns: Tensor, *, together: int) -> None:
    """Cosines and sines (together, 2, E/2) of the rows of each sentence."""
    op.bias, op.together = turns.data_ptr(), together


def grown(op: Op, keys: Tensor, values: Tensor, *, first_slot: int, owners: int, places: int) -> None:
    """The cache, (B, G, room, E) twice, where its next slots begin, and of each row its sentence and its slot there.

    `owners` and `places` are addresses of R whole numbers.
    """
    op.new_keys, op.new_values, op.first_slot = keys.data_ptr(), values.data_ptr(), first_slot
    op.owners, op.places = owners, places
    op.sentence_step, op.head_step, op.slot_step, _ = keys.stride()


def looking(
    op: Op,
    keys: Tensor,
    values: Tensor,
    *,
    slots: int,
    owners: int,
    mask: Tensor | None = None,
    row_mask: Tensor | None = None,
    together: bool = False,
) -> None:
    """What is looked at: keys and values (B, G, K, E) of which the first slots count, the sentence of each row
    (an address).

    An additive mask is either each sentence's, (B, slots), or each row's, (R, slots). Where the rows of a sentence
    follow each other and see the same slots, they may be read `together`, which is quicker.
    """
    assert not (together and row_mask is not None)
    assert keys.stride() == values.stride()
    assert keys.stride(3) == 1
    op.keys, op.values, op.slots, op.owners = keys.data_ptr(), values.data_ptr(), slots, owners
    op.sentence_step, op.head_step, op.slot_step, _ = keys.stride()
    either = mask if row_mask is None else row_mask
    op.mask = None if either is None else either.data_ptr()
    op.mask_sentence_step = 0 if mask is None else mask.stride(0)
    op.mask_row_step = 0 if row_mask is None else row_mask.stride(0)
    op.together = together


@dataclass(frozen=True)
class Stamp:
    """Which tensors, and which numbers in them."""

    tensors: list[Tensor]
    numbers: list[tuple[int, int]]  # where they are, how often they were changed

    @classmethod
    def of(cls, tensors: Iterable[Tensor]) -> Stamp:
        tensors = list(tensors)
        return cls(tensors, [(one.data_ptr(), 0 if one.is_inference() else one._version) for one in tensors])

    def same_as(self, other: Stamp) -> bool:
        alike = self.numbers == other.numbers
        return alike and all(a is b for a, b in zip(self.tensors, other.tensors, strict=True))


class Panels:
    """The weights of layers as kernels.c reads them, all in the same large pages. Threads may share them.

    A weight (N, K) lies in panels (N / width, K, width), followed by the bias, zeros where there is none. Each is made
    once; when one has changed, all are given up. They belong to no state dict.
    """

    def __init__(self) -> None:
        self.pages = Pages()
        self.known: dict[Layer, tuple[Stamp, Tensor, Tensor]] = {}
        self.lock = threading.Lock()

    def of(self, layer: Layer) -> tuple[Tensor, Tensor]:
        """The panels, and the biases (N,), filled up to whole panels."""
        weight, bias = layer.weight, layer.bias
        now = Stamp.of([weight] if bias is None else [weight, bias])
        with self.lock:
            known = self.known.get(layer)
            if known is not None and not now.same_as(known[0]):
                self.pages, self.known, known = Pages(), {}, None
            if known is None:
                with torch.inference_mode(False), torch.no_grad():
                    known = self.known[layer] = (now, *self.made(weight.detach(), bias))
        return known[1], known[2]

    def made(self, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        library = kernels()
        assert library is not None
        width, (outputs, inputs) = library.panel_width(), weight.shape
        count = -(-outputs // width)
        panels = self.pages.take(count * width * inputs).view(count, inputs, width)
        biases = self.pages.take(count * width).zero_()
        whole, rest = divmod(outputs, width)
        panels[:whole] = weight[: whole * width].view(whole, width, inputs).transpose(1, 2)
        if rest:
            panels[whole] = 0
            panels[whole, :, :rest] = weight[whole * width :].t()
        if bias is not None:
            biases[:outputs] = bias.detach()
        return panels, biases


def telling_all(op: Op, rows: int) -> Tensor:
    """A product, the last of a tape, that is to give all its outputs: where they will stand, (rows, N)."""
    outputs = empty(rows, op.outputs)
    op.kind, op.y = PRODUCT, outputs.data_ptr()
    return outputs


def telling_best(op: Op, rows: int, n: int) -> Best:
    """The same product, of which only the n largest log-probabilities of each row are wanted, no more than it has, and
    their places: both (rows, n). The others are never written down together."""
    n = min(n, op.outputs)
    values, places = np.empty((rows, n), np.float32), np.empty((rows, n), np.int64)
    op.kind, op.y, op.found, op.wanted = BEST, values.ctypes.data, places.ctypes.data, n
    return values, places


def best_of(logits: Tensor, n: int) -> Best | None:
    """The n largest log-probabilities of each row (R, V), largest first, and their places: both (R, n).

    None where kernels.c cannot: then it is for torch.
    """
    library = kernels()
    if library is None or logits.device.type != "cpu" or logits.dtype != torch.float32 or not logits.is_contiguous():
        return None
    rows, size = logits.shape
    values, places = np.empty((rows, n), np.float32), np.empty((rows, n), np.int64)
    to = values.ctypes.data, places.ctypes.data
    library.best(logits.data_ptr(), rows, size, n, *to, torch.get_num_threads())
    return values, places
