"""What training makes small: the cross-entropy of each next target token."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor


class TargetBatch(Protocol):
    """What the loss needs of a batch."""

    @property
    def target_out(self) -> Tensor: ...
    @property
    def target_mask(self) -> Tensor: ...


class LossHead(Protocol):
    """An output layer that knows its loss."""

    def loss(self, hidden: Tensor, labels: Tensor, *, label_smoothing: float) -> Tensor:
        """(M, D) and (M,) -> the summed cross-entropy"""


class Predictor(Protocol):
    """A model whose output layer stands apart, so that the logits of padding are never computed."""

    def hidden(self, batch: Any) -> Tensor:
        """(B, T, D)"""

    @property
    def head(self) -> LossHead: ...


class Compiled:
    """A model whose way to the hidden states is compiled; the output layer with its loss is fast already."""

    def __init__(self, model: Predictor) -> None:
        self.hidden = torch.compile(model.hidden, dynamic=True)
        self.head = model.head


def loss_of(model: Predictor, *, label_smoothing: float, compiled: bool) -> Callable[[Any], tuple[Tensor, int]]:
    """`token_loss` of a model, as training calls it."""
    return partial(token_loss, Compiled(model) if compiled else model, label_smoothing=label_smoothing)


def token_loss(model: Predictor, batch: TargetBatch, *, label_smoothing: float) -> tuple[Tensor, int]:
    """The summed loss over all real target tokens, and how many they are.

    Cross-entropy against (1 - e) * one-hot + e / V, label smoothing by e (2017, section 5.4), teacher forcing: every
    position of the target is predicted from the true tokens before it, in one pass.
    """
    real = batch.target_mask  # (B, T)
    labels = batch.target_out[real]  # (M,)
    loss = model.head.loss(model.hidden(batch)[real], labels, label_smoothing=label_smoothing)
    return loss, labels.numel()
