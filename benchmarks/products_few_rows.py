"""Speed of x W^T for a few rows x, in several forms, with weights that are not in any cache.

    python benchmarks/products_few_rows.py [--threads 2]

A step of decoding reads every weight once, so a loop over one matrix, which then stays in the cache, would be
misleading. Here each product takes the next of many matrices. Microseconds, the best of five rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.nn.native.compiler import kernels
from glassformer.nn.native.tape import Tape
from glassformer.training.machine import keep_freed_memory

SHAPES = ((10_000, 256), (768, 256), (256, 256), (1024, 256), (256, 1024))  # out, in
ROWS = (1, 5, 32, 160)
BYTES = 120 << 20  # of all matrices of a shape together
ROUNDS = 5


def seconds(product: Callable[[int], Tensor], matrices: int) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for i in range(matrices):
            product(i)
        best = min(best, (time.perf_counter() - began) / matrices)
    return best


def on_tape(x: Tensor, weights: list[Tensor]) -> Callable[[], None] | None:
    """All products, one after the other, in one call of the compiled kernels, where these are."""
    if kernels() is None:
        return None
    tape = Tape(len(x), room=len(weights))
    to = tape.buffer(len(weights[0]))
    for weight in weights:
        tape.product(SimpleNamespace(weight=weight, bias=None), x, to=to)
    return lambda: tape.run(len(x))


def forms(x: Tensor, weights: list[Tensor], flipped: list[Tensor]) -> dict[str, Callable[[int], Tensor]]:
    return {
        "x W^T": lambda i: F.linear(x, weights[i]),
        "W x^T": lambda i: torch.mm(weights[i], x.t()),
        "x (W^T)": lambda i: torch.mm(x, flipped[i]),  # a transposed copy
        "reading W": lambda i: weights[i].sum(),
    }


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    keep_freed_memory()
    torch.set_num_threads(parser.parse_args().threads)
    for out, into in SHAPES:
        count = max(2, BYTES // (4 * out * into))
        weights = [torch.randn(out, into) for _ in range(count)]
        flipped = [weight.t().contiguous() for weight in weights]
        for rows in ROWS:
            x = torch.randn(rows, into)
            told = {name: 1e6 * seconds(f, count) for name, f in forms(x, weights, flipped).items()}
            if (taped := on_tape(x, weights)) is not None:
                told["on a tape"] = 1e6 * seconds(lambda _, run=taped: run(), 1) / count
            print(
                f"W {out} x {into}, {rows:3} rows:  " + "  ".join(f"{n} {t:6.0f}" for n, t in told.items()), flush=True
            )


if __name__ == "__main__":
    main()
