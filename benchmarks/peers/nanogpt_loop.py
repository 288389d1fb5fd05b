"""Language models of characters: `glassformer train --task generate` against a plain loop with nanoGPT's CPU settings.

`measure` is called by a benchmark. The settings are the published ones for a laptop: 4 layers, 4 heads, width 128,
blocks of 64 characters, batches of 12 blocks, no dropout, no biases, AdamW (betas 0.9 and 0.99, decay 0.1), a rate of
1e-3 with 100 updates of warm-up and a cosine after it, gradients clipped at 1. The loop here is our own writing of such
a loop in plain torch: blocks at random places of one array of ids, the whole logits, `F.cross_entropy`. Ours has the
same shape and batch, with biases, by the training itself, paused between updates. They take turns of some seconds.

`ours, large batches` is the same model with batches of 4,096 characters: what a user gets who does not fix the batch.
`products` are the matrix products of our steps alone: the rate that no training of this model and batch can exceed with
torch's products.

As a program this is one competitor (see wire.py).
"""

from __future__ import annotations

import math
import statistics
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peers.wire import Competitor, Turn, Wire, take_turn

if TYPE_CHECKING:
    from torch import Tensor

OURS, LARGE, THEIRS, PRODUCTS = "ours", "ours, large batches", "plain loop", "products"
FAR = 10**9  # updates that are never reached, so that nothing is validated in between
LAYERS, HEADS, WIDTH, BLOCK, BATCH = 4, 4, 128, 64, 12
LARGE_BATCH = 64  # blocks
RATE, LOWEST_RATE, WARMUP, UPDATES = 1e-3, 1e-4, 100, 2000
RECORDED = 5  # steps whose products are timed


def measure(
    text: Path, work: Path, *, rounds: int = 7, seconds: float = 5.0, threads: int | None = None
) -> dict[str, Any]:
    """Tokens per second of each, and ratios of neighbouring turns: medians and ranges. `threads`: None is one per core.

    `text` is a file of running text, for instance tinyshakespeare's input.txt.
    """
    import os

    own = threads or os.cpu_count() or 1
    told = {"text": str(text), "threads": own}
    rates: dict[str, list[float]] = {OURS: [], LARGE: [], THEIRS: [], PRODUCTS: []}
    work.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        turns = {}
        for name in (OURS, LARGE, THEIRS):
            run = str(work / name.replace(", ", "-").replace(" ", "-"))
            log = Path(f"{run}.log")
            one = Competitor(name, "peers.nanogpt_loop", {**told, "run": run, "role": name}, log=log, threads=own)
            turns[name] = partial(stack.enter_context(closing(one)).ask, "train", seconds=seconds)
            turns[name]()  # warm-up
            if name == OURS:
                one.ask("record", steps=RECORDED)
                turns[PRODUCTS] = partial(one.ask, "products")
        for number in range(rounds):
            for name in list(turns) if number % 2 == 0 else reversed(turns):
                rates[name].append(turns[name]()["tokens_per_second"])
    return {**summary(rates), "settings": told}


def summary(rates: dict[str, list[float]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, own in rates.items():
        ratios = [one / other for one, other in zip(own, rates[THEIRS], strict=True)]
        found[name] = {"tokens_per_second": statistics.median(own), "slowest": min(own), "fastest": max(own)}
        found[name] |= {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    return found


# The competitors


def ours(wire: Wire) -> None:
    """The real training, which a watcher pauses between two updates."""
    import glassformer as gf
    from peers.ours import Held

    told = wire.told
    blocks = LARGE_BATCH if told["role"] == LARGE else BATCH
    train = {"steps": FAR, "valid_every": FAR, "optimiser": "adamw", "lr": RATE, "warmup": WARMUP, "schedule": "cosine"}
    train |= {"beta2": 0.99, "weight_decay": 0.1, "batch_tokens": blocks * BLOCK, "threads": told["threads"]}
    recipe = {
        "task": "generate",
        "data": {"files": told["text"], "max_tokens": BLOCK},
        "text": {"kind": "char"},
        "model": {"kind": "gpt", "N": LAYERS, "d": WIDTH, "h": HEADS, "d_ff": 4 * WIDTH, "dropout": 0.0},
        "train": {**train, "device": "cpu"},
    }
    wire.told["memory_at_start"] = 0
    gf.train(recipe, out=told["run"], watcher=Held(wire))


class Loop:
    """Blocks at random places, forward, backward, clipping, AdamW, the rate by a formula."""

    def __init__(self, told: dict[str, Any]) -> None:
        import torch

        torch.set_num_threads(told["threads"])
        text = Path(told["text"]).read_text(encoding="utf-8")
        number = {letter: i for i, letter in enumerate(sorted(set(text)))}
        self.ids = torch.tensor([number[letter] for letter in text[: int(0.9 * len(text))]])
        self.model = plain_gpt(len(number))
        matrices = [one for one in self.model.parameters() if one.dim() >= 2]
        others = [one for one in self.model.parameters() if one.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99))
        self.steps = 0

    def step(self, turn: Turn) -> None:
        """One update, from making the batch to the new weights."""
        import torch
        import torch.nn.functional as F

        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(self.steps)
        starts = torch.randint(len(self.ids) - BLOCK, (BATCH,)).tolist()
        given = torch.stack([self.ids[at : at + BLOCK] for at in starts])
        wanted = torch.stack([self.ids[at + 1 : at + 1 + BLOCK] for at in starts])
        logits = self.model(given)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), wanted.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.steps += 1
        turn.count(tokens=given.numel(), targets=given.numel(), loss=loss.item())


def rate_at(step: int) -> float:
    """Up in a line, then down along a cosine to a tenth."""
    if step < WARMUP:
        return RATE * (step + 1) / (WARMUP + 1)
    share = min(1.0, (step - WARMUP) / (UPDATES - WARMUP))
    return LOWEST_RATE + (RATE - LOWEST_RATE) * (1 + math.cos(math.pi * share)) / 2


def plain_gpt(vocabulary: int) -> Any:
    """A GPT-2 of these settings in plain torch, its output layer tied to the embedding."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, bias=False) for _ in range(2))
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            parts = self.qkv(self.norms[0](x)).split(WIDTH, dim=2)
            q, k, v = (part.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)
            z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(z.transpose(1, 2).reshape(x.shape))
            return x + self.down(F.gelu(self.up(self.norms[1](x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(BLOCK, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
            self.norm = nn.LayerNorm(WIDTH, bias=False)
            for one in self.parameters():
                if one.dim() == 2:
                    nn.init.normal_(one, std=0.02)

        def forward(self, ids: Tensor) -> Tensor:
            x = self.tokens(ids) + self.places(torch.arange(ids.size(1)))
            for block in self.blocks:
                x = block(x)
            return F.linear(self.norm(x), self.tokens.weight)

    return Model().train()


def main() -> None:
    wire = Wire()
    if wire.told["role"] != THEIRS:
        ours(wire)
        return
    loop = Loop(wire.told)
    wire.answer(ready=True)
    for command in wire.commands():
        wire.answer(**take_turn(command, loop.step))


if __name__ == "__main__":
    main()
