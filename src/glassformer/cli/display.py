"""What a person sees while something takes its time: on stderr, so that output still pipes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
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

from glassformer.cli.stopping import same_command

if TYPE_CHECKING:  # a bar needs no torch
    from glassformer.tasks.translation import TranslationRecipe
    from glassformer.train.loop import Progress as Standing
    from glassformer.train.pace import Pace
    from glassformer.train.plan import Forecast
    from glassformer.train.step import StepReport


def stderr_console() -> Console:
    return Console(stderr=True, highlight=False, soft_wrap=True)


class StageDisplay:
    """What happens before and after the steps: a line a stage, and a bar where something is counted."""

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
        self.console.print(f"[dim]·[/dim] {escape(text)}")

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
        self.best_by = "bleu"
        self.smooth_loss: float | None = None
        self.smooth_rate: float | None = None
        self.tokens = 0

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()
        super().__exit__(*exception)

    def begin_count(self, total: int) -> None:
        self.bar.stop()  # only one of the two can be live
        super().begin_count(total)

    def on_plan(self, recipe: TranslationRecipe, *, parameters: int, resumed_at: int, forecast: Forecast) -> None:
        from glassformer.train.pace import Pace

        model, train = recipe.model, recipe.train
        self.pace, self.best_by = Pace.of(train, forecast), train.best_by
        shape = f"{model.N}+{model.N_decoder or model.N} layers, d {model.d}, {model.h} heads, d_ff {model.d_ff}"
        self.on_stage(f"Transformer with {parameters:,} parameters ({shape})")
        where = f"going on at step {resumed_at:,} of" if resumed_at else "training"
        machine = f"{train.device}, {threads(train.threads)}"
        if (train.ranks or 1) > 1:
            machine = f"{train.ranks} processes, each on {machine}"
        batches = train.accumulate * (train.ranks or 1)
        tokens = f"{train.batch_tokens:,} tokens" if batches == 1 else f"{batches} x {train.batch_tokens:,} tokens"
        self.on_stage(f"{where} {train.steps:,} steps of {tokens} on {machine}")
        self.on_stage(f"this will take {forecast}, if it does not stop getting better before")
        self.on_stage(f"watch it: {self.out}/report.html, in a browser")
        self.bar.update(self.task, total=train.steps, completed=resumed_at, visible=True)
        self.bar.start()

    def on_step(self, progress: Standing, report: StepReport, seconds: float) -> None:
        if self.tokens or progress.step == 1:
            self.smooth_rate = _smooth(self.smooth_rate, (progress.tokens - self.tokens) / seconds)
        self.tokens = progress.tokens
        self.smooth_loss = _smooth(self.smooth_loss, report.loss)
        if self.pace is not None:
            self.pace.on_step(seconds)
        self.bar.figures = self.figures(progress)
        self.bar.update(self.task, completed=progress.step, left=self.left(progress.step))

    def figures(self, progress: Standing) -> str:
        """Loss and speed of the last steps, and the best so far by what it is chosen by."""
        rate = [f"{self.smooth_rate:,.0f} tokens/s"] if self.smooth_rate else []
        parts = [f"loss {self.smooth_loss:.3f}", *rate, f"epoch {progress.epoch + 1}", self.best(progress)]
        return " · ".join(part for part in parts if part)

    def best(self, progress: Standing) -> str:
        from glassformer.train.pace import best_words

        return best_words(progress.best_score, progress.best_step, best_by=self.best_by)

    def left(self, step: int) -> str:
        from glassformer.train.plan import duration

        return "" if self.pace is None else f"about {duration(self.pace.left(step))} left"

    def on_validation(self, record: Mapping[str, Any]) -> None:
        if self.pace is not None:
            self.pace.on_validation(record["validation_seconds"], steps=record["steps"])
            self.bar.update(self.task, total=record["steps"])
        line = validation_line(
            record,
            train_loss=self.smooth_loss,
            left=self.left(record["step"]),
            width=self.console.width if self.console.is_terminal else None,
        )
        self.console.print(line)

    def farewell(self, progress: Standing) -> None:
        """The last words: how it ended and what to do next."""
        if not progress.stopped:
            self.console.print(escape(f"Stopped at step {progress.step:,} and saved. Go on with:  {same_command()}"))
        elif progress.stopped != "finished before":
            self.console.print(f"Done ({progress.stopped}); kept are the weights of the {self.best(progress)}.")
        self.console.print(escape(f'Try:  glassformer translate {shlex.quote(self.out)} "..."'))


def validation_line(record: Mapping[str, Any], *, train_loss: float | None, left: str, width: int | None = None) -> str:
    """One line for a person. What matters least goes first where a terminal is too narrow for all of it."""
    from glassformer.train.plan import duration

    shown = {
        "step": f"step {record['step']:>6,}",
        "epoch": f"epoch {record['epoch'] + 1:>2}",
        "train": "" if train_loss is None else f"loss {train_loss:.3f}",
        "valid": f"valid loss {record['valid_loss']:.3f}",
        "bleu": f"BLEU {record['valid_bleu']:5.1f}",
        "chrf": f"chrF {record['valid_chrf']:5.1f}",
        "time": f"after {duration(record['elapsed_seconds'])}",
        "left": left,
    }
    star = "best so far" if record["best"] else ""
    for least in ("epoch", "chrf", "train", "time"):
        if width is not None and len("  ".join(["", *shown.values(), star])) > width:
            shown.pop(least)
    line = "  ".join(["", *(text for text in shown.values() if text)])
    return f"{line}  [bold green]{star}[/bold green]" if star else line


def threads(count: int | None) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _smooth(before: float | None, now: float) -> float:
    return now if before is None else 0.95 * before + 0.05 * now


class SpeedColumn(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


def counting(what: str) -> Progress:
    """A bar for a known number of things, with rate and time left."""
    console = stderr_console()
    return Progress(
        TextColumn(what),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        SpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for files that are read: hears (bytes read, bytes in all), shows rate and time left."""
    console = stderr_console()
    columns = (TextColumn(what), BarColumn(bar_width=24), DownloadColumn(), TransferSpeedColumn())
    left = (TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, *left, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
