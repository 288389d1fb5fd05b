"""The subject of a page: any loaded model with its program, its weights, and how it reads and writes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glassformer import __version__
from glassformer.explain.code_lines import line_in
from glassformer.explain.glass.trace import Arrays, ReadBy, Subject
from glassformer.explain.program import Program
from glassformer.explain.programs import program_of
from glassformer.explain.programs.recorded import weights_of
from glassformer.explain.programs.vectors import with_vector
from glassformer.models.registry import values_of
from glassformer.models.sizes import longest_text
from glassformer.store.bundle import Bundle
from glassformer.store.files import MANIFEST
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.generation import LanguageModel
from glassformer.tasks.generation.inputs import PromptInputs, SourceInputs
from glassformer.tasks.glass.readers import read_by
from glassformer.tasks.glass.writing import decoding_of
from glassformer.tasks.infilling import Infiller
from glassformer.tasks.model import LoadedModel
from glassformer.tasks.rewriting import Rewriter
from glassformer.tasks.scoring import predicts_number, scale_of
from glassformer.tasks.translation.translator import Translator
from glassformer.tasks.vision import ImageModel

MOST_TYPED = 2048  # tokens of a text for a model without a limit of its own: attention over more is too much for a page
VERBS = {"words": "fill", "pretraining": "fill", "sentence": "classify", "tokens": "tag", "span": "answer"}
HEADS = {"words": "words", "pretraining": "words", "sentence": "class", "tokens": "tokens", "span": "span"}


def subject_of(model: LoadedModel) -> Subject:
    bundle = model.bundle
    program = with_vector_of(program_of(bundle.model), model)
    weights = {name: as_float32(one) for name, one in weights_of(program, bundle.model).items()}
    named = Path(model.folder).name if model.folder else ""
    return Subject(
        title=" · ".join(filter(None, [named, bundle.kind])),
        kind=bundle.kind,
        settings=values_of(bundle.model),
        program=program,
        weights=weights,
        task=task_of(model),
        tokenizers=tokenizers_of(model, program),
        decoding=decoding_of(model),
        provenance=provenance_of(model, weights),
    )


def with_vector_of(program: Program, model: LoadedModel) -> Program:
    """With the steps of pooling, if the model's answer is the vector of a text."""
    if not isinstance(model, TextEncoder):
        return program
    normalised = line_in(TextEncoder.embed, "nn.functional.normalize(") if model.extras.get("normalise") else None
    return with_vector(program, pooling=model.pooling(None), normalised_at=normalised)


