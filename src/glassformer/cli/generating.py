"""`glassformer generate`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer

from glassformer import limits
from glassformer.cli.evaluating import Device, Json, load_noting
from glassformer.cli.translating import sentence_chunks
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from glassformer.tasks.generation import Continuation, GenerateOptions, LanguageModel
    from glassformer.tasks.generation.masked_writer import MaskedWriter

GENERATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer generate models/stories "Once upon a time"
      [dim]greedy: always the most likely next token, shown as it is generated[/dim]

  glassformer generate models/stories "Once upon a time" --temperature 0.8 --seed 3
      [dim]sampled; the same seed gives the same story again[/dim]

  glassformer generate models/stories "The cat" --samples 5 --top-p 0.9 --max-new 30
      [dim]five continuations, sampled from the most likely tokens that together have 90% probability[/dim]

  glassformer generate models/stories "Lily said:" --stop "." --no-repeat-ngram 3
      [dim]ends before the first full stop; no sequence of three tokens occurs twice[/dim]

  cat prompts.txt | glassformer generate models/stories --json | jq .text
      [dim]one prompt per line in, one JSON object per line out[/dim]

  glassformer generate models/t5 "summarize: ..." --beam 4
      [dim]encoder-decoders write an answer instead of a continuation[/dim]

  glassformer generate runs/bert "The dog [MASK] [MASK] the [MASK]." --rounds 3
      [dim]an encoder fills gaps that fit together: all at once, then the least certain ones again[/dim]

  glassformer generate runs/bert "The dog" --max-new 8 --left-to-right
      [dim]or it continues a text; a GPT of the same size does it better[/dim]
"""
DEFAULT_NEW = 128  # tokens


def add_to(app: typer.Typer) -> None:
    app.command(epilog=GENERATE_EXAMPLES)(generate)


