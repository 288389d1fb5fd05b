"""The output of `doctor` and `clean` on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from glassformer.data.checks.answer_findings import AnswerFindings
from glassformer.data.checks.blocks import SIDES
from glassformer.data.checks.filters import FILTERS
from glassformer.data.checks.findings import Findings
from glassformer.data.checks.held_texts import FOLDED, held_sentence
from glassformer.data.checks.label_findings import LabelFindings, ScoreFindings, missing_lines
from glassformer.data.checks.tag_findings import TagFindings
from glassformer.data.checks.tally import DROP, ICONV, NOTE, STOP, Example, Finding, Tally
from glassformer.data.checks.text_findings import TextFindings
from glassformer.data.checks.written_findings import WrittenFindings
from glassformer.data.sources.tag_reports import NAMES
from glassformer.printable import counted, printable, shortened

SHOWN_EXAMPLES = 3
SHOWN_LABELS = 20
HEADINGS = {
    STOP: "[bold red]To fix before training[/bold red]",
    DROP: "[bold yellow]Pairs better left out[/bold yellow]",
    NOTE: "[bold]Worth knowing[/bold]",
}
UNIT_HEADINGS = HEADINGS | {DROP: "[bold yellow]Left out of training[/bold yellow]"}


def findings_console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def show_findings(findings: Findings, console: Console) -> None:
    """Counts, findings with the most serious first, and what each filter would drop."""
    for line in head_lines(findings):
        console.print(line)
    if not findings.ordered():
        console.print("Nothing to report: every unit is a usable pair, and no filter would drop one.")
        return
    show_sorted(findings, console, HEADINGS)
    if findings.examined:
        console.print()
        console.print(filter_table(findings))
        silent = [name for name in FILTERS if name not in findings.hits and (name != "overlap" or findings.held)]
        if silent:
            console.print(f"Nothing to drop for {', '.join(silent)}.")


def show_sorted(findings: Tally, console: Console, headings: dict[str, str]) -> None:
    """Every finding with some examples, the most serious first."""
    found = findings.ordered()
    for severity, heading in headings.items():
        chosen = [finding for finding in found if finding.severity == severity]
        if chosen:
            console.print(f"\n{heading}")
        for finding in chosen:
            for line in finding_lines(finding, findings.units):
                console.print(line)


def show_answer_findings(findings: AnswerFindings, console: Console) -> None:
    """Counts and findings of questions."""
    articles = f" of {counted(len(findings.titles), 'article')}" if findings.titles else ""
    console.print(
        f"[bold]{counted(findings.used, 'question')}[/bold] on {counted(findings.passages, 'passage')}{articles}"
        f"{unusable(findings)}"
    )
    if findings.used:
        mean = findings.characters / max(1, findings.passages)
        console.print(f"  passages: {mean:,.0f} characters on average, {findings.longest:,} in the longest")
        rate = share(findings.impossible, findings.used)
        console.print(f"  {findings.impossible:,} ({rate}) without an answer in their passage")
    for part in findings.held:
        console.print(f"  {part}")
    show_rest(findings, console)


def show_text_findings(findings: TextFindings, console: Console) -> None:
    """Counts and findings of texts for a language model."""
    console.print(
        f"[bold]{counted(findings.characters, 'character')}[/bold], {counted(findings.words, 'word')} in "
        f"{counted(findings.used, findings.unit)} of {counted(findings.files, 'file')}{unusable(findings)}"
    )
    for part in findings.held:
        console.print(f"  {part}")
    if findings.skipped_files:
        names = ", ".join(findings.skipped_files[:SHOWN_EXAMPLES])
        more = ", ..." if len(findings.skipped_files) > SHOWN_EXAMPLES else ""
        console.print(
            f"  left out, because their names are not those of texts: {len(findings.skipped_files):,} ({names}{more})",
            markup=False,
        )
    show_rest(findings, console)


def show_label_findings(findings: LabelFindings, console: Console) -> None:
    """Counts, the balance of the labels, and findings of labelled examples."""
    labels = findings.balance()
    console.print(
        f"[bold]{counted(findings.used, 'example')}[/bold] with {counted(len(labels), 'label')}, "
        f"{counted(findings.words, 'word')}{unusable(findings)}"
    )
    for part in findings.held:
        console.print(f"  {part}")
    show_missing(findings.missing, console)
    if labels:
        console.print()
        console.print(label_table(labels))
    show_rest(findings, console)


def show_missing(missing: Mapping[str, Sequence[str]], console: Console) -> None:
    """Warns of the labels that a held-out part does not have."""
    for line in missing_lines(missing):
        console.print(f"  {line}", markup=False)


def show_tag_findings(findings: TagFindings, console: Console) -> None:
    """Counts, types or labels, and findings of tagged sentences."""
    documents = f" of {counted(findings.documents, 'document')}" if findings.documents else ""
    console.print(
        f"[bold]{counted(findings.used, 'sentence')}[/bold]{documents}, {counted(findings.words, 'word')}, the longest "
        f"sentence has {findings.longest:,}{unusable(findings)}"
    )
    for part in findings.held:
        console.print(f"  {part}")
    if found := findings.counted():
        names = ("type", "entities") if findings.has_spans else ("label", "words")
        console.print(f"Labels: {NAMES[findings.scheme]}\n")
        console.print(label_table(found, names))
    show_rest(findings, console)


def show_score_findings(findings: ScoreFindings, console: Console) -> None:
    """Counts, the range of the scores, and findings of scored examples."""
    least, mean, largest = findings.range()
    scores = f" with scores from {least:g} to {largest:g}, on average {mean:.3g}" if findings.used else ""
    words = counted(findings.words, "word")
    console.print(f"[bold]{counted(findings.used, 'example')}[/bold]{scores}, {words}{unusable(findings)}")
    for part in findings.held:
        console.print(f"  {part}")
    show_rest(findings, console)


def show_rest(
    findings: LabelFindings | TextFindings | TagFindings | WrittenFindings | AnswerFindings, console: Console
) -> None:
    if findings.refused and findings.words and not findings.stops:  # without words it is the error message at the end
        console.print(f"\n{HEADINGS[STOP]}")
        console.print(f"  {findings.refused}", markup=False)
    if findings.ordered():
        show_sorted(findings, console, UNIT_HEADINGS)
    elif not findings.refused:
        console.print("Nothing to report: every unit is usable.")
    if any(finding.kind == "encoding" for finding in findings.stops):
        console.print(f"\n{ICONV}", markup=False)


def unusable(findings: Tally) -> str:
    if not findings.lost:
        return ""
    return f"; {findings.lost:,} of {counted(findings.examples_read, 'unit')} {is_or_are(findings.lost)} left out"


def is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def label_table(labels: dict[str, int], names: tuple[str, str] = ("label", "examples")) -> Table:
    """How many examples each label has, the most frequent first."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(names[0])
    table.add_column(names[1], justify="right")
    table.add_column("share", justify="right")
    total = sum(labels.values())
    ordered = sorted(labels, key=lambda label: -labels[label])
    for label in ordered[:SHOWN_LABELS]:
        table.add_row(escape(shortened(printable(label), width=40)), f"{labels[label]:,}", share(labels[label], total))
    if rest := ordered[SHOWN_LABELS:]:
        count = sum(labels[label] for label in rest)
        table.add_row(f"[dim]{len(rest):,} more labels[/dim]", f"{count:,}", share(count, total))
    return table


