"""The small examples of the lecture notes, computed: `LESSONS[name].run()` returns sections to show."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from glassformer.explain.lessons import cat, mask, mixing, norm, positions, scaling, similarity
from glassformer.explain.lessons.lesson import Lesson, Section

__all__ = ["LESSONS", "Lesson", "Section", "lesson_view"]

LESSONS: dict[str, Lesson] = {
    module.LESSON.name: module.LESSON for module in (similarity, mixing, cat, mask, scaling, norm, positions)
}


def lesson_view(lesson: Lesson) -> RenderableType:
    """The whole lesson, ready for a rich console."""
    parts: list[RenderableType] = [Text(lesson.title, style="bold underline"), Text(lesson.summary)]
    for section in lesson.run():
        parts += [Text(), Text(section.title, style="bold"), Text(section.text)]
        for shown in section.shown:
            parts += [Text(), Text(shown) if isinstance(shown, str) else shown]
    return Group(*parts)
