"""A small 2017 Transformer with random weights over the words of a learner, for lessons that need a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.models.transformer import Transformer, TransformerConfig

SOS, EOS = "<s>", "</s>"  # as in all vocabularies here
SHAPE = {"N": 1, "d": 16, "h": 2, "d_ff": 32, "dropout": 0.0}


@dataclass(frozen=True)
class Pair:
    """One sentence pair as ids: what the encoder reads, what the decoder reads, and its labels."""

    source: Tensor  # (1, S)
    source_lengths: Tensor  # (1,)
    target_in: Tensor  # (1, T) <s> y1 y2 ...
    target_out: Tensor  # (1, T) y1 y2 ... </s>


@dataclass(frozen=True)
class Tiny:
    """The model with its vocabulary."""

    model: Transformer
    vocabulary: tuple[str, ...]

    def pair(self, source: Sequence[str], target: Sequence[str]) -> Pair:
        s = torch.tensor([[*map(self.vocabulary.index, source), self.vocabulary.index(EOS)]])
        t = list(map(self.vocabulary.index, (SOS, *target, EOS)))
        return Pair(s, torch.tensor([s.size(1)]), torch.tensor([t[:-1]]), torch.tensor([t[1:]]))

    def losses(self, pair: Pair) -> Tensor:
        """-log P of each label (T,), all positions in one pass."""
        logits = self.model(pair)[0]
        return F.cross_entropy(logits, pair.target_out[0], reduction="none")


def tiny_model(source: Sequence[str], target: Sequence[str], *, seed: int) -> Tiny:
    """In float64, so that differences are not rounding. The seed decides all weights."""
    vocabulary = (SOS, EOS, *dict.fromkeys([*source, *target]))
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    config = TransformerConfig.model_validate({"size": "nano", **SHAPE})
    model = Transformer(config, source_vocabulary=len(vocabulary), target_vocabulary=len(vocabulary))
    torch.set_rng_state(state)
    return Tiny(model.double().eval(), vocabulary)
