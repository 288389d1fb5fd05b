"""Going on with a run: exactly as it was begun, or with changes that someone has accepted.

Weights, optimiser and losses come out the same to the last bit only with the same settings, sentences, code and
machine. So every difference is refused, with what it is; accepted ones are written down in the run.
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
from glassformer.config import to_toml, value_of, walk
from glassformer.errors import RunError
from glassformer.store import files
from glassformer.store.run import RunFolder
from glassformer.tasks.translation.preparing import Prepared
from glassformer.tasks.translation.recipe import TranslationRecipe, as_begun, read_recipe
from glassformer.tasks.translation.starting import Start
from glassformer.tasks.translation.watching import TrainingWatcher

FREE = ("out", "train.save_minutes")  # change nothing that is computed
# What the saved tensors were made of, and what was decided once and for all: no other will do.
FIXED = ("text.", "model.", "train.optimiser", "train.ema", "train.average_last", "train.budget")
BUT = ("model.dropout",)
SURROUNDINGS = {"glassformer": "glassformer", "torch": "torch", "processor": "the processor"}


@dataclass
class Changes:
    """How a run would go on otherwise than it was begun, in words."""

    impossible: list[str] = field(default_factory=list)
    possible: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.impossible or self.possible)

    def __str__(self) -> str:
        return "; ".join([*self.impossible, *self.possible])


def surroundings(device: torch.device) -> dict[str, str]:
    """The code and the machine, as far as they decide the last digits."""
    kind = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    processor = torch.cuda.get_device_name(device) if device.type == "cuda" else kind
    return {"glassformer": __version__, "torch": torch.__version__, "processor": processor}


def marks_of(prepared: Prepared, start: Start | None) -> dict[str, Any]:
    """What a run is made with besides its settings, for its manifest; `start` is needed until the first checkpoint."""
    weights = {"start": files.sha256(files.pack_tensors(start.weights))} if start else {}
    return {**surroundings(prepared.device), "data": prepared.material.fingerprints, **weights}


def changes_of(run: RunFolder, prepared: Prepared, start: Start | None) -> Changes:
    """All that is not as it was when the run was begun, or last went on."""
    begun, now = run.about(), marks_of(prepared, start)
    changes = changed_settings(prepared.recipe, read_recipe(run))
    changes.possible += changed_data(begun.get("data", {}), now["data"])
    changes.possible += [
        f"{words} was {begun[name]}, now {now[name]}"
        for name, words in SURROUNDINGS.items()
        if name in begun and begun[name] != now[name]
    ]
    if start and begun.get("start", now["start"]) != now["start"]:
        changes.possible.append(f"the weights of {start.path} have changed")
    return changes


def changed_settings(now: TranslationRecipe, then: TranslationRecipe) -> Changes:
    changes = Changes()
    for name, _ in walk(TranslationRecipe):
        old, new = value_of(then, name), value_of(now, name)
        if old != new and name not in FREE:
            fixed = name.startswith(FIXED) and name not in BUT
            (changes.impossible if fixed else changes.possible).append(f"{name} was {old!r}, now {new!r}")
    return changes


def changed_data(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [f"the {part} sentences have changed" for part in ("train", "valid") if then.get(part) != now[part]]


def still_open_as(then: TranslationRecipe, now: TranslationRecipe) -> TranslationRecipe:
    """`now` with what it leaves open (steps, threads, device, ...) decided as it was `then`."""
    if now.train.budget or now.train.start_from:
        return as_begun(then, now)
    train = {name: value for name, value in now.train if value is not None and value != "auto"}
    return now.model_copy(update={"train": then.train.model_copy(update=train)})


def refuse_changes(run: RunFolder, changes: Changes, *, accepted: bool = False, finished: bool = False) -> None:
    """An error with the differences, unless all of them can be accepted and are."""
    if not changes or (accepted and not changes.impossible):
        return
    ways = ["Give the same settings and sentences to go on exactly"]
    if not finished and not changes.impossible:
        ways += ["--accept-changes to go on with these (the run then notes them)"]
    if accepted and changes.impossible:
        ways = [f"These cannot be changed in a run that has begun: {'; '.join(changes.impossible)}"]
    raise RunError(f"{run.path} was started otherwise: {changes}. {', '.join(ways)}, or another --out for a new run.")


def accept(
    run: RunFolder, prepared: Prepared, changes: Changes, watcher: TrainingWatcher, *, start: Start | None
) -> None:
    """The new settings become the run's; the manifest keeps what was changed, at which step."""
    step, about = (run.steps or [0])[-1], run.about()
    noted = [*about.get("continued", []), {"step": step, "changes": changes.possible}]
    run.change(config=to_toml(prepared.recipe), about={**about, **marks_of(prepared, start), "continued": noted})
    watcher.on_stage(f"Going on from step {step:,} otherwise than before: {changes}")


def set_aside_damaged(run: RunFolder, watcher: TrainingWatcher) -> None:
    """Goes back to the checkpoint before one that is damaged, and says so."""
    for step, why in run.checkpoints.set_aside_damaged().items():
        back = f"Training goes on from step {run.steps[-1]:,}" if step > run.steps[-1] else "It will not be chosen"
        watcher.on_stage(f"The checkpoint at step {step:,} is damaged and was set aside: {why} {back}")


def yardstick(prepared: Prepared) -> str:
    """Names what validations measure with: scores of another part or measure do not compare."""
    train = prepared.recipe.train
    parts = [prepared.material.fingerprints["valid"], train.best_by, train.valid_sentences]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def noted_changes(about: Mapping[str, Any]) -> Sequence[tuple[int, str]]:
    """(step, changes in words) of every time that the run went on otherwise."""
    return [(entry["step"], "; ".join(entry["changes"])) for entry in about.get("continued", [])]
