"""Collects the steps of a program while a model is walked through in the order of its forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor, nn

from glassformer.explain.program import Program, Setting, Step
from glassformer.nn.taps import Tap

Size = int | str


@dataclass(frozen=True)
class Value:
    """The result of a step, or a sequence, while the program is written."""

    name: str
    axes: tuple[str, ...]
    shape: tuple[Size, ...]


class Writer:
    """Steps are written one after another; the writer knows the names of modules and weights."""

    def __init__(self, model: nn.Module, *, kind: str) -> None:
        self.kind = kind
        self.steps: list[Step] = []
        self.sequences: dict[str, str] = {}
        self.part = ""
        self._modules = {id(module): name for name, module in model.named_modules()}
        self._weights: dict[int, str] = {}
        for name, weight in model.state_dict(keep_vars=True).items():
            self._weights.setdefault(id(weight), name)

    def name(self, module: nn.Module) -> str:
        return self._modules[id(module)]

    def weight(self, weight: Tensor) -> str:
        """Its name in the state dict; if several modules share it, the first."""
        return self._weights[id(weight)]

    def sequence(self, name: str, what: str = "ids") -> Value:
        self.sequences[name] = what
        return Value(name, (name,), (name,))

    def step(
        self,
        name: str,
        op: str,
        inputs: Sequence[Value],
        *,
        code: str,
        weights: Sequence[Tensor | None] = (),
        axes: tuple[str, ...] | None = None,
        shape: tuple[Size, ...] | None = None,
        settings: Mapping[str, Setting] | None = None,
    ) -> Value:
        """One more step. Without axes and a shape it has those of its first input."""
        result = Value(name, axes or inputs[0].axes, shape or inputs[0].shape)
        named = tuple(self.weight(weight) for weight in weights if weight is not None)
        self.steps.append(
            Step(
                name=name,
                op=op,
                inputs=tuple(value.name for value in inputs),
                weights=named,
                axes=result.axes,
                shape=result.shape,
                settings=dict(settings or {}),
                part=self.part,
                tapped=False,
                code=code,
            )
        )
        return result

    def tap(self, value: Value, tap: Tap, *, code: str) -> Value:
        """The value as it passes a tap. If the last step computed it, that step gets the tap's name."""
        name = self.name(tap)
        last = self.steps[-1]
        if last.name == value.name and not last.tapped:
            self.steps[-1] = replace(last, name=name, tapped=True)
        else:
            self.step(name, "same", [value], code=code)
            self.steps[-1] = replace(self.steps[-1], tapped=True)
        return replace(value, name=name)

    def program(self, *, outputs: Mapping[str, Value], causal: tuple[str, ...] = ()) -> Program:
        named = {name: value.name for name, value in outputs.items()}
        return Program(self.kind, dict(self.sequences), tuple(self.steps), named, causal)
