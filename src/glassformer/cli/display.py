"""Progress shown to the user during long work: on stderr, so that output can be piped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from glassformer.cli.stopping import next_command, same_command
from glassformer.printable import printable

if TYPE_CHECKING:  # a bar needs no torch
    from glassformer.evaluate.metric import Metric
    from glassformer.training.job import Progress as RunProgress
    from glassformer.training.pace import Pace
    from glassformer.training.plan import Forecast
    from glassformer.training.recipe import Recipe
    from glassformer.training.step import StepReport
    from glassformer.training.task import Task as TrainedTask


def stderr_console() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


class StageDisplay:
    """Shows the work before and after the steps: one line per stage, and a bar where something is counted."""

    def __init__(self) -> None:
        self.console = stderr_console()
        self.counter = counting("  ")
        self.counted: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end_count()

    def on_stage(self, text: str) -> None:
        self.end_count()
        self.console.print(f"[dim]·[/dim] {escape(printable(text))}")

    def on_count(self, done: int, total: int) -> None:
        if self.counted is None:
            self.begin_count(total)
        if self.counted is not None:
            self.counter.update(self.counted, completed=done, total=total)

    def begin_count(self, total: int) -> None:
        self.counter.start()
        self.counted = self.counter.add_task("", total=total)

    def end_count(self) -> None:
        if self.counted is not None:
            self.counter.remove_task(self.counted)
            self.counter.stop()
            self.counted = None


class TrainingBar(Progress):
    """A bar with a line of figures below it."""

    figures = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        yield Text(f"  {self.figures}", style="dim", no_wrap=True, overflow="ellipsis")


class TrainingDisplay(StageDisplay):
    """The progress of a training: a bar on a terminal, a line per validation anywhere."""

    def __init__(self, out: str) -> None:
        super().__init__()
        self.out = out
        self.bar = TrainingBar(
            TextColumn("  step"),
            MofNCompleteColumn(separator=" of "),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
            refresh_per_second=2,  # drawing takes time from the training
        )
        self.task = self.bar.add_task("train", total=None, left="", visible=False)
        self.pace: Pace | None = None
        self.best_by = "auto"
        self.metrics: Mapping[str, Metric] = {}
        self.predicted_by, self.unit = "", "tokens"
        self.smooth_loss: float | None = None
        self.smooth_rate: float | None = None
        self.tokens = 0

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()
        super().__exit__(*exception)

    def begin_count(self, total: int) -> None:
        self.bar.stop()  # only one bar can be live at a time
        super().begin_count(total)

    def on_plan(
        self, recipe: Recipe, *, parameters: int, resumed_at: int, forecast: Forecast, task: TrainedTask
    ) -> None:
        from glassformer.evaluate.metric import by_key
        from glassformer.training.pace import Pace

        model, train = recipe.model, recipe.train
        self.pace, self.best_by = Pace.of(train, forecast), train.best_by
        self.metrics = by_key(task.metrics_for(recipe))
        self.predicted_by = task.predicted_by
        self.on_stage(f"{model.kind} model with {parameters:,} parameters ({task.shape(recipe)})")
        where = f"Resuming from step {resumed_at:,}" if resumed_at else "Training"
        machine = f"{train.device}, {threads(train.threads)}"
        if (train.ranks or 1) > 1:
            machine = f"{train.ranks} processes, each on {machine}"
        batches = train.accumulate * (train.ranks or 1)
        self.unit = task.tokens
        tokens = f"{f'{batches} x ' if batches > 1 else ''}{train.batch_tokens:,} {self.unit}"
        self.on_stage(f"{where}: {train.steps:,} steps of {tokens} on {machine}")
        early = " (may stop earlier if validation stops improving)" if train.patience else ""
        self.on_stage(f"Estimate: {forecast}{early}")
        self.on_stage(f"Live report, for a browser: {self.out}/report.html")
        self.bar.update(self.task, total=train.steps, completed=resumed_at, visible=True)
        self.bar.start()

    def on_step(self, progress: RunProgress, report: StepReport, seconds: float) -> None:
        if self.tokens or progress.step == 1:
            self.smooth_rate = _smooth(self.smooth_rate, (progress.tokens - self.tokens) / seconds)
        self.tokens = progress.tokens
        self.smooth_loss = _smooth(self.smooth_loss, report.loss)
        if self.pace is not None:
            self.pace.on_step(seconds, steps=progress.steps, budget_left=progress.left)
        self.bar.figures = self.figures(progress)
        self.bar.update(self.task, completed=progress.step, total=progress.steps, left=self.left(progress.step))

    def figures(self, progress: RunProgress) -> str:
        """Loss and speed of the last steps, and the best validation so far."""
        rate = [f"{self.smooth_rate:,.0f} {self.unit}/s"] if self.smooth_rate else []
        parts = [f"loss {self.smooth_loss:.3f}", *rate, f"epoch {progress.epoch + 1}", self.best(progress)]
        return " · ".join(part for part in parts if part)

    def best(self, progress: RunProgress) -> str:
        from glassformer.training.pace import best_words

        return best_words(progress.best_score, progress.best_step, best_by=self.best_by, metrics=self.metrics)

    def choice(self, progress: RunProgress) -> str:
        """Which weights were kept, why, and how certain that is."""
        if progress.best_score is None:
            return "No validation gave a finite score, so the last weights are kept."
        if self.best_by != "auto":
            doubt = f" {progress.doubt[:1].upper()}{progress.doubt[1:]}." if progress.doubt else ""
            return f"The weights of the {self.best(progress)} are kept.{doubt}"
        if progress.best_step == 0:
            return "No weights were better than those it started from, so these are kept."
        kept = f"The weights of step {progress.best_step:,} are kept (validation loss {-progress.best_score:.3f})"
        if progress.best_step != progress.leader_step:
            return f"{kept}: later than step {progress.leader_step:,}, and the difference may be chance."
        return f"{kept}." if progress.best_step == progress.step else f"{kept}; those of later steps are worse."

    def left(self, step: int) -> str:
        from glassformer.training.plan import duration

        return "" if self.pace is None else f"about {duration(self.pace.left(step))} left"

    def on_validation(self, record: Mapping[str, Any]) -> None:
        if self.pace is not None:
            self.pace.on_validation(record["validation_seconds"], steps=record["steps"])
            self.bar.update(self.task, total=record["steps"])
        line = validation_line(
            record,
            metrics=self.metrics.values(),
            predicted_by=self.predicted_by,
            train_loss=self.smooth_loss,
            left=self.left(record["step"]),
            width=self.console.width if self.console.is_terminal else None,
        )
        self.console.print(line)

    def show_end(self, progress: RunProgress, *, verb: str, inputs: str = '"..."') -> None:
        """Prints how training ended, and what to do next: `inputs` are those of the command."""
        if not progress.stopped:
            self.console.print(escape(f"Stopped at step {progress.step:,} and saved. Resume with:  {same_command()}"))
        elif progress.stopped != "finished before":
            self.console.print(escape(f"Done ({progress.stopped}). {self.choice(progress)}"))
        self.console.print(escape(f"Try:  {next_command(verb, self.out, inputs)}"))


CHOICES = {"best": "best so far", "as good": "as good", "worse": ""}  # shown after a validation


def validation_line(
    record: Mapping[str, Any],
    *,
    metrics: Iterable[Metric],
    predicted_by: str = "",
    train_loss: float | None,
    left: str,
    width: int | None = None,
) -> str:
    """One line with the `metrics` that the record has. If the terminal is too narrow, the least important parts are
    left out."""
    from glassformer.training.plan import duration

    known = [one for one in metrics if one.key != "loss" and f"valid_{one.key}" in record]
    measured = {one.key: f"{one.label} {one.shown(record[f'valid_{one.key}']):>{digits_of(one)}}" for one in known}
    first, *others = measured or [""]
    if first:
        value = known[0].shown(record[f"valid_{first}"])
        measured[first] = f"{predicted_by} {known[0].label} {value}".strip()

    shown = {
        "step": f"step {record['step']:>6,}",
        "epoch": f"epoch {record['epoch'] + 1:>2}",
        "train": "" if train_loss is None else f"loss {train_loss:.3f}",
        "valid": f"valid loss {record['valid_loss']:.3f}",
        **measured,
        "time": f"after {duration(record['elapsed_seconds'])}",
        "left": left,
    }
    star = CHOICES[record["choice"]] if record["step"] else "before training"
    for least in ("epoch", *reversed(others), "train", "time", "left"):
        if width is not None and len("  ".join(["", *shown.values(), star])) > width:
            shown.pop(least)
    line = "  ".join(["", *(text for text in shown.values() if text)])
    return f"{line}  [bold green]{star}[/bold green]" if star else line


def digits_of(metric: Metric) -> int:
    """The number of characters of its largest value, so that values of several lines are aligned."""
    return 0 if metric.scale.high is None else len(metric.shown(metric.scale.high))


def threads(count: int | None) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _smooth(before: float | None, now: float) -> float:
    return now if before is None else 0.95 * before + 0.05 * now


class SpeedColumn(ProgressColumn):
    """The speed: items per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