def head_lines(findings: Findings) -> Iterator[str]:
    rest = f" of {counted(findings.examples_read, 'unit')}; {findings.lost:,} cannot be used" if findings.lost else ""
    yield f"[bold]{counted(findings.used, 'pair')}[/bold]{rest}"
    for side, name in enumerate(SIDES):
        lengths = findings.lengths[side]
        known = (findings.languages[side] or "", " and ".join(sorted(findings.profile.scripts[side])))
        language = ", ".join(escape(part) for part in known if part)
        yield f"  {name}  {lengths.total_characters:,} characters, {lengths.total_words:,} words  [dim]{language}[/dim]"
    if findings.repeated_sources:
        yield f"  {findings.repeated_sources:,} sources were seen before with another target"
    for part in findings.held:
        found = held_sentence(part.name, part.sources_in_train, part.pairs, "pairs", part="source", compared=FOLDED)
        yield f"  {found}{f'; {part.pairs_in_train:,} of them with the same target' if part.sources_in_train else ''}"


def finding_lines(finding: Finding, units: int) -> Iterator[str]:
    part = "" if finding.kind == "slip" else f" ({share(finding.count, units)})"  # one slip affects many lines
    yield f"  [bold]{escape(finding.kind)}[/bold]  {finding.count:,}{part}  {finding.help}"
    for example in finding.examples[:SHOWN_EXAMPLES]:
        yield from example_lines(example)


def example_lines(example: Example) -> Iterator[str]:
    yield f"    [dim]{escape(printable(str(example.problem)))}[/dim]"
    for text in example.texts:
        if text:
            yield f"      {escape(shortened(printable(text), width=100))}"


def filter_table(findings: Findings) -> Table:
    """What each filter alone would drop, and how many pairs all recommended ones together would leave."""
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
    table.add_row("[bold]left[/bold]", f"{left:,}", share(left, findings.used), "after all recommended filters")
    return table


def show_cleaning(findings: Findings, console: Console) -> None:
    console.print(f"[bold]{counted(findings.used, 'pair')}[/bold] kept of {counted(findings.units, 'unit')}")
    for reason, count in findings.dropped.most_common():
        known = findings.problems.get(reason) or findings.hits[reason]
        console.print(
            f"  {count:,} ({share(count, findings.units)}) dropped: [bold]{escape(reason)}[/bold], {known.help}"
        )
    for slip in findings.found_slips[:3]:
        console.print(f"[bold red]Warning[/bold red]: the files are out of step: {escape(str(slip))}. Use --realign")
    if findings.flattened:
        console.print(f"  {findings.flattened:,} kept, with a space in place of each line break or tab")


def share(count: int, total: int) -> str:
    """A share in percent, never rounded to 0% or 100%."""
    part = 100 * count / total if total else 0.0
    if count in (0, total):
        return f"{part:.0f}%"
    if part < 0.01:
        return "under 0.01%"
    return f"{part:.2g}%" if part < 10 else f"{min(part, 99.9):.1f}%"
