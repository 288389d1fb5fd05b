"""Using a run: `glassformer evaluate`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from glassformer import limits
from glassformer.cli.checking import two
from glassformer.cli.outputs import check_new_file
from glassformer.errors import DataError, SettingsError

if TYPE_CHECKING:
    from glassformer.data.settings import DataSettings
    from glassformer.decode import DecodeSettings
    from glassformer.evaluate.metric import Metric
    from glassformer.evaluate.score import Score
    from glassformer.tasks.model import LoadedModel
    from glassformer.tasks.translation.material import Held
    from glassformer.tasks.translation.translator import Translator

M = TypeVar("M", bound="LoadedModel")

EVALUATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer evaluate runs/en-de test.en test.de

  glassformer evaluate runs/en-de test.tsv --json --output translations.txt

  glassformer evaluate runs/en-de test.en test.de --glossary terms.tsv
      [dim]translates with the glossary, and counts how many of its terms were used[/dim]

  glassformer evaluate runs/mood test.tsv --columns text,label
      [dim]a classifier, on labelled texts[/dim]

  glassformer evaluate runs/lm held-out.txt
      [dim]a language model, on texts[/dim]

  glassformer evaluate runs/code 'tests/**/*.py' --parses python --complete-lines 200
      [dim]a language model of code: also samples that parse, and lines that it completes[/dim]

  glassformer evaluate runs/first --corpus phrasebook
      [dim]the test part of the built-in corpus: combinations that training has never seen[/dim]
"""

Run = Annotated[
    str, typer.Argument(help="A run folder, or a translator that `glassformer import` can read.", metavar="RUN")
]
Beam = Annotated[
    int | None,
    typer.Option(min=1, max=limits.HYPOTHESES, help="Beam width; 1 is greedy. Default: the run's own setting."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Tables: the columns, by name or number (from 1): source,target; text,label; a,b,label; text. Default: "
        "those of the training data.",
    ),
]
Languages = Annotated[
    str | None, typer.Option(metavar="EN,DE", help="Translators, TMX and JSON lines: the two languages.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, mps or auto.")]
DecodeSet = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of decode, e.g. decode.alpha=0.6. Repeatable."),
]


def add_to(app: typer.Typer) -> None:
    app.command(epilog=EVALUATE_EXAMPLES)(evaluate)


def load_noting(path: str, kind: type[M] | None = None, device: str = "cpu") -> M:
    """Loads a model of this kind; notes on stderr if its training has not finished."""
    from glassformer.store.run import FINISHED
    from glassformer.tasks.loading import load
    from glassformer.training.machine import keep_freed_memory

    keep_freed_memory()
    found: M = load(path, kind=kind, device=device)
    if found.origin not in ("", FINISHED):
        typer.echo(f"Note: training of {path} has not finished; using its {found.origin}.", err=True)
    return found


def load_translator(run: str, device: str = "cpu") -> Translator:
    from glassformer.tasks.translation.translator import Translator

    return load_noting(run, Translator, device)


def decode_settings(translator: Translator, assignments: list[str]) -> DecodeSettings:
    """The run's own decoding settings with these changes."""
    from glassformer.config import apply_assignments, validate
    from glassformer.decode import DecodeSettings

    tree: dict[str, Any] = {"decode": translator.recipe.decode.model_dump()}
    changed = apply_assignments(tree, assignments)
    if other := sorted(set(changed) - {"decode"}):
        raise SettingsError(f"--set {other[0]}...: only settings of decode can be changed after training.")
    return validate(DecodeSettings, changed["decode"], origin="--set", section="decode")


def evaluate(
    run: Run,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files in the format of the training data. Translators: a source and a reference file, or one file "
            "with both (.tsv, .csv, .jsonl, ...)."
        ),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="Evaluate on the test part of a named corpus instead of files.")
    ] = None,
    columns: Columns = None,
    languages: Languages = None,
    beam: Beam = None,
    set_: DecodeSet = None,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms and how they must be translated.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Also write the predictions to this new file, one per line.")
    ] = None,
    parses: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Language models: the share of samples that parse; python is known."),
    ] = None,
    complete_lines: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.PHRASES,
            help="Language models: complete this many lines of the files from their first halves; exact matches count.",
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON array.")] = False,
    device: Device = "cpu",
) -> None:
    """Evaluate a model on held-out data with the metrics of its task, each with a 95% interval."""
    if output is not None:
        check_new_file(output)
    if not is_translator(run):
        own = {"--corpus": corpus, "--languages": languages, "--beam": beam, "--set": set_, "--glossary": glossary}
        refuse_options(run, own)
        code = (parses, complete_lines)
        evaluate_other(run, files or [], columns=columns, output=output, code=code, as_json=json_, device=device)
        return
    if parses is not None or complete_lines is not None:
        raise SettingsError(f"--parses and --complete-lines are for language models; {run} translates. Leave them out.")
    translator = load_translator(run, device)
    data = translator.recipe.data
    if columns is not None:
        data = data.model_copy(update={"columns": two("--columns", columns)})
    if languages is not None:
        data = data.model_copy(update={"languages": two("--languages", languages)})
    held = evaluation_set(files or [], corpus, data)

    from glassformer.cli.display import counting
    from glassformer.tasks.translation.constraints import Constraints
    from glassformer.tasks.translation.glossary import Glossary

    terms, settings = None if glossary is None else Glossary.read(glossary), decode_settings(translator, set_ or [])

    with counting("translating") as bar:
        task = bar.add_task("", total=len(held.sources))
        advance = lambda count: bar.advance(task, count)  # noqa: E731
        scores, hypotheses = translator.evaluate(
            held.sources,
            held.references,
            beam=beam,
            constraints=Constraints(glossary=terms),
            settings=settings,
            progress=advance,
        )
    if output is not None:
        output.write_text("".join(text.replace("\n", " ") + "\n" for text in hypotheses), encoding="utf-8")
    if json_:
        typer.echo(json.dumps([asdict(score) for score in scores]))
        return
    show_scores(scores)


