"""Which weights are trained, and how fast: frozen parts, low-rank adapters, rates that fall from layer to layer."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence

import torch
from torch import Tensor, nn

from glassformer.errors import SettingsError
from glassformer.nn.experts import Router
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.lora import adapted, add_adapters, is_adapter
from glassformer.nn.recompute import recompute
from glassformer.training.settings import TrainSettings

BODY = "body"  # everything except the heads
ALL_BUT = ("feed_forward", "attention")  # what LoRA is put on: the names of the parts of a block
BLOCKS = "blocks"


def tune(model: nn.Module, settings: TrainSettings) -> None:
    """Freezes what is not trained, adds adapters, lets blocks be computed again.

    A model that is already like this stays as it is.
    """
    frozen = frozen_names(model, settings.freeze) | counted_names(model)
    if settings.lora and not adapted(model):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            adapt(model, settings, frozen)
    trained = trained_with_adapters(model) if settings.lora else None
    for name, parameter in model.named_parameters():
        keeps = is_adapter(name) or trained is None or parameter in trained
        parameter.requires_grad_(keeps and name not in frozen)
    if settings.recompute:
        for block in blocks_of(model):
            recompute(block)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise SettingsError("train.freeze names every weight of the model: nothing would be trained. Name fewer parts.")


def counted_names(model: nn.Module) -> set[str]:
    """Parameters that are counted from the data, not trained. A model class names them in `COUNTED`, as prefixes."""
    counted: tuple[str, ...] = getattr(model, "COUNTED", ())
    return {name for name, _ in model.named_parameters() if counted and name.startswith(counted)}


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """The blocks of every stack, from the first to the last."""
    stacks = [module for name, module in model.named_modules() if name.split(".")[-1] == BLOCKS]
    return [block for stack in stacks for block in stack.children()]


def adapt(model: nn.Module, settings: TrainSettings, frozen: Collection[str]) -> None:
    """Puts adapters beside the matrices of the blocks, except beside those that train.freeze names."""
    alpha = settings.lora_alpha or 2 * settings.lora
    found = linears_of_blocks(model, settings.lora_on)
    if not found:
        raise SettingsError("train.lora: this model has no blocks with attention and feed-forward layers.")
    kept = {id(parameter) for name, parameter in model.named_parameters() if name in frozen}
    chosen = [linear for linear in found if id(linear.weight) not in kept]
    if not chosen:
        raise SettingsError(
            "train.freeze names every matrix that train.lora adapts: no adapter would be left. Name fewer parts, or "
            "leave train.lora out."
        )
    for linear in chosen:
        add_adapters(linear, rank=settings.lora, scale=alpha / settings.lora, dropout=settings.lora_dropout)


def linears_of_blocks(model: nn.Module, which: str) -> list[nn.Linear]:
    """The projections of attention (which = attention), of the feed-forward layers (feed-forward), or both (all)."""
    routers = {id(part) for module in model.modules() if isinstance(module, Router) for part in module.modules()}
    wanted = ALL_BUT if which == "all" else (which.replace("-", "_"),)
    return [
        module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and id(module) not in routers
        and BLOCKS in name.split(".")
        and any(word in name.partition(f"{BLOCKS}.")[2] for word in wanted)
    ]


def trained_with_adapters(model: nn.Module) -> set[Tensor]:
    """The heads, which are small and often new; not the matrix of a vocabulary."""
    words = {head.weight for head in model.modules() if isinstance(head, VocabularyHead)}
    return {p for name, p in model.named_parameters() if name.startswith(heads_of(model)) and p not in words}


def heads_of(model: nn.Module) -> tuple[str, ...]:
    """Prefixes of the parameters of heads."""
    heads: tuple[str, ...] = getattr(model, "HEADS", ("head.",))
    return heads


# Frozen parts


def frozen_names(model: nn.Module, wanted: Sequence[str]) -> set[str]:
    """The parameters that `wanted` names; an error suggests what a wrong name may mean."""
    names = [name for name, _ in model.named_parameters() if not is_adapter(name)]
    found: set[str] = set()
    for part in wanted:
        matching = {name for name in names if is_part(part, name, heads_of(model))}
        if not matching:
            raise SettingsError(f"train.freeze: this model has no part {part!r}.{suggestion(part, names)}")
        found |= matching
    return found


def is_part(part: str, name: str, heads: tuple[str, ...]) -> bool:
    """Whether a parameter is in a part: `inputs`, `blocks.0-3`, `encoder.blocks.1.feed_forward`, or `body`."""
    if part == BODY:
        return not name.startswith(heads)
    steps, own = part.split("."), name.split(".")
    return len(steps) <= len(own) and all(is_step(step, there) for step, there in zip(steps, own, strict=False))


def is_step(step: str, there: str) -> bool:
    span = re.fullmatch(r"(\d+)-(\d+)", step)
    if span and there.isdecimal():
        return int(span[1]) <= int(there) <= int(span[2])
    return step == there


def suggestion(part: str, names: Iterable[str]) -> str:
    """` Did you mean blocks?`, or the names of the largest parts."""
    steps = [name.split(".") for name in names]
    known = sorted({".".join(one[:count]) for one in steps for count in range(1, len(one) + 1)} | {BODY})
    plain = re.sub(r"\d+-\d+", "0", part)
    if close := difflib.get_close_matches(plain, known, n=1, cutoff=0.6):
        blocks = sorted({int(number) for name in names for number in re.findall(r"blocks\.(\d+)\.", name)})
        counted = f" Blocks are counted from 0 to {blocks[-1]}." if blocks and re.search(r"\d", part) else ""
        return f" Did you mean {close[0]}?{counted}"
    return f" Its parts: {', '.join(dict.fromkeys(one[0] for one in steps))}, and {BODY} for all but the heads."


def trained_in_words(model: nn.Module) -> str:
    """`123,456 of 22,000,000 weights are trained`; empty if all are."""
    counts = [(p.numel(), p.requires_grad) for name, p in model.named_parameters()]
    total, trained = sum(size for size, _ in counts), sum(size for size, grad in counts if grad)
    if total == trained:
        return ""
    share = f"{min(trained / total, 0.9999):.2%}" if trained >= 1e-4 * total else "under 0.01%"
    return f"{trained:,} of {total:,} weights are trained ({share})"


# Rates


def rate_scales(model: nn.Module, decay: float) -> dict[str, float]:
    """By parameter, what its learning rate is multiplied with: decay^(N - i) in block i of N, counted from 0.

    What comes before the blocks has decay^(N + 1), what comes after them 1. Each stack of blocks counts by itself.
    """
    stacks = {name: len(module) for name, module in model.named_modules() if name.split(".")[-1] == BLOCKS}
    return {name: decay ** height(name, model, stacks) for name, _ in model.named_parameters()}


def height(name: str, model: nn.Module, stacks: dict[str, int]) -> int:
    """How many layers lie between a parameter and the end of its stack."""
    for stack, count in stacks.items():
        if name.startswith(f"{stack}."):
            return count - int(name.removeprefix(f"{stack}.").split(".")[0])
        around = stack.removesuffix(BLOCKS)  # "" or "encoder."
        if name.startswith(around):
            order = [child for child, _ in model.get_submodule(around.rstrip(".")).named_children()]
            child = name.removeprefix(around).split(".")[0]
            is_own = not any(name.startswith(other.removesuffix(BLOCKS)) for other in stacks if len(other) > len(stack))
            if is_own and child in order:
                return count + 1 if order.index(child) < order.index(BLOCKS) else 0
    return 0
