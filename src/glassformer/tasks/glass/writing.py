"""How a model writes: its search, as a page repeats it, and the record of one search with every candidate's fate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glassformer.data.readers.images import NamedPicture
from glassformer.decode.search import Search
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.tree import watched
from glassformer.tasks.generation import GenerateOptions, LanguageModel
from glassformer.tasks.generation.generator import ContinuationGenerator
from glassformer.tasks.generation.inputs import Inputs, PromptInputs, start_token
from glassformer.tasks.model import LoadedModel
from glassformer.tasks.text_generator import TextGenerator
from glassformer.tasks.translation.constraints import Sentences
from glassformer.tasks.translation.looking import row_of, widened_request
from glassformer.tasks.translation.translator import Translator
from glassformer.tasks.vision import ImageModel
from glassformer.text.masks import mask_ids

WIDE = 5  # the beam of a recorded search, if the usual one is greedy: that has no branches
CONTINUED = 20  # new tokens of a text that a page continues
CONTINUES_TEXT = -1  # instead of a first token: the output continues the text
ANSWERED = 64  # new tokens of a separate text


def decoding_of(model: LoadedModel) -> dict[str, Any] | None:
    """The settings of its search; None for a model that does not write."""
    if isinstance(model, Translator):
        return translator_decoding(model)
    if isinstance(model, LanguageModel):
        start = CONTINUES_TEXT if model.continues_prompt else start_token(model.bundle.marks)
        return written_by(model.generator, start=start, limit=limit_of(model.inputs))
    if isinstance(model, ImageModel) and model.bundle.kind == "captioner":
        generator = model.caption_generator()
        limit = min(ANSWERED, model.model.config.max_length)
        return written_by(generator, start=start_token(model.bundle.marks), limit=limit)
    return None


def limit_of(inputs: Inputs) -> int | dict[str, int]:
    """The most new tokens: as usual, or as many as the model has positions for."""
    if isinstance(inputs, PromptInputs):
        return {"times": -1, "plus": inputs.longest + 1, "max": CONTINUED}  # as `PromptInputs.budget`
    longest = inputs.budget(())
    return ANSWERED if longest is None else min(ANSWERED, longest)


def translator_decoding(model: Translator) -> dict[str, Any]:
    settings, marks = model.recipe.decode, model.target_marks
    limit: dict[str, Any] = {"times": settings.max_ratio, "plus": settings.max_extra}
    if model.longest is not None:
        limit["max"] = model.longest
    return {
        "start": marks.bos,
        "end": marks.eos,
        "limit": limit,
        "beam": settings.beam,
        "search_beam": settings.beam if settings.beam > 1 else WIDE,
        "ranked": {"gnmt": settings.alpha} if settings.normalisation == "gnmt" else {"by_length": settings.alpha},
        "chooser": "BestRefilled" if settings.refill else "Best",
        "smoothing": model.recipe.train.label_smoothing,
        "forbidden": [*forbidden(model.generator), *mask_ids(model.target)],
        **rules_of(settings),
    }


def rules_of(settings: DecodeSettings) -> dict[str, list[str]]:
    """Rules that a page does not have."""
    found = {
        f"no {settings.no_repeat}-gram occurs twice": settings.no_repeat,
        f"repeated tokens have {settings.repetition_penalty:g} times the log-probability": settings.repetition_penalty
        != 1,
        f"at least {settings.min_ratio:g} tokens for each token of the source": settings.min_ratio,
    }
    rules = [rule for rule, holds in found.items() if holds]
    return {"rules": rules} if rules else {}


def written_by(generator: ContinuationGenerator, *, start: int, limit: int | dict[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "start": start,
        "end": generator.eos,
        "limit": limit,
        "beam": 1,
        "search_beam": WIDE,
        "ranked": {"by_length": 1.0},
        "cut_last": False,
        "chooser": "BestRefilled",  # with a beam of 1 the same as Best
        "forbidden": forbidden(generator),
    }
    more = {"ends": generator.ends if len(generator.ends) > 1 else [], "first": generator.first}
    return found | {name: list(ids) for name, ids in more.items() if ids}


def forbidden(generator: TextGenerator) -> list[int]:
    """The ids that no output may contain."""
    return [token for rule in generator.forbidden for token in getattr(rule, "tokens", ())]


# The record of one search


def search_record(model: LoadedModel, shown: Any, *, beam: int | None = None) -> dict[str, Any] | None:
    """Every candidate of the search for one answer; None for a model that does not write."""
    if isinstance(model, Translator):
        request, widened = widened_request(model, beam)
        return recorded(model.task(Sentences.of_ids([row_of(model, shown)]), request), widened=widened)
    options = GenerateOptions(max_new=ANSWERED, beam=WIDE if beam in (None, 1) else beam)
    if isinstance(model, LanguageModel):
        if model.continues_prompt:
            options = replace(options, max_new=CONTINUED)
        return recorded(model.generator.search_rows([model.inputs.ids(shown)], options), widened=beam in (None, 1))
    if isinstance(model, ImageModel) and model.bundle.kind == "captioner":
        picture = shown if isinstance(shown, NamedPicture) else model.one(shown)
        generator = model.caption_generator()
        rows: Sequence[Any] = model.prepared([picture])
        return recorded(generator.search_rows(rows, options), widened=beam in (None, 1))
    return None


def recorded(job: Search, *, widened: bool) -> dict[str, Any]:
    tree, found = watched(job)
    return tree.to_dict(found[0], width=job.chooser.width) | ({"widened": True} if widened else {})


def continuation(model: LanguageModel, text: str) -> tuple[str, Sequence[int]]:
    """What a model of one stack writes after a text, greedily: its text and tokens, with the end mark if it came."""
    found = model.continuations(text, GenerateOptions(max_new=CONTINUED))[0]
    return found.text, [*found.ids, *(model.generator.ends[:1] if found.why == "end" else [])]
