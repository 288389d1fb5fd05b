"""Tokens per second by sentence length, in training and in decoding, on one thread.

Times are of the processor, not of the clock, and of the fastest of several passes: other programs do not change them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from glassformer.decode.search import search
from glassformer.tasks.experiments.reach import random_pairs
from glassformer.tasks.translation.constraints import Request, Sentences
from glassformer.training.objective import token_loss

PASSES = 3


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fastest(work: Callable[[], object], *, passes: int = PASSES) -> float:
    """Processor seconds of the fastest pass, after one that is not counted."""
    work()
    seconds = []
    for _ in range(passes):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return max(min(seconds), 1e-9)


def training_pace(translator: Any, *, length: int, tokens: int) -> float:
    """Tokens of both sides per second, forward and backward, in batches of about `tokens` tokens of this length."""
    texts = max(1, tokens // (2 * length))
    batch = random_pairs(translator, texts=texts, source=length, target=length).batch(np.arange(texts))
    batch, model = batch.to(translator.device), translator.model.train()

    def step() -> None:
        model.zero_grad(set_to_none=True)
        loss, count = token_loss(model, batch, label_smoothing=0.1)
        (loss / count).backward()

    with one_thread():
        seconds = fastest(step)
    model.zero_grad(set_to_none=True)
    model.eval()
    return 2 * length * texts / seconds


@torch.inference_mode()
def decoding_pace(translator: Any, *, length: int, texts: int) -> float:
    """Target tokens per second, greedy, one token after the other, `texts` sentences at a time; none ends early."""
    pairs = random_pairs(translator, texts=texts, source=length, target=2)
    rows = [pairs.columns["source"][i].tolist() for i in range(texts)]
    settings = translator.recipe.decode.model_copy(update={"min_ratio": 1.0})
    request, limits = Request(settings, beam=1), np.full(texts, length)
    written = 0

    def write() -> None:
        nonlocal written
        found = search(translator.task(Sentences.of_ids(rows), request, limits=limits))
        written = sum(len(one[0].log_probs) for one in found)

    with one_thread():
        seconds = fastest(write, passes=1)
    return written / seconds
