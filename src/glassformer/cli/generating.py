"""`glassformer generate`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.running import Device, Json
from glassformer.cli.translating import sentence_chunks
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from glassformer.tasks.generation import Asked, Continuation, LanguageModel

GENERATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer generate models/stories "Once upon a time"
      [dim]goes on with the likeliest word each time, and shows it as it comes[/dim]

  glassformer generate models/stories "Once upon a time" --temperature 0.8 --seed 3
      [dim]by lot; the same seed tells the same story again[/dim]

  glassformer generate models/stories "The cat" --samples 5 --top-p 0.9 --max-new 30
      [dim]five beginnings; only the likeliest words that together have 90% are drawn from[/dim]

  glassformer generate models/stories "Lily said:" --stop "." --no-repeat-ngram 3
      [dim]ends before the first full stop; no three tokens in a row twice[/dim]

  cat prompts.txt | glassformer generate models/stories --json | jq .text
      [dim]a prompt a line, a line for each of them[/dim]

  glassformer generate models/t5 "summarize: ..." --beam 4
      [dim]encoder-decoders answer instead of going on[/dim]
"""


def add_to(app: typer.Typer) -> None:
    app.command(epilog=GENERATE_EXAMPLES)(generate)


def generate(
    model: Annotated[
        str, typer.Argument(help="A folder: of `glassformer import`, or of Hugging Face.", metavar="MODEL")
    ],
    prompts: Annotated[list[str] | None, typer.Argument(help="Prompts. None: lines of --input, or of stdin.")] = None,
    input_: Annotated[Path | None, typer.Option("--input", "-i", help="A text file, one prompt a line.")] = None,
    max_new: Annotated[int, typer.Option(min=0, help="At most so many new tokens.")] = 128,
    stream: Annotated[
        bool | None, typer.Option("--stream/--no-stream", help="Show words as they come. Default: on a terminal.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, max=100, help="Draw by lot: below 1 likelier words more; 0 draws none.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Draw from the k likeliest tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Draw from the likeliest tokens of this share.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw other ones. Default 0.")] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="Draw so many texts for each prompt.")] = None,
    beam: Annotated[int, typer.Option(min=1, help="Search with so many hypotheses; 1 is greedy.")] = 1,
    stop: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="End before this text. \\n is a new line. Repeatable.")
    ] = None,
    ban: Annotated[list[str] | None, typer.Option(metavar="WORDS", help="May not be said. Repeatable.")] = None,
    min_new: Annotated[int, typer.Option(min=0, help="At least so many new tokens.")] = 0,
    no_repeat_ngram: Annotated[int, typer.Option(min=0, help="No so many tokens in a row twice; 0: any.")] = 0,
    repetition_penalty: Annotated[
        float, typer.Option(min=1.0, max=10.0, help="Above 1: what was said before is less likely.")
    ] = 1.0,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Go on from a text, or answer one: prompts as arguments, from a file, or from stdin line by line."""
    from glassformer.tasks.generation import Asked

    plain = Asked(
        max_new=max_new,
        min_new=min_new,
        beam=beam,
        stop=tuple(text.replace("\\n", "\n") for text in stop or ()),
        ban=tuple(ban or ()),
        no_repeat=no_repeat_ngram,
        repetition_penalty=repetition_penalty,
    )
    drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    asked = by_lot(plain, drawn, samples=samples)
    one = len(prompts or ()) == 1
    flows = streams(stream, one=one, width=asked.width, json_=json_)
    language_model = loaded(model, device)
    if flows and prompts:
        show_stream(language_model, prompts[0], asked)
        return
    done = cut = 0
    for lines in sentence_chunks(prompts, input_):
        with patient_bar("writing", len(lines) * asked.width * max_new) as progress:
            found = language_model.continuations(lines, asked, first_number=done, progress=progress)
        done, cut = done + len(lines), cut + sum(one.why == "positions" for options in found for one in options)
        for line, options in zip(lines, found, strict=True):
            for rank, option in enumerate(options, 1):
                typer.echo(line_of(language_model, line, rank, option, ranked=asked.n_best > 1, whole=one, json_=json_))
        sys.stdout.flush()
    if cut:
        texts = "text" if cut == 1 else "texts"
        typer.echo(f"Note: {cut:,} {texts} ended at the last position of this model; --json marks them.", err=True)


def by_lot(asked: Asked, drawn: dict[str, Any], *, samples: int | None) -> Asked:
    """Any word about lots asks for lots; a temperature of 0 is none."""
    from glassformer.tasks.asking import Lots

    given = {name: value for name, value in drawn.items() if value is not None}
    if drawn["temperature"] == 0:
        if samples is not None and samples > 1:
            raise SettingsError(f"--temperature 0 draws nothing: {samples} samples would all be the same. Raise it.")
        return asked
    if not given and samples is None:
        return asked
    if asked.beam > 1:
        name = next(iter(given), "samples").replace("_", "-")
        raise SettingsError(f"--{name} draws, --beam searches: give one of them.")
    return replace(asked, lots=Lots(**given), n_best=samples or 1)


def streams(wanted: bool | None, *, one: bool, width: int, json_: bool) -> bool:
    """Whether words are shown as they come."""
    possible = one and width == 1 and not json_
    if wanted and not possible:
        raise SettingsError("--stream shows one text as it comes: give one prompt, no --beam, --samples or --json.")
    return possible and (sys.stdout.isatty() if wanted is None else wanted)


def loaded(model: str, device: str) -> LanguageModel:
    from glassformer.tasks.generation import LanguageModel
    from glassformer.tasks.pretrained import load_pretrained
    from glassformer.train.machine import keep_freed_memory

    keep_freed_memory()
    return LanguageModel(load_pretrained(model, device=device))


def show_stream(model: LanguageModel, prompt: str, asked: Asked) -> None:
    pieces = model.stream(prompt, asked)
    first = next(pieces, "")  # before anything is shown, so that an error stands alone
    sys.stdout.write((prompt if model.goes_on else "") + first)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")


@contextmanager
def patient_bar(what: str, total: int, *, seconds: float = 2.0) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, once the work takes longer than that."""
    from glassformer.cli.display import counting

    bar, began, done = counting(what), time.monotonic(), 0
    task = bar.add_task("", total=total)

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if not bar.live.is_started and time.monotonic() - began > seconds:
            bar.start()
        bar.update(task, completed=done)

    try:
        yield advance
    finally:
        bar.stop()


def line_of(
    model: LanguageModel, prompt: str, rank: int, option: Continuation, *, ranked: bool, whole: bool, json_: bool
) -> str:
    if json_:
        return json.dumps({"prompt": prompt, "rank": rank, **asdict(option)}, ensure_ascii=False)
    text = (prompt if model.goes_on else "") + option.text
    if not whole or ranked:
        text = text.replace("\n", " ")  # one line in, one line out
    return f"{rank}\t{option.score:.4f}\t{text}" if ranked else text
