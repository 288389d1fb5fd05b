"""The part of `glassformer doctor` for data that is not sentence pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from glassformer.errors import DataError, SettingsError

if TYPE_CHECKING:
    from glassformer.data.answer_windows import TokenCheck


class DoctorTask(Enum):
    """The tasks whose data can be examined."""

    TRANSLATE = "translate"
    CLASSIFY = "classify"
    SIMILAR = "similar"
    GENERATE = "generate"
    FILL = "fill"
    TAG = "tag"
    REWRITE = "rewrite"
    SUMMARISE = "summarise"
    INFILL = "infill"
    ANSWER = "answer"
    CLASSIFY_IMAGES = "classify-images"
    CAPTION = "caption"


IMAGE_TASKS = (DoctorTask.CLASSIFY_IMAGES, DoctorTask.CAPTION)


def refuse_for_pairs_only(task: DoctorTask, *, languages: str | None, report: Path | None) -> None:
    for option, value in (("--languages", languages), ("--report", report)):
        if value is not None:
            raise SettingsError(
                f"{option} {value}: only for sentence pairs, not with --task {task.value}. Leave it out."
            )


def examine_other(
    task: DoctorTask,
    files: Sequence[str],
    held: Mapping[str, Sequence[str]],
    columns: str | None,
    tokens: Path | None,
    *,
    as_json: bool,
) -> None:
    """Examines data of other tasks than translation."""
    from glassformer.cli import findings_view

    if tokens is not None and task is not DoctorTask.ANSWER:
        raise SettingsError(f"--tokens {tokens}: only with --task answer. Leave it out.")
    if (images := image_task(task, files)) is not None:
        images(files, held, columns, as_json=as_json)
        return
    from glassformer.cli.display import reading
    from glassformer.cli.written_view import show_written_findings
    from glassformer.config import validate
    from glassformer.data.settings import AnswerDataSettings, LabelledDataSettings, TagDataSettings, TextDataSettings
    from glassformer.data.sources.answers import examine_answers
    from glassformer.data.sources.labelled import examine_labelled
    from glassformer.data.sources.scored import examine_scored
    from glassformer.data.sources.tagged import examine_tagged
    from glassformer.data.sources.texts import examine_texts
    from glassformer.data.sources.written import examine_written
    from glassformer.data.written_settings import WrittenDataSettings

    settings, examine, show = {
        DoctorTask.CLASSIFY: (LabelledDataSettings, examine_labelled, findings_view.show_label_findings),
        DoctorTask.SIMILAR: (LabelledDataSettings, examine_scored, findings_view.show_score_findings),
        DoctorTask.GENERATE: (TextDataSettings, examine_texts, findings_view.show_text_findings),
        DoctorTask.FILL: (TextDataSettings, examine_texts, findings_view.show_text_findings),
        DoctorTask.TAG: (TagDataSettings, examine_tagged, findings_view.show_tag_findings),
        DoctorTask.REWRITE: (WrittenDataSettings, examine_written, show_written_findings),
        DoctorTask.SUMMARISE: (WrittenDataSettings, examine_written, show_written_findings),
        DoctorTask.INFILL: (TextDataSettings, examine_texts, findings_view.show_text_findings),
        DoctorTask.ANSWER: (AnswerDataSettings, examine_answers, findings_view.show_answer_findings),
    }[task]
    chosen = validate(cast(Any, settings), {"columns": columns}, origin="doctor").columns  # each has columns
    more = {} if tokens is None else {"check": token_check(tokens)}
    with reading("examining") as progress:
        found: Any = examine(files, columns=chosen, held=held, listener=Quiet(progress), **more)
    if as_json:
        typer.echo(json.dumps({**found.to_dict(), "task": task.value}, ensure_ascii=False))
    else:
        show(found, findings_view.findings_console())  # type: ignore[operator]
    if not found.words:
        raise DataError(found.refused)  # also for scripts: nothing can be used


def image_task(task: DoctorTask, files: Sequence[str]) -> Callable[..., None] | None:
    """How images are examined; None if the data is something else."""
    from glassformer.tasks.registry import task_for

    found = DoctorTask(task_for(task.value, files))
    if found not in IMAGE_TASKS:
        return None
    from glassformer.cli.image_findings_view import examine_pictures

    return partial(examine_pictures, found.value)


def token_check(model: Path) -> TokenCheck:
    from glassformer.data.answer_windows import TokenCheck

    return TokenCheck(model)


class Quiet:
    """Shows the progress of reading; what is found is shown at the end."""

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self.on_count = progress

    def on_stage(self, text: str) -> None:
        pass
