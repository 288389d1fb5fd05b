"""Activation checkpointing: a block keeps only its input, and is computed again when its gradients are needed."""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def recompute(block: nn.Module) -> None:
    """Makes a block forget its inner values in training. The second pass draws the random numbers of the first."""
    block.forward = MethodType(_recomputed, block)


def _recomputed(block: nn.Module, *args: Any, **kwargs: Any) -> Any:
    forward = MethodType(type(block).forward, block)
    if not (block.training and torch.is_grad_enabled()):
        return forward(*args, **kwargs)
    return checkpoint(forward, *args, use_reentrant=False, **kwargs)
