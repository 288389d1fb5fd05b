"""Resuming a run: exactly as it was started, or with changes that the user has accepted.

Weights, optimiser state and losses are the same to the last bit only with the same settings, data, code and machine.
So every difference is named and refused, unless the user accepts it; accepted differences are recorded in the run.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from glassformer import __version__
from glassformer.config import is_set, to_toml, value_of, walk
from glassformer.errors import RunError
from glassformer.nn.linear import is_faster_here
from glassformer.nn.native.compiler import kernels
from glassformer.store import files
from glassformer.store.run import RunFolder
from glassformer.training.budget_rules import R
from glassformer.training.fine_tune import Start
from glassformer.training.prepare import Prepared
from glassformer.training.reading import read_recipe
from glassformer.training.recipe import Recipe
from glassformer.training.watching import TrainingWatcher

FREE = ("out", "train.save_minutes")  # they change no result
# These cannot be changed: the saved tensors depend on them, or they are decided only once.
FIXED = (
    *("text.", "model.", "train.optimiser", "train.ema", "train.average_last", "train.budget"),
    *("train.freeze", "train.lora", "train.extend_vocabulary"),
)
BUT = ("model.dropout",)
BASELINE = "baseline"  # in the manifest: whether the first weights are measured too
SURROUNDINGS = {
    **{"glassformer": "glassformer", "torch": "torch", "processor": "the processor"},
    "arithmetic": "the code that computes",
}


@dataclass
class Changes:
    """The differences from how a run was started, in words."""

    impossible: list[str] = field(default_factory=list)
    possible: list[str] = field(default_factory=list)
    budget: str = ""  # the new time budget, if it is different

    def __bool__(self) -> bool:
        return bool(self.impossible or self.possible)

    def __str__(self) -> str:
        return "; ".join([*self.impossible, *self.possible])


def surroundings(device: torch.device) -> dict[str, str]:
    """The properties of code and machine that affect the last digits of results."""
    kind = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    processor = torch.cuda.get_device_name(device) if device.type == "cuda" else kind
    found = {"glassformer": __version__, "torch": torch.__version__, "processor": processor}
    return found | ({"arithmetic": arithmetic()} if device.type == "cpu" else {})


def arithmetic() -> str:
    """Which code computes on this CPU: all give the same numbers, except for rounding and for what dropout drops."""
    own = "torch only" if kernels() is None else "torch and compiled kernels"
    return f"{own}, {'products by oneDNN' if is_faster_here() else 'the usual products'}"


def marks_of(prepared: Prepared, start: Start | None) -> dict[str, Any]:
    """For the manifest: what a run depends on besides its settings. `start` is needed until the first checkpoint."""
    weights: dict[str, Any] = {}
    if start:
        weights = {"start": files.sha256(files.pack_tensors(start.weights)), BASELINE: prepared.baseline}
    recorded = {"data": prepared.material.fingerprints, **prepared.task.about(prepared.setup, prepared.examples)}
    return {**surroundings(prepared.device), **recorded, **weights}


def changes_of(run: RunFolder, prepared: Prepared, start: Start | None) -> Changes:
    """All differences from when the run was started or last resumed."""
    begun, now = run.about(), marks_of(prepared, start)
    changes = changed_settings(prepared.recipe, read_recipe(prepared.task, run), prepared.task.decided_names)
    changes.possible += changed_data(begun.get("data", {}), now["data"])
    changes.possible += [
        f"{words} was {begun[name]}, now {now[name]}"
        for name, words in SURROUNDINGS.items()
        if name in begun and name in now and begun[name] != now[name]
    ]
    if start and begun.get("start", now["start"]) != now["start"]:
        changes.possible.append(f"the weights of {start.path} have changed")
    return changes


def changed_settings(now: Recipe, then: Recipe, decided: Sequence[str] = ()) -> Changes:
    """The settings that differ; `decided` are those that the data decides once, such as the classes."""
    changes = Changes()
    for name, _ in walk(now):
        old, new = value_of(then, name), value_of(now, name)
        if old != new and name not in FREE:
            more_time = name == "train.budget" and old and new
            fixed = (name.startswith(FIXED) or name in decided) and name not in BUT and not more_time
            changes.budget = new if more_time else changes.budget
            (changes.impossible if fixed else changes.possible).append(f"{name} was {old!r}, now {new!r}")
    return changes


def changed_data(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    parts = {"train": "training", "valid": "validation", "old": "old"}  # old: data of the base run in fine-tuning
    return [f"the {words} data has changed" for part, words in parts.items() if then.get(part) != now.get(part)]


def still_open_as(then: R, now: R, decided: Sequence[str] = ()) -> R:
    """`now` with its unset values (steps, threads, device, ...) taken from `then`.

    `decided` are settings that the data decides.
    """
    if now.train.budget or now.train.start_from:
        return now.as_begun(then)
    given = now.train.model_fields_set
    train = {name: value for name, value in now.train if name in given or (value is not None and value != "auto")}
    found = now.model_copy(update={"train": then.train.model_copy(update=train)})
    for name in decided:
        if not is_set(now, name):
            found = with_value(found, name, value_of(then, name))
    return found


def with_value(recipe: R, name: str, value: Any) -> R:
    """The recipe with a new value for a setting, such as model.vocabulary."""
    section, _, field_name = name.rpartition(".")
    if not section:
        return recipe.decided({name: value})
    return recipe.decided({section: getattr(recipe, section).decided({field_name: value})})


def refuse_changes(run: RunFolder, changes: Changes, *, accepted: bool = False, finished: bool = False) -> None:
    """Raises an error that lists the differences, unless all of them can be accepted and are accepted."""
    if not changes or (accepted and not changes.impossible):
        return
    ways = ["Give the same settings and data" + (" as then" if finished else " to resume exactly")]
    if not finished and not changes.impossible:
        ways += ["add --accept-changes to resume with these (the run then records them)"]
    if finished and (budget := changes.budget):
        ways += [
            f"train a new run with that budget (--budget {budget} --out NEW)",
            f"fine-tune this one on new data (--from {run.path} --out NEW)",
        ]
    if accepted and changes.impossible:
        fixed = "; ".join(changes.impossible)
        ways = [f"These cannot be changed in a run that has begun: {fixed}. Undo these changes"]
    ways += ["choose another --out for a new run"]
    raise RunError(f"{run.path} was started with different settings: {changes}. {', '.join(ways[:-1])}, or {ways[-1]}.")


def accept(
    run: RunFolder, prepared: Prepared, changes: Changes, watcher: TrainingWatcher, *, start: Start | None
) -> None:
    """Writes the new settings to the run; the manifest records what was changed, and at which step."""
    step, about = (run.steps or [0])[-1], run.about()
    noted = [*about.get("continued", []), {"step": step, "changes": changes.possible}]
    run.change(config=to_toml(prepared.recipe), about={**about, **marks_of(prepared, start), "continued": noted})
    watcher.on_stage(f"Resuming from step {step:,} with changes: {changes}")


def set_aside_damaged(run: RunFolder, watcher: TrainingWatcher) -> None:
    """Sets damaged checkpoints aside, so that the run resumes from an earlier one, and reports it."""
    for step, why in run.checkpoints.set_aside_damaged().items():
        back = f"Training resumes from step {run.steps[-1]:,}" if step > run.steps[-1] else "It will not be chosen"
        watcher.on_stage(f"The checkpoint at step {step:,} is damaged and was set aside: {why} {back}")


def measured_with(prepared: Prepared) -> str:
    """A name for what validations measure: scores on other examples or by another metric are not comparable."""
    train = prepared.recipe.train
    parts = [prepared.material.fingerprints["valid"], train.best_by, train.valid_sentences]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def noted_changes(about: Mapping[str, Any]) -> Sequence[tuple[int, str]]:
    """(step, changes in words) for each time that the run was resumed with changes."""
    return [(entry["step"], "; ".join(entry["changes"])) for entry in about.get("continued", [])]
