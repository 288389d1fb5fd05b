"""Masked language modelling: `glassformer train --task fill` against `transformers`' BertForMaskedLM.

`measure` is called by a benchmark. Both train a model of the same shape on the same windows of the same ids, with
AdamW, clipping, dropout 0.1 (none inside attention, which makes theirs faster than its default) and 15% of the tokens
masked: theirs by DataCollatorForLanguageModeling in a shuffled DataLoader, ours by the training itself, paused between
updates.
They take turns of some seconds. Tokens per second are real tokens of whole updates, masking included.

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
SHAPE = {"N": 4, "d": 128, "h": 4, "d_ff": 512}


def measure(
    train: Path,
    valid: Path,
    work: Path,
    *,
    rounds: int = 7,
    seconds: float = 6.0,
    threads: int = 2,
    batch_tokens: int = 4096,
    window: int = 128,
    vocab_size: int = 8000,
) -> dict[str, Any]:
    """Tokens per second of both, and the ratio of neighbouring turns: medians and ranges."""
    told = {"train": str(train), "valid": str(valid), "run": str(work / OURS), "threads": threads}
    told |= {"batch_tokens": batch_tokens, "window": window, "vocab_size": vocab_size}
    rates: dict[str, list[float]] = {OURS: [], THEIRS: []}
    losses: dict[str, float] = {}
    work.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        turns = {}
        for name in rates:  # ours first: it writes the tokenizer
            log = work / f"{name}.log"
            one = Competitor(name, "peers.masked_lm", {**told, "role": name}, log=log, threads=threads)
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
    train = {"steps": FAR, "valid_every": FAR, "optimiser": "adamw", "lr": 5e-4, "warmup": 200}
    train |= {"batch_tokens": told["batch_tokens"], "threads": told["threads"]}
    recipe = {
        "task": "fill",
        "data": {"files": told["train"], "valid": told["valid"], "max_tokens": told["window"]},
        "text": {"kind": "bpe", "vocab_size": told["vocab_size"]},
        "model": {"kind": "bert", **SHAPE, "dropout": 0.1},
        "train": train,
    }
    wire.told["memory_at_start"] = 0
    gf.train(recipe, out=told["run"], watcher=Held(wire))


class Loop:
    """The usual loop of `transformers` users: collator, model with its loss, clipping, AdamW, linear warm-up."""

    def __init__(self, told: dict[str, Any]) -> None:
        import torch
        from transformers import BertConfig, BertForMaskedLM, get_constant_schedule_with_warmup

        torch.set_num_threads(told["threads"])
        tokenizer = their_tokenizer(Path(told["run"]) / "tokenizer.json")
        config = BertConfig(
            vocab_size=len(tokenizer),
            num_hidden_layers=SHAPE["N"],
            hidden_size=SHAPE["d"],
            num_attention_heads=SHAPE["h"],
            intermediate_size=SHAPE["d_ff"],
            max_position_embeddings=told["window"],
            attention_probs_dropout_prob=0.0,
            pad_token_id=tokenizer.pad_token_id,
        )
        self.model = BertForMaskedLM(config).train()
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=5e-4, betas=(0.9, 0.98), fused=True)
        self.schedule = get_constant_schedule_with_warmup(self.optimiser, 200)
        self.batches = batches(told, tokenizer)
        self.clip = partial(torch.nn.utils.clip_grad_norm_, self.model.parameters(), 1.0)

    def step(self, turn: Turn) -> None:
        """One update, from making the batch to the new weights."""
        batch = next(self.batches)
        loss = self.model(**batch).loss
        loss.backward()
        self.clip()
        self.optimiser.step()
        self.schedule.step()
        self.optimiser.zero_grad()
        targets = int((batch["labels"] != -100).sum())
        turn.count(tokens=int(batch["attention_mask"].sum()), targets=targets, loss=loss.item())


def their_tokenizer(path: Path) -> Any:
    from transformers import PreTrainedTokenizerFast

    marks = {"bos": "<s>", "eos": "</s>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    return PreTrainedTokenizerFast(
        tokenizer_file=str(path), **{f"{name}_token": token for name, token in marks.items()}
    )


def batches(told: dict[str, Any], tokenizer: Any) -> Iterator[dict[str, Any]]:
    """The same windows as ours, shuffled, masked by their collator."""
    from torch.utils.data import DataLoader
    from transformers import DataCollatorForLanguageModeling

    from glassformer.store.run import RunFolder
    from glassformer.tasks.masked_language_modelling import MaskedLanguageModelling
    from glassformer.training.reading import read_recipe, read_tokenizers
    from glassformer.training.task import Setup
    from glassformer.training.watching import Silent

    task, run = MaskedLanguageModelling(), RunFolder(Path(told["run"]))
    setup = Setup(read_recipe(task, run), read_tokenizers(run))
    columns = task.encode(setup, list(task.read(setup.recipe, Silent()).train())).columns
    rows: Any = [{"input_ids": columns["text"][i].tolist()} for i in range(len(columns))]
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    size = told["batch_tokens"] // told["window"]
    while True:
        yield from DataLoader(rows, batch_size=size, shuffle=True, collate_fn=collator)


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
