"""What doctor and clean tell on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from glassformer.data.checks.blocks import SIDES
from glassformer.data.checks.filters import FILTERS
from glassformer.data.checks.findings import DROP, NOTE, STOP, Example, Finding, Findings
from glassformer.data.checks.printable import printable, shortened

SHOWN_EXAMPLES = 3
HEADINGS = {
    STOP: "[bold red]To mend before training[/bold red]",
    DROP: "[bold yellow]Pairs better left out[/bold yellow]",
    NOTE: "[bold]Worth knowing[/bold]",
}


def findings_console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def show_findings(findings: Findings, console: Console) -> None:
    """The head, what was found with the most serious first, and what each filter would drop."""
    for line in head_lines(findings):
        console.print(line)
    found = findings.ordered()
    if not found:
        console.print("Nothing to report: every unit is a pair that can be used, and no filter would drop one.")
        return
    for severity, heading in HEADINGS.items():
        chosen = [finding for finding in found if finding.severity == severity]
        if chosen:
            console.print(f"\n{heading}")
        for finding in chosen:
            for line in finding_lines(finding, findings.units):
                console.print(line)
    if findings.examined:
        console.print()
        console.print(filter_table(findings))
        silent = [name for name in FILTERS if name not in findings.hits and (name != "overlap" or findings.held)]
        if silent:
            console.print(f"Nothing for {', '.join(silent)}.")


def head_lines(findings: Findings) -> Iterator[str]:
    dropped = findings.units - findings.used
    rest = f" of {findings.units:,} units; {dropped:,} cannot be used" if dropped else ""
    yield f"[bold]{findings.used:,} pairs[/bold]{rest}"
    for side, name in enumerate(SIDES):
        lengths = findings.lengths[side]
        known = (findings.languages[side] or "", " and ".join(sorted(findings.profile.scripts[side])))
        told = ", ".join(escape(part) for part in known if part)
        yield f"  {name}  {lengths.total_characters:,} characters, {lengths.total_words:,} words  [dim]{told}[/dim]"
    if findings.repeated_sources:
        yield f"  {findings.repeated_sources:,} sources stood before with another target"
    for part in findings.held:
        yield (
            f"  {part.name}: {part.pairs:,} pairs, of which {part.sources_in_train:,} have a source that also stands "
            f"here, {part.pairs_in_train:,} with the same target"
        )


def finding_lines(finding: Finding, units: int) -> Iterator[str]:
    part = "" if finding.kind == "slip" else f" ({share(finding.count, units)})"  # one slip spoils many lines
    yield f"  [bold]{escape(finding.kind)}[/bold]  {finding.count:,}{part}  {finding.help}"
    for example in finding.examples[:SHOWN_EXAMPLES]:
        yield from example_lines(example)


def example_lines(example: Example) -> Iterator[str]:
    yield f"    [dim]{escape(printable(str(example.problem)))}[/dim]"
    for text in (example.source, example.target):
        if text:
            yield f"      {escape(shortened(printable(text), width=100))}"


def filter_table(findings: Findings) -> Table:
    """What every filter would drop by itself, and what all recommended ones would leave."""
    table = Table(title="What each filter would drop", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("filter")
    table.add_column("alone", justify="right")
    table.add_column("share", justify="right")
    table.add_column("what")
    for name, one in FILTERS.items():
        if name in findings.hits:
            count = findings.hits[name].count
            mark = "" if one.recommended else " (not recommended)"
            table.add_row(name, f"{count:,}", share(count, findings.used), escape(one.help) + mark)
    left = findings.left or 0
    table.add_row("[bold]left[/bold]", f"{left:,}", share(left, findings.used), "after all recommended ones")
    return table


def show_cleaning(findings: Findings, console: Console) -> None:
    console.print(f"[bold]{findings.used:,} pairs[/bold] kept of {findings.units:,} units")
    for reason, count in findings.dropped.most_common():
        known = findings.problems.get(reason) or findings.hits[reason]
        console.print(
            f"  {count:,} ({share(count, findings.units)}) dropped: [bold]{escape(reason)}[/bold], {known.help}"
        )
    for slip in findings.found_slips[:3]:
        console.print(f"[bold red]CAREFUL[/bold red], the files go out of step: {escape(str(slip))}. Use --realign")
    if findings.flattened:
        console.print(f"  {findings.flattened:,} kept with a space for each line break or tab inside")


def share(count: int, total: int) -> str:
    """A part in percent, never rounded to all or nothing."""
    part = 100 * count / total if total else 0.0
    if count in (0, total):
        return f"{part:.0f}%"
    if part < 0.01:
        return "under 0.01%"
    return f"{part:.2g}%" if part < 10 else f"{min(part, 99.9):.1f}%"
