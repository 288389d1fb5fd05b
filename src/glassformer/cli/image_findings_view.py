"""`glassformer doctor` for images with labels or captions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from glassformer.errors import DataError
from glassformer.printable import counted, printable, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from glassformer.data.checks.image_findings import ImageFindings

SHOWN_NAMES = 5
BALANCED = 10  # a class with this many times fewer images than the largest one is reported


class ImageCount:
    """Shows how many images are read."""

    def __init__(self, total: int) -> None:
        from glassformer.cli.display import counting

        self.bar = counting("examining images")
        self.task = self.bar.add_task("", total=total or None)

    def on_stage(self, text: str) -> None:
        pass

    def on_count(self, done: int, total: int) -> None:
        self.bar.update(self.task, completed=done, total=total)


def examine_pictures(
    task: str, files: Sequence[str], held: Mapping[str, Sequence[str]], columns: str | None, *, as_json: bool
) -> None:
    """Reads all images and shows what was found."""
    from glassformer.cli.findings_view import findings_console
    from glassformer.config import validate
    from glassformer.data.sources.captions import examine_captions
    from glassformer.data.sources.images import examine_images
    from glassformer.data.sources.settings import CaptionDataSettings, ImageClassDataSettings

    captions = task == "caption"
    settings = CaptionDataSettings if captions else ImageClassDataSettings
    chosen = validate(settings, {"columns": columns}, origin="doctor").columns
    listener = ImageCount(0)
    with listener.bar:
        examine = examine_captions if captions else examine_images
        found = examine(files, columns=chosen, held=held, listener=listener)
    if as_json:
        typer.echo(json.dumps({**found.to_dict(), "task": task}, ensure_ascii=False))
    else:
        show_image_findings(found, findings_console())
    if not found.used:
        raise DataError("None of the images can be used.")  # also for scripts


def show_image_findings(found: ImageFindings, console: Console) -> None:
    """Counts, classes, and everything unusual with the first names."""
    from glassformer.cli.findings_view import label_table, show_missing
    from glassformer.data.checks.image_findings import empty_line

    what = f" with {counted(len(found.labels), 'label')}" if found.labels else ""
    console.print(f"[bold]{counted(found.used, 'image')}[/bold]{what}, {found.size_words()}")
    if found.captions:
        console.print(
            f"{counted(found.captions['captions'], 'caption')}, {counted(found.captions['words'], 'word')}, the "
            f"longest has {found.captions['longest']:,}"
        )
    for part in found.held:
        for line in part.lines():
            console.print(f"  {printable(line)}", markup=False)
    for folder in found.empty:
        console.print(f"  {printable(empty_line(folder))}", markup=False)
    show_missing(found.missing, console)
    if found.labels:
        console.print()
        console.print(label_table(found.balance(), ("label", "images")))
        least, most = min(found.labels.values()), max(found.labels.values())
        if most > BALANCED * least:
            console.print(f"The classes are uneven: from {least:,} to {most:,} images.")
    show_kinds(found, console)


def show_kinds(found: ImageFindings, console: Console) -> None:
    from glassformer.data.checks.image_findings import NOTES, PROBLEMS

    if found.ignored:
        console.print(f"Ignored, because they are not images: {len(found.ignored):,} ({printable(found.ignored[0])})")
    for heading, known in (("Left out of training", PROBLEMS), ("Worth knowing", NOTES)):
        kinds = [kind for kind in known if found.counts[kind]]
        if kinds:
            console.print(f"\n[bold]{heading}[/bold]")
        for kind in kinds:
            console.print(f"  {found.counts[kind]:,}  {known[kind]}", markup=False)
            for name in found.examples[kind][:SHOWN_NAMES]:
                console.print(f"      {shortened(printable(name), width=160)}", markup=False)
    said = found.counts or found.ignored or found.empty or found.missing
    if not said and not any(part.met for part in found.held):
        console.print("Nothing to report: every image can be used.")
