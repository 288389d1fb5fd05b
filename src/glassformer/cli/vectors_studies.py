"""`glassformer vectors evaluate`, `map`, `over-time`, `senses`: measuring and looking at word vectors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer import limits
from glassformer.cli.embedding import encoder_of, matrix_view
from glassformer.cli.outputs import check_new_file
from glassformer.cli.word_vectors import Json, VectorsFile, number_table, open_vectors, show_json, words_or_lines
from glassformer.errors import SettingsError
from glassformer.printable import counted, printable

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder
    from glassformer.vectors.over_time import Move, OverTime
    from glassformer.vectors.senses import SensesFound
    from glassformer.vectors.settings import VectorSettings
    from glassformer.vectors.word_tests import AnalogyScores, PairScores

EVALUATE_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors evaluate corpus.vec questions-words.txt wordsim353.tsv
      [dim]analogies (four words per line, ": name" begins a category) and rated pairs (two words and a number)[/dim]

  glassformer vectors evaluate glove.txt.gz questions-words.txt --json

Questions with a word that has no vector are counted, not hidden.
"""
MAP_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors map corpus.vec --out map.html
      [dim]the 500 most frequent words, on one page without a network: search, zoom, neighbours[/dim]

  glassformer vectors map corpus.vec king queen man woman paris france --out few.html --method pca

  glassformer vectors map runs/demo --out demo.html --most 1000
"""
OVER_TIME_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors over-time speeches.tsv --columns text,year --every 50
      [dim]one space per 50 years, turned onto each other; the words that moved most, with their company[/dim]

  glassformer vectors over-time speeches.tsv --columns 5,1 --starts 1790,1865,1945 --word nuclear --word gay

  glassformer vectors over-time 1900s.txt 1950s.txt 2000s.txt --json > moved.json
      [dim]one file per period, one text per line[/dim]

Shuffled periods are the control: a word is only named if it moved further than words as frequent do there.
"""
SENSES_EXAMPLES = """
[bold]Examples[/bold]

  glassformer vectors senses
      [dim]apple in 9,000 sentences about fruit and 1,000 about technology: [.9 .1], counted, and trained[/dim]

  glassformer vectors senses --sentences 5000,5000

  glassformer vectors senses --model models/minilm
      [dim]and beside it the contextual vectors of a model, which differ from sentence to sentence[/dim]
"""
APPLES = (
    "An apple a day keeps the doctor away.",
    "The apple is healthy.",
    "An apple is better than an orange.",
    "Apple makes great phones.",
)


def add_to(group: typer.Typer) -> None:
    group.command(epilog=EVALUATE_EXAMPLES)(evaluate)
    group.command("map", epilog=MAP_EXAMPLES)(draw_map)
    group.command("over-time", epilog=OVER_TIME_EXAMPLES)(over_time)
    group.command(epilog=SENSES_EXAMPLES)(senses)


# evaluate


def evaluate(
    file: VectorsFile,
    tests: Annotated[list[Path], typer.Argument(metavar="TEST...", help="Files of analogies or of rated pairs.")],
    among: Annotated[
        int, typer.Option(min=1, max=limits.WORD_ROWS, help="Analogies: look only at this many words, the first.")
    ] = 300_000,
    json_: Json = False,
) -> None:
    """Measure word vectors: analogies by category, and correlation with ratings of people."""
    from glassformer.vectors import word_tests

    read = [
        (path, word_tests.read_analogies(path) if word_tests.is_analogies(path) else word_tests.read_pairs(path))
        for path in tests
    ]
    vectors = open_vectors(file)
    for path, test in read:
        if word_tests.is_analogies(path):
            show_analogies(path, word_tests.analogy_scores(vectors, test, among=among), as_json=json_)  # type: ignore[arg-type]
        else:
            show_pairs(path, word_tests.pair_scores(vectors, test), as_json=json_)  # type: ignore[arg-type]


def show_analogies(path: Path, found: AnalogyScores, *, as_json: bool) -> None:
    from rich.console import Console

    if as_json:
        show_json({"test": str(path), "kind": "analogies", **asdict(found)})
        return
    typer.echo(f"{printable(str(path))}: analogies; right if d is nearest to b - a + c (3CosAdd)")
    typer.echo("known: questions whose four words have vectors; score: the share of them that is right")
    rows = []
    for one in (*found.categories, found.total):
        score = one.score
        shown = ("-", "") if score is None else (f"{score.value:.1f}%", f"{score.low:.1f} to {score.high:.1f}")
        rows.append(
            (one.name, [*shown, f"{one.right:,}", f"{one.answered:,}", f"{one.questions:,}", f"{one.of_all:.1f}%"])
        )
    columns = ["score", "95% interval", "right", "known", "all", "of all"]
    Console(highlight=False).print(number_table([name for name, _ in rows], columns, [cells for _, cells in rows]))
    show_missing(found.missing)


