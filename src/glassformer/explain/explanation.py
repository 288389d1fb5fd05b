"""What happened to one input inside a model: its tokens, what every block did, attention, predictions, every value.

One structure for every kind of model. `recording.py` fills it, `view.py` draws it for a terminal, `to_dict` gives plain
data. Layers, blocks and heads are counted from 0. Shapes: N blocks, H heads, T queries, K keys.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console, RenderableType
from torch import Tensor

from glassformer.errors import ModelError
from glassformer.explain.gates import Gates, gates
from glassformer.explain.heads import best_aligned
from glassformer.explain.tap_values import Sublayer, inputs
from glassformer.explain.view import explanation_view
from glassformer.limits import USUAL_PAGE_MB
from glassformer.printable import opening, with_article

DIGITS = 4  # decimals, in JSON


@dataclass(frozen=True)
class Tokens:
    """What passes through a stack of blocks: the pieces of a text, or the patches of an image."""

    name: str  # text, source, target or image
    pieces: tuple[str, ...]
    ids: tuple[int, ...] = ()  # patches have none
    grid: tuple[int, int] | None = None  # images: rows and columns of patches; the first token is for the whole image

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "grid": self.grid, "tokens": self.to_list()}

    def to_list(self) -> list[dict[str, Any]]:
        ids: Sequence[int | None] = self.ids or [None] * len(self.pieces)
        return [{"piece": piece, "id": number} for piece, number in zip(self.pieces, ids, strict=True)]


@dataclass(frozen=True, eq=False)
class Attention:
    """The patterns of one kind of attention, in every block and head."""

    name: str  # self, encoder, decoder or cross
    queries: Tokens
    keys: Tokens
    patterns: Tensor  # (N, H, T, K)

    def pattern(self, layer: int | None = None, head: int | None = None) -> Tensor:
        """(T, K): the pattern of one head; without a head, the mean of the layer; without both, of all heads."""
        chosen = self.patterns if layer is None else self.patterns[self._checked(layer, 0, "layer")]
        if head is not None:
            chosen = chosen.select(-3, self._checked(head, 1, "head"))
        return chosen.reshape(-1, *chosen.shape[-2:]).mean(0)

    def _checked(self, index: int, axis: int, what: str) -> int:
        count = self.patterns.size(axis)
        if not 0 <= index < count:
            kind = f"{self.name}-attention" if self.name in ("self", "cross") else f"self-attention of the {self.name}"
            raise ModelError(f"There is no {what} {index + 1}: the {kind} has {count}, counted from 1.")
        return index


@dataclass(frozen=True)
class Candidate:
    """A token or a class that the model considers."""

    piece: str
    id: int
    probability: float


@dataclass(frozen=True)
class Prediction:
    """What the model predicts at one place: the most probable candidates, and the chosen or actual one if known."""

    at: str  # the place: the number of the step, the token that is replaced or followed, or "whole"
    top: tuple[Candidate, ...]
    chosen: str = ""
    id: int | None = None  # of the chosen one
    log_probability: float | None = None  # of the chosen one

    @property
    def probability(self) -> float | None:
        return None if self.log_probability is None else math.exp(self.log_probability)

    def to_dict(self) -> dict[str, Any]:
        known = {"chosen": self.chosen, "id": self.id, "probability": self.probability}
        return {
            "at": self.at,
            **known,
            "log_probability": self.log_probability,
            "top": [asdict(one) for one in self.top],
        }


class Pages(Protocol):
    """Makes the page in which the model of an explanation runs."""

    def page(self, found: Explanation, *, also: Sequence[Any] = (), max_mb: float = USUAL_PAGE_MB) -> str:
        """One HTML file, for this input and some more, of at most about `max_mb` million bytes."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Everything that happened to one input inside a model."""

    kind: str  # of the model
    text: str  # the input: a text, or the name of an image
    answer: str  # what the model wrote, if it writes; or the number that it predicts, in words
    tokens: Mapping[str, Tokens]  # by the stack that they pass through; "" if the model has only one
    written: Tokens | None  # encoder-decoders: the token that each step of the decoder chose
    attentions: tuple[Attention, ...]
    sublayers: tuple[Sublayer, ...]
    predictions: tuple[Prediction, ...]
    predicted: str  # heading for the predictions
    score: float | None  # sum of log-probabilities, if the predictions are of one text in order
    values: Mapping[str, Tensor]  # the value at every tap, by the tap's dotted name
    number: float | None = None  # what a model that was trained on scores predicts
    batch: Any = None  # what the model read
    pages: Pages | None = None  # makes the page of it

    def attention(self, name: str | None = None) -> Attention:
        """One kind of attention by its name; without a name, cross-attention, or self-attention if there is none."""
        known = {one.name: one for one in self.attentions}
        if name is None and known:
            return known.get("cross", self.attentions[-1])
        if name is None or name not in known:
            raise ModelError(
                f"There is no attention {name!r} in this model. It has: {', '.join(known) or 'no attention at all'}."
            )
        return known[name]

    @property
    def gates(self) -> list[Gates]:
        """What each recurrent layer did with each token; none in a Transformer."""
        return gates(self.values)

    def patterns(self, name: str) -> list[Any]:
        """All patterns of one kind of attention, [layer][head][query][key]; empty if the model has none."""
        return next((one.patterns.tolist() for one in self.attentions if one.name == name), [])

    def inputs(self, stack: str) -> dict[str, tuple[float, ...]]:
        """The lengths of the vectors that are added for each token before the first block of a stack."""
        return inputs(self.values, stack)

    # Models that read one text or image and write another

    @property
    def translation(self) -> str:
        return self.answer

    @property
    def source(self) -> tuple[str, ...]:
        """The pieces that the encoder reads, including the end token."""
        return self._both[0].pieces

    @property
    def source_ids(self) -> tuple[int, ...]:
        return self._both[0].ids

    @property
    def target(self) -> tuple[str, ...]:
        """The pieces that were chosen, including the end token if it was reached."""
        return self._both[1].pieces

    @property
    def target_ids(self) -> tuple[int, ...]:
        return self._both[1].ids

    @property
    def steps(self) -> tuple[Prediction, ...]:
        """The steps of decoding; none for models that do not write."""
        return () if self.written is None else self.predictions

    @property
    def _both(self) -> tuple[Tokens, Tokens]:
        if self.written is None:
            raise ModelError(
                f"{opening(self.kind)} model has no source and target; see `tokens`, `attention()`, `predictions`."
            )
        return self.tokens["encoder"], self.written

    @property
    def encoder_attention(self) -> Tensor:
        """(N, H, S, S)."""
        return self.attention("encoder").patterns

    @property
    def decoder_attention(self) -> Tensor:
        """(N, H, T, T). The tokens are those that the decoder reads: `tokens["decoder"]`."""
        return self.attention("decoder").patterns

    @property
    def cross_attention(self) -> Tensor:
        """(N, H, T, S). Row t is the step that chose `target[t]`."""
        return self.attention("cross").patterns

    def alignment(self, layer: int | None = None, head: int | None = None) -> Tensor:
        """Cross-attention (T, S) of one head; without a head, the mean of the layer; without both, of all heads."""
        return self.attention("cross").pattern(layer, head)

    def best_head(self) -> tuple[int, int]:
        """(layer, head) of the cross-attention that looks most like a word alignment."""
        return best_aligned(self.cross_attention)

    # Output

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON. Numbers have 4 decimals; of the recorded values, only names and shapes are included."""
        data = {
            "kind": self.kind,
            "text": self.text,
            "answer": self.answer,
            "score": self.score,
            "tokens": {stack: tokens.to_dict() for stack, tokens in self.tokens.items()},
            "inputs": {stack: self.inputs(stack) for stack in self.tokens},
            "blocks": [asdict(one) for one in self.sublayers],
            **({} if self.number is None else {"number": self.number}),
            **({"gates": [asdict(one) for one in self.gates]} if self.gates else {}),
            "predicted": self.predicted,
            "predictions": [one.to_dict() for one in self.predictions],
        }
        if self.written is not None:
            data |= {
                "translation": self.answer,
                "source": self._both[0].to_list(),
                "target": self.written.to_list(),
                "steps": data["predictions"],
            }
        return {
            **rounded(data),
            "attention": {one.name: rounded_tensor(one.patterns) for one in self.attentions},
            "values": {name: list(value.shape) for name, value in self.values.items()},
        }

    def page(self, *, also: Sequence[Any] = (), max_mb: float = USUAL_PAGE_MB) -> str:
        """The page in which the model runs, as HTML. `also`: further texts or images to record in it."""
        if self.pages is None:
            raise ModelError("This explanation has no model beside it. Use the one that a model's explain() returned.")
        return self.pages.page(self, also=also, max_mb=max_mb)

    def save(
        self, path: str | Path, *, also: Sequence[Any] = (), max_mb: float = USUAL_PAGE_MB, force: bool = False
    ) -> None:
        """Writes the page into one file that works offline. `force` also replaces a file that is no such page."""
        from glassformer.explain.glass.page import check_target, save

        check_target(Path(path), force=force)
        save(self.page(also=also, max_mb=max_mb), Path(path), force=force)

    def _repr_html_(self) -> str | None:
        """For notebooks: the page, in a frame that cannot reach the notebook."""
        from glassformer.explain.glass.page import framed

        try:
            return framed(self.page())
        except ModelError:  # a model without a program
            return None

    def __repr__(self) -> str:
        answer = f" -> {self.answer!r}" if self.answer else ""
        sizes = ", ".join(f"{len(one.pieces)} {one.name} tokens" for one in self.tokens.values())
        return (
            f"<Explanation of {self.text!r}{answer} by {with_article(self.kind)} model: {sizes}, "
            f"{len(self.values)} values; print() shows it>"
        )

    def __rich__(self) -> RenderableType:
        return explanation_view(self)

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=100, color_system=None, force_terminal=False)
        with console.capture() as captured:
            console.print(self)
        return captured.get()


def rounded(value: Any) -> Any:
    """Nested plain data with rounded numbers."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


def rounded_tensor(values: Tensor) -> list[Any]:
    """Nested lists of rounded numbers; in float64, so that 0.1 stays 0.1."""
    found: list[Any] = values.double().mul(10**DIGITS).round().div(10**DIGITS).tolist()
    return found