def as_float32(weight: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(weight, dtype=np.float32)


def provenance_of(model: LoadedModel, weights: Arrays) -> dict[str, str]:
    """Where the numbers come from; no dates, so that the same model and text give the same page."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(f"{name} {weights[name].shape}\n".encode())
        digest.update(weights[name].astype("<f4").tobytes())
    found = {"glassformer": __version__, "sha256 of the weights": digest.hexdigest()}
    manifest = Path(model.folder) / MANIFEST if model.folder else None
    if manifest is not None and manifest.is_file():
        found["sha256 of the manifest"] = hashlib.sha256(manifest.read_bytes()).hexdigest()
    return found


def task_of(model: LoadedModel) -> dict[str, Any]:
    if isinstance(model, Translator):
        return {"verb": "translate", "head": "next"}
    if isinstance(model, LanguageModel):
        return {"verb": writes(model), "head": "next"}
    labels = list(model.bundle.extras.get("labels", []))
    if isinstance(model, ImageModel):
        return with_classes(
            {"verb": "caption", "head": "next"} if model.bundle.kind == "captioner" else image_task(model), labels
        )
    return with_classes(reading_task(model.bundle), labels)


def writes(model: LanguageModel) -> str:
    if isinstance(model, Infiller):
        return "infill"
    if isinstance(model, Rewriter):
        return (
            "summarise" if "summarise" in model.tasks or model.bundle.extras.get("task") == "summarise" else "rewrite"
        )
    return "generate"


def image_task(model: ImageModel) -> dict[str, Any]:
    has_classes = getattr(model.model, "head", None) is not None
    return {"verb": "classify", "head": "class"} if has_classes else {"verb": "embed", "head": "vector"}


def reading_task(bundle: Bundle) -> dict[str, Any]:
    head = getattr(bundle.model.config, "head", "none")
    if predicts_number(bundle):
        return {"verb": "similar", "head": "number", "scale": list(scale_of(bundle))}
    verb = VERBS.get(head, "embed")
    return {"verb": verb, "head": HEADS.get(head, "vector")}


def with_classes(task: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    return task | ({"classes": list(labels)} if labels and task["head"] in ("class", "tokens") else {})


# Tokenizers


def tokenizers_of(model: LoadedModel, program: Program) -> dict[str, ReadBy]:
    """How the texts of each sequence are read, by the names of the program."""
    found = translator_readers(model) if isinstance(model, Translator) else {}
    if isinstance(model, LanguageModel):
        found = writer_readers(model)
    elif isinstance(model, ImageModel) and model.bundle.tokenizer is not None:
        found = {"target": read_by(model.bundle.target or model.bundle.tokenizer)}
    elif isinstance(model, TextEncoder):
        found = (
            {"text": encoder_reader(model)}
            if model.kind != "transformer"
            else translator_readers(Translator.of(model.bundle), splits=False)
        )
    return {name: one for name, one in found.items() if name in program.sequences}


def translator_readers(model: Translator, *, splits: bool = True) -> dict[str, ReadBy]:
    """`splits`: longer texts are translated sentence by sentence."""
    longest = min(longest_text(model.recipe.model), MOST_TYPED) - 1
    whole = model.split_limit(model.recipe.decode) if splits else 0
    details: dict[str, Any] = {"stripped": True, **lengths(longest, whole or longest)}
    if getattr(model.recipe.model, "reverse_source", False):
        details["reversed"] = True
    source = read_by(model.source, after=(model.source_marks.eos,), details=details)
    return {"source": source, "target": read_by(model.target)}


def writer_readers(model: LanguageModel) -> dict[str, ReadBy]:
    inputs, tokenizer = model.inputs, model.input_tokenizer
    if isinstance(inputs, PromptInputs):
        room = {"longest": inputs.longest - len(inputs.frame.before)}
        return {"text": read_by(tokenizer, before=inputs.frame.before, details=room)}
    assert isinstance(inputs, SourceInputs)
    frame = inputs.framed
    most, marks = getattr(model, "most", None) or inputs.longest, len(frame.single([]))
    longest = MOST_TYPED if inputs.longest is None else inputs.longest
    details = lengths(longest - marks, (most or longest) - marks)
    source = read_by(tokenizer, before=frame.before, after=frame.after, details=details)
    return {"source": source, "target": read_by(model.tokenizer)}


def encoder_reader(model: TextEncoder) -> ReadBy:
    head = getattr(model.model.config, "head", "none")
    details: dict[str, Any] = {}
    if model.max_length is not None:
        marks, most = len(model.frame.single([])), min(longest_text(model.model.config), MOST_TYPED)
        details = lengths(max(0, most - marks), max(0, model.max_length - marks))
    if HEADS.get(head) == "words" and model.marks.mask is not None:
        spelled = sorted({model.mask_text, "[MASK]", "<mask>"})
        details["mask"] = {"id": model.marks.mask, "spelled": spelled}
    before, after = model.frame.before, model.frame.after
    return read_by(model.tokenizer, before=before, after=after, why=not_typed(model), details=details)


def lengths(longest: int, whole: int) -> dict[str, int]:
    """The most ids of a text that the model can read; `whole`: of one that Python neither splits nor shortens."""
    return {"longest": longest} | ({"whole": whole} if whole < longest else {})


def not_typed(model: TextEncoder) -> str:
    """What Python does to a text before the tokenizer sees it, and a page does not."""
    reasons: Mapping[str, Any] = {
        "the model reads two texts together": model.texts_each == 2 or model.model.config.head == "span",
        "the model also reads the pattern of capitals of each word": getattr(model.model.config, "casing", False),
        f"{model.extras.get('prompt')!r} is put before each text": model.extras.get("prompt"),
        "texts are converted to lower case first": model.extras.get("lowercase"),
        "the text is divided into words first": model.model.config.head == "tokens",
    }
    return "; ".join(reason for reason, holds in reasons.items() if holds)
