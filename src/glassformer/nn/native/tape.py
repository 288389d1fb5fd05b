"""A tape: a list of operations on rows of numbers, written once and then run in one call of kernels.c.

Each method of `Tape` adds one operation, which is applied to every row. Buffers are (rows, width); a part of one, such
as `qkv[:, :width]`, can be used like a whole one. Methods of `Op` set what changes between runs.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from glassformer.nn.activations import ACTIVATIONS
from glassformer.nn.native import activations
from glassformer.nn.native.compiler import Pointer, Whole, kernels
from glassformer.nn.native.huge_pages import Pages
from glassformer.nn.native.products import Layer
from glassformer.nn.norms import LayerNorm, RMSNorm

Best = tuple[NDArray[Any], NDArray[np.int64]]  # the largest of each row, largest first, and their places: (R, n)

EMBED, NORM, RMS_NORM, PRODUCT, ROTATE, APPEND, ATTEND, BEST = range(8)
NO_SUCH_ID = 2
WORTH_SHARING = 2_000_000  # multiplications; fewer are finished before another thread starts
TRY_AGAIN = 100  # runs after which the slower way is timed again
FORGET = 1.05  # old timings grow by this factor with each new one
HYSTERESIS = 1.03  # several threads may be slower than one by this factor and are still used
NUMBERS = {ACTIVATIONS[name]: number for name, number in activations.NUMBERS.items()}
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
    """One operation, field by field as in kernels.c. The methods set what changes between runs.

    Addresses are kept, not tensors: the caller holds the tensors until the tape has run.
    """

    _fields_ = [
        *((name, Pointer if name in POINTERS else Whole) for name in FIELDS),
        ("number", ctypes.c_double),
    ]

    def set_ids(self, ids: Tensor, positions: Tensor | None, *, together: int) -> None:
        """For `embed`: the tokens (int64), and the position vectors (together, D) of the rows of each sentence."""
        self.ids, self.together = ids.data_ptr(), together
        self.bias = None if positions is None else positions.data_ptr()

    def set_turns(self, turns: Tensor, *, together: int) -> None:
        """For `rotate`: cosines and sines (together, 2, E/2) of the rows of each sentence."""
        self.bias, self.together = turns.data_ptr(), together

    def set_cache(self, keys: Tensor, values: Tensor, *, first_slot: int, owners: int, places: int) -> None:
        """For `append`: the cache, (B, G, size, E) twice, where its next slots begin, and for each row its sentence and
        its slot there. `owners` and `places` are addresses of R int64."""
        self.new_keys, self.new_values, self.first_slot = keys.data_ptr(), values.data_ptr(), first_slot
        self.owners, self.places = owners, places
        self.sentence_step, self.head_step, self.slot_step, _ = keys.stride()

    def set_keys_values(
        self,
        keys: Tensor,
        values: Tensor,
        *,
        slots: int,
        owners: int,
        mask: Tensor | None = None,
        row_mask: Tensor | None = None,
        together: bool = False,
    ) -> None:
        """For `attend`: keys and values (B, G, K, E), of which the first `slots` count, and the sentence of each row
        (an address).

        An additive mask is either for each sentence, (B, slots), or for each row, (R, slots). Where the rows of a
        sentence follow each other and see the same slots, they can be computed `together`, which is faster.
        """
        assert not (together and row_mask is not None)
        assert keys.stride() == values.stride()
        assert keys.stride(3) == 1
        self.keys, self.values, self.slots, self.owners = keys.data_ptr(), values.data_ptr(), slots, owners
        self.sentence_step, self.head_step, self.slot_step, _ = keys.stride()
        either = mask if row_mask is None else row_mask
        self.mask = None if either is None else either.data_ptr()
        self.mask_sentence_step = 0 if mask is None else mask.stride(0)
        self.mask_row_step = 0 if row_mask is None else row_mask.stride(0)
        self.together = together

    def all_outputs(self, rows: int) -> Tensor:
        """For the last product of a tape: (rows, N), which a run fills with all outputs."""
        outputs = empty(rows, self.outputs)
        self.kind, self.y = PRODUCT, outputs.data_ptr()
        return outputs

    def best_outputs(self, rows: int, n: int) -> Best:
        """For the same product: two arrays (rows, n), which a run fills with the n largest log-probabilities of each
        row and their places; n is limited to the number of outputs. Not all outputs are in memory at once."""
        n = min(n, self.outputs)
        values, places = np.empty((rows, n), np.float32), np.empty((rows, n), np.int64)
        self.kind, self.y, self.found, self.wanted = BEST, values.ctypes.data, places.ctypes.data, n
        return values, places


class ThreadTimings:
    """Whether several threads are faster than one for runs of similar size. This is measured, since on some machines
    waiting for each other takes longer than the work. Both ways compute the same bits.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.shared, self.alone = inf, inf  # the fewest seconds per row of recent runs

    def worth_sharing(self) -> bool:
        """Whether to use several threads: the faster way. At first both ways twice, later the slower one sometimes."""
        shared_is_faster = self.shared <= HYSTERESIS * self.alone
        if self.runs < 4:
            return self.runs % 2 == 0
        return shared_is_faster != (self.runs % TRY_AGAIN == 0)

    def note(self, seconds: float, rows: int, *, shared: bool) -> None:
        self.runs += 1
        if shared:
            self.shared = min(seconds / rows, FORGET * self.shared)
        else:
            self.alone = min(seconds / rows, FORGET * self.alone)


