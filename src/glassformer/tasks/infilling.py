"""A T5 that fills the gaps of a text, as it was pre-trained to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import overload

from glassformer.data.spans import SENTINEL
from glassformer.errors import DataError
from glassformer.tasks.generation.options import GenerateOptions
from glassformer.tasks.model import one_or_many
from glassformer.tasks.rewriting import Rewriter

GAP = re.compile(r"\s*___+")  # in a text of the user
MAX_NEW = 64


class Infiller(Rewriter):
    """Fills gaps that are written as ___."""

    @overload
    def infill(self, texts: str, *, beam: int = ..., max_new: int = ...) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def infill(self, texts: Sequence[str], *, beam: int = ..., max_new: int = ...) -> list[str]: ...
    def infill(self, texts: str | Sequence[str], *, beam: int = 1, max_new: int = MAX_NEW) -> str | list[str]:
        """Each text with its gaps (___) filled."""
        options = GenerateOptions(max_new=max_new, beam=beam)
        return one_or_many(texts, lambda all_: [self.filled(text, options) for text in all_])

    def filled(self, text: str, options: GenerateOptions) -> str:
        parts = GAP.split(text)
        if len(parts) < 2:
            raise DataError(f"No gap in {text[:40]!r}. Write ___ where words are missing.")
        gaps = [self.gap(number) for number in range(len(parts) - 1)]
        row = [*self.input_tokenizer.encode(parts[0])]
        for gap, part in zip(gaps, parts[1:], strict=True):
            row += [gap, *self.input_tokenizer.encode(part)]
        eos = self.bundle.marks.eos
        row += [] if eos is None else [eos]
        found = self.generator.continuations([row], options, numbers=[0])[0][0]
        spans = self.spans_of(found.ids, gaps)
        texts = [parts[0]]
        for gap, part in zip(gaps, parts[1:], strict=True):
            texts += [joined(texts[-1], self.tokenizer.decode(spans.get(gap, []))), part]
        return "".join(texts)

    def gap(self, number: int) -> int:
        found = self.tokenizer.id(SENTINEL.format(number))
        if found is None:
            raise DataError(f"This model can fill {number} gaps in a text; got more. Split the text.")
        return found

    def spans_of(self, ids: Sequence[int], gaps: Sequence[int]) -> dict[int, list[int]]:
        """What was written for each gap."""
        found: dict[int, list[int]] = {}
        current: list[int] = []
        for token in ids:
            if token in gaps:
                current = found.setdefault(token, [])
            else:
                current.append(token)
        return found


def joined(before: str, text: str) -> str:
    """A space before the text, unless it has one or nothing is before it."""
    return text if not before or not text or text[0].isspace() or before[-1:].isspace() else f" {text}"
