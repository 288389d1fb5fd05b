"""What the tests of decoders beside `transformers` share: tiny random models, their weights in ours, batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, PreTrainedModel

from glassformer.decode import Best, Search, search
from glassformer.hub.huggingface import keys
from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.hub.huggingface.layouts import layout_for
from glassformer.models.decoding.decoder_only import DecoderOnly
from glassformer.nn.taps import listen
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.store.weights import weights_of

PAD, EOS = 0, 1


@dataclass(frozen=True)
class Texts:
    """Padded at the end."""

    ids: Tensor
    lengths: Tensor

    @property
    def real(self) -> Tensor:
        return torch.arange(self.ids.size(1)) < self.lengths[:, None]

    def rows(self) -> list[list[int]]:
        return [row[:length].tolist() for row, length in zip(self.ids, self.lengths, strict=True)]


def texts(*lengths: int, vocabulary: int) -> Texts:
    ids = torch.randint(2, vocabulary, (len(lengths), max(lengths)))
    for row, length in enumerate(lengths):
        ids[row, length:] = PAD
    return Texts(ids, torch.tensor(lengths))


def randomised(theirs: PreTrainedModel, *, std: float = 0.3) -> PreTrainedModel:
    """Weights so large that nothing in the model is nearly linear, and norms that are not all ones."""
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            centre = 1.0 if "ln_" in name or "norm" in name else 0.0
            small = 0.3 if name.endswith("bias") else 1.0  # or the same tokens come whatever was said
            parameter.copy_(centre + small * std * torch.randn_like(parameter))
    return theirs.eval()


def read(theirs: PreTrainedModel, folder: Path) -> Bundle:
    """Through the very files that they write."""
    theirs.save_pretrained(folder)
    return read_folder(folder)


def exported(bundle: Bundle, folder: Path) -> PreTrainedModel:
    folder.mkdir()
    write_folder(bundle, folder)
    found = AutoModelForCausalLM.from_pretrained(folder)
    return found.eval()


def their_weights(model: nn.Module, model_type: str, *, gradients: bool = False) -> dict[str, Tensor]:
    """Our weights, or the gradients that they have, under the names in their files."""
    layout = layout_for({"model_type": model_type})
    named = {name: parameter.grad for name, parameter in model.named_parameters()} if gradients else weights_of(model)
    config = model.config
    return dict(keys.to_theirs(layout.lines(config), named, layout.counts(config), prefix=layout.prefixes[0]))


def their_logits(theirs: PreTrainedModel, batch: Texts) -> Tensor:
    return theirs(batch.ids, attention_mask=batch.real.long()).logits


def their_hidden_states(theirs: PreTrainedModel, batch: Texts) -> list[Tensor]:
    """After the embedding and after each block; the last one after the final norm."""
    return list(theirs(batch.ids, attention_mask=batch.real.long(), output_hidden_states=True).hidden_states)


def our_hidden_states(model: DecoderOnly, batch: Texts) -> list[Tensor]:
    with listen(model) as heard:
        last = model.hidden(batch)
    blocks = [heard[f"blocks.{i}.feed_forward_residual.after"][0] for i in range(len(model.blocks) - 1)]
    return [heard["inputs.sum"][0], *blocks, last]


def close(got: Tensor, expected: Tensor, *, atol: float = 1e-5) -> None:
    """Within `atol`, and relative to it where numbers are large."""
    torch.testing.assert_close(got, expected, rtol=atol, atol=atol)


def close_gradients(
    model: nn.Module, theirs: PreTrainedModel, names: Mapping[str, Tensor] | None = None, *, atol: float = 1e-5
) -> None:
    """Of every weight of theirs, within 1e-5 of its largest."""
    found = their_weights(model, theirs.config.model_type, gradients=True) if names is None else names
    for name, parameter in theirs.named_parameters():
        assert parameter.grad is not None
        largest = parameter.grad.abs().max()
        assert largest > 1e-3, f"{name} must matter"
        close(found[name] / largest, parameter.grad / largest, atol=atol)


def gradients_of(model: nn.Module, logits: Tensor, batch: Texts) -> None:
    """Of a loss in which every logit of a real token counts otherwise."""
    weights = torch.linspace(-1, 1, logits[0].numel()).view(logits.shape[1:]).to(logits)
    model.zero_grad()
    (logits.tanh() * weights)[batch.real].sum().backward()


def their_continuations(theirs: PreTrainedModel, rows: list[list[int]], new: int, **how: Any) -> list[list[int]]:
    """By their generate, which wants the padding on the left."""
    longest = max(map(len, rows))
    ids = torch.tensor([[PAD] * (longest - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
    how = {"do_sample": False, "pad_token_id": PAD, "eos_token_id": EOS, "max_new_tokens": new, **how}
    found = theirs.generate(ids, attention_mask=mask, **how)[:, longest:].tolist()
    return [upto_end(row) for row in found] if how["eos_token_id"] else found


def talkative(make: Callable[[], PreTrainedModel], rows: list[list[int]], new: int) -> PreTrainedModel:
    """The first random model that goes on differently from each prompt, and not with one token over and over."""
    for seed in range(100):
        torch.manual_seed(seed)
        theirs = make()
        found = their_continuations(theirs, rows, new)
        if len({tuple(row) for row in found}) == len(rows) and all(len(set(row)) > 2 for row in found):
            return theirs
    raise AssertionError("no model of these says anything")


def upto_end(row: list[int]) -> list[int]:
    return row[: row.index(EOS)] if EOS in row else row


def our_continuations(
    model: DecoderOnly, rows: list[list[int]], new: int, *, beam: int = 1, eos: int = EOS
) -> list[list[int]]:
    longest = max(map(len, rows))
    batch = Texts(
        torch.tensor([row + [PAD] * (longest - len(row)) for row in rows]), torch.tensor([len(row) for row in rows])
    )
    task = Search(
        model=model,
        batch=batch,
        limits=np.full(len(rows), new),
        bos=np.array([row[-1] for row in rows]),
        eos=eos,
        device=torch.device("cpu"),
        chooser=Best(beam),
    )
    return [list(found[0].ids) for found in search(task)]


MARKS = SpecialIds(bos=EOS, eos=EOS, pad=PAD)