def generate(
    model: Annotated[str, typer.Argument(help="A model folder: glassformer's or Hugging Face's.", metavar="MODEL")],
    prompts: Annotated[
        list[str] | None, typer.Argument(help="Prompts. Default: the lines of --input or stdin.")
    ] = None,
    input_: Annotated[Path | None, typer.Option("--input", "-i", help="A text file, one prompt per line.")] = None,
    max_new: Annotated[
        int | None,
        typer.Option(min=0, max=limits.TOKENS, help="Maximum number of new tokens. Default 128, of an encoder 16."),
    ] = None,
    stream: Annotated[
        bool | None, typer.Option("--stream/--no-stream", help="Show text as it is generated. Default: on a terminal.")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=limits.TEMPERATURE,
            help="Sample at this temperature: below 1 favours likely words; 0 does not sample.",
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, max=limits.TOKENS, help="Sample from the k most likely tokens.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Sample from the most likely tokens with this total probability."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=limits.SEED, help="Seed of the samples. Default 0.")] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, max=limits.HYPOTHESES, help="How many texts to sample for each prompt.")
    ] = None,
    beam: Annotated[
        int, typer.Option(min=1, max=limits.HYPOTHESES, help="Beam width: hypotheses kept by the search; 1 is greedy.")
    ] = 1,
    stop: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="End before this text. \\n is a new line. Repeatable.")
    ] = None,
    ban: Annotated[
        list[str] | None, typer.Option(metavar="WORDS", help="Words that the text must not contain. Repeatable.")
    ] = None,
    min_new: Annotated[int, typer.Option(min=0, max=limits.TOKENS, help="Minimum number of new tokens.")] = 0,
    no_repeat_ngram: Annotated[
        int, typer.Option(min=0, max=limits.NO_REPEAT, help="Never repeat an n-gram of this length; 0 allows it.")
    ] = 0,
    repetition_penalty: Annotated[
        float, typer.Option(min=1.0, max=limits.PENALTY, help="Above 1: tokens that occurred before are less likely.")
    ] = 1.0,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=limits.TOKENS, help="Encoders: how often the gaps are filled again. Default 10."),
    ] = None,
    left_to_right: Annotated[
        bool, typer.Option("--left-to-right", help="Encoders: fill one gap at a time, from left to right.")
    ] = False,
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Continue a text: prompts as arguments, from a file, or from stdin line by line.

    Encoder-decoders such as T5 write an answer instead. Encoders with a head for masked words (`train --task fill`)
    fill the [MASK]s of a text, or --max-new of them after it.
    """
    from glassformer.tasks.generation import GenerateOptions

    plain = GenerateOptions(
        max_new=DEFAULT_NEW if max_new is None else max_new,
        min_new=min_new,
        beam=beam,
        stop=tuple(text.replace("\\n", "\n") for text in stop or ()),
        ban=tuple(ban or ()),
        no_repeat=no_repeat_ngram,
        repetition_penalty=repetition_penalty,
        rounds=10 if rounds is None else rounds,
        left_to_right=left_to_right,
    )
    drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    options = sampled(plain, drawn, samples=samples)
    one = len(prompts or ()) == 1
    flows = streams(stream, one=one, width=options.width, json_=json_)
    language_model = loaded(model, device)
    if max_new is None:
        options = replace(options, max_new=language_model.usual_new)
    of_encoders = left_to_right or rounds is not None
    if is_decoder(language_model, stream=stream, of_encoders=of_encoders) and flows and prompts:
        show_stream(language_model, prompts[0], options)
        return

    from glassformer.cli.display import patient_bar

    done = cut = 0
    for lines in sentence_chunks(prompts, input_):
        with patient_bar("writing", len(lines) * options.width * options.max_new) as progress:
            found = language_model.continuations(lines, options, first_number=done, progress=progress)
        done, cut = done + len(lines), cut + sum(one.why == "positions" for own in found for one in own)
        for line, own in zip(lines, found, strict=True):
            for rank, option in enumerate(own, 1):
                typer.echo(
                    line_of(language_model, line, rank, option, ranked=options.n_best > 1, whole=one, json_=json_)
                )
        sys.stdout.flush()
    if cut:
        texts = "text" if cut == 1 else "texts"
        typer.echo(f"Note: {cut:,} {texts} ended at the last position of this model; --json marks them.", err=True)


def sampled(options: GenerateOptions, drawn: dict[str, Any], *, samples: int | None) -> GenerateOptions:
    """Any sampling option turns sampling on; a temperature of 0 turns it off."""
    from glassformer.tasks.sampling import Sampling

    given = {name: value for name, value in drawn.items() if value is not None}
    if drawn["temperature"] == 0:
        if samples is not None and samples > 1:
            raise SettingsError(f"--temperature 0 does not sample: {samples} samples would all be the same. Raise it.")
        return options
    if not given and samples is None:
        return options
    if options.beam > 1:
        name = next(iter(given), "samples").replace("_", "-")
        raise SettingsError(f"--{name} is for sampling, --beam for a search: give one of them.")
    return replace(options, sampling=Sampling(**given), n_best=samples or 1)


def streams(wanted: bool | None, *, one: bool, width: int, json_: bool) -> bool:
    """Whether text is shown as it is generated."""
    possible = one and width == 1 and not json_
    if wanted and not possible:
        raise SettingsError(
            "--stream shows one text as it is generated: give one prompt, no --beam, --samples or --json."
        )
    return possible and (sys.stdout.isatty() if wanted is None else wanted)


def loaded(model: str, device: str) -> LanguageModel | MaskedWriter:
    """The model as one that writes: an encoder fills gaps."""
    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.generation import LanguageModel
    from glassformer.tasks.model import LoadedModel

    found: LoadedModel = load_noting(model, LoadedModel, device)
    if isinstance(found, TextEncoder):
        return found.writer
    return found if isinstance(found, LanguageModel) else LanguageModel.of(found.bundle)


def is_decoder(
    model: LanguageModel | MaskedWriter, *, stream: bool | None, of_encoders: bool
) -> TypeGuard[LanguageModel]:
    """Whether the model writes token by token; an error if options are for the other kind."""
    from glassformer.tasks.generation import LanguageModel

    if isinstance(model, LanguageModel):
        if of_encoders:
            raise SettingsError(
                "--rounds and --left-to-right are for encoders that fill in masked words. Leave them out."
            )
        return True
    if stream:
        raise SettingsError("--stream: an encoder fills all gaps of a text together. Leave it out.")
    return False


def show_stream(model: LanguageModel, prompt: str, options: GenerateOptions) -> None:
    pieces = model.stream(prompt, options)
    first = next(pieces, "")  # before anything is shown: an error must not follow half a line
    sys.stdout.write((prompt if model.continues_prompt else "") + first)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")


def line_of(
    model: LanguageModel | MaskedWriter,
    prompt: str,
    rank: int,
    option: Continuation,
    *,
    ranked: bool,
    whole: bool,
    json_: bool,
) -> str:
    if json_:
        return json.dumps({"prompt": prompt, "rank": rank, **asdict(option)}, ensure_ascii=False)
    text = model.whole_text(prompt, option.text)
    if not whole or ranked:
        text = text.replace("\n", " ")  # one line in, one line out
    return f"{rank}\t{option.score:.4f}\t{text}" if ranked else text
