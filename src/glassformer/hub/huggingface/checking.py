"""Checks an export before it is kept: the written folder is read back and compared, by us and by `transformers`.

The same random inputs go through our model, through a new one that is filled from the written folder, and, if the
package is installed, through `transformers`' own model. All numbers that a model returns are compared.
Shapes: B inputs, T tokens.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from glassformer.errors import ExportError
from glassformer.hub.exported import needed
from glassformer.hub.huggingface.folders import read_config, read_folder
from glassformer.models.registry import values_of
from glassformer.store.bundle import Bundle, frame_for
from glassformer.text import Tokenizer
from glassformer.text.framing import frame_of

SEED, LENGTHS = 1, (11, 7, 3)
ENCODERS = ("bert", "roformer")
TEXT, PAIR = ("gpt", "llama", *ENCODERS), ("transformer", "t5")
RELATIVE = 1e-4  # of the largest number that the model returns
# Tensors that a file need not have: those that are computed, and poolers, which some models have but nothing reads.
COMPUTED = ("position_ids", "embed_positions.weight", "final_logits_bias", "inv_freq")
DISPENSABLE = (*COMPUTED, "pooler.dense.weight", "pooler.dense.bias")


@dataclass(frozen=True)
class Inputs:
    """The inputs of any kind of model; those that a model does not read are empty."""

    ids: Tensor  # (B, T) padded
    lengths: Tensor  # (B,)
    target_in: Tensor  # (B, T)
    images: Tensor  # (B, C, height, width)
    segments: Tensor | None = None

    @property
    def source(self) -> Tensor:
        return self.ids

    @property
    def source_lengths(self) -> Tensor:
        return self.lengths

    @property
    def real(self) -> Tensor:
        """(B, T), True at real tokens, False at padding."""
        return torch.arange(self.ids.size(1)) < self.lengths[:, None]


@dataclass(frozen=True)
class Agreement:
    """How much two ways of computing the same numbers differ."""

    engine: str
    numbers: int
    largest_difference: float
    allowed: float

    @classmethod
    def of(cls, engine: str, ours: Tensor, theirs: Tensor) -> Agreement:
        if ours.shape != theirs.shape:
            raise ExportError(
                f"{engine} gives {tuple(theirs.shape)} numbers where this model gives {tuple(ours.shape)}. "
                "Nothing was exported. Please report this with the model's config."
            )
        largest = float(ours.abs().max())
        return cls(engine, ours.numel(), float((ours - theirs).abs().max()), RELATIVE * max(1.0, largest))

    def refuse_beyond(self) -> None:
        if not self.largest_difference <= self.allowed:
            raise ExportError(
                f"{self.engine} does not compute what this model does: numbers differ by up to "
                f"{self.largest_difference:.2g}, allowed is {self.allowed:.2g}. Nothing was exported. Please report "
                "this with the model's config."
            )


def checked(bundle: Bundle, folder: Path) -> list[Agreement]:
    """Both comparisons, the second only if `transformers` is installed; an error if a difference is too large."""
    model, inputs = bundle.model.cpu().float().eval(), inputs_for(bundle)
    ours = given_out(model, inputs, bundle.kind)
    again = read_folder(folder)
    found = [Agreement.of("glassformer (reading it back)", ours, given_out(again.model, inputs, bundle.kind))]
    found[0].refuse_beyond()
    if importlib.util.find_spec("transformers") is not None:
        found.append(Agreement.of("transformers", ours, their_numbers(folder, inputs, bundle.kind)))
        found[1].refuse_beyond()
        refuse_other_ids(bundle, folder)
    return found


# Inputs


def inputs_for(bundle: Bundle) -> Inputs:
    """Random inputs: texts of different lengths without special tokens, images of noise."""
    random = torch.Generator().manual_seed(SEED)
    values, marks = values_of(bundle.model), bundle.marks
    source, target = (sizes(values, name) for name in ("source_vocabulary", "target_vocabulary"))
    longest = min(max(LENGTHS), values.get("max_length", max(LENGTHS)))
    lengths = torch.tensor([min(length, longest) for length in LENGTHS])
    special = [number for number in vars(marks).values() if number is not None]
    ids = drawn(source, (len(LENGTHS), longest), special, random)
    ids[torch.arange(longest) >= lengths[:, None]] = marks.pad or 0
    target_in = drawn(target, (len(LENGTHS), longest), special, random)
    if marks.start is not None and marks.start < target:
        target_in[:, 0] = marks.start
    return Inputs(ids, lengths, target_in, images_for(values, random))


def sizes(values: dict[str, Any], name: str) -> int:
    return int(values.get(name) or values.get("vocabulary") or 2)


def drawn(size: int, shape: tuple[int, ...], special: Sequence[int], random: torch.Generator) -> Tensor:
    plain = torch.tensor([number for number in range(min(size, 100_000)) if number not in special] or [0])
    return plain[torch.randint(len(plain), shape, generator=random)]


def images_for(values: dict[str, Any], random: torch.Generator) -> Tensor:
    seen = values.get("encoder", values)
    if not isinstance(seen, dict) or "image" not in seen:
        return torch.empty(0)
    height, width = seen["image"] if isinstance(seen["image"], Sequence) else (seen["image"],) * 2
    return torch.randn(len(LENGTHS), seen["channels"], height, width, generator=random)


# What the two models return


@torch.no_grad()
def given_out(model: nn.Module, inputs: Inputs, kind: str) -> Tensor:
    """All numbers that our model returns: logits, or the hidden states if it has no head."""
    body: Any = model
    headless = kind in ("bert", "roformer", "vit") and body.head is None
    found: Tensor = body.hidden(inputs) if headless else body(inputs)
    return found[inputs.real] if kind in TEXT and found.shape[:2] == inputs.ids.shape else found


@torch.no_grad()
def their_numbers(folder: Path, inputs: Inputs, kind: str) -> Tensor:
    """The same for `transformers`' model."""
    with quiet():
        found = vars(loaded(folder)(**their_inputs(inputs, kind)))
    if found.get("start_logits") is not None:
        numbers = torch.stack([found["start_logits"], found["end_logits"]], dim=-1)
    else:
        names = ("logits", "prediction_logits", "last_hidden_state")
        numbers = next(found[name] for name in names if found.get(name) is not None)
    return numbers[inputs.real] if kind in TEXT and numbers.shape[:2] == inputs.ids.shape else numbers


