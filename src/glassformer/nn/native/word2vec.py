"""word2vec by word2vec.c: a part of a text is read, and the tables of input and output vectors are changed in place."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int64, c_uint64, c_void_p
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassformer.nn.native.compiler import kernels

Floats = NDArray[np.float32]
Ids = NDArray[np.int32]
Bits = NDArray[np.uint32]
ALIGNED = 64  # bytes


@dataclass(frozen=True)
class Draws:
    """What random numbers are compared with, for each word. `keep`: at most this, an occurrence is kept. `stay` and
    `alias`: negative samples as an alias table (Walker 1977): at most this, the word itself, else the other one."""

    keep: Bits
    stay: Bits
    alias: Ids


@dataclass(frozen=True)
class Rates:
    """The learning rate at a position of this epoch: first - slope * position, at least `least`."""

    first: float
    slope: float
    least: float


class Job(ctypes.Structure):
    """Word2Vec in word2vec.c."""

    _fields_ = (
        ("words", c_void_p), ("begin", c_int64), ("end", c_int64), ("total", c_int64),
        ("inputs", c_void_p), ("outputs", c_void_p),
        ("keep", c_void_p), ("stay", c_void_p), ("alias", c_void_p),
        ("vocabulary", c_int64), ("width", c_int64), ("window", c_int64), ("negatives", c_int64),
        ("skip_gram", c_int64), ("threads", c_int64), ("seed", c_uint64),
        ("rate", c_double), ("slope", c_double), ("least", c_double), ("loss", c_double), ("pairs", c_int64),
    )  # fmt: skip


def padded_width(width: int) -> int:
    """The floats per row that the kernel needs; 0 without a kernel."""
    library = kernels()
    if library is None:
        return 0
    lanes = int(library.lanes())
    return -(-width // lanes) * lanes


def aligned_zeros(rows: int, width: int) -> Floats:
    """(rows, width), beginning at a cache line."""
    raw = np.zeros(rows * width * 4 + ALIGNED, np.uint8)
    start = -raw.ctypes.data % ALIGNED
    found: Floats = raw[start : start + rows * width * 4].view(np.float32).reshape(rows, width)
    return found


def learn(
    words: Ids,
    span: tuple[int, int],
    tables: tuple[Floats, Floats],
    draws: Draws,
    rates: Rates,
    *,
    window: int,
    negatives: int,
    skip_gram: bool,
    seed: int,
    threads: int,
) -> tuple[float, int]:
    """Learns from the centre words of a span. Returns the sum of the losses of some pairs, and how many these are."""
    library = kernels()
    assert library is not None
    assert library.word2vec_size() == ctypes.sizeof(Job)
    inputs, outputs = tables
    kept_alive = [np.ascontiguousarray(one) for one in (draws.keep, draws.stay, draws.alias)]
    job = Job(
        words.ctypes.data, *span, len(words), inputs.ctypes.data, outputs.ctypes.data,
        *(one.ctypes.data for one in kept_alive), *inputs.shape, window, negatives, skip_gram, threads, seed,
        rates.first, rates.slope, rates.least,
    )  # fmt: skip
    if library.word2vec(ctypes.byref(job)):
        raise MemoryError("not enough memory for the buffers of word2vec")
    return job.loss, job.pairs
