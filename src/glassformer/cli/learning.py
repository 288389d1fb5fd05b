"""`glassformer lesson`: the ideas of the Transformer, each as a small computed example."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from glassformer import limits

if TYPE_CHECKING:
    from rich.console import Console

    from glassformer.explain.lessons.lesson import Computed

EXAMPLES = """
[bold]Examples[/bold]

  glassformer lesson                     [dim]lists the lessons, in the order of the story[/dim]

  glassformer lesson mixing              [dim]attention without parameters: money bank grows[/dim]

  glassformer lesson mixing "the bank of the river" "money in the bank"     [dim]the same with your own words[/dim]

  glassformer lesson mixing --help       [dim]what this lesson takes, with examples[/dim]

  glassformer lesson positions --json    [dim]every number, for a program[/dim]

  glassformer lesson mixing --html mixing.html --open
      [dim]one page, without a network; seven lessons compute again while you turn their controls[/dim]

docs/learn.md is the whole story in an hour.
"""
HELP = {"-h", "--help"}
MOST = 1024  # for sizes: a lesson computes in moments
READ = "-"  # instead of a text: one text on each line of stdin


class LessonCommand(TyperCommand):
    """`lesson NAME --help` shows what this lesson takes."""

    def parse_args(self, context, arguments):  # type: ignore[no-untyped-def]
        name = next((one for one in arguments if not one.startswith("-")), None)
        if name is not None and HELP & set(arguments):
            from glassformer.explain.lessons import LESSONS
            from glassformer.explain.lessons.lesson import lesson_named
            from glassformer.explain.lessons.view import usage

            typer.echo(usage(lesson_named(LESSONS, name)))
            raise typer.Exit
        return super().parse_args(context, arguments)


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES, cls=LessonCommand)(lesson)


def lesson(
    name: Annotated[str | None, typer.Argument(help="A lesson. Default: list all lessons.")] = None,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Your own words, each text between quotes; - reads lines from stdin.")
    ] = None,
    query: Annotated[list[str] | None, typer.Option(help="What to look up; may be repeated.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=limits.SEED, help="Seed of everything random.")] = None,
    width: Annotated[int | None, typer.Option(min=2, max=MOST, help="Width of the vectors.")] = None,
    heads: Annotated[int | None, typer.Option(min=1, max=64, help="Attention heads; they divide the width.")] = None,
    length: Annotated[int | None, typer.Option(min=1, max=MOST, help="Number of positions or tokens.")] = None,
    window: Annotated[int | None, typer.Option(min=1, max=100, help="Words on each side that are neighbours.")] = None,
    size: Annotated[int | None, typer.Option(min=261, max=10_000, help="Size of a vocabulary.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, max=limits.HYPOTHESES, help="Beam width.")] = None,
    step: Annotated[int | None, typer.Option(min=1, max=20, help="Only this step of a lesson in steps.")] = None,
    sentences: Annotated[int | None, typer.Option(min=20, max=MOST, help="Sentences that your model reads.")] = None,
    mask: Annotated[str | None, typer.Option(help="Mask: causal, none, window, padding.")] = None,
    model: Annotated[Path | None, typer.Option(metavar="RUN", help="Your own translator.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the lesson as a page instead.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="With --html: open the page in a browser.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --html: replace any file.")] = False,
) -> None:
    """Learn the Transformer step by step: small examples, computed, with your own words."""
    from glassformer.explain.lessons import LESSONS, compute
    from glassformer.explain.lessons.lesson import lesson_named
    from glassformer.explain.lessons.view import lesson_view

    console, page = wide_console(), Page(html, open_, force)
    page.check(named=name is not None, json_=json_)
    if name is None:
        show_list(console, json_)
        return
    lesson_named(LESSONS, name)
    numbers = {"seed": seed, "width": width, "heads": heads, "length": length, "window": window, "size": size}
    choices: dict[str, Any] = {**numbers, "beam": beam, "step": step, "sentences": sentences, "mask": mask}
    choices |= {"texts": read_texts(texts) or None, "queries": tuple(query or ()) or None}
    given = {key: value for key, value in choices.items() if value is not None}
    if model is not None:
        given["model"] = loaded(name, model)
    with progress_bar() as progress:
        computed = compute(name, given, progress=progress)
    if html is not None:
        page.write(computed)
    elif json_:
        typer.echo(json.dumps(computed.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        console.print(lesson_view(computed))


@dataclass(frozen=True)
class Page:
    """What is asked for with --html."""

    path: Path | None
    opened: bool
    force: bool

    def check(self, *, named: bool, json_: bool) -> None:
        """An error before the lesson computes."""
        from glassformer.errors import SettingsError

        if self.path is None:
            if self.opened or self.force:
                raise SettingsError("--open and --force belong to a page: add --html FILE.")
            return
        if json_:
            raise SettingsError("--html writes a page; --json prints. Leave one of them out.")
        if not named:
            raise SettingsError("--html writes one lesson. Name it: glassformer lesson mixing --html mixing.html")

        from glassformer.explain.glass.page import check_target

        check_target(self.path, force=self.force)

    def write(self, computed: Computed) -> None:
        from glassformer.explain.glass.lesson_page import lesson_page
        from glassformer.explain.glass.page import save

        assert self.path is not None
        save(lesson_page(computed), self.path, force=self.force)
        size = self.path.stat().st_size / 1e3
        typer.echo(f"{self.path}: {size:.0f} KB. Open it in a browser; it works without a network.")
        if self.opened:
            webbrowser.open(self.path.resolve().as_uri())


def wide_console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def show_list(console: Console, as_json: bool) -> None:
    from glassformer.explain.lessons import LESSONS
    from glassformer.explain.lessons.view import list_view

    lessons = list(LESSONS.values())
    if as_json:
        typer.echo(json.dumps([{"lesson": one.name, "title": one.title, "summary": one.summary} for one in lessons]))
        return
    for line in list_view(lessons):
        console.print(line)


def read_texts(texts: list[str] | None) -> tuple[str, ...]:
    if texts == [READ]:
        from glassformer.cli.translating import stdin_blocks

        return tuple(line for block in stdin_blocks() for line in block if line.strip()) or ("",)
    return tuple(texts or ())


def loaded(name: str, path: Path) -> Any:
    """The translator in a run folder, for the lessons that take one."""
    from glassformer.errors import SettingsError
    from glassformer.explain.lessons import LESSONS
    from glassformer.tasks.loading import load

    if "model" not in LESSONS[name].takes:
        takers = ", ".join(key for key, one in LESSONS.items() if "model" in one.takes)
        raise SettingsError(f"The lesson {name} does not take --model. Lessons that do: {takers}.")
    found = load(path)
    if not hasattr(found, "candidates"):
        raise SettingsError(f"{path} is not a translator. Give the run folder of one, for instance runs/demo.")
    return found


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar in percent, for lessons that take longer than 2 seconds."""
    from glassformer.cli.display import patient_bar

    shown = 0
    with patient_bar("computing", 100) as advance:

        def progress(done: int, total: int) -> None:
            nonlocal shown
            percent = 100 * done // max(1, total)
            advance(percent - shown)
            shown = percent

        yield progress
