"""Floating-point operations: of one token's forward pass, and of training on texts of given lengths. One formula.

A token that is multiplied with a matrix costs 2 for every weight: a multiplication and an addition. An attention costs
4 x tokens seen x heads x head width for each of its queries: the scores, and the weighted sum of values. A recurrent
layer is two matrices. Embeddings are only looked up. Norms, activations and softmax are small in comparison and not
counted.

The backward pass costs the same once more for the gradient of each matrix, unless it is frozen, and once more for the
gradient of its input, unless nothing that is trained lies below it; so 3 x forward for a model that is trained whole,
the usual 6 x weights x tokens. Only real tokens count, no padding. A causal attention counts every token of its text,
as if nothing were hidden (the convention of PaLM, arXiv 2204.02311, appendix B). What is recomputed to save memory, and
validations, do not count: these are the operations of the model, not of one machine. A last block that computes only
the tokens that a head reads (BERT, ViT) counts for all tokens, so that the count is slightly too high.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from glassformer.nn.additive import AdditiveAttention, AdditiveScores
from glassformer.nn.attention import CrossAttention, HeadsOut
from glassformer.nn.experts import Experts
from glassformer.nn.heads import ClassHead, FirstTokenHead, LastTokenHead, MaskedWordsHead, VocabularyHead
from glassformer.nn.patches import GridPositions
from glassformer.nn.relative import RelativeBias
from glassformer.nn.residual import PreNorm

POOLED = ("sentence", "pretraining")  # heads that read the pooler's vector
Lengths = NDArray[np.int64]  # (examples, sides): tokens


def product_flops(module: nn.Module) -> int:
    """What one token costs in this module itself, without its parts: 2 for every weight it is multiplied with."""
    multiplies = isinstance(module, nn.Linear | VocabularyHead)
    weight = getattr(module, "weight", None)
    return 2 * weight.numel() if multiplies and isinstance(weight, Tensor) else 0


def attention_flops(seen: int, heads: int, head_width: int) -> int:
    """What one query costs in an attention that sees `seen` tokens, without its matrices."""
    return 4 * seen * heads * head_width


def additive_flops(seen: int, attention: AdditiveAttention) -> int:
    """The same of additive attention: the products with v, and the weighted sum of values."""
    return 2 * seen * (attention.key.out_features + attention.key.in_features)


def heads_of(attention: nn.Module, out: HeadsOut) -> tuple[int, int]:
    """The number of heads, and their width."""
    width = cast(int, attention.head_width)
    return out.linear.in_features // width, width


def share_of(module: nn.Module) -> float:
    """The share of its experts that a token is sent to, or of the tokens of an image that are patches; else 1."""
    if isinstance(module, Experts):
        return module.router.per_token / len(module.each)
    places = getattr(module, "positions", None)
    return 1 - places.others / len(places.weight) if isinstance(places, GridPositions) else 1.0


def patches_of(module: nn.Module) -> int:
    """The number of tokens of an image if this module reads images, else 0."""
    positions = getattr(getattr(module, "inputs", None), "positions", None)
    return len(positions.weight) if isinstance(positions, GridPositions) else 0


def once_per_text(module: nn.Module, model: nn.Module) -> bool:
    """Whether a part is used once per text, not for every token: a pooler, the classes of whole texts."""
    whole_texts = getattr(model.config, "head", None) == "sentence" or bool(patches_of(model))
    return isinstance(module, FirstTokenHead | LastTokenHead) or (isinstance(module, ClassHead) and whole_texts)


def in_forward_order(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The parts of a module; an encoder comes first, wherever it was defined."""
    yield from sorted(module.named_children(), key=lambda one: one[0] != "encoder")


