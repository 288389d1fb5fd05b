"""The output of `glassformer doctor` for inputs with texts to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from glassformer.data.checks.written_findings import WrittenFindings


def show_written_findings(findings: WrittenFindings, console: Console) -> None:
    """Counts, the sizes of each task, and findings."""
    from glassformer.cli.findings_view import show_rest, unusable
    from glassformer.printable import counted

    console.print(f"[bold]{counted(findings.used, 'example')}[/bold]{unusable(findings)}")
    for part in findings.held:
        console.print(f"  {part}")
    if findings.tasks:
        console.print()
        console.print(task_table(findings))
    show_rest(findings, console)


def task_table(findings: WrittenFindings) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    names = ("task", "examples", "outputs", "words of an input: mean", "most", "of an output: mean", "most")
    for number, name in enumerate(names):
        table.add_column(name, justify="right" if number else "left")
    for task, one in findings.tasks.items():
        lengths = (
            f"{one.mean_input:.0f}",
            f"{one.longest_input:,}",
            f"{one.mean_output:.0f}",
            f"{one.longest_output:,}",
        )
        table.add_row(escape(task or "-"), f"{one.examples:,}", f"{one.outputs:,}", *lengths)
    return table
