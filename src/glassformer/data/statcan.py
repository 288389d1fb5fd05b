"""The sentences in the StatCan Dialogue Dataset's package: descriptions of Statistics Canada's tables in two languages.

The package `statcan-dialogue-dataset` (version 0.2.0) contains the descriptions of 5,927 tables as JSON. Four fields
are sentences or titles, English and French side by side (units; distinct ones):

    _data/basic_info.json     title_en, title_fr of each table                                   5,927    5,911
    _data/code_sets_map.json  en and fr, survey, code_to_title, by equal code                      841      841
    _data/code_sets_map.json  en and fr, subject, code_to_title, by equal code                     610      610
    _data/footnotes.json      footnotesEn, footnotesFr of each note of each table               77,614   16,496

In total 84,992 units; without tags, repetitions and units that are the same on both sides, 23,719 pairs of 22,729
English sentences. Not read: names of dimensions, members and frequencies (labels of one or two words), and
title_to_pid.json (the same titles again).

The package is never imported, because that would need pandas; its files are read where they are installed.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from glassformer.errors import DataError

PACKAGE = "statcan_dialogue_dataset"
INSTALL = "pip install --no-deps statcan-dialogue-dataset"

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")  # links and italics; "p < 0.05" stays
_SPACES = re.compile(r"[ \t\r\n]+")  # not the no-break space: French uses it before a colon


def folder() -> Path | None:
    """The package's data folder; None if it is not installed. Finding a top-level package does not import it."""
    spec = find_spec(PACKAGE)
    places = (spec.submodule_search_locations if spec else None) or []
    found = (Path(place) / "_data" for place in places)
    return next((place for place in found if place.is_dir()), None)


def sentence_units() -> Iterator[tuple[str, str]]:
    """English and French of every unit, repetitions included, each as one line without tags."""
    place = folder()
    if place is None:
        raise DataError(f"The corpus statcan is not installed. Install it: {INSTALL}")
    try:
        for english, french in _fields(place):
            yield _line(english), _line(french)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{place}: not laid out as in version 0.2.0 of the package ({type(error).__name__}: {error}). "
            f"Install that version: {INSTALL}==0.2.0"
        ) from None


def _fields(place: Path) -> Iterator[tuple[Any, Any]]:
    for table in _json(place / "basic_info.json").values():
        yield table["title_en"], table["title_fr"]
    codes = _json(place / "code_sets_map.json")
    for kind in ("survey", "subject"):
        french = codes["fr"][kind]["code_to_title"]
        for code, title in codes["en"][kind]["code_to_title"].items():
            yield title, french[code]
    for notes in _json(place / "footnotes.json").values():
        for note in notes:
            yield note["footnotesEn"], note["footnotesFr"]


def _line(text: str) -> str:
    """On one line, without tags, HTML entities replaced. Two notes were escaped twice."""
    plain = html.unescape(html.unescape(text)) if "&" in text else text
    return _SPACES.sub(" ", _TAG.sub("", plain)).strip()


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Install the package again: {INSTALL}") from None
    except ValueError as error:
        raise DataError(f"{path} is not complete JSON ({error}). Install the package again: {INSTALL}") from None
