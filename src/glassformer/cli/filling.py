"""The part of `glassformer translate` that fills in files with both sides."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glassformer.cli.checking import two
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from glassformer.data.readers.places import Fillable
    from glassformer.hub.exported import Decoded, Exported
    from glassformer.tasks.translation import Translation, Translator

CHUNK = 512  # lines translated together
FILLED = ".po, .tsv, .csv, .jsonl and .tmx"
MARKUP = {  # suffixes of files in which only some parts are text
    *(".xliff", ".xlf", ".xml", ".html", ".htm", ".xhtml", ".resx", ".srt", ".vtt", ".yaml", ".yml", ".properties"),
    *(".strings", ".arb", ".docx", ".odt", ".rtf", ".pdf"),
}


def to_fill(
    texts: list[str] | None,
    path: Path | None,
    output: Path | None,
    columns: str | None,
    languages: str | None,
    *,
    again: bool,
    fuzzy: bool,
) -> Fillable | None:
    """The file to fill in, if --input is one; else None. An error if the options do not fit it."""
    from glassformer.data.readers.naming import TEXT, kind_of

    if texts or path is None or kind_of(path) == TEXT:
        if path is not None:
            refuse_markup(path)
        if output or columns or languages or again or fuzzy:
            raise SettingsError(
                "--output, --columns, --languages, --again and --fuzzy are for an --input with both sides (.po, .tsv, "
                ".csv, .jsonl, .tmx). Translations of other texts go to stdout."
            )
        return None
    chosen, named = two("--columns", columns), two("--languages", languages)
    if output is not None:
        from glassformer.data.checks.writing import check_new

        if output.suffix and kind_of(output) != kind_of(path):
            raise SettingsError(
                f"--output {output}: it gets the format of --input, so its name must end like {path.name}: "
                f"{Path(output.name).stem}.{kind_of(path)}, for instance."
            )
        check_new(output)
    from glassformer.data.readers.filling import open_to_fill

    return open_to_fill(path, columns=chosen, languages=named, again=again, fuzzy=fuzzy)


def refuse_markup(path: Path) -> None:
    """Refuses a file whose marks would be translated like words."""
    from glassformer.data.readers.naming import unpacked_name

    suffix = Path(unpacked_name(path)).suffix.lower()
    if suffix in MARKUP:
        raise SettingsError(
            f"--input {path}: the marks of a {suffix} file would be translated like words. Files that are filled in: "
            f"{FILLED}. Convert it to one of them, or pipe it in to translate its lines as they are: "
            f"glassformer translate RUN < {path}"
        )


def note_markup(lines: Sequence[str], path: Path | None) -> None:
    """Notes on stderr if lines from a file without a suffix, or from stdin, look like a file with marks."""
    if path is not None and path.suffix:
        return
    first = next((line.strip().lower() for line in lines if line.strip()), "")
    if first.startswith(("<?xml", "<!doctype", "<html")):
        what, how = "XML or HTML", "its marks are translated like words"
    elif any(line.startswith('msgid "') for line in lines):
        what, how = "a .po file", "to fill it in, give it a name that ends in .po and use --input"
    else:
        return
    typer.echo(f"Note: the input looks like {what}, but each line is translated as text; {how}.", err=True)


def write_filled(
    room: Fillable,
    translator: Translator | Exported,
    output: Path | None,
    wrong: Counter[str],
    *,
    beam: int | None,
    options: dict[str, Any],
) -> None:
    """Translates each line of each text. Line breaks and the white space around a text are kept."""
    from glassformer.cli.display import patient_bar
    from glassformer.evaluate.guard import still_wrong

    lines = [line for text in room.sources for line in text.split("\n")]
    found: list[str] = []
    with patient_bar("translating", len(lines)) as advance:
        for start in range(0, len(lines), CHUNK):
            some = lines[start : start + CHUNK]
            if "constraints" in options:  # our own engine, where samples of a line depend on its number
                options["first_number"] = start
            results: Sequence[Sequence[Translation | Decoded]] = translator.candidates(some, beam=beam, **options)
            for line, own in zip(some, results, strict=True):
                wrong[still_wrong(own[0])] += 1
                bare = line.strip()
                found.append(line.replace(bare, own[0].text, 1) if bare else line)
            advance(len(some))
    each = iter(found)
    content = room.filled(["\n".join(next(each) for _ in text.split("\n")) for text in room.sources])
    if note := room.note():
        typer.echo(f"Note: {note}", err=True)
    if output is None:
        sys.stdout.buffer.write(content.encode())
        sys.stdout.flush()
        return
    from glassformer.data.checks.writing import NewFiles

    with NewFiles([output]) as files:
        files[0].write(content)


def note_wrong(wrong: Counter[str]) -> None:
    """Reports wrong translations on stderr, so that output can be piped."""
    found = ", ".join(f"{name} {count:,}" for name, count in sorted(wrong.items()) if name)
    if found:
        total = sum(count for name, count in wrong.items() if name)
        typer.echo(
            f"Note: {total:,} of {wrong.total():,} translations look wrong ({found}); --json marks them.", err=True
        )
