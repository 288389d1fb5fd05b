"""`glassformer import`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.evaluating import Json

if TYPE_CHECKING:
    from glassformer.store.bundle import Bundle

IMPORT_EXAMPLES = """
[bold]Examples[/bold]

  glassformer import downloads/opus-mt-en-de --out models/en-de
      [dim]a folder with config.json, model.safetensors and tokenizer files[/dim]

  glassformer import openai-community/gpt2 --out models/gpt2
      [dim]a name on the Hugging Face Hub, where there is a network; needs `pip install 'glassformer\\[hub]'`[/dim]

  glassformer import downloads/adapter --base downloads/bert --out models/tuned
      [dim]LoRA adapters of `peft` and the model they were trained on: one plain model[/dim]

  glassformer import downloads/stories260K.bin --out models/stories
      [dim]a file of llama2.c, with its tok512.bin in the same folder; may be compressed (.xz)[/dim]
"""
EMBED = 'glassformer embed {out} --text "..." --json'
NEXT = {  # kind: the command to try first
    "transformer": 'glassformer translate {out} "..."',
    "bert": EMBED,
    "roformer": EMBED,
    "gpt": 'glassformer generate {out} "..."',
    "llama": 'glassformer generate {out} "..."',
    "t5": 'glassformer generate {out} "..."',
    "vit": "glassformer classify {out} IMAGE",
    "captioner": "glassformer caption {out} IMAGE",
}


HEADS = {
    "sentence": 'glassformer classify {out} "..."',
    "words": 'glassformer fill {out} "... [MASK] ..."',
    "span": 'glassformer answer {out} --passage passage.txt "...?"',
}


def advice(found: Bundle, path: str) -> str:
    """What can be done with an imported model; {out} is its folder."""
    config: Any = found.model.config
    show = "glassformer show {out}"
    if found.kind == "vit":
        return NEXT["vit"] if config.classes else show
    if found.tokenizer is None:
        missing = f"{path} has no tokenizer files, so the model cannot read or write texts"
        return f"{show}   ({missing}; put tokenizer.json there and import it again)"
    if getattr(config, "embedding_norm", False):  # BART
        return 'glassformer rewrite {out} "..."'
    head = getattr(config, "head", "none")
    if "pooling" not in found.extras and isinstance(head, str):
        return HEADS.get(head, NEXT.get(found.kind, show))
    return NEXT.get(found.kind, show)


def add_to(app: typer.Typer) -> None:
    app.command("import", epilog=IMPORT_EXAMPLES)(import_)


def import_(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A Hugging Face folder, adapters of `peft`, a name on the Hub (org/name), or a file of llama2.c.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="A new folder for the model.")],
    base: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="For adapters of `peft`: the Hugging Face folder of their base model, if not the one they name.",
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Import a pretrained model: BERT, RoBERTa, GPT-2, Llama, Mixtral, T5, ViT, MarianMT and similar models."""
    from glassformer.hub.huggingface.fetching import local_folder
    from glassformer.hub.reading import read_model
    from glassformer.store.bundle import refuse_existing, save_bundle
    from glassformer.store.weights import parameter_count

    refuse_existing(out)
    found = read_model(local_folder(path), base=None if base is None else local_folder(base))
    about = {"from": path, "model_type": found.extras["model_type"]}
    save_bundle(found, out, about={"imported": about})
    count = parameter_count(found.model)
    tokens = None if found.tokenizer is None else len(found.tokenizer)
    if json_:
        typer.echo(json.dumps({"out": str(out), "kind": found.kind, **about, "parameters": count, "tokens": tokens}))
        return
    text = "no tokenizer" if tokens is None else f"{tokens:,} tokens"
    typer.echo(f"Imported {path} to {out}: {found.kind}, {count:,} parameters, {text}.")
    typer.echo("Try:  " + advice(found, path).replace("{out}", str(out)))
