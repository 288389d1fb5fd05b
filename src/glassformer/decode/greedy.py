"""Greedy decoding: at each step the most likely token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glassformer.decode.protocol import Generator, Hypothesis, make_hypothesis


@torch.inference_mode()
def greedy(model: Generator, batch: Any, *, bos: int, eos: int, limits: Tensor, alpha: float = 1.0) -> list[Hypothesis]:
    """One hypothesis per sentence. limits (B,): how many tokens each may have; finished sentences leave the batch."""
    count = limits.numel()
    tokens: list[list[int]] = [[] for _ in range(count)]
    log_probs: list[list[float]] = [[] for _ in range(count)]
    finished = [False] * count
    state = model.start(batch)
    last = torch.full((count,), bos, device=limits.device)
    sentence = torch.arange(count, device=limits.device)  # (R,) which sentence a row continues
    length = 0
    while True:
        going = limits[sentence] > length
        if not bool(going.all()):
            state, last, sentence = model.select(state, going.nonzero()[:, 0]), last[going], sentence[going]
        if sentence.numel() == 0:
            break
        logits, state, _ = model.step(last, state)
        best, last = logits.log_softmax(dim=-1).max(dim=-1)  # (R,), (R,)
        for i, token, log_prob in zip(sentence.tolist(), last.tolist(), best.tolist(), strict=True):
            log_probs[i].append(log_prob)
            finished[i] = token == eos
            if token != eos:
                tokens[i].append(token)
        length += 1
        alive = last != eos
        if not bool(alive.all()):
            if not bool(alive.any()):
                break
            state, last, sentence = model.select(state, alive.nonzero()[:, 0]), last[alive], sentence[alive]
    return [
        make_hypothesis(ids, scores, alpha=alpha, finished=done)
        for ids, scores, done in zip(tokens, log_probs, finished, strict=True)
    ]