def as_computed(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The same with the norm of each pre-norm residual before the layer that reads it."""
    before = {name.removesuffix("_residual"): name for name, part in module.named_children() if is_before(name, part)}
    for name, part in in_forward_order(module):
        if name in before:
            yield before[name], module.get_submodule(before[name])
        if name not in before.values():
            yield name, part


def is_before(name: str, part: nn.Module) -> bool:
    return isinstance(part, PreNorm) and name.endswith("_residual")


@dataclass
class SideCost:
    """What training costs for the texts on one side of the examples."""

    token: float = 0.0  # for each token
    pair: float = 0.0  # for each pair of tokens of a text
    memory_token: float = 0.0  # for each token of the other side, which this side reads
    memory_pair: float = 0.0  # for each pair of a token of this side and one of the other


@dataclass
class TrainingCost:
    """The FLOPs of training, forward and backward, as a function of the lengths of the texts."""

    sides: list[SideCost] = field(default_factory=list)
    target: float = 0.0  # for each target: the output layer
    window: int | None = None  # tokens that an attention sees at most
    patches: int = 0  # tokens of an image

    def of(self, lengths: Lengths, targets: int) -> float:
        """For examples with these lengths (n, sides) and this number of targets in all."""
        columns = self._columns(lengths)
        total = targets * self.target
        for cost, own, memory in zip(self.sides, columns, [columns[0], *columns], strict=False):
            seen = own if self.window is None else np.minimum(own, self.window)
            total += cost.token * own.sum() + cost.pair * (own * seen).sum()
            total += cost.memory_token * memory.sum() + cost.memory_pair * (own * memory).sum()
        return float(total)

    def _columns(self, lengths: Lengths) -> list[NDArray[np.float64]]:
        """The lengths on each side. Where images are read, a column may be missing: their size is always the same."""
        columns = list(lengths.T.astype(np.float64))
        missing = len(self.sides) - len(columns)
        return [np.full(len(lengths), float(self.patches)) for _ in range(missing)] + columns


def training_cost(model: nn.Module, sides: Sequence[nn.Module], *, auxiliary: bool = False) -> TrainingCost:
    """The cost of training this model as it is: frozen parameters are those that need no gradient.

    `sides` are the parts that the tokens of each side go through, in the order of the forward pass. `auxiliary`:
    whether a decoder that classifies texts also predicts each next token.
    """
    counter = Counter(model, auxiliary=auxiliary)
    for side in sides:
        counter.begin_side()
        counter.visit(side, counter.cost.sides[-1])
    inside = {id(module) for side in sides for module in side.modules()}
    for _, part in in_forward_order(model):
        if id(part) not in inside and not any(id(module) in inside for module in part.modules()):
            counter.visit(part, counter.cost.sides[0])
    return counter.cost


class Counter:
    """Goes through a model in the order of its forward pass."""

    def __init__(self, model: nn.Module, *, auxiliary: bool) -> None:
        self.model: Any = model
        self.auxiliary = auxiliary
        self.classifies = isinstance(getattr(model, "classifier", None), LastTokenHead)
        patches = patches_of(getattr(model, "encoder", model))
        self.cost = TrainingCost(window=getattr(model, "window", None), patches=patches)
        self.trained_below = False  # whether a gradient is needed by anything before this module
        self.trained_memory = False  # the same for what the other side gives
        self.trained_bias = False  # the same for what is only added to the scores
        self.counted: set[int] = set()  # output layers: they see each target once, whatever the sides

    def begin_side(self) -> None:
        self.trained_memory, self.trained_below, self.trained_bias = self.trained_below, False, False
        self.cost.sides.append(SideCost())

    def visit(self, module: nn.Module, side: SideCost, *, share: float = 1.0, memory: bool = False) -> None:
        if isinstance(module, VocabularyHead) and self.classifies:
            self.count_next_tokens(module, side)
            return
        if isinstance(module, VocabularyHead | MaskedWordsHead) or once_per_text(module, self.model):
            self.count_output(module)
            return
        if memory:
            side.memory_token += product_flops(module) * self.passes(module, below=self.trained_memory)
        else:
            side.token += share * product_flops(module) * self.passes(module, below=self.trained_below)
        for name, part in as_computed(module):
            if isinstance(part, HeadsOut):
                self.count_attention(module, part, side)
            if isinstance(module, AdditiveAttention) and isinstance(part, AdditiveScores):
                self.trained_below = True
                side.memory_pair += additive_flops(1, module) * 3
            reads_memory = isinstance(module, CrossAttention | AdditiveAttention) and name in ("key_value", "key")
            inner = share_of(module) if name in ("each", "patches") else 1.0
            self.visit(part, side, share=share * inner, memory=reads_memory)
        trained = any(weight.requires_grad for weight in module.parameters(recurse=False))
        if isinstance(module, RelativeBias):
            self.trained_bias |= trained
        else:
            self.trained_below |= trained

    def count_next_tokens(self, head: nn.Module, side: SideCost) -> None:
        """The vocabulary head of a classifier: only for the auxiliary loss, for all tokens of a text but the last."""
        if self.auxiliary:
            each = product_flops(head) * self.passes(head, below=self.trained_below)
            side.token += each
            self.cost.target -= each  # a target is a text here

    def passes(self, module: nn.Module, *, below: bool) -> int:
        """How often the products of a module are made: forward, for its own gradient, for that of its input."""
        weight = getattr(module, "weight", None)
        return 1 + int(weight is not None and weight.requires_grad) + int(below)

    def count_attention(self, attention: nn.Module, out: HeadsOut, side: SideCost) -> None:
        self.trained_below |= self.trained_bias or (isinstance(attention, CrossAttention) and self.trained_memory)
        once = attention_flops(1, *heads_of(attention, out)) * (3 if self.trained_below else 1)
        if isinstance(attention, CrossAttention):
            side.memory_pair += once
        else:
            side.pair += once

    def count_output(self, head: nn.Module) -> None:
        """An output layer is computed once for each target."""
        unused = isinstance(head, FirstTokenHead) and getattr(self.model.config, "head", "sentence") not in POOLED
        if id(head) in self.counted or unused:
            return
        self.counted.add(id(head))
        for part in head.modules():
            self.cost.target += product_flops(part) * self.passes(part, below=self.trained_below)
            self.trained_below |= any(weight.requires_grad for weight in part.parameters(recurse=False))
