"""Norms: LayerNorm and RMSNorm, over the values of each token, so padding never affects other tokens."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.native import rms_norm as native
from glassformer.nn.taps import Tap


class LayerNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps) * gain + bias (Ba et al. 2016), per token."""

    def __init__(self, width: int, *, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None
        self.scale, self.normalized = Tap(), Tap()

    def forward(self, x: Tensor) -> Tensor:
        if self.scale.heard or self.normalized.heard:
            return self.plain(x)
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)

    def plain(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scale = self.scale((centred.square().mean(-1, keepdim=True) + self.eps).sqrt())  # (B, T, 1)
        normalized = self.normalized(centred / scale) * self.gain
        return normalized if self.bias is None else normalized + self.bias


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * gain (Zhang and Sennrich 2019), per token: no mean, no bias."""

    def __init__(self, width: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(width))
        self.scale, self.normalized = Tap(), Tap()

    def forward(self, x: Tensor) -> Tensor:
        if self.scale.heard or self.normalized.heard:
            scale = self.scale((x.square().mean(-1, keepdim=True) + self.eps).sqrt())  # (B, T, 1)
            return self.normalized(x / scale) * self.gain
        if native.suits(x, self.gain):
            return native.rms_norm(x, self.gain, self.eps)
        return F.rms_norm(x, self.gain.shape, self.gain, self.eps)
