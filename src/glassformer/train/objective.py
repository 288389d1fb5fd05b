"""What training makes small: the cross-entropy of each next target token."""

from __future__ import annotations

from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor


class TargetBatch(Protocol):
    """What the loss needs of a batch."""

    @property
    def target_out(self) -> Tensor: ...
    @property
    def target_mask(self) -> Tensor: ...


class Predictor(Protocol):
    """A model whose output layer stands apart, so that the logits of padding are never computed."""

    def hidden(self, batch: Any) -> Tensor:
        """(B, T, D)"""

    def head(self, hidden: Tensor) -> Tensor:
        """(M, D) -> (M, V)"""


def token_loss(model: Predictor, batch: TargetBatch, *, label_smoothing: float) -> tuple[Tensor, int]:
    """The summed loss over all real target tokens, and how many they are.

    Cross-entropy against (1 - e) * one-hot + e / V, label smoothing by e (2017, section 5.4), teacher forcing: every
    position of the target is predicted from the true tokens before it, in one pass.
    """
    real = batch.target_mask  # (B, T)
    logits = model.head(model.hidden(batch)[real])  # (M, V)
    labels = batch.target_out[real]  # (M,)
    if logits.dtype in (torch.bfloat16, torch.float16):
        logits = logits.float()  # autocast: the sum of exponentials needs the digits
    loss = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=label_smoothing)
    return loss, labels.numel()
