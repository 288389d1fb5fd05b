"""The architecture of a model as a tree: its parts, shapes, parameters, and the cost of a token.

It is read from the modules themselves, so it works for every model, also on torch's meta device (no weights in memory).

FLOPs are those of one token's forward pass (`models/flops.py`). Parts used once per text (a pooler, a class head) are
not counted. In an encoder-decoder, one source token and one target token are counted. With experts, only those that a
token is sent to count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any, cast

from torch import Tensor, nn

from glassformer.config import Settings
from glassformer.models.flops import (
    additive_flops,
    attention_flops,
    heads_of,
    in_forward_order,
    once_per_text,
    patches_of,
    product_flops,
    share_of,
)
from glassformer.nn.additive import AdditiveAttention, AdditiveScores
from glassformer.nn.attention import CrossAttention, HeadsOut, ScaledDotProduct, SelfAttention
from glassformer.nn.dropout import Dropout
from glassformer.nn.taps import Tap

UNSEEN = (Tap, Dropout, nn.Identity, ScaledDotProduct)
BYTES = 4  # per number, in fp32
USUAL_CONTEXT = 512


@dataclass(frozen=True)
class Part:
    """A module, or several identical ones."""

    name: str
    what: str  # its class
    shape: str
    parameters: int  # of all `times` together; tied ones count only where they come first
    flops: int  # of all `times` together, for one token
    times: int = 1
    tied: str = ""  # the name of the part it shares its weights with
    once: bool = False  # used once per text, not for every token
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Architecture:
    """A whole model."""

    kind: str
    settings: dict[str, Any]
    context: int
    parameters: int
    flops: int
    bytes: int
    parts: tuple[Part, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def architecture_of(model: nn.Module, *, kind: str, context: int | None = None) -> Architecture:
    """The tree of a model; `context` is the number of tokens that attention sees."""
    config = cast(Settings, model.config)
    chosen = context or usual_context(model)
    root = Reader(model, chosen).part("", model)
    total = sum(parameter.numel() for parameter in model.parameters())
    return Architecture(
        kind=kind,
        settings=config.model_dump(exclude_none=True, exclude={"kind", "size"}),
        context=chosen,
        parameters=total,
        flops=root.flops,
        bytes=total * BYTES,
        parts=root.parts,
    )


def usual_context(model: nn.Module) -> int:
    """The length of the longest text, if there is a limit; for images, the number of patches."""
    if patches := patches_of(model):
        return patches
    return int(getattr(model.config, "max_length", USUAL_CONTEXT))


class Reader:
    """Walks through a model in the order of its modules, and counts every weight where it first occurs."""

    def __init__(self, model: nn.Module, context: int) -> None:
        self.model, self.context = model, context
        self.first: dict[int, str] = {}  # where a weight first occurred
        self.memory = patches_of(getattr(model, "encoder", model))  # tokens that cross-attention sees in an image
        self.window = getattr(model, "window", None)

    def part(self, name: str, module: nn.Module, place: str = "", *, patches: int = 0) -> Part:
        patches = patches_of(module) or patches
        own = [(label, weight) for label, weight in module.named_parameters(recurse=False, remove_duplicate=False)]
        new = [weight for label, weight in own if self.first.setdefault(id(weight), f"{place}{label}") == place + label]
        inside = tuple(shortened(part) for part in folded(list(self.parts(module, place, patches))))
        once = once_per_text(module, self.model)
        flops = product_flops(module) + sum(part.flops for part in inside)
        return Part(
            name=name,
            what=type(module).__name__,
            shape=shape_of(module, own),
            parameters=sum(map(Tensor.numel, new)) + sum(part.parameters for part in inside),
            flops=0 if once else flops,
            tied=next((self.first[id(weight)] for _, weight in own if all(weight is not one for one in new)), ""),
            once=once,
            parts=inside,
        )

    def parts(self, module: nn.Module, place: str, patches: int) -> Iterator[Part]:
        for name, child in in_forward_order(module):
            if isinstance(child, HeadsOut):
                yield self.mixture(module, child, patches)
            if isinstance(child, nn.ModuleList):
                many = [self.part(name, one, f"{place}{name}.{i}.", patches=patches) for i, one in enumerate(child)]
                yield from (replace(part, flops=round(part.flops * share_of(module))) for part in folded(many))
            elif isinstance(module, AdditiveAttention) and isinstance(child, AdditiveScores):
                part = self.part(name, child, f"{place}{name}.")
                seen = replace(part, shape=f"{part.shape}, {self.context:,} tokens seen")
                yield replace(seen, flops=additive_flops(self.context, module))
            elif not isinstance(child, UNSEEN):
                yield self.part(name, child, f"{place}{name}.", patches=patches)

    def mixture(self, attention: nn.Module, out: HeadsOut, patches: int) -> Part:
        """The part of attention without weights: the scores, and the weighted sum of values."""
        seen = patches or self.context
        if isinstance(attention, CrossAttention):
            seen = self.memory or self.context
        elif self.window and not patches:
            seen = min(seen, self.window)
        heads, width = heads_of(attention, out)
        shape = f"{heads} heads of {width}, {seen:,} tokens seen"
        if isinstance(attention, SelfAttention) and attention.kv_heads != heads:
            shape = f"{heads} heads of {width} ({attention.kv_heads} of keys), {seen:,} tokens seen"
        return Part("core", "ScaledDotProduct", shape, 0, attention_flops(seen, heads, width))


def shape_of(module: nn.Module, own: Sequence[tuple[str, Tensor]]) -> str:
    if isinstance(module, nn.Linear):
        return f"{module.in_features:,} → {module.out_features:,}" + ("" if module.bias is None else ", bias")
    sizes = {label: " × ".join(f"{size:,}" for size in weight.shape) for label, weight in own}
    matrix = sizes.pop("weight", sizes.pop("gain", None))
    others = [label if matrix else f"{label} {size}" for label, size in sizes.items()]
    return ", ".join([matrix, *others] if matrix else others)


def folded(parts: Sequence[Part]) -> Iterator[Part]:
    """Merges neighbours with the same name and structure."""
    for _, group in groupby(parts, key=lambda part: replace(part, name=part.name)):
        same = list(group)
        sums = {name: sum(getattr(part, name) for part in same) for name in ("parameters", "flops")}
        yield replace(same[0], **sums, times=len(same)) if len(same) > 1 else same[0]


def shortened(part: Part) -> Part:
    """A module that only wraps another one is shown as that one: attention_residual.norm."""
    if len(part.parts) != 1 or part.shape or part.times > 1 or part.parts[0].times > 1:
        return part
    inner = part.parts[0]
    return replace(inner, name=f"{part.name}.{inner.name}", once=part.once, flops=part.flops)


# For the terminal


def architecture_view(found: Architecture, *, depth: int | None = None) -> Iterator[str]:
    """Lines: the tree, and the sums below it."""
    rows = [(found.kind, "", "parameters", "FLOPs"), *tree_rows(found.parts, "", depth)]
    left, middle = (max(len(row[i]) for row in rows) for i in (0, 1))
    yield settings_line(found.settings)
    for name, shape, parameters, flops in rows:
        yield f"{name:<{left}}  {shape:<{middle}}  {parameters:>14}  {flops:>7}".rstrip()
    yield ""
    yield f"Parameters   {found.parameters:,}, tied ones counted once; lines below n × are for one of the n"
    yield f"Memory       {short(found.bytes)}B for the weights in fp32"
    yield f"FLOPs        {short(found.flops)} per token with {found.context:,} tokens seen, forward: 2 per weight used,"
    yield "             4 × tokens seen × heads × head width per attention; norms, activations, softmax not counted"


def settings_line(settings: dict[str, Any]) -> str:
    if not settings.get("experts"):  # without experts, their settings have no effect
        settings = {name: value for name, value in settings.items() if name not in ("experts_per_token", "balance")}
    return ", ".join(words for name, value in settings.items() if (words := setting_words(name, value)))


def setting_words(name: str, value: Any) -> str:
    """A setting in words: a switch by its name if it is on, a number unless it is 0, a name; nothing for sections."""
    if isinstance(value, bool):
        return name if value else ""
    if isinstance(value, int):
        return f"{name} {value:,}" if value else ""
    if isinstance(value, tuple):
        return f"{name} {' × '.join(map(str, value))}"
    return f"{name} {value}" if isinstance(value, str) else ""


def tree_rows(parts: Sequence[Part], before: str, depth: int | None) -> Iterator[tuple[str, str, str, str]]:
    if depth == 0:
        return
    for part in parts:
        last = part is parts[-1]
        name = f"{part.times} × {part.name.removesuffix('s')}" if part.times > 1 else part.name
        yield f"{before}{'└─ ' if last else '├─ '}{name}", part_words(part), count_words(part), flops_words(part)
        below = None if depth is None else depth - 1
        yield from tree_rows(part.parts, before + ("   " if last else "│  "), below)


def part_words(part: Part) -> str:
    return f"{part.shape} = {part.tied}" if part.tied else part.shape or part.what


def count_words(part: Part) -> str:
    return f"{part.parameters:,}" if part.parameters else "tied" if part.tied else ""


def flops_words(part: Part) -> str:
    return "once" if part.once else short(part.flops) if part.flops else ""


def short(number: int) -> str:
    """1,234,567 -> 1.23 M."""
    for unit, size in (("E", 10**18), ("P", 10**15), ("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g} {unit}" if number < 1000 * size else f"{number / size:,.0f} {unit}"
    return f"{number} "
