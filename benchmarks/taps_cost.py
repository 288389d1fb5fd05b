"""What taps cost when nobody listens: calls per training step times the cost of a call, as a share of the step.

    python benchmarks/taps_cost.py

Both are timed in alternation; the median of the shares is reported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import partial

import numpy as np
import torch

from glassformer.data.batches import EncodedPairs, Marks
from glassformer.data.columns import Ragged
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.nn.taps import Tap
from glassformer.training.machine import keep_freed_memory
from glassformer.training.objective import token_loss
from glassformer.training.optimiser import make_optimiser
from glassformer.training.settings import TrainSettings
from glassformer.training.step import train_step

ROUNDS, CALLS, VOCABULARY = 7, 20_000, 2000


class Holder(torch.nn.Module):
    """A module with one tap, so that the look-up of a submodule is timed as well."""

    def __init__(self) -> None:
        super().__init__()
        self.tap = Tap()

    def many(self, x: torch.Tensor) -> None:
        for _ in range(CALLS):
            x = self.tap(x)

    def none(self, x: torch.Tensor) -> None:
        for _ in range(CALLS):
            x = x


def seconds(work: partial[object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def calls_per_step(model: Transformer, step: partial[object]) -> int:
    """How often a tap is called in one step, counted by listening outside of attention's and the norms' middles."""
    count = 0

    def heard(*_: object) -> None:
        nonlocal count
        count += 1

    handles = [tap.register_forward_hook(heard) for tap in model.modules() if isinstance(tap, Tap)]
    step()
    for handle in handles:
        handle.remove()
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="not needed here")
    parser.parse_args()
    keep_freed_memory()
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(size="tiny"), source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    rows = np.random.default_rng(0).integers(4, VOCABULARY, (100, 16)).tolist()
    marks = Marks(pad=0, bos=2, eos=3)
    batch = EncodedPairs(Ragged.of(rows), Ragged.of(rows), marks, marks).batch(np.arange(100))
    optimiser = make_optimiser(model, TrainSettings())
    loss = partial(token_loss, model, label_smoothing=0.1)
    step = partial(
        train_step,
        model,
        optimiser,
        [batch],
        loss=loss,
        lr=1e-4,
        clip=1.0,
        weight=batch.weight,
    )
    calls, holder, value = calls_per_step(model, step), Holder(), torch.zeros(1)
    shares = []
    for _ in range(ROUNDS):
        whole = seconds(step)
        call = (seconds(partial(holder.many, value)) - seconds(partial(holder.none, value))) / CALLS
        shares.append(calls * call / whole)
    share = statistics.median(shares)
    print(
        f"{calls} tap calls per training step cost {share:.3%} of it "
        f"(median of {ROUNDS}; size tiny, {batch.tokens} tokens)"
    )
    print(json.dumps({"benchmark": "taps_cost", "share": share, "calls": calls, "rounds": ROUNDS}))


if __name__ == "__main__":
    main()
