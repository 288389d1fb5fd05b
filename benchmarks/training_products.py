"""The products of a training step by torch's two libraries for a CPU: oneDNN against MKL, and attention by each way.

    python benchmarks/training_products.py [--threads 2] [--rounds 7]

For the shapes of small models: x W^T, and the gradients of x and W with what each library must copy for them; then
attention and its backward pass. Everyone alternates; the ratio is the other's time divided by ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.nn import linear
from glassformer.nn.native import attention as native
from glassformer.nn.short_attention import short_attention
from glassformer.training.machine import keep_freed_memory

PRODUCTS = [(768, 128, 384), (768, 512, 128), (2048, 256, 1024), (860, 384, 1536), (860, 1536, 384), (64, 384, 1536)]
ATTENTIONS = [(64, 4, 16, 32), (32, 12, 27, 32), (12, 4, 64, 32), (8, 12, 128, 32), (13, 4, 256, 32), (4, 8, 512, 64)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def seconds(work: Callable[[], object]) -> float:
    """The seconds of one call: the mean over a few dozen milliseconds."""
    began, calls = time.perf_counter(), 0
    while time.perf_counter() - began < 0.04:
        work()
        calls += 1
    return (time.perf_counter() - began) / calls


def alternated(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    for work in ways.values():
        seconds(work)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in list(ways) if number % 2 == 0 else reversed(ways):
            found[name].append(seconds(ways[name]))
    return found


def shown(label: str, times: dict[str, list[float]], ours: str) -> dict[str, object]:
    """One line: the ratio of each other way to ours."""
    row: dict[str, object] = {"case": label, "microseconds": 1e6 * statistics.median(times[ours])}
    parts = []
    for name, own in times.items():
        if name != ours:
            ratios = [other / mine for other, mine in zip(own, times[ours], strict=True)]
            row[name] = statistics.median(ratios)
            parts.append(f"{row[name]:5.2f} ({min(ratios):.2f} to {max(ratios):.2f}) {name}")
    print(f"{label:44} {row['microseconds']:9.0f} us   " + "   ".join(parts), flush=True)
    return row


def products(rounds: int) -> list[dict[str, object]]:
    rows = []
    for m, k, n in PRODUCTS:
        x, w, g = torch.randn(m, k), torch.randn(n, k), torch.randn(m, n)
        pairs: dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor]]] = {
            "x W^T": (lambda x=x, w=w: linear.product_of_rows(x, w), lambda x=x, w=w: x @ w.t()),
            "gradient of x": (lambda g=g, w=w: linear.product_of_rows(g, w.t()), lambda g=g, w=w: g @ w),
            "gradient of W": (lambda g=g, x=x: linear.product_of_columns(g, x), lambda g=g, x=x: g.t() @ x),
        }
        for name, (ours, theirs) in pairs.items():
            label = f"{name}, {m} rows, {k} to {n}"
            rows.append(shown(label, alternated({"oneDNN": ours, "MKL": theirs}, rounds), "oneDNN"))
    return rows


def attentions(rounds: int) -> list[dict[str, object]]:
    rows = []
    for b, h, t, e in ATTENTIONS:
        q, k, v, g = (torch.randn(b, t, h, e).transpose(1, 2).requires_grad_() for _ in range(4))
        for causal in (False, True):
            mask = torch.full((t, t), -torch.inf).triu(1) if causal else None
            ways: dict[str, Callable[[], Tensor]] = {
                "ours": lambda q=q, k=k, v=v, c=causal, s=e**-0.5: native.attention(
                    q, k, v, mask=None, causal=c, scale=s
                ),
                "batched products": lambda q=q, k=k, v=v, m=mask, s=e**-0.5: short_attention(q, k, v, m, s),
                "torch's fused": lambda q=q, k=k, v=v, c=causal: F.scaled_dot_product_attention(q, k, v, is_causal=c),
            }
            both = {n: lambda f=f, g=g, q=q, k=k, v=v: torch.autograd.grad(f(), (q, k, v), g) for n, f in ways.items()}
            label = f"attention {'causal' if causal else 'full'}, {b} x {h} heads, {t} tokens, E {e}"
            rows.append(shown(label, alternated(both, rounds), "ours"))
    return rows


def main() -> None:
    given = arguments()
    keep_freed_memory()
    torch.set_num_threads(given.threads)
    print(f"{given.threads} threads; the other's time / ours, median of {given.rounds} rounds (least to most)")
    rows = products(given.rounds) + attentions(given.rounds)
    print(json.dumps({"benchmark": "training_products", "threads": given.threads, "result": rows}))


if __name__ == "__main__":
    main()