def show_scores(scores: Sequence[Score], metrics: Sequence[Metric] = ()) -> None:
    """Each score with its interval and, where it has one, its signature; then what they were measured on."""
    from glassformer.evaluate.metric import LOSS, by_key

    known = by_key(metrics)
    width = max(len(score.name) for score in scores)
    for score in scores:
        metric = known.get(score.key)
        shown = metric.shown if metric else "{:.2f}".format
        name = "loss" if score.key == LOSS.key else score.name
        row = f"{name:<{width}} {shown(score.value):>8}"
        if score.low is not None and score.high is not None:
            row += f"   95% interval {shown(score.low)} to {shown(score.high)}"
        typer.echo(row)
        if score.signature:
            typer.echo(f"{'':{width}} {score.signature}")
    typer.echo(scores[0].measured_on)


def show_baselines(baselines: Mapping[str, Mapping[str, float]], metrics: Sequence[Metric]) -> None:
    """The scores of simple methods, one line each."""
    for name, values in baselines.items():
        parts = (f"{one.label} {one.shown(values[one.key])}" for one in metrics if one.key in values)
        typer.echo(f"Beside it, {name}: {', '.join(parts)}")


def is_translator(folder: str) -> bool:
    """Whether a folder has a translator: a run of that task, or an imported one."""
    from glassformer.tasks.folders import FIRST_TASK
    from glassformer.tasks.loading import task_of, translates

    task = task_of(Path(folder))
    return translates(Path(folder)) if task is None else task == FIRST_TASK


def refuse_options(run: str, options: Mapping[str, object]) -> None:
    """Refuses options of translators for a run of another task."""
    from glassformer.tasks.loading import task_of

    task = task_of(Path(run))
    for name, value in options.items():
        if value is not None and task is not None:  # other folders fail later, with their own error
            raise SettingsError(f"{name} is for translators; {run} was trained to {task}. Leave it out.")


def evaluate_other(
    run: str,
    files: list[str],
    *,
    columns: str | None,
    output: Path | None,
    code: tuple[str | None, int | None],
    as_json: bool,
    device: str,
) -> None:
    """The metrics of the run's own task, on the examples of the files; measures of code if `code` asks for them."""
    from glassformer.cli.display import StageDisplay
    from glassformer.tasks.code_measures import code_scores
    from glassformer.tasks.evaluating import evaluate_model, open_trained, read_examples

    trained = open_trained(run, device=device)
    task, setup = trained.task, trained.setup
    parses, completed = code
    if not files:
        raise DataError(f"Give held-out files to measure {run} on, in the format of its training data.")
    if output is not None and all(metric.from_losses for metric in task.metrics_for(setup.recipe)):
        raise SettingsError(f"--output {output}: the metrics of {task.name} need no predictions, so none are made.")
    done = 0
    with StageDisplay() as display:
        examples = read_examples(trained, files, display, columns=columns)

        def count(more: int) -> None:
            nonlocal done
            done += more
            display.on_count(done, len(examples))

        found = evaluate_model(task, setup, trained.user, examples, progress=count)
        scores = found.scores
        if parses is not None or completed is not None:
            display.on_stage("Writing code")
            scores = [*scores, *code_scores(trained.user, examples, parses=parses, lines=completed, progress=count)]
    if output is not None:
        lines = (
            one.replace("\n", " ") if isinstance(one, str) else " ".join(map(str, one)) for one in found.predictions
        )
        output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if as_json:
        beside = [{"baseline": name, **values} for name, values in found.baselines.items()]
        typer.echo(json.dumps([*(asdict(score) for score in scores), *beside]))
        return
    show_scores(scores, found.metrics)
    show_baselines(found.baselines, found.metrics)


def evaluation_set(files: list[str], corpus: str | None, data: DataSettings) -> Held:
    """Sentences and references from files, or the test part of a named corpus in the size that the run trained on."""
    from glassformer.cli.display import StageDisplay
    from glassformer.data.corpora import corpus_pairs
    from glassformer.tasks.translation.material import Held, read_questions

    with StageDisplay() as display:
        if corpus is None:
            return read_questions(files, data, display)
        if files:
            raise DataError(f"Got --corpus {corpus} and files; give one of them.")
        return Held.of(corpus_pairs(corpus, size=data.corpus_size, progress=display.on_count).test)
