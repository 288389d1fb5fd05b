"""One text or image through any model of the family: what went in, what every block did, what came out.

Shapes: N blocks, H heads, T tokens that ask, K tokens that are looked at.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from rich.console import Console, RenderableType
from torch import Tensor, nn

from glassformer.errors import ModelError
from glassformer.explain.hearing import Sublayer, attentions, heard_pass, inputs, sublayers
from glassformer.explain.passage_view import passage_view
from glassformer.explain.trace import rounded


@dataclass(frozen=True)
class Tokens:
    """What passes through a stack of blocks: the pieces of a text, or the patches of an image."""

    name: str  # text, source, target or image
    pieces: tuple[str, ...]
    ids: tuple[int, ...] = ()  # patches have none
    grid: tuple[int, int] | None = None  # an image: patches down and across; the first token stands for the whole

    def to_dict(self) -> dict[str, Any]:
        ids: Sequence[int | None] = self.ids or [None] * len(self.pieces)
        tokens = [{"piece": piece, "id": number} for piece, number in zip(self.pieces, ids, strict=True)]
        return {"name": self.name, "grid": self.grid, "tokens": tokens}


@dataclass(frozen=True, eq=False)
class Attention:
    """Who looks at whom in every block and head of one kind."""

    name: str  # self, encoder, decoder or cross
    queries: Tokens
    keys: Tokens
    patterns: Tensor  # (N, H, T, K)

    def pattern(self, layer: int | None = None, head: int | None = None) -> Tensor:
        """(T, K) of one head; a layer's mean without a head; the mean of all without both."""
        chosen = self.patterns if layer is None else self.patterns[self.within(layer, 0, "layer")]
        if head is not None:
            chosen = chosen.select(-3, self.within(head, 1, "head"))
        return chosen.reshape(-1, *chosen.shape[-2:]).mean(0)

    def within(self, index: int, axis: int, what: str) -> int:
        count = self.patterns.size(axis)
        if not 0 <= index < count:
            raise ModelError(f"There is no {what} {index + 1}: this attention has {count}, counted from 1.")
        return index


@dataclass(frozen=True)
class Prediction:
    """What the model expects somewhere: the likeliest, and what was there or came, if that is known."""

    at: str  # after this piece, in this place, of the whole
    what: str
    probability: float | None
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Passage:
    """Everything one input did inside a model. Layers and heads are counted from 0."""

    kind: str  # of the model
    text: str  # what was given: a text, or the name of an image
    answer: str  # what was written, if the model writes
    tokens: Mapping[str, Tokens]  # by the stack that they pass through
    attentions: tuple[Attention, ...]
    sublayers: tuple[Sublayer, ...]
    predictions: tuple[Prediction, ...]
    predicted: str  # what the predictions are of
    values: Mapping[str, Tensor]  # every tap of the pass, by its dotted name

    def attention(self, name: str | None = None) -> Attention:
        """One kind by its name; without one, that which tells most: cross-attention where there is some."""
        known = {one.name: one for one in self.attentions}
        if name is None:
            return known.get("cross", self.attentions[-1])
        if name not in known:
            raise ModelError(f"There is no attention {name!r} in this model. It has: {', '.join(known)}.")
        return known[name]

    def inputs(self, stack: str) -> dict[str, tuple[float, ...]]:
        """What is added up for each token of a stack before its first block: the lengths of the vectors."""
        return inputs(self.values, stack)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: tokens, lengths, attentions to 4 digits, and the name and shape of every value."""
        return {
            "kind": self.kind,
            "text": self.text,
            "answer": self.answer,
            "tokens": {stack: tokens.to_dict() for stack, tokens in self.tokens.items()},
            "inputs": {stack: _rounded(self.inputs(stack)) for stack in self.tokens},
            "blocks": [_rounded(asdict(one)) for one in self.sublayers],
            "attention": {one.name: rounded(one.patterns) for one in self.attentions},
            "predicted": self.predicted,
            "predictions": [_rounded(asdict(one)) for one in self.predictions],
            "values": {name: list(value.shape) for name, value in self.values.items()},
        }

    def __rich__(self) -> RenderableType:
        return passage_view(self)

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=100, color_system=None, force_terminal=False)
        with console.capture() as captured:
            console.print(self)
        return captured.get()


def pass_through(
    model: nn.Module,
    batch: Any,
    *,
    kind: str,
    text: str,
    tokens: Mapping[str, Tokens],
    predict: Callable[[Tensor], Sequence[Prediction]],
    predicted: str,
    answer: str = "",
) -> Passage:
    """Listens to every tap during one pass of `model` over a batch of one.

    `tokens` are what passes through each stack, by its name in the taps ("" where there is one alone): the first is
    what the others look at in cross-attention. `predict` reads what the model gives.
    """
    output, values = heard_pass(model, batch)
    memory = next(iter(tokens.values()))
    found = [
        Attention(_name(stack, how), tokens[stack], memory if how == "cross" else tokens[stack], patterns)
        for (stack, how), patterns in attentions(values).items()
    ]
    for one in found:
        _check(one)
    return Passage(
        kind=kind,
        text=text,
        answer=answer,
        tokens=dict(tokens),
        attentions=tuple(found),
        sublayers=tuple(sublayers(values)),
        predictions=tuple(predict(output)),
        predicted=predicted,
        values=values,
    )


def predictions(
    probabilities: Tensor, name: Callable[[int], str], *, at: Sequence[str], what: Sequence[int | None], top: int
) -> list[Prediction]:
    """One for each row of probabilities (P, V): where it stands, and which of the V was there, if that is known."""
    best = probabilities.topk(min(top, probabilities.size(-1)), dim=-1)
    rows = zip(at, what, probabilities, best.values.tolist(), best.indices.tolist(), strict=True)
    return [
        Prediction(
            at=place,
            what="" if known is None else name(known),
            probability=None if known is None else float(row[known]),
            top=tuple((name(j), p) for j, p in zip(numbers, shares, strict=True)),
        )
        for place, known, row, shares, numbers in rows
    ]


def _name(stack: str, how: str) -> str:
    return how if how == "cross" or not stack else stack


def _check(attention: Attention) -> None:
    expected = (len(attention.queries.pieces), len(attention.keys.pieces))
    if attention.patterns.shape[-2:] != torch.Size(expected):
        got = tuple(attention.patterns.shape[-2:])
        raise ModelError(
            f"An explanation is of one input, unpadded: the {attention.name} attention is {got[0]} x {got[1]}, for "
            f"{expected[0]} and {expected[1]} tokens."
        )


def _rounded(value: Any) -> Any:
    """Numbers in nested plain data with 4 digits after the point."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value
