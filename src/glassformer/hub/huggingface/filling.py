"""Fills one of our models with their tensors: which tensor goes where, and what is wrong with a file's tensors."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from glassformer.errors import ImportingError
from glassformer.hub.huggingface import keys
from glassformer.hub.huggingface.checkpoint import finite, raise_all
from glassformer.hub.huggingface.layout import Layout
from glassformer.models.registry import build_without_init
from glassformer.nn.positions import sinusoidal_halves
from glassformer.store.weights import weights_of

HALF_PRECISION = 1e-3  # error of numbers up to 1, which some files store in half precision


class Tensors(Protocol):
    """Tensors by name, whose shapes are known before they are read."""

    def __getitem__(self, name: str) -> Tensor: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object) -> bool: ...
    def shape(self, name: str) -> tuple[int, ...]: ...
    def holds_weights(self, name: str) -> bool: ...


def filled(layout: Layout, values: Mapping[str, Any], tensors: Tensors, *, origin: str) -> nn.Module:
    """Our model with their tensors. A tensor that is neither used nor known to contain nothing learned is an error.

    Sizes in a config may be anything. So the model is first made without memory; it gets memory only if every tensor in
    the file has the expected shape.
    """
    plan = planned(layout, values, tensors, origin=origin)
    raise_all(plan.problems(tensors), origin=f"{origin}: the tensors do not fit its config")
    model = build_without_init(layout.kind, values, origin=origin)
    fill(model, layout, plan, tensors, origin=origin)
    return model


def planned(layout: Layout, values: Mapping[str, Any], tensors: Tensors, *, origin: str) -> Plan:
    """Which tensor goes where in a model with these settings, found without memory for it."""
    refuse_counts(values, len(tensors), origin=origin)
    try:
        with torch.device("meta"):
            return Plan.of(build_without_init(layout.kind, values, origin=origin), layout, tensors)
    except RuntimeError as error:  # the number of values overflows
        reason = str(error).partition("\n")[0]
        raise ImportingError(f"{origin}: the sizes in its config are impossible ({reason}).") from None


def refuse_counts(values: Mapping[str, Any], tensors: int, *, origin: str) -> None:
    """Every block and every expert has tensors, so a file cannot have more blocks and experts than tensors."""
    blocks = values.get("N", 0) * max(1, values.get("experts", 0)) + (values.get("N_decoder") or 0)
    blocks += values["encoder"]["N"] if isinstance(values.get("encoder"), Mapping) else 0
    if blocks > tensors:
        raise ImportingError(
            f"{origin}: its config asks for {blocks:,} blocks and experts, but the file has {tensors:,} tensors. They "
            "do not belong together. Fetch both again."
        )


def fill(model: nn.Module, layout: Layout, plan: Plan, tensors: Tensors, *, origin: str) -> None:
    """Copies their tensors into our model."""
    parameters = dict(model.named_parameters())
    source = Checked(tensors, plan.replacements)
    with torch.no_grad():
        for name, weight in keys.to_ours(plan.lines, source, plan.counts, prefix=plan.prefix):
            parameters[name].copy_(weight)
    wrong = [*source.problems, *plan.untied(tensors), *other_tables(tensors, layout.sinusoids)]
    raise_all(wrong, origin=origin)


def other_tables(tensors: Tensors, patterns: Sequence[str]) -> list[str]:
    """Position tables that differ from the sines and cosines that our model computes."""
    wrong = []
    for name in (name for name in tensors if any_fits(name, patterns)):
        table = tensors[name].double()
        odd = table.dim() != 2 or table.size(1) % 2
        if odd or not torch.allclose(table, sinusoidal_halves(*table.shape), rtol=0, atol=HALF_PRECISION):
            wrong.append(f"{name} is not the expected table of sines and cosines")
    return wrong


class Checked(Mapping[str, Tensor]):
    """Tensors that are checked when they are read; a tied tensor may be in the file under its other name."""

    def __init__(self, tensors: Tensors, replacements: Mapping[str, str]) -> None:
        self.tensors, self.replacements = tensors, replacements
        self.problems: list[str] = []

    def __getitem__(self, name: str) -> Tensor:
        name = self.replacements.get(name, name)
        tensor = self.tensors[name]
        self.problems += finite(name, tensor)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


@dataclass(frozen=True)
class Plan:
    """Which of their tensors goes where, for one model and one file."""

    lines: Sequence[keys.Line]
    counts: keys.Counts
    prefix: str
    expected: Mapping[str, tuple[int, ...]]  # the shapes that their tensors must have
    tied: Mapping[str, str]  # alias: name
    ignored: tuple[str, ...]
    replacements: Mapping[str, str]  # name that is not in the file: its alias, which is

    @classmethod
    def of(cls, model: nn.Module, layout: Layout, names: Collection[str]) -> Plan:
        config: Any = model.config
        lines, counts = layout.lines(config), layout.counts(config)
        shapes = {name: weight.to("meta") for name, weight in weights_of(model).items()}  # no memory
        refuse_gaps(lines, counts, shapes)
        options = {prefix: dict(keys.to_theirs(lines, shapes, counts, prefix=prefix)) for prefix in layout.prefixes}
        prefix = max(options, key=lambda option: sum(name in names for name in options[option]))
        tied = {alias.format(p=prefix): name.format(p=prefix) for alias, name in layout.tied(config).items()}
        return cls(
            lines=lines,
            counts=counts,
            prefix=prefix,
            expected={name: tuple(tensor.shape) for name, tensor in options[prefix].items()},
            tied=tied,
            ignored=(*layout.ignored, *layout.sinusoids),
            replacements={name: alias for alias, name in tied.items() if name not in names and alias in names},
        )

    def problems(self, tensors: Tensors) -> list[str]:
        """Missing and unexpected tensors, and those with a wrong shape or type."""
        used = {self.replacements.get(name, name): shape for name, shape in self.expected.items()}
        known = [name for name in tensors if name in used or name in self.tied]
        extra = (name for name in tensors if name not in used and name not in self.tied)
        return [
            *(f"{name} is missing" for name in used if name not in tensors),
            *(f"{name} is unexpected" for name in extra if not any_fits(name, self.ignored)),
            *(
                f"{name} has shape {tensors.shape(name)}, expected {used[name]}"
                for name in known
                if name in used and tensors.shape(name) != used[name]
            ),
            *(f"{name} holds no floating-point numbers" for name in known if not tensors.holds_weights(name)),
        ]

    def untied(self, tensors: Tensors) -> list[str]:
        """Tied tensors that must be equal but differ."""
        names = [(alias, self.replacements.get(name, name)) for alias, name in self.tied.items() if alias in tensors]
        return [
            f"{alias} should be the same as {name} (they are tied), but is not"
            for alias, name in names
            if alias != name and not torch.equal(tensors[alias], tensors[name])
        ]


def any_fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def refuse_gaps(lines: Sequence[keys.Line], counts: keys.Counts, weights: Mapping[str, Tensor]) -> None:
    """A map must name each weight of the model once. If not, the error is ours, not the file's."""
    named = [match.ours for match in keys.matches(lines, counts)]
    twice = (name for name, count in Counter(named).items() if count > 1)
    wrong = sorted({*(weights.keys() ^ set(named)), *twice})
    if wrong:
        raise ValueError(f"the key map does not name each of the model's weights once: {', '.join(wrong[:5])}")
