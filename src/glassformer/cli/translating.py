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

from glassformer.cli.running import Beam, DecodeSet, Device, Json, Run, decode_settings, load_noting
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

  glassformer translate runs/en-de --input test.en --glossary terms.tsv
      [dim]a term a line: source, tab, translation; several allowed forms: Hund|Hunde|Hunden[/dim]

  glassformer translate runs/en-de --input test.en --set decode.alpha=0.6 --set decode.no_repeat=3
      [dim]any setting of decode; `glassformer recipe` lists them[/dim]

  glassformer translate runs/en-de "I ate an apple." --align
      [dim]which word comes from which, after a tab: 0-0 1-3 2-1 3-2[/dim]

  glassformer translate runs/en-de "I ate an apple." --sample --n-best 5 --temperature 0.8
      [dim]five by lot instead of the best; the same seed gives the same ones again[/dim]
"""
CHUNK = 512  # sentences translated before their output is written


def add_to(app: typer.Typer) -> None:
    app.command(epilog=TRANSLATE_EXAMPLES)(translate)


def translate(
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(help="Sentences. None: lines of --input, or of stdin.")] = None,
    input_: Annotated[Path | None, typer.Option("--input", "-i", help="A text file, one sentence a line.")] = None,
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, help="How many translations of each sentence.")] = 1,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms and how they must be translated.")
    ] = None,
    say: Annotated[
        list[str] | None, typer.Option(metavar="WORDS", help="Must be in every translation. Repeatable.")
    ] = None,
    ban: Annotated[list[str] | None, typer.Option(metavar="WORDS", help="May be in none. Repeatable.")] = None,
    begin: Annotated[str, typer.Option(metavar="TEXT", help="Every translation begins so.")] = "",
    keep_placeholders: Annotated[bool, typer.Option("--keep-placeholders", help="{name}, %s and <b> stay.")] = False,
    sample: Annotated[bool, typer.Option("--sample", help="Draw by lot instead of searching for the best.")] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0.01, max=100, help="Of --sample: below 1 likelier words more. Default 1.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Of --sample: only the k likeliest tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Of --sample: likeliest tokens of this share.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of --sample. Default 0.")] = None,
    align: Annotated[bool, typer.Option("--align", help="With word alignments: 0-0 1-2, after a tab.")] = False,
    set_: DecodeSet = None,
    json_: Json = False,
    device: Device = "cpu",
    engine: Annotated[
        str | None, typer.Option(help="ctranslate2 runs an exported translator without torch. Default: what RUN is.")
    ] = None,
    compute: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Of ctranslate2: float32 (default), int8, ...")
    ] = None,
) -> None:
    """Translate sentences: arguments, a file, or stdin line by line."""
    drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    lots = lots_of(drawn, sample=sample, beam=beam)
    wished: dict[str, Any] = {"say": tuple(say or ()), "ban": tuple(ban or ()), "begin": begin, "glossary": glossary}
    wished |= {"keep_placeholders": keep_placeholders, "lots": lots}
    translator = translator_of(run, engine, device, compute)
    options = options_for(translator, wished, set_ or [], align=align)
    wrong: Counter[str] = Counter()
    done = 0
    for lines in sentence_chunks(texts, input_):
        if lots is not None:  # those of a sentence depend on its number
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
    tell_wrong(wrong)


def lots_of(drawn: dict[str, Any], *, sample: bool, beam: int | None) -> dict[str, Any] | None:
    """What was said about samples; an error where none were asked for."""
    given = {name: value for name, value in drawn.items() if value is not None}
    if not sample:
        if given:
            raise SettingsError(
                f"--{next(iter(given)).replace('_', '-')} is about samples. Add --sample, or leave it out."
            )
        return None
    if beam is not None:
        raise SettingsError("--sample draws, --beam searches: give one of them. --n-best says how many are drawn.")
    return given


def still_wrong(option: Translation | Decoded) -> str:
    """What the guard found and could not mend, or nothing."""
    return "" if getattr(option, "mended", False) else getattr(option, "wrong", "")


def tell_wrong(wrong: Counter[str]) -> None:
    """On stderr, so that output still pipes."""
    found = ", ".join(f"{name} {count:,}" for name, count in sorted(wrong.items()) if name)
    if found:
        total = sum(count for name, count in wrong.items() if name)
        typer.echo(
            f"Note: {total:,} of {wrong.total():,} translations look wrong ({found}); --json marks them.", err=True
        )


def translator_of(run: str, engine: str | None, device: str, compute: str | None) -> Translator | Exported:
    """A run with its own engine, or an exported translator with the other's, which needs no torch."""
    from glassformer.hub.exported import CARD, Exported

    if engine not in (None, "ctranslate2", "own"):
        raise SettingsError(f"--engine {engine}: allowed are own and ctranslate2.")
    if engine == "ctranslate2" or (engine is None and (Path(run) / CARD).is_file()):
        return Exported(run, compute=compute or "float32")
    if compute is not None:
        raise SettingsError(
            "--compute is for exported translators: glassformer export RUN --to ctranslate2 --out FOLDER."
        )
    return load_noting(run, device)


def aligned(
    translator: Translator | Exported, ranked: list[tuple[str, int, Translation | Decoded]]
) -> Sequence[str | None]:
    from glassformer.tasks.translation.alignment import align, as_text

    own = cast("Translator", translator)
    return [as_text(links) for links in align(own, [line for line, _, _ in ranked], [o.text for _, _, o in ranked])]


def options_for(
    translator: Translator | Exported, wished: dict[str, Any], settings: list[str], *, align: bool
) -> dict[str, Any]:
    """What only our own engine can do; an error where another one is asked for it."""
    from glassformer.hub.exported import Exported

    if isinstance(translator, Exported):
        if any(value for value in wished.values()) or wished["lots"] is not None or settings or align:
            raise SettingsError(
                "An exported translator only translates. Glossary, given words and beginnings, placeholders, samples, "
                "other settings and alignments need the run it was exported from."
            )
        return {}

    from glassformer.tasks.translation.glossary import Glossary
    from glassformer.tasks.translation.requests import Lots, Wishes

    glossary = Glossary.read(wished["glossary"]) if wished["glossary"] else None
    lots = None if wished["lots"] is None else Lots(**wished["lots"])
    return {
        "wishes": Wishes(**{**wished, "glossary": glossary, "lots": lots}),
        "settings": decode_settings(translator, settings),
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
    """The sentences, some at a time, so that output begins soon and memory stays flat."""
    if texts and path:
        raise DataError("Got sentences and --input; give one of them.")
    if texts:
        yield texts
        return
    for lines in stdin_blocks() if path is None else file_blocks(path):
        for start in range(0, len(lines), CHUNK):
            yield lines[start : start + CHUNK]


def file_blocks(path: Path) -> Iterator[list[str]]:
    from glassformer.data.readers.texts import texts_of

    lines = texts_of(path)
    while block := list(islice(lines, CHUNK)):
        yield block


def stdin_blocks() -> Iterator[list[str]]:
    """Lines of stdin as they arrive: who writes one line and waits gets its answer. Only "\\n" ends a line."""
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    done, parts = 0, [b""]
    while block := stdin.read1(1 << 16):
        parts.append(block)
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
