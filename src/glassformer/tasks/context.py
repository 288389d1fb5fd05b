"""How a word's vector changes with its context: the same word in several sentences, layer by layer.

The first vector of a word is its row of the embedding table, the same in every sentence. Every block adds something of
the words around it, so the vectors of "bank" near "money" and near "river" move apart. Shapes: S sentences, T tokens,
D width.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from glassformer.errors import DataError
from glassformer.nn.taps import listen, watch
from glassformer.tasks.embedding import TextEncoder

STATIC, INPUT, NORMED = "static", "input", "last norm"


@dataclass(frozen=True)
class Layer:
    """The word at one layer: the cosine between its vectors in every two sentences, and how far each moved.

    `moved` is 1 - cosine to the vector of the layer before.
    """

    name: str
    cosines: tuple[tuple[float, ...], ...]  # (S, S)
    moved: tuple[float, ...]  # (S,)


@dataclass(frozen=True)
class Context:
    """A word in several sentences, from its static vector to the last layer."""

    word: str
    sentences: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]  # of the word, in each sentence
    layers: tuple[Layer, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def context(encoder: TextEncoder, sentences: Sequence[str], word: str) -> Context:
    """Follows the first occurrence of the word in each sentence. The vector of a split word is its pieces' mean."""
    if len(sentences) < 2:
        raise DataError(f"Got {len(sentences)} sentence; give two or more to compare the word in them.")
    found = [layers_of_word(encoder, sentence, word) for sentence in sentences]
    names, pieces = list(found[0].states), tuple(one.pieces for one in found)
    vectors = np.array([[one.states[name] for one in found] for name in names])  # (layers, S, D)
    units = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    cosines = units @ units.transpose(0, 2, 1)  # (layers, S, S)
    moved = 1 - (units[1:] * units[:-1]).sum(-1)  # (layers - 1, S)
    moved = np.concatenate([np.zeros((1, len(sentences))), moved])
    layers = (Layer(*row) for row in zip(names, as_tuples(cosines), as_tuples(moved), strict=True))
    return Context(word, tuple(sentences), pieces, tuple(layers))


def as_tuples(numbers: NDArray[Any]) -> Any:
    return tuple(map(as_tuples, numbers)) if numbers.ndim else float(numbers)


@dataclass(frozen=True)
class WordStates:
    """The word's pieces, and its vector at every layer."""

    pieces: tuple[str, ...]
    states: dict[str, NDArray[np.float64]]


def layers_of_word(encoder: TextEncoder, sentence: str, word: str) -> WordStates:
    places = places_of(encoder, sentence, word)
    ids = encoder.ids_of([sentence])[0]
    if places[-1] >= len(ids):
        raise DataError(
            f"{word!r} comes after the first {len(ids)} tokens of {short(sentence)}; the model reads no more."
        )
    rows = layer_states(encoder, ids)
    states = {name: values[places].double().mean(0).numpy() for name, values in rows.items()}
    return WordStates(tuple(encoder.tokenizer.pieces_of([ids[i] for i in places])), states)


def layer_states(encoder: TextEncoder, ids: Sequence[int]) -> dict[str, Tensor]:
    """The vectors of all tokens after every layer, (T, D) each, as the modules compute them."""
    stack: nn.Module = getattr(encoder.model, "encoder", encoder.model)  # a translator's encoder, or the whole model
    watched = {INPUT: stack.get_submodule("inputs")}
    watched |= {f"block {i + 1}": block for i, block in enumerate(stack.get_submodule("blocks").children())}
    with torch.inference_mode(), watch(watched) as blocks, listen(stack, lambda name: name == "inputs.token") as taps:
        last = encoder.model.hidden(encoder.batch([ids]))
    if not isinstance(getattr(stack, "final_norm", None), nn.Identity | None):
        blocks[NORMED] = last
    return {STATIC: taps["inputs.token"][0][0].cpu(), **{name: value[0].cpu() for name, value in blocks.items()}}


def places_of(encoder: TextEncoder, sentence: str, word: str) -> list[int]:
    """The positions of the word's pieces among the tokens of the sentence, counting tokens added in front."""
    tokenizer = encoder.tokenizer
    text, wanted = (tokenizer.normalize(one) for one in (encoder.prepared(sentence), word.strip()))
    found = re.search(rf"(?<!\w){re.escape(wanted.strip())}(?!\w)", text, re.IGNORECASE) if wanted.strip() else None
    if found is None:
        raise DataError(f"{short(sentence)} does not contain the word {word!r}. Write it as in the sentence.")
    first = len(encoder.frame.before)
    return [
        first + i
        for i, (begin, end) in enumerate(tokenizer.offsets(text))
        if begin < found.end() and end > found.start() and text[begin:end].strip()
    ]


def short(sentence: str) -> str:
    return repr(sentence if len(sentence) <= 60 else sentence[:57] + "...")
