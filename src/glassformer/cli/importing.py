"""`glassformer import`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.running import Json

IMPORT_EXAMPLES = """
[bold]Examples[/bold]

  glassformer import downloads/opus-mt-en-de --out models/en-de
      [dim]a folder with config.json, model.safetensors and tokenizer files[/dim]

  glassformer import openai-community/gpt2 --out models/gpt2
      [dim]a name on the Hugging Face Hub, where there is a network; needs `pip install 'glassformer\\[hub]'`[/dim]

  glassformer import downloads/stories260K.bin --out models/stories
      [dim]llama2.c's file, with its tok512.bin beside it; also .xz[/dim]
"""
NEXT = {
    "transformer": 'glassformer translate {out} "..."',
    "bert": 'glassformer embed {out} --text "..." --json',
    "roformer": 'glassformer embed {out} --text "..." --json',
    "gpt": 'glassformer generate {out} "..."',
    "llama": 'glassformer generate {out} "..."',
    "t5": 'glassformer generate {out} "..."',
    "vit": "glassformer classify {out} IMAGE",
    "captioner": "glassformer caption {out} IMAGE",
}


def add_to(app: typer.Typer) -> None:
    app.command("import", epilog=IMPORT_EXAMPLES)(import_)


def import_(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A Hugging Face folder, a name on the Hub (org/name), or a file of llama2.c."
        ),
    ],
    out: Annotated[Path, typer.Option(help="A new folder for the model.")],
    json_: Json = False,
) -> None:
    """Read a model made by others: BERT, RoBERTa, GPT-2, Llama, Mixtral, T5, ViT, MarianMT and their kin."""
    from glassformer.hub.huggingface.fetching import local_folder
    from glassformer.hub.reading import read_model
    from glassformer.store.weights import parameter_count
    from glassformer.tasks.pretrained import refuse_existing, save_pretrained

    refuse_existing(out)
    found = read_model(local_folder(path))
    about = {"from": path, "model_type": found.extras["model_type"]}
    save_pretrained(found, out, about={"imported": about})
    count = parameter_count(found.model)
    tokens = None if found.tokenizer is None else len(found.tokenizer)
    if json_:
        typer.echo(json.dumps({"out": str(out), "kind": found.kind, **about, "parameters": count, "tokens": tokens}))
        return
    text = "no tokenizer" if tokens is None else f"{tokens:,} tokens"
    typer.echo(f"Imported {path} to {out}: {found.kind}, {count:,} parameters, {text}.")
    typer.echo(f"Try:  {NEXT.get(found.kind, 'glassformer show {out}').format(out=out)}")
