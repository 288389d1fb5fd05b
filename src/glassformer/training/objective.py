"""What training minimises: the cross-entropy of each next target token."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from glassformer.nn.vocabulary_loss import tokens_at_a_time


class TargetBatch(Protocol):
    """What the loss needs of a batch."""

    @property
    def target_out(self) -> Tensor: ...
    @property
    def target_mask(self) -> Tensor: ...


class LossHead(Protocol):
    """An output layer that computes its own loss."""

    def loss(self, hidden: Tensor, labels: Tensor, *, label_smoothing: float) -> Tensor:
        """(M, D) and (M,) -> the summed cross-entropy"""


class Predictor(Protocol):
    """A model whose output layer is separate, so that the logits of padding are never computed."""

    def hidden(self, batch: Any) -> Tensor:
        """(B, T, D)"""

    @property
    def head(self) -> LossHead: ...


class Compiled:
    """A model with a compiled `hidden` and `forward`; an output layer with its own loss is already fast."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.hidden = torch.compile(model.hidden, dynamic=True)
        self.forward = torch.compile(model.forward, dynamic=True)

    def __call__(self, batch: Any) -> Tensor:
        """The model's outputs."""
        return self.forward(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def compiled(model: Any) -> Any:
    return Compiled(model)


def token_loss(model: Predictor, batch: TargetBatch, *, label_smoothing: float) -> tuple[Tensor, int]:
    """The summed loss over all real target tokens, and their number.

    Cross-entropy against (1 - e) * one-hot + e / V, label smoothing by e (2017, section 5.4), teacher forcing: every
    position of the target is predicted from the true tokens before it, in one pass.
    """
    real = batch.target_mask  # (B, T)
    labels = batch.target_out[real]  # (M,)
    loss = model.head.loss(model.hidden(batch)[real], labels, label_smoothing=label_smoothing)
    return loss, labels.numel()


def target_log_probs(model: Any, batch: Any, *, vocabulary: int) -> list[list[float]]:
    """For each example, the log-probability of every target token, including the end mark."""
    real = batch.target_mask  # (B, T)
    hidden, labels = model.hidden(batch)[real], batch.target_out[real]  # (M, D), (M,)
    size = tokens_at_a_time(len(labels), vocabulary)
    parts = [_label_log_probs(model, h, y) for h, y in zip(hidden.split(size), labels.split(size), strict=True)]
    flat = torch.cat(parts).tolist()
    ends = np.cumsum(batch.target_lengths.cpu().numpy())
    return [flat[end - length : end] for end, length in zip(ends, batch.target_lengths.tolist(), strict=True)]


def _label_log_probs(model: Any, hidden: Tensor, labels: Tensor) -> Tensor:
    """(m,) the log-probability of each label."""
    return model.head(hidden).log_softmax(dim=-1).gather(1, labels[:, None])[:, 0]


def token_losses(model: Any, batch: Any, *, vocabulary: int) -> list[tuple[float, float]]:
    """For each example, the summed cross-entropy of its target tokens, and their number."""
    return [(-sum(row), len(row)) for row in target_log_probs(model, batch, vocabulary=vocabulary)]
