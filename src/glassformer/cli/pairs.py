"""Texts for classifiers, from arguments and lines: a model of pairs reads two texts with a tab between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from glassformer.cli.skipping import Skipped
from glassformer.cli.translating import stdin_blocks
from glassformer.errors import DataError
from glassformer.printable import printable, shortened

if TYPE_CHECKING:
    from glassformer.tasks.classifying import Text


def text_blocks(texts: Sequence[str], each: int | None, skipped: Skipped) -> Iterator[list[Text]]:
    """The arguments; without any, or for "-", the lines of stdin as they arrive, without those that are no texts."""
    if texts not in ([], ["-"]):
        yield given_texts(texts, each)
        return

    def of_line(numbered: tuple[int, str]) -> list[Text]:
        return read_texts([numbered[1]], each, where="stdin, line", done=numbered[0])

    read = 0
    for lines in stdin_blocks():
        if block := [*skipped.each(enumerate(lines, read), of_line)]:
            yield block
        read += len(lines)


def given_texts(texts: Sequence[str], each: int | None) -> list[Text]:
    """Arguments as texts or pairs; two arguments without tabs are one pair for a model of pairs."""
    if each == 2 and len(texts) == 2 and not any("\t" in text for text in texts):
        return [(texts[0], texts[1])]
    return read_texts(texts, each, where="argument")


def read_texts(lines: Sequence[str], each: int | None, *, where: str, done: int = 0) -> list[Text]:
    """Lines as texts, or as pairs. `each`: how many texts a class belongs to; None if the model does not say."""
    if each is None:
        return [*lines]
    return [text_or_pair(line, each, place=f"{where} {done + number:,}") for number, line in enumerate(lines, 1)]


def text_or_pair(line: str, each: int, *, place: str) -> Text:
    parts = line.split("\t") if each == 2 else [line]
    if each == 1 and "\t" in line.strip():
        raise DataError(
            f"{place}: got {shown(line)} with a tab, so several texts, but this model was trained on single texts. "
            "Give one text, or replace the tab with a space."
        )
    if len(parts) != each:
        raise DataError(
            f"{place}: got {shown(line)} with {len(parts) - 1} tabs, but this model was trained on pairs of texts. "
            "Give first<TAB>second, with one tab, for each pair, or two arguments for one pair."
        )
    return line if each == 1 else (parts[0], parts[1])


def shown(line: str) -> str:
    return repr(shortened(printable(line.replace("\t", " ")), width=40))
