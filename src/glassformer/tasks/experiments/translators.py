"""Several kinds of translators, trained alike: same sentences, same vocabulary, same updates or the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.data.phrasebook import Phrase
from glassformer.nn.norms import LayerNorm
from glassformer.nn.residual import PostNorm, PreNorm
from glassformer.store import files
from glassformer.store.run import RunFolder
from glassformer.tasks.experiments.counted import Counted, refuse_unfinished
from glassformer.tasks.forking import check_process
from glassformer.tasks.registry import task_named
from glassformer.tasks.runs import load_run
from glassformer.tasks.starting import open_start
from glassformer.tasks.translation.task import Translation
from glassformer.tasks.translation.translator import Translator
from glassformer.training.run import Hooks, train_run
from glassformer.training.step import Diverged
from glassformer.training.task import Listener
from glassformer.training.watching import TrainingWatcher

RESIDUAL, NORM = "residual", "norm"
DIVERGED = "diverged.json"


@dataclass(frozen=True)
class Variant:
    """A model to train. `without` are parts that are taken out of it: RESIDUAL, NORM."""

    key: str
    name: str
    model: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairFiles:
    """Source and target file of each part."""

    train: tuple[str, str]
    valid: tuple[str, str]


def written_pairs(folder: Path, *, train: Sequence[tuple[str, str]], valid: Sequence[tuple[str, str]]) -> PairFiles:
    """Writes train.source, train.target, valid.source and valid.target, unless they are there."""
    found = []
    for name, pairs in (("train", train), ("valid", valid)):
        paths = (folder / f"{name}.source", folder / f"{name}.target")
        for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
            if not path.exists():
                files.make_parents(path)
                files.write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
        found.append((str(paths[0]), str(paths[1])))
    return PairFiles(*found)


def pair_of(phrase: Phrase) -> tuple[str, str]:
    return phrase.source, phrase.references[0]


# Training


def no_report(watcher: TrainingWatcher, run: RunFolder, rehearsal: Any) -> Any:  # noqa: ARG001
    return watcher


def not_measured(run: RunFolder, prepared: Any, rehearsal: Any, watcher: TrainingWatcher) -> None: ...


PLAIN = Hooks(open_start=open_start, live=no_report, close=not_measured, check_process=check_process)


def train_variant(
    variant: Variant,
    data: PairFiles,
    out: Path,
    *,
    train: Mapping[str, Any],
    text: Mapping[str, Any] | None = None,
    listener: Listener,
) -> Path:
    """Trains into `out`, without a report; a finished run is not repeated. A run that diverges is recorded as such."""
    if (out / DIVERGED).exists():
        return out
    recipe = {
        "data": {"source": data.train[0], "target": data.train[1], "valid": list(data.valid)},
        "text": dict(text or {}),
        "model": dict(variant.model),
        "train": {**train, **variant.train},
    }
    try:
        refuse_unfinished(train_run(task_of(variant), recipe, PLAIN, out=out, watcher=Counted(listener)))
    except Diverged as problem:
        files.write_atomically(out / DIVERGED, files.to_json({"diverged": str(problem)}))
    return out


def diverged(run: Path) -> bool:
    return (run / DIVERGED).exists()


def translator_of(variant: Variant, run: Path) -> Translator:
    found: Translator = load_run(task_of(variant), run)
    return found


def loss_curve(run: Path) -> list[tuple[int, float]]:
    """Step and validation loss of every validation."""
    return [(one["step"], one["valid_loss"]) for one in RunFolder(run).metrics() if one.get("valid_loss") is not None]


# Parts taken out


def task_of(variant: Variant) -> Translation:
    """The task that trains the variant."""
    if variant.without:
        return Altered(variant.without)
    found = task_named("translate")
    assert isinstance(found, Translation)
    return found


class Altered(Translation):
    """Translation by a Transformer without some of its parts. Only losses are measured: decoding has fast paths that
    know nothing of what is missing."""

    metrics = ()

    def __init__(self, without: Sequence[str]) -> None:
        self.without = without

    def build(self, setup: Any) -> Any:
        model = super().build(setup)
        take_out(model, self.without)
        return model

    def metrics_for(self, recipe: Any) -> tuple[Any, ...]:  # noqa: ARG002
        return ()

    def predict(self, user: Any, examples: Sequence[Any]) -> list[str]:  # noqa: ARG002
        return [""] * len(examples)

    def rehearse(self, user: Any, pool: Any, examples: Sequence[Any]) -> None: ...


class NoResidual(nn.Module):
    """f(norm(x)) instead of x + f(norm(x)), or norm(f(x)) instead of norm(x + f(x))."""

    def __init__(self, replaced: PreNorm[Any] | PostNorm[Any]) -> None:
        super().__init__()
        self.norm, self.dropout = replaced.norm, replaced.dropout
        self.is_pre = isinstance(replaced, PreNorm)

    def forward(self, x: Tensor, sublayer: Any) -> Tensor:
        out = self.dropout(sublayer(self.norm(x) if self.is_pre else x))
        return out if self.is_pre else self.norm(out)


def take_out(model: nn.Module, without: Sequence[str]) -> None:
    """Replaces parts of the model in place; all other weights stay."""
    if RESIDUAL in without:
        replace_modules(model, (PreNorm, PostNorm), NoResidual)
    if NORM in without:
        replace_modules(model, (LayerNorm,), lambda _: nn.Identity())


def replace_modules(model: nn.Module, kinds: tuple[type[nn.Module], ...], make: Any) -> None:
    for name, module in list(model.named_modules()):
        if isinstance(module, kinds):
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, make(module))


# Measuring


@torch.inference_mode()
def translations(translator: Translator, sources: Sequence[str], *, beam: int = 1, progress: Any = None) -> list[str]:
    """Unsplit and unguarded: what the model itself does with texts of any length."""
    whole = translator.recipe.decode.model_copy(update={"split_over": 0})
    found = translator.candidates(sources, beam=beam, settings=whole, guard=False, progress=progress)
    return [own[0].text for own in found]


def runs_of(variants: Sequence[Variant], seeds: int) -> list[tuple[Variant, int]]:
    """Seed by seed, so that a comparison that is stopped has whole seeds."""
    return [(variant, seed) for seed in range(1, seeds + 1) for variant in variants]
