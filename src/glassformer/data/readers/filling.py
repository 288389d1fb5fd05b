"""Files to fill in: finds the texts to translate, and writes the same file with the translations.

The readers say where things are; every byte that is not a translation stays the same. Existing translations are kept
unless they are requested again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from glassformer.data.readers.filling_json import fill_json_lines
from glassformer.data.readers.filling_tables import fill_csv, fill_tsv
from glassformer.data.readers.filling_tmx import fill_tmx
from glassformer.data.readers.gettext import Entry, entries_of, fillable, unescaped
from glassformer.data.readers.naming import kind_of
from glassformer.data.readers.opening import blocks_of, shown
from glassformer.data.readers.places import Fillable
from glassformer.errors import DataError

Choice = tuple[str, str] | None

FIRST = ("msgstr", "msgstr[0]")  # translations of msgid; the other forms translate msgid_plural
KINDS = (".po", ".tsv", ".csv", ".jsonl", ".tmx")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def open_to_fill(
    path: Path, *, columns: Choice = None, languages: Choice = None, again: bool = False, fuzzy: bool = False
) -> Fillable:
    """`again`: also texts that have a translation. `fuzzy`: mark entries of a .po file as not yet checked."""
    kind = kind_of(path)
    if fuzzy and kind != "po":
        raise DataError(f"{shown(path)}: only entries of .po files can be marked as fuzzy. Omit the option.")
    if columns and kind in ("po", "tmx"):
        raise DataError(f"{shown(path)}: a .{kind} file has no columns. Omit --columns.")
    for option, two in (("--columns", columns), ("--languages", languages)):
        if two is not None and two[0] == two[1]:
            raise DataError(f"{option} {','.join(two)}: source and target must differ.")
    raw = b"".join(blocks_of(path))
    try:
        content = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{shown(path)}, byte {error.start:,}: not UTF-8. Convert the file to UTF-8 first.") from None
    if kind == "po":
        return _po(path, content, again=again, fuzzy=fuzzy)
    if kind == "tmx":
        return fill_tmx(path, raw, languages, again=again)
    fill = {"tsv": fill_tsv, "csv": fill_csv, "jsonl": fill_json_lines}[kind]
    return fill(path, raw, columns=columns, languages=languages, again=again)


def _po(path: Path, content: str, *, again: bool, fuzzy: bool) -> Fillable:
    lines, found, position = content.split("\n"), Fillable(), 0
    for entry in entries_of(path):
        texts, problem = unescaped(entry)
        if problem is not None and problem.kind == "syntax" and not entry.obsolete and set(texts) != {"domain"}:
            raise DataError(f"{problem}. Correct the file first, for instance with msgfmt --check.")
        if not fillable(entry, path):
            if texts.get("msgid") and not entry.obsolete:
                found.skip(entry.place.number, problem.detail if problem else "a blank msgid")
            continue
        forms = [name for name in entry.lines if name.startswith("msgstr")]
        if not again:  # some forms of a plural may be filled
            forms = [name for name in forms if not texts[name].strip()]
        if not forms:
            continue
        first = min(number for own in entry.lines.values() for number in own) - 1
        position = _copied(found, lines, position, first)
        if fuzzy and not entry.fuzzy:
            ending = "\r" if lines[first].endswith("\r") else ""
            found.pieces.append(f"#, fuzzy{ending}\n")
        position = _po_forms(found, lines, position, entry, texts, forms)
    _copied(found, lines, position, len(lines))
    return found


def _po_forms(
    found: Fillable, lines: Sequence[str], position: int, entry: Entry, texts: dict[str, str], forms: Sequence[str]
) -> int:
    for name in forms:
        own = [number - 1 for number in entry.lines[name]]
        position = _copied(found, lines, position, own[0])
        statement = lines[own[0]][: lines[own[0]].index('"')]
        ending = ("\r" if lines[own[0]].endswith("\r") else "") + ("\n" if own[-1] + 1 < len(lines) else "")
        source = texts.get("msgid_plural", texts["msgid"]) if name not in FIRST else texts["msgid"]
        found.add(source, partial(_po_statement, statement, ending))
        position = own[-1] + 1
    return position


def _po_statement(statement: str, ending: str, text: str) -> str:
    return f'{statement}"{text.translate(_ESCAPES)}"{ending}'


def _copied(found: Fillable, lines: Sequence[str], start: int, end: int) -> int:
    """Copies lines unchanged; the last line of a file may lack a line break."""
    if start < end:
        text = "\n".join(lines[start:end])
        found.pieces.append(text if end == len(lines) else f"{text}\n")
    return end
