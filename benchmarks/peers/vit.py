"""A plain ViT of torch.nn, and the same model here: seconds of a training step, taken alternately.

The peer is `torch.nn.TransformerEncoder` with pre-norm, a convolution that cuts patches, a learned first token and
AdamW: what a user writes without a toolkit. Both have the same shape, batch and images. Augmentation is in neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.models.vit import Vit, VitConfig
from glassformer.training.optimiser import make_optimiser
from glassformer.training.settings import TrainSettings


@dataclass(frozen=True)
class Shape:
    """A ViT for grey square images."""

    image: int = 28
    patch: int = 7
    d: int = 64
    h: int = 4
    N: int = 4
    d_ff: int = 128
    classes: int = 10


@dataclass(frozen=True)
class Images:
    """What our model reads."""

    images: Tensor


class PlainVit(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, shape.d, shape.patch, shape.patch)
        self.first = nn.Parameter(torch.zeros(1, 1, shape.d))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 1 + (shape.image // shape.patch) ** 2, shape.d))
        layer = nn.TransformerEncoderLayer(shape.d, shape.h, shape.d_ff, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, shape.N, nn.LayerNorm(shape.d), enable_nested_tensor=False)
        self.head = nn.Linear(shape.d, shape.classes)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.patches(images).flatten(2).mT  # (B, P, D)
        tokens = torch.cat([self.first.expand(len(images), -1, -1), tokens], dim=1) + self.positions
        return self.head(self.encoder(tokens)[:, 0])


def plain_step(shape: Shape) -> Callable[[Tensor, Tensor], None]:
    model = PlainVit(shape)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3)

    def step(images: Tensor, labels: Tensor) -> None:
        optimiser.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimiser.step()

    return step


def our_step(shape: Shape, optimiser: str) -> Callable[[Tensor, Tensor], None]:
    sizes = {name: getattr(shape, name) for name in ("d", "h", "N", "d_ff", "patch", "image", "classes")}
    model = Vit(VitConfig(size="nano", channels=1, **sizes))
    members = make_optimiser(model, TrainSettings(optimiser=optimiser, lr=1e-3))

    def step(images: Tensor, labels: Tensor) -> None:
        members.zero_grad()
        F.cross_entropy(model(Images(images)), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        members.step(1e-3)

    return step


def measured(
    shape: Shape | None = None, *, batch: int = 128, rounds: int = 7, steps: int = 12
) -> dict[str, dict[str, float]]:
    """Images per second of the peer and of ours (AdamW and Muon), and ratios to the peer: medians and ranges."""
    shape = shape or Shape()
    torch.manual_seed(1)
    images = torch.rand(batch, 1, shape.image, shape.image)
    labels = torch.randint(shape.classes, (batch,))
    engines = {"torch": plain_step(shape), "adamw": our_step(shape, "adamw"), "muon": our_step(shape, "muon")}
    rates: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(rounds + 1):  # the first is a warm-up
        for name in list(engines) if number % 2 == 0 else reversed(engines):
            began = time.perf_counter()
            for _ in range(steps):
                engines[name](images, labels)
            if number:
                rates[name].append(steps * batch / (time.perf_counter() - began))
    return {name: summary(own, rates["torch"]) for name, own in rates.items()}


def summary(own: list[float], theirs: list[float]) -> dict[str, float]:
    ratios = [one / other for one, other in zip(own, theirs, strict=True)]
    return {"images_per_second": median(own), "ratio": median(ratios), "least": min(ratios), "most": max(ratios)}