def their_inputs(inputs: Inputs, kind: str) -> dict[str, Tensor]:
    text = {"input_ids": inputs.ids, "attention_mask": inputs.real.long()}
    target = {"decoder_input_ids": inputs.target_in}
    if kind in TEXT:
        return text
    if kind in PAIR:
        return text | target
    return {"pixel_values": inputs.images} | (target if kind == "captioner" else {})


def loaded(folder: Path) -> Any:
    """`transformers`' model from the folder; an error if tensors are missing or unexpected."""
    transformers = needed("transformers")
    name = read_config(folder)["architectures"][0]
    model, report = getattr(transformers, name).from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    problems = [f"{key} is missing" for key in report["missing_keys"] if not key.endswith(DISPENSABLE)]
    problems += [f"{key} is unexpected" for key in report["unexpected_keys"]]
    if problems:
        named = "; ".join(sorted(problems)[:5])
        raise ExportError(f"transformers' {name} does not find what it needs: {named}. Nothing was exported.")
    return model.eval()


@contextmanager
def quiet() -> Iterator[None]:
    """Turns off `transformers`' progress bars and messages."""
    logging = needed("transformers").utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


# Tokenizers


def refuse_other_ids(bundle: Bundle, folder: Path) -> None:
    """The written tokenizer must give `transformers` the ids that ours gives."""
    tokenizer = bundle.tokenizer
    if tokenizer is None:
        return
    frame = frame_for(tokenizer, bundle.marks) if bundle.kind in ENCODERS else frame_of(tokenizer)
    with quiet():
        theirs = needed("transformers").AutoTokenizer.from_pretrained(folder)
    for text in texts_for(tokenizer):
        expected = frame.single(tokenizer.encode(text))
        if (found := theirs(text)["input_ids"]) != expected:
            raise ExportError(
                f"transformers' tokenizer reads {text!r} as {found[:12]}, ours as {expected[:12]}. Nothing was "
                "exported. Please report this with the model's tokenizer.json."
            )


def texts_for(tokenizer: Tokenizer) -> list[str]:
    random = torch.Generator().manual_seed(SEED)
    rows = torch.randint(len(tokenizer), (20, 9), generator=random).tolist()
    texts = tokenizer.decode_batch(cast(list[list[int]], rows))
    return [
        text for text in texts if not any(sign in text for sign in "<[\ufffd")
    ]  # nothing that looks like a special token