def show_pairs(path: Path, found: PairScores, *, as_json: bool) -> None:
    if as_json:
        show_json({"test": str(path), "kind": "pairs", **asdict(found)})
        return
    score = found.score
    shown = (
        "-" if score is None else f"{score.name} {score.value:.3f} (95% interval {score.low:.3f} to {score.high:.3f})"
    )
    typer.echo(f"{printable(str(path))}: {shown}; {found.rated:,} of {found.pairs:,} pairs have vectors")
    show_missing(found.missing)


def show_missing(missing: list[str]) -> None:
    if missing:
        some = ", ".join(map(printable, missing[:8])) + (", ..." if len(missing) > 8 else "")
        typer.echo(f"  {counted(len(missing), 'word')} without a vector: {some}")


# map


def draw_map(
    file: VectorsFile,
    out: Annotated[Path, typer.Option(help="A new file for the page.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]...", help="The words to draw. Default: the most frequent; -: stdin."),
    ] = None,
    most: Annotated[int, typer.Option(min=3, max=20_000, help="How many of the most frequent words.")] = 500,
    method: Annotated[
        str, typer.Option(help="pca (keeps large distances), tsne (keeps neighbours; needs scikit-learn) or both.")
    ] = "both",
    seed: Annotated[int, typer.Option(min=0, max=limits.SEED, help="Seed of t-SNE.")] = 1,
    json_: Json = False,
) -> None:
    """Draw words in two dimensions, as a page with search and zoom that works offline."""
    from glassformer.cli.display import StageDisplay
    from glassformer.vectors.map_page import render_map, word_map
    from glassformer.vectors.projection import EXTRA, has_tsne

    check_new_file(out)
    vectors = open_vectors(file)
    chosen = [word for line in words_or_lines(words) for word in line.split()] if words else []
    with StageDisplay() as display:
        if method == "both" and not has_tsne():
            display.on_stage(f"PCA only; t-SNE, which keeps neighbours, needs: {EXTRA}")
        elif method != "pca":
            display.on_stage("t-SNE: about 10 s for 1,000 words")
        drawn = word_map(
            vectors, words=chosen, most=most, method=method, seed=seed, title=f"Words of {Path(file).name}"
        )
    out.write_text(render_map(drawn), encoding="utf-8")
    if json_:
        show_json(drawn.to_dict())
    kept = ", ".join(f"{one.name} keeps {one.kept:.0%} of the nearest words" for one in drawn.layouts)
    note = f" Left out: {drawn.left_out:,} that are no words or have a vector of 0." if drawn.left_out else ""
    typer.echo(f"{out}: {counted(len(drawn.words), 'word')}. {kept}.{note}", err=True)


# over-time


def over_time(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Tables with a column of years, or one text file per period.")
    ],
    columns: Annotated[
        str | None, typer.Option(metavar="TEXT,YEAR", help="Tables: the columns, by name or number.")
    ] = None,
    every: Annotated[int | None, typer.Option(min=1, max=10_000, help="Tables: years per period.")] = None,
    starts: Annotated[
        str | None,
        typer.Option(metavar="YEAR,...", help="Tables: the first year of each period. Default: four periods."),
    ] = None,
    word: Annotated[list[str] | None, typer.Option(help="Show this word, moved or not. Repeatable.")] = None,
    top: Annotated[int, typer.Option(min=1, max=limits.TOKENS, help="How many words to show.")] = 20,
    method: Annotated[str, typer.Option(metavar="skip-gram|cbow|ppmi", help="How vectors are made.")] = "skip-gram",
    width: Annotated[int, typer.Option(min=1, max=limits.WORD_WIDTH, help="Numbers per vector.")] = 50,
    least: Annotated[
        int,
        typer.Option(
            min=1, max=limits.TOKENS_COUNTED, help="Compare words this frequent in the first and last period."
        ),
    ] = 50,
    epochs: Annotated[int | None, typer.Option(min=1, max=limits.EPOCHS, help="Passes over the text.")] = None,
    shuffles: Annotated[
        int,
        typer.Option(min=0, max=limits.SHUFFLES, help="Controls with shuffled periods; 0 is fast and shows no chance."),
    ] = 3,
    seed: Annotated[int, typer.Option(min=0, max=limits.SEED, help="Seed of all random numbers.")] = 1,
    threads: Annotated[int, typer.Option(min=1, max=limits.THREADS, help="Threads; one is reproducible.")] = 1,
    json_: Json = False,
) -> None:
    """Find words whose company changed between periods, with shuffled periods as the control."""
    from glassformer.cli.display import StageDisplay
    from glassformer.config import check_arguments
    from glassformer.vectors import over_time as study
    from glassformer.vectors.dated import dated_documents
    from glassformer.vectors.settings import VectorSettings

    given: dict[str, Any] = {"method": method, "width": width, "epochs": epochs, "seed": seed}
    given |= {"threads": threads}
    check_arguments(VectorSettings, given)
    settings: VectorSettings = VectorSettings(**given)
    documents, names = dated_documents(files, columns=columns, starts=years_in(starts), every=every)
    with StageDisplay() as display:
        display.on_stage(f"{len(documents):,} texts in {len(names)} periods: {', '.join(names)}")
        found = study.over_time(documents, names, settings, least=least, shuffles=shuffles, report=display.on_count)
    if json_:
        show_json(study.as_data(found, top=None))
    else:
        show_moves(found, top, word or [])


