"""What pre-training and the auxiliary loss give: table 5 of Radford et al. (2018), in small.

A GPT is pre-trained on texts without labels and fine-tuned on a few labelled ones. Each variant leaves one part out or
has an LSTM instead of the Transformer. All variants have the same vocabulary, data and settings, those of one kind also
the same shape; only what a variant names differs. The scores are measured on a test file that no run has seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from glassformer.errors import SettingsError
from glassformer.evaluate.metric import LOSS
from glassformer.evaluate.score import Score
from glassformer.explain.page import render_report
from glassformer.explain.report import Report, ShownTable
from glassformer.models.registry import build, values_of
from glassformer.store import files
from glassformer.store.bundle import save_bundle
from glassformer.tasks.evaluating import evaluate_model, open_trained, read_examples
from glassformer.tasks.experiments.counted import Counted, refuse_unfinished
from glassformer.tasks.experiments.repeated import Repeated, aligned, shown
from glassformer.tasks.experiments.started import check_same
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.training import train
from glassformer.training.settings import seconds_of
from glassformer.training.task import Listener
from glassformer.training.watching import Silent

PRETRAINING = 0.4  # share of the time for pre-training; the fine-tuning runs share the rest
LONGER = 4  # with a fixed number of updates: how many times more of them pre-training makes
VOCABULARY = 2000  # then; a budget chooses its own
SHORTEST = 12.0  # seconds; a shorter run learns nothing
RATE = 1e-3  # the highest rate of fine-tuning at width 128, for every variant
EPOCHS = 40.0  # the most passes over the labelled texts
AUXILIARY = 0.5  # the weight in the paper
Length = dict[str, Any]  # settings of [train]
PAPER = "Radford et al. 2018, table 5 (average of their tasks)"


@dataclass(frozen=True)
class Variant:
    """One row of the table."""

    key: str
    name: str
    pretrained: bool = True
    auxiliary: float = AUXILIARY
    kind: str = "gpt"
    published: float | None = None


GPT, LSTM, BILSTM = "gpt", "lstm_lm", "bilstm"
VARIANTS = (
    Variant("full", "pre-training and auxiliary loss", published=74.7),
    Variant("no-pretraining", "no pre-training", pretrained=False, published=59.9),
    Variant("no-auxiliary", "no auxiliary loss", auxiliary=0.0, published=75.0),
    Variant("lstm", "LSTM, pre-training and auxiliary loss", kind=LSTM, published=69.1),
    Variant("lstm-no-pretraining", "LSTM, no pre-training", pretrained=False, kind=LSTM),
    Variant("bilstm", "BiLSTM with attention, no pre-training", pretrained=False, auxiliary=0.0, kind=BILSTM),
)


@dataclass(frozen=True)
class TransferData:
    """Files: labelled texts to fine-tune on and to test on, and texts without labels."""

    labelled: tuple[str, ...]
    test: tuple[str, ...]
    texts: tuple[str, ...]
    columns: str | None = None  # of labelled texts
    text_column: str | None = None  # of the texts without labels, if they are in a table


@dataclass(frozen=True)
class TransferResult:
    """The scores of every variant, by metric key, one for each seed."""

    variants: tuple[Variant, ...]
    scores: Mapping[str, Mapping[str, Repeated]]  # variant key -> metric key -> values
    labels: Mapping[str, str]  # metric key -> name
    seeds: int
    tested_on: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        return next(iter(self.labels))


def transfer(
    data: TransferData,
    *,
    out: str | Path,
    budget: str = "10m",
    seeds: int = 3,
    steps: int | None = None,
    size: str | None = None,
    listener: Listener | None = None,
) -> TransferResult:
    """Trains all variants with all seeds in about `budget` and measures them. Finished runs are not repeated.

    With `steps`, every fine-tuning makes this many updates instead, and pre-training four times as many: the result
    does not depend on the machine's speed. A folder that has an experiment with other files or settings is refused.
    """
    listener, folder = listener or Silent(), Path(out)
    runs = [(variant, seed) for seed in range(1, seeds + 1) for variant in VARIANTS]
    kinds = list(dict.fromkeys(variant.kind for variant in VARIANTS if variant.pretrained))
    lengths = lengths_of(budget, len(runs), kinds=len(kinds)) if steps is None else fixed_lengths(steps)
    check_same(folder, files_in(data), options_of(data, budget=budget, seeds=seeds, steps=steps, size=size))
    for kind in kinds:
        pretrain(kind, data, folder, length=lengths[0], size=size, listener=listener)
    found: dict[str, dict[str, list[float]]] = {variant.key: {} for variant in VARIANTS}
    labels: dict[str, str] = {}
    tested = 0
    for number, (variant, seed) in enumerate(runs):
        listener.on_stage(f"Fine-tuning {number + 1} of {len(runs)}: {variant.name}, seed {seed}")
        run = fine_tune(variant, seed, data, folder, length=lengths[1], listener=listener)
        scores, tested = tested_scores(run, data)
        for score in scores:
            labels[score.key] = score.name
            found[variant.key].setdefault(score.key, []).append(score.value)
    listener.on_stage("Writing the page")
    measured = {key: {metric: Repeated(tuple(all_)) for metric, all_ in one.items()} for key, one in found.items()}
    length = {"budget": budget} if steps is None else {"steps": steps}
    result = TransferResult(VARIANTS, measured, labels, seeds, tested, {**length, **facts_of(folder)})
    files.write_atomically(folder / "transfer.html", page(result).encode())
    files.write_atomically(folder / "transfer.json", json.dumps(as_data(result), indent=1).encode())
    return result


def files_in(data: TransferData) -> dict[str, tuple[str, ...]]:
    return {"--data": data.labelled, "--test": data.test, "--texts": data.texts}


def options_of(
    data: TransferData, *, budget: str, seeds: int, steps: int | None, size: str | None
) -> dict[str, str | int | None]:
    """What the runs depend on besides the files. More seeds share a budget; with `steps` they only add runs."""
    return {
        "--columns": data.columns,
        "--text-column": data.text_column,
        "--size": size,
        "--steps": steps,
        "--budget": f"{seconds_of(budget):.0f}s for {seeds} seeds" if steps is None else None,
    }


def lengths_of(budget: str, runs: int, *, kinds: int = 1) -> tuple[Length, Length]:
    """Settings of [train]: how long each pre-training and fine-tuning take. The same command gives the same ones."""
    total, needed = seconds_of(budget), SHORTEST * runs / (1 - PRETRAINING)
    if total < needed:
        raise SettingsError(
            f"--budget {budget}: {runs} fine-tuning runs and the pre-training need at least {-(-needed // 60):.0f}m. "
            "Give more time, or fewer --seeds."
        )
    return {"budget": f"{PRETRAINING * total / kinds:.0f}s"}, {"budget": f"{(1 - PRETRAINING) * total / runs:.0f}s"}


def fixed_lengths(steps: int) -> tuple[Length, Length]:
    return {"steps": LONGER * steps, "batch_tokens": 2048}, {"steps": steps}


# The runs


def pretrained(folder: Path, kind: str) -> Path:
    return folder / ("pretrained" if kind == GPT else f"pretrained-{kind}")


def pretrain(
    kind: str, data: TransferData, folder: Path, *, length: Length, size: str | None, listener: Listener
) -> None:
    """Trains a language model on the texts without labels. The second kind gets the vocabulary size of the first."""
    listener.on_stage(f"Pre-training on the texts without labels: {kind}")
    model = {"kind": kind, **({} if size is None else {"size": size})}
    texts: dict[str, Any] = {"files": list(data.texts)}
    if data.text_column is not None:
        texts["columns"] = data.text_column
    text: dict[str, Any] = {"vocab_size": VOCABULARY} if "steps" in length else {}
    if kind != GPT and (first := load_bundle(pretrained(folder, GPT)).tokenizer) is not None:
        text = {"vocab_size": len(first), "kind": first.kind}
    done = train(
        task="generate",
        data=texts,
        text=text,
        model=model,
        out=pretrained(folder, kind),
        train=length,
        watcher=Counted(listener),
    )
    refuse_unfinished(done)


def twin(folder: Path, seed: int, *, kind: str = GPT) -> Path:
    """The same model without what it has learned: new weights, a function of the seed.

    A BiLSTM cannot be pre-trained as a language model; it gets vocabulary and width of the GPT.
    """
    path = folder / (f"untrained-{seed}" if kind == GPT else f"untrained-{kind}-{seed}")
    if not path.exists():
        bundle = load_bundle(pretrained(folder, GPT if kind == BILSTM else kind))
        values = values_of(bundle.model)
        if kind == BILSTM:
            same = {name: values[name] for name in ("vocabulary", "d", "dropout")}
            values = {"kind": BILSTM, "N": 1, "pooling": "attention", **same}
        torch.manual_seed(seed)
        save_bundle(replace(bundle, kind=kind, model=build(kind, values)), path)
    return path


def fine_tune(
    variant: Variant, seed: int, data: TransferData, folder: Path, *, length: Length, listener: Listener
) -> Path:
    start = pretrained(folder, variant.kind) if variant.pretrained else twin(folder, seed, kind=variant.kind)
    width: int = values_of(load_bundle(start).model)["d"]
    labelled: dict[str, Any] = {"files": list(data.labelled), "valid": "10%"}
    if data.columns is not None:
        labelled["columns"] = data.columns
    settings = {
        "seed": seed,
        "lr": RATE * (128 / width) ** 0.5,
        "epochs": EPOCHS,
        "auxiliary": variant.auxiliary,
        "optimiser": "adamw",
        **length,
    }
    out = folder / f"{variant.key}-{seed}"
    done = train(
        task="classify",
        data=labelled,
        out=out,
        start_from=start,
        train=settings,
        watcher=Counted(listener),
    )
    refuse_unfinished(done)
    return out


def tested_scores(run: Path, data: TransferData) -> tuple[list[Score], int]:
    """The scores of a run on the test files, without the loss, and on how many texts."""
    trained = open_trained(run)
    examples = read_examples(trained, data.test, Silent())
    found = evaluate_model(trained.task, trained.setup, trained.user, examples)
    return [score for score in found.scores if score.key != LOSS.key], len(examples)


def facts_of(folder: Path) -> dict[str, Any]:
    models = {kind: load_bundle(pretrained(folder, kind)).model for kind in (GPT, LSTM)}
    parameters = {f"parameters, {kind}": sum(p.numel() for p in one.parameters()) for kind, one in models.items()}
    return {**parameters, "model": values_of(models[GPT])}


# Shown


def rows_of(result: TransferResult) -> list[tuple[str, ...]]:
    """Each variant: its score, its difference from the full one, seed by seed, and the figure in the paper."""
    key = result.headline
    full = result.scores[result.variants[0].key][key]
    rows: list[tuple[str, ...]] = []
    for variant in result.variants:
        own = result.scores[variant.key][key]
        difference = "" if variant is result.variants[0] else shown(own.minus(full))
        published = "" if variant.published is None else f"{variant.published:.1f}"
        rows.append((variant.name, shown(own), difference, published))
    return rows


def head_of(result: TransferResult) -> tuple[str, ...]:
    return ("", result.labels[result.headline], "difference", "in the paper")


def lines(result: TransferResult) -> list[str]:
    """The table for a terminal."""
    each = f"{result.seeds} seeds, mean ± half of the 95% interval over seeds" if result.seeds > 1 else "1 seed"
    return [*aligned(head_of(result), rows_of(result)), f"{result.tested_on:,} test texts, {each}. Paper: {PAPER}."]


def page(result: TransferResult) -> str:
    table = ShownTable(
        "transfer",
        "What pre-training and the auxiliary loss give",
        f"Mean over {result.seeds} seeds ± half of its 95% interval; differences seed by seed. Paper: {PAPER}.",
        head_of(result),
        tuple(rows_of(result)),
    )
    seeds: tuple[tuple[str | float, ...], ...] = tuple(
        (variant.name, *(round(value, 2) for value in result.scores[variant.key][result.headline].values))
        for variant in result.variants
    )
    each = ShownTable("seeds", "Every seed", "", ("", *(f"seed {i + 1}" for i in range(result.seeds))), seeds)
    facts = {"Experiment": [(name, str(value)) for name, value in result.facts.items() if name != "model"]}
    subtitle = f"On {result.tested_on:,} test texts"
    return render_report(Report("Transfer", subtitle, about="an experiment", facts=facts, tables=[table, each]))


def as_data(result: TransferResult) -> dict[str, Any]:
    """The result for another program."""

    def metric(found: Repeated) -> dict[str, Any]:
        return {"mean": found.mean, "interval": found.interval, "values": list(found.values)}

    rows = [
        {
            "variant": variant.key,
            "name": variant.name,
            "kind": variant.kind,
            "pretrained": variant.pretrained,
            "auxiliary": variant.auxiliary,
            "published": variant.published,
            "scores": {key: metric(one) for key, one in result.scores[variant.key].items()},
        }
        for variant in result.variants
    ]
    return {"seeds": result.seeds, "tested_on": result.tested_on, "facts": dict(result.facts), "variants": rows}
