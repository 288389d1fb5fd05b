"""Translators made by others (MarianMT, as OPUS-MT has them) as ours, and ours as theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from glassformer.config import to_toml, validate
from glassformer.errors import ImportingError
from glassformer.hub.huggingface.folders import read_folder
from glassformer.hub.huggingface.pretrained import Pretrained, SpecialIds
from glassformer.models.registry import VOCABULARIES, values_of
from glassformer.models.transformer import Transformer
from glassformer.store.run import CONFIG
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.translator import SHARED, SOURCE, TARGET, Translator
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, with_frame
from glassformer.train.machine import choose_device

FINISHED = "finished training"
KIND = "transformer"
DECODING = ("beam", "alpha", "no_repeat")  # settings that both have, and mean alike


def read_translator(folder: Path, *, device: str = "cpu") -> Translator:
    """The translator in a Hugging Face folder."""
    found = read_folder(folder)
    if found.kind != KIND:
        raise ImportingError(f"{folder} holds a model of the kind {found.kind!r}, not a translator.")
    found.model.to(choose_device(device))
    return translator_of(found)


def translator_of(pretrained: Pretrained) -> Translator:
    """With the recipe that says how it begins, ends and searches."""
    source = pretrained.tokenizer
    if source is None:
        raise ImportingError(
            "The folder has no tokenizer files, and a translator needs them: source.spm, target.spm and vocab.json, or "
            "tokenizer.json."
        )
    target = pretrained.target or source
    model = cast(Transformer, pretrained.model)
    refuse_small(model, source, target)
    return Translator(model, source, target, recipe_of(pretrained, target), origin=FINISHED)


def refuse_small(model: Transformer, source: Tokenizer, target: Tokenizer) -> None:
    sizes = values_of(KIND, model)
    for name, tokenizer in zip(VOCABULARIES, (source, target), strict=True):
        if len(tokenizer) > sizes[name]:
            raise ImportingError(
                f"The tokenizer has {len(tokenizer):,} tokens, the model vectors for {sizes[name]:,}: they do not "
                "belong together. Fetch the folder again."
            )


def recipe_of(pretrained: Pretrained, target: Tokenizer) -> TranslationRecipe:
    model = cast(Transformer, pretrained.model)
    extras, start = pretrained.extras, pretrained.marks.start
    text: dict[str, Any] = {"kind": "imported", "vocab_size": len(target), "shared": model.config.tied == "all"}
    text["never"] = [target.token(number) for number in extras.get("never", []) if number < len(target)]
    if start is not None:
        text["start"] = target.token(start)
    decode = {name: extras[name] for name in DECODING if name in extras} | {"refill": True}  # as `transformers` does
    languages = extras.get("languages", [])
    tree = {
        "text": text,
        "model": model.config.model_dump(exclude_none=True),
        "decode": decode,
        "data": {"languages": languages} if len(languages) == 2 else {},
    }
    return validate(TranslationRecipe, tree, origin="generation_config.json")


def translator_files(translator: Translator) -> dict[str, bytes]:
    """What a run folder holds besides the weights."""
    sides = {SOURCE: translator.source, TARGET: translator.target}
    if translator.source is translator.target:
        sides = {SHARED: translator.source}
    content = {name: tokenizer.to_json().encode() for name, tokenizer in sides.items()}
    return {**content, CONFIG: to_toml(translator.recipe).encode()}


def pretrained_translator(translator: Translator) -> Pretrained:
    """Ours in the form in which folders of others are written: an end mark after every source sentence."""
    source, target, marks = translator.source, translator.target, translator.target_marks
    end = translator.source_marks.eos
    framed = with_frame(source, Frame((), (end,), (end,)))
    recipe = translator.recipe
    never = [number for number in map(target.id, recipe.text.never) if number is not None]
    extras: dict[str, Any] = {name: getattr(recipe.decode, name) for name in DECODING}
    extras |= {"never": never} if never else {}
    return Pretrained(
        KIND,
        translator.model,
        framed,
        marks=SpecialIds(bos=marks.bos, eos=marks.eos, pad=marks.pad, unk=target.unk_id, start=marks.bos),
        extras=extras | ({"languages": list(recipe.data.languages)} if recipe.data.languages else {}),
        target=None if target is source else with_frame(target, Frame((), (marks.eos,), (marks.eos,))),
    )