def years_in(starts: str | None) -> list[int] | None:
    if starts is None:
        return None
    try:
        return [int(part) for part in starts.split(",")]
    except ValueError:
        raise SettingsError(f"--starts {starts}: give years with commas between: --starts 1790,1865,1945.") from None


def show_moves(found: OverTime, top: int, asked: list[str]) -> None:
    clear = [one for one in found.moves if one.is_clear]
    typer.echo(f"{found.compared:,} words are frequent in the first and last period. {judgement(found, len(clear))}\n")
    by_word = {one.word: one for one in found.moves}
    missing = [word for word in asked if word.lower() not in by_word]
    shown = [by_word[word.lower()] for word in asked if word.lower() in by_word] or (clear or found.moves)[:top]
    for one in shown:
        show_move(one, found)
    for word in missing:
        typer.echo(f"{printable(word)}: too rare in one of the periods to be compared.")


def judgement(found: OverTime, clear: int) -> str:
    if not found.shuffles:
        return "Without --shuffles nothing says which changes are more than chance."
    control = f" In shuffled periods the same test names {found.control:.1f}." if found.shuffles > 1 else ""
    if clear:
        return f"{clear:,} of them moved more than chance explains (5% false findings accepted).{control}"
    return f"None of them moved more than chance explains; these moved most.{control}"


def show_move(one: Move, found: OverTime) -> None:
    chance = "" if one.adjusted != one.adjusted else f", chance {one.chance:.3f}, adjusted {one.adjusted:.3f}"
    typer.echo(f"{printable(one.word)}  moved {one.change:.2f}{chance}")
    for name, count, near in zip(found.periods, one.counts, one.neighbours, strict=True):
        typer.echo(f"  {printable(name):<12} {count:>7,} times   {', '.join(map(printable, near))}")


# senses


def senses(
    sentences: Annotated[
        str, typer.Option(metavar="FRUIT,TECHNOLOGY", help="How many sentences have apple in each sense.")
    ] = "9000,1000",
    seed: Annotated[int, typer.Option(min=0, max=limits.SEED, help="Seed of the sentences and the training.")] = 1,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A model folder: also show its contextual vectors of apple.")
    ] = None,
    json_: Json = False,
) -> None:
    """Show that a static vector is the average of a word's senses; contextual vectors keep them apart."""
    from glassformer.vectors import senses as study

    first, second = two_counts(sentences)
    encoder = None if model is None else encoder_of(model, "cpu")  # refused before the work
    found = study.senses(first, second, seed=seed)
    if json_:
        show_json(asdict(found))
    else:
        show_senses(found)
    if encoder is None:
        typer.echo("\nContextual vectors: glassformer vectors senses --model MODEL, or glassformer context.", err=json_)
        return
    show_contexts(encoder, as_json=json_)


def two_counts(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() and 1 <= int(part) <= 1_000_000 for part in parts):
        raise SettingsError(f"--sentences {text}: give two numbers from 1 to 1,000,000: --sentences 9000,1000.")
    return int(parts[0]), int(parts[1])


def show_senses(found: SensesFound) -> None:
    fruit, technology = found.sentences
    typer.echo(f"apple in {fruit:,} sentences about fruit and {technology:,} about technology (generated)\n")
    rows = [
        ("weighted mean of [1 0] and [0 1]", *found.mean, 1.0),
        ("counted: p(context | apple)", *found.counted.shares, found.counted.cosine),
        ("trained: skip-gram, width 50", *found.trained.shares, found.trained.cosine),
    ]
    typer.echo(f"  {'':<36}fruit  technology   cosine of the sum with apple")
    for name, a, b, cosine in rows:
        typer.echo(f"  {name:<36}{a:5.2f}  {b:10.2f}   {cosine:.3f}")
    typer.echo(
        "\nCounts are averages exactly. Skip-gram is close to the logarithm of counts, so the rarer sense weighs more "
        "than its share.\n"
        f"Trained vectors, cosine: apple and its fruit sense {found.cosines[0]:.2f}, apple and its technology sense "
        f"{found.cosines[1]:.2f},\nthe two senses with each other {found.senses_cosine:.2f}. "
        f"Nearest to apple: {', '.join(found.neighbours)}."
    )


def show_contexts(encoder: TextEncoder, *, as_json: bool) -> None:
    from rich.console import Console

    from glassformer.tasks.context import context

    found = context(encoder, APPLES, "apple")
    if as_json:
        show_json(found.to_dict())
        return
    typer.echo("\nContextual vectors: apple has another vector in each sentence. Cosines at the last layer:\n")
    for number, text in enumerate(found.sentences, 1):
        typer.echo(f"  {number}  {text}")
    typer.echo()
    Console(highlight=False).print(matrix_view(found))
