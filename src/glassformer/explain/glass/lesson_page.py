"""A lesson as one HTML file: everything that it computes as tables and curves, readable without JavaScript.

Some lessons have a lab above them: the page computes the lesson again while a learner turns its controls."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np
from torch import Tensor

from glassformer import __version__
from glassformer.explain.glass.chunks import Chunks
from glassformer.explain.glass.lesson_sections import sections_html
from glassformer.explain.glass.page import inline, policy, shown
from glassformer.explain.lessons import LESSONS
from glassformer.explain.lessons.lesson import Computed, Lab
from glassformer.explain.lessons.view import COMMAND
from glassformer.printable import DIRECTIONS, embedded

FORMAT = 1
_PLACE = re.compile(r"\{\{(policy|title|style|opening|sections|ending|data)\}\}")


def lesson_page(computed: Computed) -> str:
    """The whole page as one string; write it as UTF-8."""
    lab = computed.lab()
    style = inline(_asset("lesson.css"), "style")
    script = "" if lab is None else inline(_asset("lesson.js"), "script")
    parts = {
        "policy": policy(script, style),
        "title": shown(f"{computed.lesson.title}: a lesson of Glassformer"),
        "style": style,
        "opening": "\n".join(opening(computed)),
        "sections": "\n".join(sections_html(computed, after_lab=lab is not None)),
        "ending": "\n".join(ending(computed)),
        "data": "" if lab is None else "\n".join([*data(lab), f"<script>{script}</script>"]),
    }
    return _PLACE.sub(lambda place: parts[place[1]], _asset("lesson.html"))


def opening(computed: Computed) -> Iterator[str]:
    lesson = computed.lesson
    place = list(LESSONS).index(lesson.name) + 1
    yield "<header>"
    yield f'<p class="crumb">Lesson {place} of {len(LESSONS)} · <code>{shown(command(computed))}</code></p>'
    yield f"<h1>{shown(lesson.title)}</h1>"
    yield f'<p class="summary">{shown(lesson.summary)}</p>'
    yield "</header>"


def command(computed: Computed) -> str:
    """The command that computes this lesson again: choices that differ from the usual ones."""
    lesson, parts = computed.lesson, [COMMAND, computed.lesson.name]
    for name, value in computed.given.items():
        if value == lesson.takes[name]:
            continue
        if name in ("texts", "queries"):
            flag = ["--query"] if name == "queries" else []
            parts += [word for text in value for word in (*flag, shlex.quote(text))]
        else:
            parts += [f"--{name}", shlex.quote(str(value))]
    return " ".join(parts)


def ending(computed: Computed) -> Iterator[str]:
    """Where it comes from, where it is computed, and what to read next."""
    lesson = computed.lesson
    yield '<footer><dl class="where">'
    yield f"<dt>Source</dt><dd>{shown(lesson.source)}</dd>"
    yield f"<dt>Computed by</dt><dd>{', '.join(f'<code>{shown(file)}</code>' for file in lesson.files)}</dd>"
    for example in lesson.examples[:1]:
        yield f"<dt>Try</dt><dd><code>{shown(f'{COMMAND} {lesson.name} {example}')}</code></dd>"
    if computed.next:
        following = LESSONS[computed.next]
        then = f"{COMMAND} {computed.next} --html {computed.next}.html"
        yield f"<dt>Next</dt><dd><b>{shown(following.title)}</b> <code>{shown(then)}</code></dd>"
    yield f'</dl><p class="note">Glassformer {shown(__version__)}. This file loads nothing.</p></footer>'


def data(lab: Lab) -> Iterator[str]:
    """The data of a lab: its settings, and numbers in chunks."""
    chunks = Chunks()
    header: dict[str, Any] = {"format": FORMAT, "kind": lab.kind, "settings": dict(lab.settings)}
    header["arrays"] = {name: chunks.add(numbers(one)).to_dict() for name, one in lab.arrays.items()}
    header["right"] = {name: chunks.add(numbers(one)).to_dict() for name, one in lab.right.items()}
    safe = DIRECTIONS.sub(lambda found: f"\\u{ord(found[0]):04x}", embedded(header))
    yield f'<script type="application/json" id="lesson">{safe}</script>'
    for number, text in enumerate(chunks.packed()):
        yield f'<script type="text/plain" data-chunk="{number}">{text}</script>'


def numbers(values: Tensor) -> np.ndarray[Any, Any]:
    return values.detach().cpu().numpy()


def _asset(name: str) -> str:
    return files("glassformer.explain.glass").joinpath(name).read_text(encoding="utf-8")
