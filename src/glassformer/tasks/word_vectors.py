"""The embedding table of a model as word vectors: what it knows of a token before it sees any other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glassformer.errors import ModelError
from glassformer.nn.embedding import Embedding
from glassformer.printable import opening
from glassformer.store.bundle import Bundle
from glassformer.tasks.loading import load_bundle
from glassformer.text import Tokenizer
from glassformer.text.pieces import CONTINUES, MARK
from glassformer.vectors import WordVectors

TABLE = "inputs.embedding"  # in every model of text; an encoder's comes before its decoder's


def model_vectors(folder: str | Path) -> WordVectors:
    """The embedding table of the model in a folder."""
    found = table_of(load_bundle(folder))
    found.about["file"] = str(folder)
    return found


def table_of(bundle: Bundle) -> WordVectors:
    """A word for each token: `apple` begins a word, `##ple` continues one. Special tokens are left out."""
    tables = [m for name, m in bundle.model.named_modules() if name.endswith(TABLE) and isinstance(m, Embedding)]
    if bundle.tokenizer is None or not tables:
        raise ModelError(f"{opening(bundle.kind)} model without tokens has no word vectors. Give a model of text.")
    tokenizer, weight = bundle.tokenizer, tables[0].weight.detach().float().cpu().numpy()
    ids = [i for i in range(min(len(tokenizer), len(weight))) if not tokenizer.is_special(i)]
    words = words_of(tokenizer, ids)
    real = [place for place, word in enumerate(words) if word]
    return WordVectors([words[i] for i in real], np.ascontiguousarray(weight[[ids[i] for i in real]]))


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """The tokens as words: a mark for a space before is dropped, and pieces inside a word get ##."""
    pieces = tokenizer.pieces_of(ids)
    marked = any(piece.startswith(MARK) and len(piece) > 1 for piece in pieces)
    if not marked:
        return pieces
    return [piece.removeprefix(MARK) if piece.startswith(MARK) else CONTINUES + piece for piece in pieces]
