"""Tiny random encoders of `transformers`, ours with the same weights, and how the two are compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from glassformer.hub.huggingface import keys
from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.hub.huggingface.layouts import layout_for
from glassformer.nn.taps import listen
from glassformer.store.bundle import Bundle

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@dataclass
class Batch:
    ids: Tensor
    lengths: Tensor
    segments: Tensor | None = None


def random_batch(*lengths: int, vocabulary: int, pad: int, segments: int = 0) -> Batch:
    """Texts of these lengths; the padding's id stands only where padding is. 0 segments: none are told."""
    size, counts = max(lengths), torch.tensor(lengths)
    ids = torch.randint(1, vocabulary - 1, (len(lengths), size))
    ids = torch.where(ids >= pad, ids + 1, ids)
    padding = torch.arange(size) >= counts[:, None]
    parts = torch.randint(0, segments, ids.shape) if segments else None
    return Batch(ids.masked_fill(padding, pad), counts, parts)


def randomised(model: PreTrainedModel, *, spread: float = 0.3) -> PreTrainedModel:
    """Every parameter far enough from 0, or from 1 for a norm's gain, that a mistake in any would be seen."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                gain = "norm" in name.lower() and name.endswith("weight")
                parameter.copy_(float(gain) + spread * torch.randn_like(parameter))
    return model.eval()


def ours_of(theirs: PreTrainedModel, folder: Path) -> Bundle:
    theirs.save_pretrained(folder)
    return read_folder(folder)


def asked(batch: Batch) -> dict[str, Any]:
    """The batch as `transformers` takes it."""
    mask = (torch.arange(batch.ids.size(1)) < batch.lengths[:, None]).long()
    parts = {} if batch.segments is None else {"token_type_ids": batch.segments}
    return {"input_ids": batch.ids, "attention_mask": mask, **parts}


def real(batch: Batch, *values: Tensor) -> list[Tensor]:
    """(B, T, ...) -> (R, ...): what stands at padding may be anything."""
    mask = torch.arange(batch.ids.size(1)) < batch.lengths[:, None]
    return [value[mask] for value in values]


def states_of(model: nn.Module, batch: Batch) -> list[Tensor]:
    """What enters the first block, and what every block gives."""
    wanted = lambda name: name == "inputs.sum" or name.endswith("feed_forward_residual.after")  # noqa: E731
    with listen(model, wanted) as heard:
        model(batch)
    return [value for values in heard.values() for value in values]


def assert_same_gradients(ours: Bundle, theirs: PreTrainedModel, batch: Batch, *, per_token: bool) -> None:
    """The gradient of every weight of theirs is that of the piece of ours which it is."""
    mine, yours = ours.model(batch), theirs(**asked(batch)).logits
    if per_token:
        (mine,), (yours,) = real(batch, mine), real(batch, yours)
    weights = torch.randn_like(yours)
    (mine * weights).sum().backward()
    (yours * weights).sum().backward()
    layout = layout_for(theirs.config.to_dict())
    config: Any = ours.model.config
    gradients = {
        name: parameter.grad for name, parameter in ours.model.named_parameters() if parameter.grad is not None
    }
    lines = [line for line in layout.lines(config) if line.ours.replace("{i}", "0") in gradients]
    expected = dict(theirs.named_parameters())
    found = dict(keys.to_theirs(lines, gradients, layout.counts(config), prefix=layout.prefixes[0]))
    assert len(found) >= 16 * config.N
    for name, gradient in found.items():
        wanted = expected[name].grad
        assert wanted is not None
        largest = max(1.0, wanted.abs().max().item())  # a sum of large parts has their rounding
        torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-4 * largest, msg=lambda m, n=name: f"{n}: {m}")


def written_back(ours: Bundle, kind: type[PreTrainedModel], folder: Path) -> PreTrainedModel:
    """Our model as `transformers` reads it from the folder that we write; nothing is missing or left over."""
    folder.mkdir()
    write_folder(ours, folder)
    model, told = kind.from_pretrained(folder, output_loading_info=True)
    assert {name.rpartition("encoder.")[2] for name in told["missing_keys"]} <= {"embed_positions.weight"}  # computed
    assert not told["unexpected_keys"]
    assert not told["mismatched_keys"]
    return model.eval()
