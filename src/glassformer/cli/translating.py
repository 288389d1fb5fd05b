"""`glassformer translate`."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from glassformer import limits
from glassformer.cli.evaluating import Beam, DecodeSet, Device, Json, Run, decode_settings, load_translator
from glassformer.cli.filling import note_markup, note_wrong, to_fill, write_filled
from glassformer.errors import DataError, SettingsError

if TYPE_CHECKING:
    from glassformer.hub.exported import Decoded, Exported
    from glassformer.tasks.translation import Translation, Translator

TRANSLATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer translate runs/en-de "I ate an apple."

  glassformer translate runs/en-de --input test.en > test.out.de

  cat test.en | glassformer translate runs/en-de --beam 1

  glassformer translate runs/en-de "I ate an apple." --n-best 3 --json

  glassformer translate runs/en-de --input de.po --output new.po
      [dim]fills in what is not translated yet; also .tsv, .csv, .jsonl, and .tmx with --languages en,de[/dim]

  glassformer translate runs/en-de --input strings.csv --columns English,German --output new.csv

  glassformer translate runs/en-de --input test.en --glossary terms.tsv
      [dim]one term per line: source, tab, translation; several allowed forms: Hund|Hunde|Hunden[/dim]

  glassformer translate runs/en-de --input test.en --set decode.alpha=0.6 --set decode.no_repeat=3
      [dim]any setting of decode; `glassformer recipe` lists them[/dim]

  glassformer translate runs/en-de "I ate an apple." --align
      [dim]word alignments (source-target) after a tab: 0-0 1-3 2-1 3-2[/dim]

  glassformer translate runs/en-de "I ate an apple." --sample --n-best 5 --temperature 0.8
      [dim]samples five translations; the same seed gives the same ones again[/dim]
"""
FIRST_CHUNK, CHUNK = 32, 512  # sentences translated before their output is written: few at first, then twice as many


def add_to(app: typer.Typer) -> None:
    app.command(epilog=TRANSLATE_EXAMPLES)(translate)


def translate(
    run: Run,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Sentences. Default: the lines of --input or stdin.")
    ] = None,
    input_: Annotated[
        Path | None,
        typer.Option("--input", "-i", help="Lines of text, or a .po, .tsv, .csv, .jsonl or .tmx to fill in."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="New file for an --input that is filled in. Default: stdout.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="Source and target column of a table, or keys of a .jsonl.")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(metavar="EN,DE", help="The two languages of a .tmx, a table or a .jsonl.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also translate entries of --input that have a translation.")
    ] = False,
    fuzzy: Annotated[bool, typer.Option("--fuzzy", help="Mark filled entries of a .po --input as fuzzy.")] = False,
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, max=limits.HYPOTHESES, help="Number of translations per sentence.")] = 1,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms and how they must be translated.")
    ] = None,
    say: Annotated[
        list[str] | None, typer.Option(metavar="WORDS", help="Must be in every translation. Repeatable.")
    ] = None,
    ban: Annotated[
        list[str] | None, typer.Option(metavar="WORDS", help="Must not be in any translation. Repeatable.")
    ] = None,
    begin: Annotated[str, typer.Option(metavar="TEXT", help="Every translation begins with this.")] = "",
    keep_placeholders: Annotated[
        bool, typer.Option("--keep-placeholders", help="Keep {name}, %s and <b> as they are.")
    ] = False,
    no_split: Annotated[
        bool, typer.Option("--no-split", help="Translate long texts as a whole, not sentence by sentence.")
    ] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample instead of searching for the best translation.")
    ] = False,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=limits.TEMPERATURE,
            help="Sampling temperature: below 1 favours likely words. Default 1. Needs --sample.",
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, max=limits.TOKENS, help="Sample from the k most likely tokens. Needs --sample.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Sample from the most likely tokens with this total probability. Needs --sample."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=limits.SEED, help="Seed of the samples. Default 0. Needs --sample.")
    ] = None,
    align: Annotated[bool, typer.Option("--align", help="Add word alignments after a tab: 0-0 1-2.")] = False,
    set_: DecodeSet = None,
    json_: Json = False,
    device: Device = "cpu",
    engine: Annotated[
        str | None,
        typer.Option(help="own, or ctranslate2 for an exported translator (needs no torch). Default: depends on RUN."),
    ] = None,
    compute: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Number type of ctranslate2: float32 (default), int8, ...")
    ] = None,
) -> None:
    """Translate sentences: arguments, a file, or stdin line by line."""
    drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    sampling = sampling_of(drawn, sample=sample, beam=beam)
    constrained: dict[str, Any] = {
        "say": tuple(say or ()),
        "ban": tuple(ban or ()),
        "begin": begin,
        "glossary": glossary,
    }
    constrained |= {"keep_placeholders": keep_placeholders, "sampling": sampling}
    room = to_fill(texts, input_, output, columns, languages, again=again, fuzzy=fuzzy)
    if room is not None and (n_best > 1 or align or json_):
        raise SettingsError("A file is filled with one translation per text: leave out --n-best, --align and --json.")
    translator = translator_of(run, engine, device, compute)
    if room is not None and sampling is None and hasattr(translator, "recipe"):  # an exported one cannot
        constrained["keep_placeholders"] = True
    options = options_for(translator, constrained, set_ or [], align=align, no_split=no_split)
    from glassformer.evaluate.guard import still_wrong

    wrong: Counter[str] = Counter()
    if room is not None:
        write_filled(room, translator, output, wrong, beam=beam, options=options)
        note_wrong(wrong)
        return
    done = 0
    for lines in sentence_chunks(texts, input_):
        if not done and not texts:
            note_markup(lines, input_)
        if sampling is not None:  # samples of a sentence depend on its number
            options["first_number"] = done
        done += len(lines)
        found: Sequence[Sequence[Translation | Decoded]] = translator.candidates(
            lines, beam=beam, n_best=n_best, **options
        )
        ranked = [(line, r, one) for line, own in zip(lines, found, strict=True) for r, one in enumerate(own, 1)]
        links = aligned(translator, ranked) if align else [None] * len(ranked)
        for (line, rank, option), own_links in zip(ranked, links, strict=True):
            typer.echo(translation_line(line, rank, option, own_links, n_best=n_best, as_json=json_))
            wrong[still_wrong(option)] += 1
        sys.stdout.flush()
    note_wrong(wrong)


