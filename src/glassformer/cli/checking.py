"""Examining data before training on it: `glassformer doctor` and `glassformer clean`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.examining import DoctorTask, examine_other, refuse_for_pairs_only
from glassformer.cli.multi_value import several_values
from glassformer.cli.outputs import check_new_file
from glassformer.errors import SettingsError

if TYPE_CHECKING:
    from glassformer.data.checks.findings import Findings
    from glassformer.data.readers.inputs import Input

DOCTOR_EXAMPLES = """
[bold]Examples[/bold]

  glassformer doctor train.en train.de
      [dim]shows what these files contain, what is wrong with them, and what each filter would drop[/dim]

  glassformer doctor train.en train.de --valid val.en val.de --test test.en test.de
      [dim]also shows which held-out sentences are in the training data[/dim]

  glassformer doctor 'corpus/*.tmx' --languages en,de

  glassformer doctor corpus.csv --columns English,German --json | jq .filters

  glassformer doctor train.en train.de --report examined.html
      [dim]also writes a page for a browser, with charts of the lengths[/dim]

  glassformer doctor --task classify train.tsv --columns text,label --valid valid.tsv
      [dim]labelled texts: the balance of the labels, duplicates, conflicting labels, malformed rows[/dim]

  glassformer doctor --task classify photos/ --test more-photos/
      [dim]images: sizes, classes, unreadable files, duplicates, and leaks to the test images[/dim]

  glassformer doctor --task generate books/
      [dim]texts for a language model[/dim]

  glassformer doctor --task tag train.conll --test test.conll
      [dim]a label for each word: entities by type, invalid sequences, sentences that are also in the test file[/dim]

  glassformer doctor --task summarise train.jsonl --valid dev.jsonl
      [dim]inputs and outputs of a text-to-text model: their lengths, copies, what is also held out[/dim]

  glassformer doctor --task answer train-v2.0.json --test dev-v2.0.json
      [dim]questions and answers: answers that are not in their passage, wrong offsets, passages in both parts[/dim]
"""
CLEAN_EXAMPLES = """
[bold]Examples[/bold]

  glassformer clean train.en train.de --out clean/train
      [dim]writes clean/train.en, clean/train.de and clean/train.dropped.jsonl, with the recommended filters[/dim]

  glassformer clean train.en train.de --out clean/train --realign
      [dim]a line is missing somewhere: finds where, and pairs the lines after it again[/dim]

  glassformer clean corpus.tmx --languages en,de --out corpus.tsv.gz

  glassformer clean train.en train.de --out clean/train --filters duplicate,control,placeholders

  glassformer clean train.en train.de --out clean/train --valid val.en val.de
      [dim]also drops pairs that are in the held-out sentences[/dim]
