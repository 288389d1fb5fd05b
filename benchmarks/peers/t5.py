"""Text to text: `glassformer train --task summarise` with a T5 against `transformers`' T5ForConditionalGeneration.

`measure` is called by a benchmark. Both train a model of the same shape with dropout 0.1, AdamW and clipping. Ours is
the training itself, paused between updates. Theirs gets the same ids in the same batches, padded as ours, so it profits
from our grouping by length; its dropout inside attention is off, as ours has none there. They take turns of some
seconds. Tokens per second are real tokens of both sides in whole updates.

As a program this is one competitor (see wire.py).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from peers.wire import Competitor, Turn, Wire, take_turn

OURS, THEIRS = "ours", "transformers"
FAR = 10**9  # updates that are never reached, so that nothing is validated in between
SHAPE = {"N": 4, "d": 128, "h": 4, "d_kv": 32, "d_ff": 512}


def measure(
    train: Path,
    valid: Path,
    work: Path,
    *,
    rounds: int = 7,
    seconds: float = 6.0,
    threads: int = 2,
    batch_tokens: int = 4096,
    vocab_size: int = 8000,
) -> dict[str, Any]:
    """Tokens per second of both, and the ratio of neighbouring turns: medians and ranges."""
    told = {"train": str(train), "valid": str(valid), "run": str(work / OURS), "threads": threads}
    told |= {"batch_tokens": batch_tokens, "vocab_size": vocab_size}
    rates: dict[str, list[float]] = {OURS: [], THEIRS: []}
    losses: dict[str, float] = {}
    work.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        turns = {}
        for name in rates:  # ours first: it writes the tokenizer
            log = work / f"{name}.log"
            one = Competitor(name, "peers.t5", {**told, "role": name}, log=log, threads=threads)
            turns[name] = partial(stack.enter_context(closing(one)).ask, "train", seconds=seconds)
            turns[name]()  # warm-up
        for number in range(rounds):
            for name in list(turns) if number % 2 == 0 else reversed(turns):
                answer = turns[name]()
                rates[name].append(answer["tokens_per_second"])
                losses[name] = answer["loss"]
    return {**summary(rates), "last_losses": losses, "settings": told}


def summary(rates: dict[str, list[float]]) -> dict[str, Any]:
    ratios = [ours / theirs for ours, theirs in zip(rates[OURS], rates[THEIRS], strict=True)]
    found: dict[str, Any] = {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    for name, own in rates.items():
        found[name] = {"tokens_per_second": statistics.median(own), "slowest": min(own), "fastest": max(own)}
    return found


# The competitors


def ours(wire: Wire) -> None:
    """The real training, which a watcher pauses between two updates."""
    import glassformer as gf
    from peers.ours import Held

    told = wire.told
    train = {"steps": FAR, "valid_every": FAR, "optimiser": "adamw", "lr": 1e-3, "warmup": 200, "label_smoothing": 0.0}
    train |= {"batch_tokens": told["batch_tokens"], "threads": told["threads"], "valid_sentences": 4}
    recipe = {
        "task": "summarise",
        "data": {"files": told["train"], "valid": told["valid"]},
        "text": {"kind": "bpe", "vocab_size": told["vocab_size"]},
        "model": {"kind": "t5", **SHAPE, "dropout": 0.1},
        "train": train,
    }
    wire.told["memory_at_start"] = 0
    gf.train(recipe, out=told["run"], watcher=Held(wire))


class Loop:
    """The usual loop of `transformers` users: the model with its loss, clipping, AdamW, linear warm-up."""

    def __init__(self, told: dict[str, Any]) -> None:
        import torch
        from transformers import T5ForConditionalGeneration, get_constant_schedule_with_warmup

        torch.set_num_threads(told["threads"])
        self.batches = batches(told)
        first = next(self.batches)
        self.model = T5ForConditionalGeneration(their_config(first)).train()
        for module in self.model.modules():
            if type(module).__name__ == "T5Attention":
                module.dropout = 0.0
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.98), fused=True)
        self.schedule = get_constant_schedule_with_warmup(self.optimiser, 200)
        self.clip = partial(torch.nn.utils.clip_grad_norm_, self.model.parameters(), 1.0)

    def step(self, turn: Turn) -> None:
        """One update, from making the batch to the new weights."""
        _, batch = next(self.batches)
        seen = (batch.source != batch.source.new_tensor(0)).long()
        labels = batch.target_out.masked_fill(~batch.target_mask, -100)
        loss = self.model(input_ids=batch.source, attention_mask=seen, labels=labels).loss
        loss.backward()
        self.clip()
        self.optimiser.step()
        self.schedule.step()
        self.optimiser.zero_grad()
        turn.count(tokens=batch.tokens, targets=batch.weight, loss=loss.item())


def their_config(first: tuple[int, Any]) -> Any:
    from transformers import T5Config

    return T5Config(
        vocab_size=first[0],
        num_layers=SHAPE["N"],
        d_model=SHAPE["d"],
        num_heads=SHAPE["h"],
        d_kv=SHAPE["d_kv"],
        d_ff=SHAPE["d_ff"],
        dropout_rate=0.1,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
    )


def batches(told: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """The batches of our training, with the size of the vocabulary."""
    from glassformer.data.batches import epoch_batches
    from glassformer.store.run import RunFolder
    from glassformer.tasks.summaries import Summaries
    from glassformer.training.reading import read_recipe, read_tokenizers
    from glassformer.training.task import Setup
    from glassformer.training.watching import Silent

    task, run = Summaries(), RunFolder(Path(told["run"]))
    setup = Setup(read_recipe(task, run), read_tokenizers(run))
    pool = task.pool(setup, task.encode(setup, list(task.read(setup.recipe, Silent()).train())).columns)
    epoch = 0
    while True:
        for index in epoch_batches(pool.lengths, tokens=told["batch_tokens"], seed=1, epoch=epoch):
            yield len(setup.tokenizer), pool.batch(index)
        epoch += 1


def main() -> None:
    wire = Wire()
    if wire.told["role"] == OURS:
        ours(wire)
        return
    loop = Loop(wire.told)
    wire.answer(ready=True)
    for command in wire.commands():
        wire.answer(**take_turn(command, loop.step))


if __name__ == "__main__":
    main()