FIRST_LINE, NEXT_LINE = 2.0, 60.0  # seconds until the first line of a long task in a log, and between two lines


class LoggedProgress(Progress):
    """A bar on a terminal. In a log, a plain line after some seconds and then every minute."""

    def __init__(self, *columns: ProgressColumn, what: str, unit: str, scale: int = 1, console: Console) -> None:
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.what, self.unit, self.scale = what.strip(), unit, scale
        self.started, self.next_line = 0.0, 0.0

    def add_task(self, *given: Any, **named: Any) -> TaskID:
        self.started = time.monotonic()
        self.next_line = self.started + FIRST_LINE
        return super().add_task(*given, **named)

    def update(self, task_id: TaskID, **changed: Any) -> None:
        super().update(task_id, **changed)
        self.log_line(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        self.log_line(task_id)

    def log_line(self, task_id: TaskID) -> None:
        now = time.monotonic()
        if not self.disable or now < self.next_line:
            return
        self.next_line = now + NEXT_LINE
        task = next(one for one in self.tasks if one.id == task_id)
        done, total, spent = task.completed, task.total, now - self.started
        if not total or done >= total:
            return
        known = done and (done >= total / 20 or spent > NEXT_LINE / 2)
        left = f", about {spent * (total - done) / done:,.0f} s left" if known else ""
        counts = f"{done / self.scale:,.0f} of {total / self.scale:,.0f} {self.unit}".rstrip()
        self.console.print(escape(f"{self.what}: {counts}{left}" if self.what else f"  {counts}{left}"))


def counting(what: str) -> LoggedProgress:
    """A bar for a known number of things, with rate and time left."""
    return LoggedProgress(
        TextColumn(what),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        SpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        what=what,
        unit="",
        console=stderr_console(),
    )


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for files that are read: called with (bytes read, bytes in all), shows rate and time left."""
    columns = (TextColumn(what), BarColumn(bar_width=24), DownloadColumn(), TransferSpeedColumn())
    left = (TimeRemainingColumn(), TextColumn("left"))
    with LoggedProgress(*columns, *left, what=what, unit="kB", scale=1000, console=stderr_console()) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def patient_bar(what: str, total: int, *, seconds: float = 2.0) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, if the work takes longer than `seconds`."""
    bar, began, done = counting(what), time.monotonic(), 0
    task = bar.add_task("", total=total)

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if not bar.live.is_started and time.monotonic() - began > seconds:
            bar.start()
        bar.update(task, completed=done)

    try:
        yield advance
    finally:
        bar.stop()
