"""Every task that can be trained, by the verb that uses its result. A task's file is imported when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from glassformer.errors import SettingsError
from glassformer.training.task import Task

TASKS: dict[str, tuple[str, str]] = {  # verb: file, class
    "translate": ("glassformer.tasks.translation.task", "Translation"),
    "generate": ("glassformer.tasks.language_modelling", "LanguageModelling"),
    "fill": ("glassformer.tasks.masked_language_modelling", "MaskedLanguageModelling"),
    "classify": ("glassformer.tasks.sentence_classes", "SentenceClasses"),
    "similar": ("glassformer.tasks.sentence_scores", "SentenceScores"),
    "tag": ("glassformer.tasks.token_labels", "TokenLabels"),
    "answer": ("glassformer.tasks.answer_spans", "AnswerSpans"),
    "rewrite": ("glassformer.tasks.text_to_text", "TextToText"),
    "summarise": ("glassformer.tasks.summaries", "Summaries"),
    "infill": ("glassformer.tasks.span_corruption", "SpanCorruption"),
    "caption": ("glassformer.tasks.captions", "Captions"),
    "classify-images": ("glassformer.tasks.image_classes", "ImageClasses"),
}
DEFAULT = "translate"


def task_for(name: str, files: Sequence[str]) -> str:
    """The task of that name for these files: `classify` means classes of images if the files are images.

    People classify images and texts with one verb, but the two tasks share neither data nor models nor settings.
    """
    if name != "classify" or not files:
        return name
    from glassformer.data.sources.image_files import are_images

    return "classify-images" if are_images(files) else name


def task_named(name: str) -> Task:
    """The task of that name; the error for an unknown name lists all tasks."""
    if name not in TASKS:
        raise SettingsError(f"{name!r} is not a task. Tasks that can be trained: {', '.join(TASKS)}.")
    file, class_name = TASKS[name]
    found: Task = getattr(import_module(file), class_name)()
    return found
