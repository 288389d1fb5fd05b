"""JoeyNMT's recurrent encoder and decoder with attention, as they are; nothing of ours is imported.

These files also import what draws and logs: matplotlib, tensorboard. The model does not use it, so empty modules are
there instead, and JoeyNMT needs no environment of its own: `pip install --no-deps --target FOLDER joeynmt==2.3.0`.
Shapes: B sentences, S source tokens, T target tokens.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

UNUSED = {"torch.utils.tensorboard": "SummaryWriter", "joeynmt.plotting": "plot_heatmap"}


def joey_modules(folder: Path) -> tuple[ModuleType, ...]:
    """JoeyNMT's encoders and decoders, from the folder that pip installed it into."""
    if not (folder / "joeynmt" / "decoders.py").exists():
        raise SystemExit(f"{folder}: no joeynmt there. pip install --no-deps --target {folder} joeynmt==2.3.0")
    sys.path.insert(0, str(folder))
    sys.modules.setdefault("importlib_metadata", importlib.metadata)
    for module, name in UNUSED.items():
        empty = ModuleType(module)
        setattr(empty, name, None)
        sys.modules[module] = empty
    return tuple(importlib.import_module(f"joeynmt.{name}") for name in ("encoders", "decoders"))


class JoeyRecurrent(nn.Module):
    """One layer each way, GRU, Bahdanau attention, input feeding (JoeyNMT's default), one matrix for all vectors."""

    longest_first = True  # its encoder packs without sorting

    def __init__(self, modules: tuple[Any, ...], vocabulary: int, *, width: int, dropout: float) -> None:
        super().__init__()
        encoders, decoders = modules
        self.embedding = nn.Embedding(vocabulary, width)
        shape = {"hidden_size": width, "emb_size": width, "dropout": dropout, "emb_dropout": dropout}
        self.encoder = encoders.RecurrentEncoder(**shape, bidirectional=True)
        self.decoder = decoders.RecurrentDecoder(
            **shape, encoder=self.encoder, vocab_size=vocabulary, hidden_dropout=dropout, init_hidden="bridge"
        )
        self.decoder.output_layer.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Logits (B, T, V); `source` has its longest sentence first."""
        mask = (torch.arange(source.size(1)) < lengths[:, None])[:, None]  # (B, 1, S)
        memory, last = self.encoder(self.embedding(source), lengths, mask)
        logits, *_ = self.decoder(self.embedding(target), memory, last, src_mask=mask, unroll_steps=target.size(1))
        return logits