def sampling_of(drawn: dict[str, Any], *, sample: bool, beam: int | None) -> dict[str, Any] | None:
    """The sampling options that were given; an error if they were given without --sample."""
    given = {name: value for name, value in drawn.items() if value is not None}
    if not sample:
        if given:
            raise SettingsError(
                f"--{next(iter(given)).replace('_', '-')} is an option of sampling. Add --sample, or leave it out."
            )
        return None
    if beam is not None:
        raise SettingsError(
            "Got --sample and --beam, which searches: give one of them. --n-best is the number of samples."
        )
    return given


def translator_of(run: str, engine: str | None, device: str, compute: str | None) -> Translator | Exported:
    """A run with its own engine, or an exported translator with CTranslate2, which needs no torch."""
    from glassformer.hub.exported import CARD, Exported

    if engine not in (None, "ctranslate2", "own"):
        raise SettingsError(f"--engine {engine}: allowed are own and ctranslate2.")
    if engine == "ctranslate2" or (engine is None and (Path(run) / CARD).is_file()):
        return Exported(run, compute=compute or "float32")
    if compute is not None:
        raise SettingsError(
            "--compute is for exported translators: glassformer export RUN --to ctranslate2 --out FOLDER."
        )
    return load_translator(run, device)


def aligned(
    translator: Translator | Exported, ranked: list[tuple[str, int, Translation | Decoded]]
) -> Sequence[str | None]:
    from glassformer.tasks.translation.alignment import align, as_text

    own = cast("Translator", translator)
    return [as_text(links) for links in align(own, [line for line, _, _ in ranked], [o.text for _, _, o in ranked])]


def options_for(
    translator: Translator | Exported, constrained: dict[str, Any], settings: list[str], *, align: bool, no_split: bool
) -> dict[str, Any]:
    """The options for this engine; an error for those that only our own engine has."""
    from glassformer.hub.exported import Exported

    if isinstance(translator, Exported):
        if any(value for value in constrained.values()) or constrained["sampling"] is not None or settings or align:
            raise SettingsError(
                "An exported translator only translates. Glossaries, given words and beginnings, placeholders, "
                "sampling, other settings and alignments need the run it was exported from."
            )
        return {"split": not no_split}

    from glassformer.tasks.translation.constraints import Constraints, Sampling
    from glassformer.tasks.translation.glossary import Glossary

    glossary = Glossary.read(constrained["glossary"]) if constrained["glossary"] else None
    sampling = None if constrained["sampling"] is None else Sampling(**constrained["sampling"])
    return {
        "constraints": Constraints(**{**constrained, "glossary": glossary, "sampling": sampling}),
        "settings": decode_settings(translator, [*settings, *["decode.split_over=0"] * no_split]),
    }


def translation_line(
    source: str, rank: int, option: Translation | Decoded, links: str | None, *, n_best: int, as_json: bool
) -> str:
    if as_json:
        fields: dict[str, Any] = {"source": source, "rank": rank, **asdict(option)}
        return json.dumps(fields if links is None else {**fields, "alignment": links}, ensure_ascii=False)
    text = option.text.replace("\n", " ")  # one line in, one line out
    if links is not None:
        text = f"{text}\t{links}"
    return text if n_best == 1 else f"{rank}\t{option.score:.4f}\t{text}"


def sentence_chunks(texts: list[str] | None, path: Path | None) -> Iterator[list[str]]:
    """The sentences in chunks, so that output begins soon and memory use stays constant."""
    if texts and path:
        raise DataError("Got sentences and --input; give one of them.")
    if texts:
        yield texts
        return
    size = FIRST_CHUNK
    for lines in stdin_blocks() if path is None else file_blocks(path):
        while lines:
            yield lines[:size]
            lines, size = lines[size:], min(2 * size, CHUNK)


def file_blocks(path: Path) -> Iterator[list[str]]:
    from glassformer.data.readers.texts import texts_of

    lines = texts_of(path)
    while block := list(islice(lines, CHUNK)):
        yield block


def stdin_blocks() -> Iterator[list[str]]:
    """Lines of stdin as they arrive: a program that writes one line and waits gets its translation.

    Only "\\n" ends a line. A byte order mark at the beginning is skipped.
    """
    from glassformer.data.readers.lines import BOM

    if sys.stdin is None:
        raise DataError("stdin is closed. Give sentences as arguments, give --input FILE, or pipe lines in.")
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    done, parts = 0, [b""]
    begin = True
    while block := stdin.read1(1 << 16):
        parts.append(block)
        if begin and ((start := b"".join(parts)) == BOM or not BOM.startswith(start)):
            begin, parts = False, [start.removeprefix(BOM)]
        if b"\n" in block:
            *lines, rest = b"".join(parts).split(b"\n")
            yield [stdin_line(line, done + i) for i, line in enumerate(lines, 1)]
            done, parts = done + len(lines), [rest]
    if last := b"".join(parts):
        yield [stdin_line(last, done + 1)]


def stdin_line(line: bytes, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"stdin, line {number:,}, byte {error.start + 1}: not UTF-8.") from None
