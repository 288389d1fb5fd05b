"""What the tasks that learn from plain text share: how they read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from glassformer.data.sources.running import TextPiece
from glassformer.data.sources.texts import files_changed, read_held_texts, read_text_examples
from glassformer.data.windows import Text
from glassformer.training.task import Listener, Material, Task

SENTENCE = 80  # characters of a usual sentence


class TextTask(Task):
    """A task whose examples are running text, or one text per row."""

    def read(self, recipe: Any, listener: Listener) -> Material:
        found = read_text_examples(recipe.data, seed=recipe.train.seed, listener=listener)
        valid = [text_of(piece) for piece in found.valid]

        def train() -> Iterator[Text]:
            return map(text_of, found.train())

        return Material(train, found.count, valid, found.fingerprints, facts=found.facts)

    def changed_files(self, recipe: Any, begun: Mapping[str, str]) -> list[str]:
        return ["the files to learn from have changed"] if files_changed(recipe.data, begun) else []

    def read_held(self, files: Sequence[str], recipe: Any, listener: Listener) -> list[Text]:
        held, _ = read_held_texts(files, recipe.data.columns, listener)
        return [text_of(piece) for piece in held or ()]

    def sentences(self, material: Material) -> int:
        characters: int = material.facts["findings"].characters
        return characters // SENTENCE


def text_of(piece: TextPiece) -> Text:
    return piece.text, piece.starts, piece.whole