"""

Files = Annotated[
    list[str],
    typer.Argument(
        help="Two aligned text files, or TSV, CSV, JSONL, .po, TMX; '-' is a TSV on stdin. Patterns and compressed "
        "files are allowed.",
        metavar="FILES...",
    ),
]
DoctorFiles = Annotated[
    list[str],
    typer.Argument(
        help="Pairs: two aligned text files, or TSV, CSV, JSONL, .po, TMX; '-' is a TSV on stdin. Labelled texts: TSV, "
        "CSV, JSONL, or one text file per class. Texts: text files, folders, tables. Questions: SQuAD files, "
        "JSONL, TSV, CSV. Patterns and compressed files are allowed.",
        metavar="FILES...",
    ),
]
Valid = Annotated[list[str] | None, typer.Option(metavar="FILES...", help="Held-out files to compare with.")]
Test = Annotated[list[str] | None, typer.Option(metavar="FILES...", help="Test files to compare with.")]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B", help="Tables: the two columns, by name or number (from 1).")
]
DoctorColumns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Tables: the columns, by name or number (from 1): source,target; text,label or a,b,label with --task "
        "classify; text with --task generate or fill; question,passage,answer with --task answer.",
    ),
]
Languages = Annotated[str | None, typer.Option(metavar="EN,DE", help="The two languages, as the files name them.")]
TaskOption = Annotated[
    DoctorTask,
    typer.Option(
        help="What the data is for: sentence pairs, labelled texts, texts, labels of words, questions, images."
    ),
]
Tokens = Annotated[
    Path | None, typer.Option(metavar="MODEL", help="Questions: also check the answers against its tokens.")
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON instead.")]


def add_to(app: typer.Typer) -> None:
    command = several_values({"--valid", "--test"})
    app.command(epilog=DOCTOR_EXAMPLES, cls=command)(doctor)
    app.command(epilog=CLEAN_EXAMPLES, cls=command)(clean)


def doctor(
    files: DoctorFiles,
    task: TaskOption = DoctorTask.TRANSLATE,
    valid: Valid = None,
    test: Test = None,
    columns: DoctorColumns = None,
    languages: Languages = None,
    tokens: Tokens = None,
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Also write a page for a browser: a new .html file.")
    ] = None,
    json_: Json = False,
) -> None:
    """Examine data before training on it. Changes nothing."""
    if task is not DoctorTask.TRANSLATE:
        refuse_for_pairs_only(task, languages=languages, report=report)
        examine_other(task, files, {"valid": valid or [], "test": test or []}, columns, tokens, as_json=json_)
        return
    from glassformer.cli.display import reading
    from glassformer.data.checks.doctor import examine
    from glassformer.data.readers.inputs import gather

    inputs = gather(files)
    chosen, named = two("--columns", columns), two("--languages", languages)
    if report is not None:
        check_new_file(report)
    with reading("examining") as progress:
        findings = examine(
            inputs,
            columns=chosen,
            languages=named,
            valid=gather(valid) if valid else [],
            test=gather(test) if test else [],
            progress=progress,
        )
    if report is not None:
        write_page(findings, inputs, report)
    if json_:
        typer.echo(json.dumps(findings.to_dict(), ensure_ascii=False))
        return
    options = given_options(columns=columns, languages=languages, valid=valid, test=test)
    show_examination(findings, [*files, *options], suggested_output(inputs))
    if report is not None:
        typer.echo(f"\nWritten: {report}")


def write_page(findings: Findings, inputs: Sequence[Input], path: Path) -> None:
    """Writes the examination as a page, complete or not at all."""
    from glassformer.data.checks.writing import NewFiles
    from glassformer.explain.data_report import examination_report
    from glassformer.explain.page import render_report

    page = render_report(examination_report(findings, [file for one in inputs for file in one.paths]))
    with NewFiles([path]) as (file,):
        file.write(page)


def show_examination(findings: Findings, arguments: Sequence[str], out: str) -> None:
    from glassformer.cli.findings_view import findings_console, show_findings
    from glassformer.data.checks.tally import ICONV

    console = findings_console()
    show_findings(findings, console)
    left = findings.used if findings.left is None else findings.left
    if not findings.found_slips and findings.units == left:
        return
    if any(finding.kind == "encoding" for finding in findings.stops):
        console.print(f"\n{ICONV}", markup=False)
    option = ["--realign"] if findings.found_slips else ["--trim"] if "no partner" in findings.dropped else []
    command = shlex.join(["glassformer", "clean", *arguments, "--out", out, *option])
    console.print("\nTo pair the lines again:" if findings.found_slips else "\nTo continue without them:")
    console.print(f"  {command}", markup=False)


def clean(
    files: Files,
    out: Annotated[
        str,
        typer.Option(
            help="A new .tsv or .jsonl (.gz, .xz: compressed), or the prefix of two new files: clean/train.",
            metavar="OUT",
        ),
    ],
    filters: Annotated[
        str, typer.Option(metavar="A,B", help="Which filters drop a pair; or 'recommended', 'all', 'none'.")
    ] = "recommended",
    valid: Valid = None,
    test: Test = None,
    columns: Columns = None,
    languages: Languages = None,
    trim: Annotated[bool, typer.Option("--trim", help="Drop the extra lines at the end of the longer file.")] = False,
    realign: Annotated[
        bool,
        typer.Option(
            "--realign", help="Pair the lines again where two files are out of step; drop lines without a partner."
        ),
    ] = False,
    json_: Json = False,
) -> None:
    """Write the pairs worth training on to new files, with a list of what was dropped and why."""
    from glassformer.cli.display import reading
    from glassformer.data.checks.cleaning import clean as clean_corpus
    from glassformer.data.checks.cleaning import destination_of
    from glassformer.data.readers.inputs import gather

    inputs = gather(files)
    chosen, named = two("--columns", columns), two("--languages", languages)
    destination = destination_of(out, inputs, languages=named)
    with reading("cleaning") as progress:
        findings = clean_corpus(
            inputs,
            out,
            filters=[name.strip() for name in filters.split(",")],
            columns=chosen,
            languages=named,
            valid=gather(valid) if valid else [],
            test=gather(test) if test else [],
            trim=trim,
            realign=realign,
            progress=progress,
        )
    written = [str(path) for path in (*destination.paths, destination.dropped)]
    if json_:
        typer.echo(json.dumps({"written": written, **findings.to_dict()}, ensure_ascii=False))
        return
    from glassformer.cli.findings_view import findings_console, show_cleaning

    console = findings_console()
    show_cleaning(findings, console)
    console.print(f"Written: {', '.join(written)}", markup=False)


def two(option: str, value: str | None) -> tuple[str, str] | None:
    """The two names of an option such as --languages en,de."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    if len(parts) != 2 or not all(parts):
        raise SettingsError(f"{option} {value}: got {len(parts)} names, need two separated by a comma: source,target.")
    return parts[0], parts[1]


def given_options(
    *, columns: str | None, languages: str | None, valid: Sequence[str] | None, test: Sequence[str] | None
) -> list[str]:
    """Options of doctor that clean needs too."""
    single = {"--columns": columns, "--languages": languages}
    several = {"--valid": valid, "--test": test}
    words = [word for name, value in single.items() if value for word in (name, value)]
    return words + [word for name, values in several.items() if values for word in (name, *values)]


def suggested_output(inputs: Sequence[Input]) -> str:
    """A name for the clean corpus, in the current folder."""
    from glassformer.data.readers.naming import unpacked_name

    path = inputs[0].paths[0]
    stem = Path(unpacked_name(path)).stem if str(path) != "-" else "corpus"
    if inputs[0].kind == "aligned":
        return f"clean/{stem}"
    return f"{stem}.clean.{'jsonl' if inputs[0].kind == 'jsonl' else 'tsv'}"
