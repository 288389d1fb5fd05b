"""MarianMTModel trained until a time is over, as well as one who knows the library would, and its translations."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import MarianMTModel
from transformers.trainer_pt_utils import LengthGroupedSampler

from glassformer.data.batches import Batch, EncodedPairs, source_batch
from peers.marian import Loop, Settings, make_model, marian_inputs, random_batches
from peers.wire import Turn

VALIDATION_SENTENCES = 128  # in a batch


class Clock:
    """The time of a training: from its first update on, validations included."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began = seconds, time.monotonic()

    @property
    def passed(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """The share of the time that is left."""
        return max(0.0, 1 - self.passed / self.seconds)


@dataclass
class DecayByClock:
    """A linear warm-up over updates, and a line down to zero at the end of the time."""

    optimiser: torch.optim.Optimizer
    clock: Clock
    peak: float
    warmup: int
    updates: int = 0

    def step(self) -> None:
        self.updates += 1
        for group in self.optimiser.param_groups:
            group["lr"] = self.peak * min(1.0, (self.updates + 1) / self.warmup) * self.clock.left


def grouped_batches(pairs: EncodedPairs, sentences: int, *, seed: int = 1) -> Iterator[Batch]:
    """The library's own sampler that puts sentences of like length together."""
    lengths = pairs.lengths.sum(axis=1).tolist()
    sampler = LengthGroupedSampler(sentences, lengths=lengths, generator=torch.Generator().manual_seed(seed))
    batches: Any = torch.utils.data.BatchSampler(sampler, sentences, drop_last=False)
    random = np.random.default_rng(seed)
    while True:
        epoch = [np.array(index) for index in batches]
        yield from (pairs.batch(epoch[i]) for i in random.permutation(len(epoch)))


def train_marian(
    pairs: EncodedPairs, valid: EncodedPairs, vocabulary: int, told: dict[str, Any]
) -> tuple[MarianMTModel, list[dict[str, float]]]:
    """The model after `told["minutes"]`, and its losses on the way."""
    torch.set_num_threads(told["threads"])
    torch.manual_seed(told["seed"])
    make_batches = grouped_batches if told["grouped"] else random_batches
    model = make_model(told["size"], pairs, vocabulary, dropout=told["dropout"])
    settings = Settings(lr=told["lr"], warmup=told["warmup"], weight_decay=told["weight_decay"])
    loop = Loop(model, make_batches(pairs, told["sentences"], seed=told["seed"]), settings)
    clock = Clock(60 * told["minutes"])
    loop.schedule = DecayByClock(loop.optimiser, clock, peak=settings.lr, warmup=settings.warmup, updates=-1)
    loop.schedule.step()
    return model, run(loop, valid, clock, validations=told["validations"])


def run(loop: Loop, valid: EncodedPairs, clock: Clock, *, validations: int) -> list[dict[str, float]]:
    """Updates until the time is over; the validation loss some times in between, and at the end."""
    records: list[dict[str, float]] = []
    updates, turn, validation_seconds = 0, Turn(), 0.0
    while clock.passed + validation_seconds < clock.seconds:
        loop.step(turn)
        updates += 1
        due = clock.passed / clock.seconds * validations >= len(records) + 1
        if due or clock.passed + validation_seconds >= clock.seconds:
            began = time.monotonic()
            stretch = turn.result()
            record = {"seconds": round(clock.passed, 1), "updates": updates, "train_loss": stretch["loss"]}
            record["tokens_per_second"] = round(stretch["tokens_per_second"])
            records.append({**record, "valid_loss": validation_loss(loop.model, valid)})
            validation_seconds = time.monotonic() - began
            print(records[-1], file=sys.stderr, flush=True)
            turn = Turn()
    return records


def validation_loss(model: MarianMTModel, pairs: EncodedPairs) -> float:
    """The mean loss of a target token, not smoothed."""
    model.eval()
    total, tokens = 0.0, 0
    with torch.no_grad():
        for index in np.array_split(np.argsort(pairs.lengths.sum(axis=1)), -(-len(pairs) // VALIDATION_SENTENCES)):
            inputs, labels = marian_inputs(pairs.batch(index))
            logits = model(**inputs).logits
            total += torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum").item()
            tokens += int((labels >= 0).sum())
    model.train()
    return total / tokens


def translate_marian(
    model: MarianMTModel, rows: Sequence[Sequence[int]], pairs: EncodedPairs, *, beam: int
) -> list[list[int]]:
    """The bare ids of the translations, by the library's own beam search."""
    model.eval()
    marks = {pairs.target_marks.pad, pairs.target_marks.bos, pairs.target_marks.eos}
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    found: list[list[int]] = [[] for _ in rows]
    for begin in range(0, len(order), 50):
        chosen = order[begin : begin + 50]
        batch = source_batch([rows[i] for i in chosen], pairs.source_marks)
        mask = torch.arange(batch.source.size(1)) < batch.source_lengths[:, None]  # (B, S)
        longest = 2 * int(batch.source_lengths.max()) + 20
        made = model.generate(
            input_ids=batch.source, attention_mask=mask.long(), num_beams=beam, max_length=longest, do_sample=False
        )
        for i, ids in zip(chosen, made.tolist(), strict=True):
            found[i] = [id for id in ids if id not in marks]
    return found
