"""A translator as a bundle, the form that all kinds of models share, and the parts of a translator from a bundle.

Bundles made by others are MarianMT models, such as those of OPUS-MT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glassformer.config import validate
from glassformer.errors import ImportingError, ModelError
from glassformer.models.registry import TRANSLATORS, VOCABULARIES, values_of
from glassformer.printable import opening
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.tasks.model import METHODS
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, with_frame
from glassformer.text.masks import mask_ids

if TYPE_CHECKING:  # Translator uses this file
    from glassformer.tasks.translation.translator import Translator

DECODING = ("beam", "alpha", "no_repeat")  # settings that imported folders also have, with the same meaning


def parts_of(bundle: Bundle) -> tuple[Any, Tokenizer, Tokenizer, TranslationRecipe]:
    """The parts of a `Translator` for this bundle; the recipe defines how it begins, ends and searches."""
    if bundle.kind not in TRANSLATORS:
        raise ModelError(f"{opening(bundle.kind)} model cannot translate. Models that can: {METHODS['translate']}.")
    if getattr(bundle.model.config, "embedding_norm", False):
        raise ModelError("A BART model reads other special tokens than a translator. Use `glassformer rewrite`.")
    source = bundle.tokenizer
    if source is None:
        raise ImportingError(
            "The folder has no tokenizer files, and a translator needs them: source.spm, target.spm and vocab.json, or "
            "tokenizer.json."
        )
    target = bundle.target or source
    model = bundle.model
    refuse_small(model, source, target)
    return model, source, target, recipe_of(bundle, target)


def refuse_small(model: Any, source: Tokenizer, target: Tokenizer) -> None:
    sizes = values_of(model)
    for name, tokenizer in zip(VOCABULARIES, (source, target), strict=True):
        if len(tokenizer) > sizes[name]:
            raise ImportingError(
                f"The tokenizer has {len(tokenizer):,} tokens, the model vectors for {sizes[name]:,}: they do not "
                "belong together. Download the folder again."
            )


def recipe_of(bundle: Bundle, target: Tokenizer) -> TranslationRecipe:
    model: Any = bundle.model
    extras, start = bundle.extras, bundle.marks.start
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


def bundle_of(translator: Translator) -> Bundle:
    """The translator as a bundle. Its tokenizers add an end mark to every sentence, as imported models do."""
    source, target, marks = translator.source, translator.target, translator.target_marks
    end = translator.source_marks.eos
    framed = with_frame(source, Frame((), (end,), (end,)))
    recipe = translator.recipe
    never = [number for number in map(target.id, recipe.text.never) if number is not None]
    never += mask_ids(target)  # other programs do not know masks
    extras: dict[str, Any] = {name: getattr(recipe.decode, name) for name in DECODING}
    extras |= {"never": never} if never else {}
    return Bundle(
        translator.kind_name,
        translator.model,
        framed,
        marks=SpecialIds(bos=marks.bos, eos=marks.eos, pad=marks.pad, unk=target.unk_id, start=marks.bos),
        extras=extras | ({"languages": list(recipe.data.languages)} if recipe.data.languages else {}),
        target=None if target is source else with_frame(target, Frame((), (marks.eos,), (marks.eos,))),
    )