class Tape:
    """A list of up to `capacity` operations on up to `rows` rows. One thread at a time may run it."""

    def __init__(self, rows: int, *, capacity: int, panels: Panels | None = None) -> None:
        self.rows = rows
        self.panels = Panels() if panels is None else panels
        self.ops = (Op * capacity)()
        self.count = 0
        self.held: list[Tensor] = []  # what the pointers point to
        self.work = 0  # multiplications per row
        self.timings: dict[int, ThreadTimings] = {}  # for runs of up to 1, 3, 7, ... rows

    def buffer(self, width: int) -> Tensor:
        """(rows, width), not initialised."""
        return self.hold(empty(self.rows, width))

    def hold(self, tensor: Tensor) -> Tensor:
        self.held.append(tensor.detach())  # a parameter may get other data; this stays alive
        return tensor

    def add(self, kind: int, *, x: Tensor | None = None, to: Tensor | None = None) -> Op:
        op: Op = self.ops[self.count]
        self.count += 1
        op.kind = kind
        if x is not None:
            op.x, op.x_step = self.hold(x).data_ptr(), x.stride(0)
        if to is not None:
            op.y, op.y_step, op.outputs = self.hold(to).data_ptr(), to.stride(0), to.size(1)
        return op

    def embed(self, table: Tensor, *, to: Tensor, scale: float) -> Op:
        """table[id] * scale + position; see `Op.set_ids`."""
        op = self.add(EMBED, to=to)
        op.weight, op.number, op.inputs = self.hold(table).data_ptr(), scale, len(table)
        return op

    def norm(self, norm: LayerNorm | RMSNorm, x: Tensor, *, to: Tensor) -> None:
        """`to` may be x itself."""
        op = self.add(NORM if isinstance(norm, LayerNorm) else RMS_NORM, x=x, to=to)
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
        op = self.add(PRODUCT, x=x, to=to)
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
        """Rotates pairs of x (rows, heads * E) in place; the angles: see `Op.set_turns`."""
        op = self.add(ROTATE, to=x)
        op.heads, op.head_width = x.size(1) // head_width, head_width
        return op

    def append(self, keys_values: Tensor, *, groups: int, head_width: int) -> Op:
        """The new keys and values (rows, 2 * G * E) go to a cache; see `Op.set_cache`."""
        op = self.add(APPEND, x=keys_values)
        op.groups, op.head_width = groups, head_width
        return op

    def attend(self, q: Tensor, *, to: Tensor, groups: int, head_width: int, scale: float | None) -> Op:
        """Queries (rows, H * E) read keys and values; see `Op.set_keys_values`."""
        op = self.add(ATTEND, x=q, to=to)
        op.heads, op.groups, op.head_width = q.size(1) // head_width, groups, head_width
        op.number = head_width**-0.5 if scale is None else scale
        return op

    def run(self, rows: int) -> None:
        library = kernels()
        assert library is not None
        assert rows <= self.rows
        most = torch.get_num_threads() if self.work * rows > WORTH_SHARING else 1
        threads = library.threads_now(most)
        timings = self.timings.setdefault(rows.bit_length(), ThreadTimings()) if threads > 1 else None
        if timings is not None and not timings.worth_sharing():
            threads = 1
        began = time.perf_counter()
        failed = library.run(ctypes.addressof(self.ops), self.count, rows, threads)
        if timings is not None:
            timings.note(time.perf_counter() - began, rows, shared=threads > 1)
        if failed == NO_SUCH_ID:
            raise IndexError("a token id is not in the vocabulary")
        if failed:
            raise MemoryError("not enough memory for attention over this many tokens; use fewer hypotheses")


def empty(*shape: int) -> Tensor:
    """A tensor as kernels.c needs it, whatever torch's defaults are; not initialised."""
    return torch.empty(*shape, dtype=torch.float32, device="cpu")


@dataclass(frozen=True)
class Stamp:
    """Identifies tensors and their content, to notice changes."""

    tensors: list[Tensor]
    numbers: list[tuple[int, int]]  # address and version of each

    @classmethod
    def of(cls, tensors: Iterable[Tensor]) -> Stamp:
        tensors = list(tensors)
        return cls(tensors, [(one.data_ptr(), 0 if one.is_inference() else one._version) for one in tensors])

    def same_as(self, other: Stamp) -> bool:
        alike = self.numbers == other.numbers
        return alike and all(a is b for a, b in zip(self.tensors, other.tensors, strict=True))


class Panels:
    """The weights of layers, in huge pages, in the order in which kernels.c reads them. Threads may share them.

    A weight (N, K) is stored in panels (N / width, K, width), followed by the bias, zeros if there is none. Each is
    made once; when a weight has changed, all are dropped. They are in no state dict.
    """

    def __init__(self) -> None:
        self.pages = Pages()
        self.known: dict[Layer, tuple[Stamp, Tensor, Tensor]] = {}
        self.lock = threading.Lock()

    def of(self, layer: Layer) -> tuple[Tensor, Tensor]:
        """The panels, and the biases (N,), padded to whole panels."""
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


def best_of(logits: Tensor, n: int) -> Best | None:
    """The n largest log-probabilities of each row (R, V), largest first, and their places: both (R, n).

    None where kernels.c cannot do it: use torch then.
    """
    if logits.device.type != "cpu" or logits.dtype != torch.float32 or not logits.is_contiguous():
        return None
    library = kernels()
    if library is None:
        return None
    rows, size = logits.shape
    values, places = np.empty((rows, n), np.float32), np.empty((rows, n), np.int64)
    to = values.ctypes.data, places.ctypes.data
    library.best(logits.data_ptr(), rows, size, n, *to, library.threads_now(torch.get_num_threads()))
    return values, places
