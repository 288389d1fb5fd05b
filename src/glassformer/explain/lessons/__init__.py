"""The story of the Transformer in small computed lessons: `compute("mixing", texts=(...,))` returns data to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassformer.explain.lessons import (
    average,
    beam,
    cache,
    cat,
    cost,
    cross,
    from_scratch,
    gradient,
    grouped,
    heads,
    leak,
    learning,
    longer,
    lookup,
    mask,
    mixing,
    norm,
    positions,
    residuals,
    scaling,
    similarity,
    teacher,
    tokenizers,
    waves,
    words,
)
from glassformer.explain.lessons.lesson import Computed, Lesson, Progress, asked_for, lesson_named, no_progress

__all__ = ["LESSONS", "Computed", "Lesson", "compute"]

STORY = (  # in its order
    tokenizers,
    words,
    similarity,
    average,
    lookup,
    mixing,
    cat,
    scaling,
    learning,
    heads,
    grouped,
    positions,
    waves,
    longer,
    mask,
    leak,
    cross,
    norm,
    residuals,
    teacher,
    gradient,
    beam,
    cache,
    cost,
    from_scratch,
)
LESSONS: dict[str, Lesson] = {module.LESSON.name: module.LESSON for module in STORY}


def compute(name: str, given: Mapping[str, Any] | None = None, *, progress: Progress = no_progress) -> Computed:
    """A lesson's results. `given` are the learner's choices, by the names in the lesson's `takes`."""
    lesson = lesson_named(LESSONS, name)
    asked = asked_for(lesson, given or {}, progress=progress)
    names = list(LESSONS)
    place = names.index(name)
    used = {key: getattr(asked, key) for key in lesson.takes if key != "model"}
    following = names[place + 1] if place + 1 < len(names) else ""
    return Computed(lesson, used, tuple(lesson.run(asked)), following, asked)
