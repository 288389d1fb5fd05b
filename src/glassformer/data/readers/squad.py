"""The layout of SQuAD files: articles, their paragraphs, and the questions on each paragraph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from glassformer.data.readers.lines import BOM
from glassformer.errors import DataError


@dataclass(frozen=True)
class Entry:
    """One question as it is in the file, or what is wrong with it (`flaw`)."""

    title: str
    passage: Any
    value: dict[str, Any]
    id: str = ""
    flaw: str = ""


def squad_articles(blocks: Sequence[bytes], name: str) -> list[Any] | None:
    """The articles of a file; None if it is not one JSON object with `data`, but perhaps JSON lines."""
    content = b"".join(blocks).removeprefix(BOM)
    if not content.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(content)
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: not UTF-8 at byte {error.start:,}. Convert the file to UTF-8.") from None
    except RecursionError:
        raise DataError(f"{name}: JSON nested too deeply.") from None
    except json.JSONDecodeError as error:
        if b'"data"' in content[:200] and error.msg != "Extra data":
            raise DataError(
                f"{name}: damaged JSON: {error.msg} in line {error.lineno:,}, column {error.colno:,}. Copy it again."
            ) from None
        return None
    except ValueError as error:  # a number with thousands of digits
        raise DataError(f"{name}: not usable JSON: {str(error).split(';')[0]}.") from None
    if not isinstance(value, dict) or "data" not in value:
        return None
    if not isinstance(value["data"], list):
        raise DataError(f'{name}: "data" is not an array of articles.')
    return value["data"]


def entries_of(articles: Sequence[Any]) -> Iterator[Entry]:
    """Every question, and every part of the file that has the wrong shape."""
    for at, article in enumerate(articles, 1):
        title = article.get("title") if isinstance(article, dict) else None
        title = title if isinstance(title, str) else f"article {at}"
        paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
        if not isinstance(paragraphs, list):
            yield Entry(title, "", {}, flaw=f'article {at} has no array "paragraphs"')
            continue
        for number, paragraph in enumerate(paragraphs, 1):
            yield from _of_paragraph(title, paragraph, f"article {title!r}, paragraph {number}")


def _of_paragraph(title: str, paragraph: Any, where: str) -> Iterator[Entry]:
    if not isinstance(paragraph, dict) or not isinstance(paragraph.get("qas"), list):
        yield Entry(title, "", {}, flaw=f'{where} has no array "qas"')
        return
    for value in paragraph["qas"]:
        if not isinstance(value, dict):
            yield Entry(title, "", {}, flaw=f"{where} has a question that is not an object")
            continue
        id = value.get("id", "")
        yield Entry(title, paragraph.get("context"), value, id=str(id) if isinstance(id, str | int) else "")
