"""One sentence through a model, with every number kept.

The numbers come from one teacher-forced pass over what decoding chose. Decoding step by step with a cache computes
the same values (a test of the model holds the two equal), so this is what decoding saw, from a single pass.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from rich.console import Console, RenderableType
from torch import Tensor, nn

from glassformer.errors import ModelError
from glassformer.explain.heads import best_aligned
from glassformer.explain.hearing import attentions, heard_pass
from glassformer.explain.terminal import explanation_view

Side = Literal["source", "target"]


class PairBatch(Protocol):
    """A batch of one pair: source (1, S), its length (1,), and the target shifted right (1, T)."""

    @property
    def source(self) -> Tensor: ...
    @property
    def source_lengths(self) -> Tensor: ...
    @property
    def target_in(self) -> Tensor: ...


@dataclass(frozen=True)
class Step:
    """One decoding step: what was chosen, how probable it was, and the most probable candidates."""

    chosen: str
    probability: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Everything one sentence did inside a model. Layers and heads are counted from 0."""

    text: str
    translation: str
    source: tuple[str, ...]  # pieces, the end token included
    source_ids: tuple[int, ...]
    target: tuple[str, ...]  # predicted pieces, the end token included if it was reached
    target_ids: tuple[int, ...]
    steps: tuple[Step, ...]
    encoder_attention: Tensor  # (N, H, S, S)
    decoder_attention: Tensor  # (N, H, T, T)
    cross_attention: Tensor  # (N, H, T, S)
    values: dict[str, Tensor]  # every tap of the pass, by its dotted name
    score: float  # sum of the log-probabilities of the chosen tokens

    def alignment(self, layer: int | None = None, head: int | None = None) -> Tensor:
        """Cross-attention (T, S) of one head; a layer's mean without a head; the mean of all without both."""
        chosen = self.cross_attention if layer is None else self.cross_attention[_within(layer, self, 0, "layer")]
        if head is not None:
            chosen = chosen.select(-3, _within(head, self, 1, "head"))
        return chosen.reshape(-1, *chosen.shape[-2:]).mean(0)

    def best_head(self) -> tuple[int, int]:
        """(layer, head) of the cross-attention that looks most like a word alignment."""
        return best_aligned(self.cross_attention)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: tokens, ids, steps, attentions to 4 digits, and the name and shape of every value."""
        return {
            "text": self.text,
            "translation": self.translation,
            "score": round(self.score, 4),
            "source": _tokens(self.source, self.source_ids),
            "target": _tokens(self.target, self.target_ids),
            "steps": [_step_dict(step) for step in self.steps],
            "encoder_attention": rounded(self.encoder_attention),
            "decoder_attention": rounded(self.decoder_attention),
            "cross_attention": rounded(self.cross_attention),
            "values": {name: list(value.shape) for name, value in self.values.items()},
        }

    def __rich__(self) -> RenderableType:
        return explanation_view(self)

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=100, color_system=None, force_terminal=False)
        with console.capture() as captured:
            console.print(self)
        return captured.get()


def explain_pass(
    model: nn.Module,
    batch: PairBatch,
    *,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    piece: Callable[[Side, int], str],
    text: str,
    translation: str,
    top: int = 5,
) -> Explanation:
    """Listens to every tap during one pass of `model` over `batch`, and reads the explanation from what it heard.

    `source_ids` and `target_ids` are what the batch holds: the encoder's tokens, and the predicted tokens that the
    shifted target leads to. `piece(side, id)` names a token.
    """
    _check_lengths(batch, source_ids, target_ids)
    logits, values = heard_pass(model, batch)
    log_probabilities = logits[0].float().log_softmax(-1)  # (T, V)
    chosen = log_probabilities.gather(1, torch.tensor(target_ids)[:, None].to(logits.device)).squeeze(1)  # (T,)
    heard = attentions(values)
    return Explanation(
        text=text,
        translation=translation,
        source=tuple(piece("source", i) for i in source_ids),
        source_ids=tuple(source_ids),
        target=tuple(piece("target", i) for i in target_ids),
        target_ids=tuple(target_ids),
        steps=_steps(log_probabilities.exp(), target_ids, lambda i: piece("target", i), top),
        encoder_attention=heard["encoder", "self"],
        decoder_attention=heard["decoder", "self"],
        cross_attention=heard["decoder", "cross"],
        values=values,
        score=float(chosen.sum()),
    )


def _steps(probabilities: Tensor, chosen: Sequence[int], piece: Callable[[int], str], top: int) -> tuple[Step, ...]:
    """probabilities (T, V), one row per step."""
    best = probabilities.topk(min(top, probabilities.size(-1)), dim=-1)
    rows = zip(chosen, probabilities, best.values.tolist(), best.indices.tolist(), strict=True)
    return tuple(
        Step(piece(i), float(row[i]), tuple((piece(j), p) for j, p in zip(ids, values, strict=True)))
        for i, row, values, ids in rows
    )


def rounded(values: Tensor, digits: int = 4) -> list[Any]:
    """Nested lists with so many digits after the point; through float64, so that 0.1 stays 0.1."""
    rounds: list[Any] = values.double().mul(10**digits).round().div(10**digits).tolist()
    return rounds


def _tokens(pieces: Sequence[str], ids: Sequence[int]) -> list[dict[str, Any]]:
    return [{"piece": piece, "id": i} for piece, i in zip(pieces, ids, strict=True)]


def _step_dict(step: Step) -> dict[str, Any]:
    top = [{"piece": piece, "probability": round(p, 4)} for piece, p in step.top]
    return {"chosen": step.chosen, "probability": round(step.probability, 4), "top": top}


def _within(index: int, explanation: Explanation, axis: int, what: str) -> int:
    """The index, if the cross-attention has it."""
    count = explanation.cross_attention.size(axis)
    if not 0 <= index < count:
        raise ModelError(f"There is no {what} {index + 1}: this model has {count}, counted from 1.")
    return index


def _check_lengths(batch: PairBatch, source_ids: Sequence[int], target_ids: Sequence[int]) -> None:
    got = (tuple(batch.source.shape), tuple(batch.target_in.shape))
    if got != ((1, len(source_ids)), (1, len(target_ids))):
        raise ModelError(
            f"An explanation is of one sentence pair: got {len(source_ids)} source and {len(target_ids)} target ids, "
            f"but a batch of shapes {got[0]} and {got[1]}. Give the pair alone, unpadded."
        )
