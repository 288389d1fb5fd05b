"""Speed of training recurrent translators: ours against plain torch.nn loops, on the same batches.

    python benchmarks/recurrent_speed.py --data FOLDER [--size small] [--rounds 5] [--seconds 4] [--threads 2] [--quick]
    python benchmarks/recurrent_speed.py --data FOLDER --joeynmt /tmp/joey --only joeynmt    # after:
    pip install --no-deps --target /tmp/joey joeynmt==2.3.0

FOLDER holds train.en and train.de (plain or .gz), for instance Multi30k's. All have the same widths, layers, tied
matrices, label smoothing 0.1, dropout, fused AdamW and clipping, and alternate in turns of some seconds. Real source
and target tokens per second of whole updates are counted; ratios are of neighbouring turns, with median and range. On a
busy machine use --cpu-time with one thread: waiting for other processes then does not count.
Peers (peers/recurrent.py): `lstm` against torch.nn.LSTM with packed sources, and unpacked; `rnn_attention` against a
decoder that takes one step of Python per position, as JoeyNMT's does, and with --joeynmt against JoeyNMT's own encoder
and decoder (peers/joey_recurrent.py), on the same batches, sorted as JoeyNMT sorts them, with the same loss.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from peers.corpus import load_ids, save_ids, unpacked
from peers.joey_recurrent import JoeyRecurrent, joey_modules
from peers.recurrent import PlainLstm, StepByStep, UnpackedLstm
from torch import nn

from glassformer.data.batches import stream
from glassformer.models.registry import build, sizes
from glassformer.text import train_tokenizer
from glassformer.training.machine import keep_freed_memory
from glassformer.training.objective import token_loss

SMOOTHING = 0.1
Update = Callable[[Any], None]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with train.en and train.de")
    parser.add_argument("--size", default="small", choices=["nano", "tiny", "small", "base"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--vocab-size", type=int, default=5000)
    parser.add_argument("--cpu-time", action="store_true", help="count seconds of the processor, not of the clock")
    parser.add_argument("--joeynmt", type=Path, help="folder that pip has installed it into (--target)")
    parser.add_argument("--only", default="", help="only peers whose name contains this")
    parser.add_argument("--quick", action="store_true", help="a smoke test: size nano, short turns")
    given = parser.parse_args()
    if given.quick:
        given.size, given.rounds, given.seconds = "nano", 2, 0.5
    return given


def updating(model: nn.Module, loss: Callable[[Any], tuple[torch.Tensor, int]]) -> Update:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def update(batch: Any) -> None:
        optimiser.zero_grad(set_to_none=True)
        summed, count = loss(batch)
        (summed / count).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    return update


def ours(kind: str, size: str, vocabulary: int) -> Update:
    counts = {"source_vocabulary": vocabulary, "target_vocabulary": vocabulary}
    model = build(kind, {**sizes(kind)[size], **counts}).train()
    return updating(model, lambda batch: token_loss(model, batch, label_smoothing=SMOOTHING))


def peer(model: nn.Module) -> Update:
    model.train()

    def loss(batch: Any) -> tuple[torch.Tensor, int]:
        order: Any = slice(None)
        if getattr(model, "longest_first", False):
            order = batch.source_lengths.argsort(descending=True)
        wanted = batch.target_mask[order]
        logits = model(batch.source[order], batch.source_lengths[order], batch.target_in[order])[wanted]
        labels = batch.target_out[order][wanted]
        return F.cross_entropy(logits, labels, reduction="sum", label_smoothing=SMOOTHING), len(labels)

    return updating(model, loss)


def turn(update: Update, batches: Iterator[tuple[int, Any]], seconds: float, clock: Callable[[], float]) -> float:
    """Real tokens per second."""
    tokens, begun = 0, clock()
    while clock() - begun < seconds:
        _, batch = next(batches)
        update(batch)
        tokens += batch.tokens
    return tokens / (clock() - begun)


def main() -> None:
    given = arguments()
    torch.set_num_threads(given.threads)
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as work:
        corpus = unpacked(given.data, Path(work), ("train",))
        texts = (text for side in corpus.sentences("train") for text in side)
        save_ids(Path(work) / "ids.npz", corpus, "train", train_tokenizer("bpe", texts, vocab_size=given.vocab_size))
        pairs, vocabulary = load_ids(Path(work) / "ids.npz")
    shape = sizes("lstm")[given.size]
    layers, width, dropout = shape["N"], shape["d"], shape["dropout"]
    plain = {"layers": layers, "width": width, "dropout": dropout}
    rows = {
        ("lstm", "torch.nn.LSTM, packed"): lambda: PlainLstm(vocabulary, **plain),
        ("lstm", "torch.nn.LSTM, unpacked"): lambda: UnpackedLstm(vocabulary, **plain),
        ("rnn_attention", "step by step"): lambda: StepByStep(vocabulary, width=width, dropout=dropout),
    }
    if given.joeynmt:
        modules = joey_modules(given.joeynmt)
        rows["rnn_attention", "joeynmt"] = lambda: JoeyRecurrent(modules, vocabulary, width=width, dropout=dropout)
    rows = {key: make for key, make in rows.items() if given.only in key[1]}
    if not rows:
        raise SystemExit(f"--only {given.only}: no such peer. joeynmt needs --joeynmt FOLDER.")
    clock = time.process_time if given.cpu_time else time.perf_counter
    for (kind, name), make in rows.items():
        updates = [ours(kind, given.size, vocabulary), peer(make())]
        batches = [stream(pairs, tokens=given.batch_tokens, seed=1) for _ in updates]
        for update, own in zip(updates, batches, strict=True):  # warm up
            turn(update, own, 1.0, clock)
        both = list(zip(updates, batches, strict=True))
        found = [[turn(update, own, given.seconds, clock) for update, own in both] for _ in range(given.rounds)]
        ratios = [mine / theirs for mine, theirs in found]
        middle = [statistics.median(column) for column in zip(*found, strict=True)]
        print(
            f"{statistics.median(ratios):5.2f} x  ({min(ratios):.2f} to {max(ratios):.2f})  {kind} against {name}: "
            f"{middle[0]:,.0f} and {middle[1]:,.0f} tokens/s",
            flush=True,
        )
        print(json.dumps({"row": kind, "peer": name, "ratios": ratios, "tokens_per_second": middle}), flush=True)


if __name__ == "__main__":
    main()
