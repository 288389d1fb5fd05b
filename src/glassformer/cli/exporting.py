"""`glassformer export` and `glassformer score`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.evaluating import Device, Json, Run, evaluation_set, load_translator
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from glassformer.tasks.translation import Translator

EXPORT_EXAMPLES = """
[bold]Examples[/bold]

  glassformer export runs/en-de --to ctranslate2 --out exported/en-de
      [dim]then `glassformer translate exported/en-de "..."`, or CTranslate2 in any program[/dim]

  glassformer export runs/en-de --to ctranslate2 --out exported/en-de --sample test.en
      [dim]both engines translate these sentences; if they do not agree, nothing is exported[/dim]

  glassformer export runs/en-de --to huggingface --out exported/en-de-hf
      [dim]a folder that `transformers` reads: any run, and any model that was imported[/dim]

  glassformer export runs/lora --to peft --out exported/adapter
      [dim]of a run with train.lora, the adapters alone, as the library `peft` reads them[/dim]
"""
SCORE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer score runs/en-de test.en test.de
      [dim]one score per line: the mean log-probability of its tokens; 0 is certain[/dim]

  glassformer score runs/en-de pairs.tsv --json | jq .log_probs
"""
ENGINES = ("ctranslate2", "huggingface", "peft")


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXPORT_EXAMPLES)(export)
    app.command(epilog=SCORE_EXAMPLES)(score)


def export(
    run: Annotated[str, typer.Argument(help="A run folder, or a folder made by `glassformer import`.", metavar="RUN")],
    out: Annotated[Path, typer.Option(help="A new folder for the exported model.")],
    to: Annotated[str, typer.Option(help="ctranslate2 (translators), huggingface or peft (LoRA).")] = "ctranslate2",
    sample: Annotated[
        Path | None, typer.Option(help="A text file, one sentence per line, to compare CTranslate2 with the run on.")
    ] = None,
    json_: Json = False,
) -> None:
    """Export a model for other programs, after checking that it gives the same results there."""
    if to not in ENGINES:
        raise SettingsError(f"--to {to}: not an engine that can be exported to. Allowed: {', '.join(ENGINES)}.")

    if to == "peft":
        to_peft(run, out, as_json=json_)
        return
    if to == "huggingface":
        if sample is not None:
            raise SettingsError(
                "--sample is for --to ctranslate2: the check of --to huggingface compares numbers, not sentences."
            )
        to_huggingface(run, out, as_json=json_)
        return

    from glassformer.data.readers.texts import texts_of
    from glassformer.tasks.translation.exporting import COMPARED, check_exportable, export_translator

    translator = load_translator(run)
    check_exportable(translator)
    typer.echo("Translating sentences with both engines, to compare them ...", err=True)
    found = export_translator(translator, out, sample=None if sample is None else list(texts_of(sample)))
    if json_:
        typer.echo(json.dumps({"out": str(out), **asdict(found)}, ensure_ascii=False))
        return
    typer.echo(f"Exported to {out}. Both engines translated {found.sentences} sentences:")
    for line in found.in_words():
        typer.echo(f"  {line}")
    typer.echo(f'More in {out / COMPARED}. Try:  glassformer translate {out} "..."')


def to_peft(run: str, out: Path, *, as_json: bool) -> None:
    from glassformer.tasks.exporting import export_adapter

    found = export_adapter(run, out)
    words = f"Exported the adapters of {found.matrices} matrices to {out}."
    typer.echo(json.dumps({"out": str(out), "matrices": found.matrices}) if as_json else words)
    if found.base_to_export is not None:
        typer.echo(
            f"Their base model is {found.base_to_export}, which peft cannot read, so they do not name it. Export it "
            f"too (glassformer export {found.base_to_export} --to huggingface --out FOLDER) and load FOLDER first.",
            err=True,
        )


def to_huggingface(run: str, out: Path, *, as_json: bool) -> None:
    from glassformer.tasks.exporting import COMPARED, export_to_huggingface
    from glassformer.tasks.loading import load_bundle

    found = export_to_huggingface(load_bundle(run), out)
    if as_json:
        typer.echo(json.dumps({"out": str(out), "compared": [asdict(one) for one in found]}))
        return
    typer.echo(f"Exported to {out}. Outputs for the same inputs, compared with other engines:")
    for one in found:
        differ = f"differ by at most {one.largest_difference:.1e} (allowed: {one.allowed:.1e})"
        typer.echo(f"  {one.engine:<30} {one.numbers:,} numbers {differ}")
    if len(found) == 1:
        typer.echo("  transformers                   is not installed, so it was not compared")
    typer.echo(f"More in {out / COMPARED}.")


def score(
    run: Run,
    files: Annotated[list[str], typer.Argument(help="Source and translation file, or one with both (.tsv, ...).")],
    json_: Json = False,
    device: Device = "cpu",
) -> None:
    """Score given translations with a run, sentence by sentence."""
    from glassformer.tasks.translation.scoring import score as score_given

    translator = load_translator(run, device)
    sources, translations = given_pairs(files, translator)

    from glassformer.cli.display import counting

    with counting("scoring") as bar:
        task = bar.add_task("", total=len(sources))
        advance = lambda count: bar.advance(task, count)  # noqa: E731
        scored = score_given(translator, sources, translations, progress=advance)
    for source, text, found in zip(sources, translations, scored, strict=True):
        if json_:
            end = translator.target.token(translator.target_marks.eos)
            tokens = [*translator.target.pieces_of(found.ids), end]
            fields = {"source": source, "text": text, "score": found.score, "log_prob": found.log_prob}
            typer.echo(json.dumps({**fields, "tokens": tokens, "log_probs": found.log_probs}, ensure_ascii=False))
        else:
            typer.echo(f"{found.score:.4f}")


def given_pairs(files: list[str], translator: Translator) -> tuple[list[str], list[str]]:
    """Sources and translations. Blank lines of two text files count too, so that line n of the output is for line n."""
    if len(files) != 2:
        held = evaluation_set(files, None, translator.recipe.data)
        return held.sources, [options[0] for options in held.references]

    from glassformer.data.readers.texts import texts_of

    sources, translations = (list(texts_of(Path(file))) for file in files)
    return sources, translations
