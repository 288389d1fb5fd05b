"""Which columns of a table, or keys of JSON lines, contain the texts and the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glassformer.data.readers.columns import find_column
from glassformer.errors import DataError

TEXT_NAMES = ("text", "sentence", "content", "document", "review", "comment", "message", "body", "tweet", "utterance")
LABEL_NAMES = ("label", "class", "category", "sentiment", "intent", "topic", "labels", "label_text", "label_name")
SCORE_NAMES = ("score", "similarity", "rating", "similarity_score", "relatedness_score")
# Names of two texts that belong together, as in GLUE's files and elsewhere.
PAIR_NAMES = (
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("#1 string", "#2 string"),
    ("question", "sentence"),
    ("premise", "hypothesis"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("a", "b"),
)
# Names of the label of two texts, the most specific first: MNLI also has the labels of single annotators.
PAIR_LABEL_NAMES = ("gold_label", "is_duplicate", "quality", "label", "class", "entailment_judgment")
UNDECIDED = "-"  # a gold_label on which the annotators did not agree
COLA = ("4", "2")  # columns of CoLA's files, which have no header: source, label, author's mark, sentence
REPEATED = 2  # a label column has fewer different values than a text column, by at least this factor


@dataclass(frozen=True)
class Roles:
    """The fields needed from each row: one text for language models, or texts and a label for classifiers."""

    columns: tuple[str, ...] | None  # chosen by the user: the texts, then the label if there is one
    has_label: bool

    @property
    def needed(self) -> str:
        return "text,label" if self.has_label else "text"

    @property
    def shape(self) -> str:
        """An object of JSON lines."""
        names = self.columns or tuple(self.needed.split(","))
        return "{" + ", ".join(f'"{name}": ...' for name in names) + "}"


@dataclass(frozen=True)
class Chosen:
    """Where the fields are in a row, from 0, in the order of the roles."""

    places: tuple[int, ...]
    header: bool
    names: tuple[str, ...]  # for people


def choose_places(rows: Sequence[Sequence[str]], name: str, roles: Roles) -> Chosen:
    """By the user's choice, else by the header, else by the first rows. Raises an error if unclear."""
    first = [cell.strip() for cell in rows[0]] if rows else []
    if roles.columns is not None:
        places = tuple(find_column(needed, first, name) for needed in roles.columns)
        _refuse_repeated(places, name)
        named = not all(needed.isdecimal() for needed in roles.columns)
        return Chosen(places, named or _is_header(first, places, roles), tuple(roles.columns))
    if (found := named_columns(first, roles)) is not None:
        return Chosen(tuple(first.index(column) for column in found), True, found)
    if roles.has_label and len(first) == 2:
        return _text_and_label(rows, name)
    if not roles.has_label and len(first) <= 1:
        return Chosen((0,), False, ("1",))
    cells = ", ".join(repr(cell[:30]) for cell in first[:12])
    raise DataError(
        f"{name}: not clear which of its {len(first)} columns are {roles.needed}; the first row is {cells}. "
        f"Choose them by name or number, for instance --columns {roles.needed}."
    )


def named_columns(names: Sequence[str], roles: Roles) -> tuple[str, ...] | None:
    """The only usual name for each role; None if there is none or more than one."""
    texts = [name for name in names if name.casefold() in TEXT_NAMES]
    labels = [name for name in names if name.casefold() in LABEL_NAMES]
    if roles.has_label:
        return (texts[0], labels[0]) if len(texts) == len(labels) == 1 else None
    return (texts[0],) if len(texts) == 1 else None


def usual_columns(rows: Sequence[Sequence[str]], *, scored: bool) -> tuple[str, ...] | None:
    """The columns of a table of labelled pairs with usual names, or of CoLA's files; None if it is another table.

    `scored`: the last column is a number, not a label.
    """
    names = {cell.strip().casefold(): cell.strip() for cell in rows[0]} if rows else {}
    endings = SCORE_NAMES if scored else PAIR_LABEL_NAMES
    ending = next((names[name] for name in endings if name in names), None)
    pair = next(((names[a], names[b]) for a, b in PAIR_NAMES if a in names and b in names), None)
    if ending is not None and pair is not None:
        return (*pair, ending)
    if scored:
        text = next((names[name] for name in TEXT_NAMES if name in names), None)
        return (text, ending) if text is not None and ending is not None else None
    return COLA if rows and all(map(_is_cola, rows)) else None


def _is_cola(row: Sequence[str]) -> bool:
    return len(row) == 4 and row[1].strip() in ("0", "1") and row[2].strip() in ("", "*")


def choose_keys(value: Any, where: str, roles: Roles) -> tuple[str | int, ...]:
    """The keys of an object, or the indices in an array, by the user's choice or by their usual names."""
    if isinstance(value, list):
        if roles.columns is None or not all(column.isdecimal() and int(column) for column in roles.columns):
            got = "" if roles.columns is None else f", got {','.join(roles.columns)}"
            raise DataError(f"{where}: an array. Choose its items by number, for instance --columns 1,2{got}.")
        return tuple(int(column) - 1 for column in roles.columns)
    keys = ", ".join(repr(str(key)[:30]) for key in list(value)[:12])
    if roles.columns is not None:
        if missing := [column for column in roles.columns if column not in value]:
            raise DataError(f"{where}: no {missing[0]!r} in an object of {keys}. Choose some of its keys.")
        return roles.columns
    found = named_columns(list(value), roles)
    if found is None:
        raise DataError(
            f"{where}: not clear which keys are {roles.needed} in an object of {keys}. "
            f"Choose them, for instance --columns {roles.needed}."
        )
    return found


def _refuse_repeated(places: Sequence[int], name: str) -> None:
    if len(set(places)) < len(places):
        again = next(place for place in places if places.count(place) > 1)
        raise DataError(f"{name}: column {again + 1} is chosen twice. Choose different columns.")


def _is_header(first: Sequence[str], places: Sequence[int], roles: Roles) -> bool:
    """Whether the chosen cells of the first row are usual names of columns."""
    if max(places) >= len(first):
        return False
    names = [first[place].casefold() for place in places]
    if roles.has_label:
        return names[-1] in (*LABEL_NAMES, *PAIR_LABEL_NAMES, *SCORE_NAMES)
    return names[0] in TEXT_NAMES


def _text_and_label(rows: Sequence[Sequence[str]], name: str) -> Chosen:
    """Two columns without a known header: the labels are the column in which values repeat far more often."""
    full = [row for row in rows if len(row) == 2]
    different = [len({row[place].strip() for row in full}) for place in (0, 1)]
    for label in (1, 0):
        if REPEATED * different[label] <= different[1 - label]:
            return Chosen((1 - label, label), False, (str(2 - label), str(label + 1)))
    raise DataError(
        f"{name}: not clear which of its 2 columns is the label: in its first {len(full):,} rows they have "
        f"{different[0]:,} and {different[1]:,} different values. Choose, for instance --columns 1,2 (text, label)."
    )
