"""A translation in pieces, each as soon as it is certain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from glassformer.tasks.text_generator import text_pieces
from glassformer.tasks.translation.constraints import Request
from glassformer.tasks.translation.finding import PART_STEP, divided, translations_of

if TYPE_CHECKING:
    from glassformer.tasks.translation.translator import Translator


def pieces(translator: Translator, text: str, request: Request) -> Iterator[str]:
    """The pieces of the translation, in order."""
    whole = divided(translator, text, request)
    if request.constraints.glossary or any(part.marks for part in whole.parts):
        yield translations_of(translator, [text], request, guard=False)[0][0].text
        return
    for place, (part, space) in enumerate(zip(whole.parts, (*whole.between, ""), strict=True)):
        sentence = translator.sentences([part.plain], request, numbers=[PART_STEP * place])
        if sentence.rows and sentence.rows[0]:
            yield from text_pieces(translator.task(sentence, request), translator.target)
        if space:
            yield space
