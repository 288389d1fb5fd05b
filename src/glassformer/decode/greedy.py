"""Greedy decoding: at each step the most likely token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from glassformer.decode.protocol import Generator, Hypothesis, make_hypothesis


@torch.inference_mode()
def greedy(model: Generator, batch: Any, *, bos: int, eos: int, limits: Tensor, alpha: float = 1.0) -> list[Hypothesis]:
    """One hypothesis per sentence. limits (B,): how many tokens each may have; finished sentences leave the batch."""
    outputs = [Output() for _ in range(limits.numel())]
    state = model.start(batch)
    sentence = torch.arange(limits.numel(), device=limits.device)  # (R,) which sentence a row continues
    last = torch.full_like(sentence, bos)
    going, length = limits > 0, 0
    while bool(going.any()):
        if not bool(going.all()):
            state, last, sentence = model.select(state, going.nonzero()[:, 0]), last[going], sentence[going]
        logits, state, _ = model.step(last, state)
        best, last = logits.log_softmax(dim=-1).max(dim=-1)  # (R,), (R,)
        for i, token, log_prob in zip(sentence.tolist(), last.tolist(), best.tolist(), strict=True):
            outputs[i].add(token, log_prob, eos)
        length += 1
        going = (last != eos) & (limits[sentence] > length)
    return [make_hypothesis(o.ids, o.log_probs, alpha=alpha, finished=o.finished) for o in outputs]


@dataclass
class Output:
    """A sentence's output so far."""

    ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    finished: bool = False

    def add(self, token: int, log_prob: float, eos: int) -> None:
        self.log_probs.append(log_prob)
        self.finished = token == eos
        if not self.finished:
            self.ids.append(token)
