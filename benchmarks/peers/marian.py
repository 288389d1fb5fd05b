"""`transformers`' MarianMTModel, trained as its users train it: its model, its label smoother, torch's AdamW.

As a program this is a competitor (see wire.py): random padded batches of a number of sentences, or our batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel, get_inverse_sqrt_schedule
from transformers.trainer_pt_utils import LabelSmoother

from glassformer.data.batches import Batch, EncodedPairs, stream
from peers.corpus import load_ids
from peers.wire import Turn, Wire, forget_peak, memory, take_turn

SIZES = {
    "tiny": {"layers": 4, "width": 128, "inner": 256, "heads": 4},
    "small": {"layers": 3, "width": 256, "inner": 1024, "heads": 4},
}
IGNORED = -100  # the label that the smoother leaves out


@dataclass(frozen=True)
class Settings:
    """What a training loop needs besides model and data."""

    lr: float = 1e-3
    warmup: int = 400
    smoothing: float = 0.1
    clip: float = 1.0  # the Trainer's default
    weight_decay: float = 0.0  # the Trainer's default


def make_model(size: str, pairs: EncodedPairs, vocabulary: int, *, dropout: float) -> MarianMTModel:
    """A Marian model of this size, all embeddings tied, as its configuration has it by default."""
    shape, marks = SIZES[size], pairs.target_marks
    sides = {
        f"{side}_{name}": shape[key]
        for side in ("encoder", "decoder")
        for name, key in (("layers", "layers"), ("ffn_dim", "inner"), ("attention_heads", "heads"))
    }
    config = MarianConfig(
        vocab_size=vocabulary,
        d_model=shape["width"],
        activation_function="relu",
        dropout=dropout,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=marks.pad,
        bos_token_id=marks.bos,
        eos_token_id=marks.eos,
        decoder_start_token_id=marks.bos,
        forced_eos_token_id=marks.eos,
        **sides,
    )
    return MarianMTModel(config)


def random_batches(pairs: EncodedPairs, sentences: int, *, seed: int = 1) -> Iterator[Batch]:
    """Epoch after epoch, shuffled, padded to the longest: a DataLoader with a padding collator."""
    generator = torch.Generator().manual_seed(seed)
    order: Any = torch.utils.data.RandomSampler(range(len(pairs)), generator=generator)
    batches = torch.utils.data.BatchSampler(order, sentences, drop_last=False)
    while True:
        yield from (pairs.batch(np.array(index)) for index in batches)


def our_batches(pairs: EncodedPairs, tokens: int, *, seed: int = 1) -> Iterator[Batch]:
    """The batches that `glassformer train` makes of these pairs."""
    yield from (batch for _, batch in stream(pairs, tokens=tokens, seed=seed))


class Schedule(Protocol):
    """What sets the learning rate after each update."""

    def step(self) -> None: ...


class Loop:
    """The usual loop: forward, smoothed loss, backward, clip, AdamW, schedule."""

    schedule: Schedule

    def __init__(self, model: MarianMTModel, batches: Iterator[Batch], settings: Settings) -> None:
        self.model, self.batches, self.settings = model.train(), batches, settings
        self.smoother = LabelSmoother(epsilon=settings.smoothing, ignore_index=IGNORED)
        self.optimiser = torch.optim.AdamW(
            model.parameters(), lr=settings.lr, betas=(0.9, 0.98), weight_decay=settings.weight_decay, fused=True
        )
        self.schedule = get_inverse_sqrt_schedule(self.optimiser, settings.warmup, timescale=settings.warmup)

    def step(self, turn: Turn) -> None:
        """One update, from making the batch to the new weights."""
        batch = next(self.batches)
        inputs, labels = marian_inputs(batch)
        loss = self.smoother(self.model(**inputs), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimiser.step()
        self.schedule.step()
        self.optimiser.zero_grad()
        turn.count(tokens=batch.tokens, targets=int(batch.target_lengths.sum()), loss=loss.item())


def marian_inputs(batch: Batch) -> tuple[dict[str, Tensor], Tensor]:
    """What the model wants of a batch, and the labels."""
    mask = torch.arange(batch.source.size(1)) < batch.source_lengths[:, None]  # (B, S)
    labels = batch.target_out.masked_fill(~batch.target_mask, IGNORED)  # (B, T)
    return {"input_ids": batch.source, "attention_mask": mask.long(), "decoder_input_ids": batch.target_in}, labels


def make_loop(told: dict[str, Any]) -> Loop:
    """The competitor that `told` describes."""
    pairs, vocabulary = load_ids(told["ids"])
    torch.manual_seed(told["seed"])
    batches = (
        our_batches(pairs, told["batch_tokens"])
        if told["batches"] == "ours"
        else random_batches(pairs, told["sentences"])
    )
    model = make_model(told["size"], pairs, vocabulary, dropout=told["dropout"])
    return Loop(model, batches, Settings(lr=told["lr"], warmup=told["warmup"]))


def main() -> None:
    wire = Wire()
    at_start = memory()["now"]
    loop = make_loop(wire.told)
    wire.answer(parameters=loop.model.num_parameters(), memory_at_start=at_start)
    for command in wire.commands():
        answers = {"train": partial(take_turn, command, loop.step), "memory": memory, "forget peak": forget_peak}
        wire.answer(**answers[command["do"]]())


if __name__ == "__main__":
    main()
