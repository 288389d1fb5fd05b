"""The checkpoints of a run. Each is a folder that is either complete or absent, and is checked whenever it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from glassformer.errors import RunError
from glassformer.store import disk, files

WEIGHTS, OPTIMISER, STATE = "model.safetensors", "optimiser.safetensors", "state.json"
PREFIX, ASIDE = "step-", "damaged-"


@dataclass(frozen=True)
class Checkpoint:
    """Everything that training needs to resume from a step as if it had never stopped."""

    step: int
    weights: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    state: Mapping[str, Any]


class Checkpoints:
    """The folder `checkpoints/` of a run. It exists from the first checkpoint to the end of training."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def steps(self) -> list[int]:
        """The steps that have a checkpoint, in ascending order."""
        names: list[str] = []
        with suppress(FileNotFoundError):
            names = os.listdir(self.path)
        numbers = (name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))
        return sorted(int(number) for number in numbers if number.isdecimal())

    def folder(self, step: int) -> Path:
        return self.path / f"{PREFIX}{step:08d}"

    # Writing

    def save(self, checkpoint: Checkpoint, *, keep: Collection[int]) -> None:
        """Writes a checkpoint. Once it is safe on disk, older ones are removed, except those in `keep`."""
        content = {
            WEIGHTS: files.pack_tensors(checkpoint.weights),
            OPTIMISER: files.pack_tensors(checkpoint.optimiser),
            STATE: files.to_json(dict(checkpoint.state)),
        }
        folder = self.folder(checkpoint.step)
        if not folder.exists():
            if not self.path.exists():
                with files.disk_errors_in_words(self.path, "What was saved before is unchanged"):
                    disk.make_folder(self.path)
                files.sync_folder(self.path.parent)
            files.write_folder(folder, content, about={"step": checkpoint.step})
        for step in self.steps:
            if step != checkpoint.step and step not in keep:
                files.remove_folder(self.folder(step))

    def set_aside_damaged(self) -> dict[int, str]:
        """Renames damaged checkpoints and returns what is wrong with each, by step; an error if none is intact."""
        damaged = {step: why for step in self.steps if (why := self.damage(step))}
        if damaged and len(damaged) == len(self.steps):
            raise RunError(
                f"No checkpoint of {self.path.parent} can be used: {next(iter(damaged.values()))} Restore one from a "
                f"copy, or remove {self.path} to train from step 1 again, to the same result."
            )
        for step in damaged:
            aside = self.path / f"{ASIDE}{self.folder(step).name}"
            if aside.exists():
                files.remove_folder(aside)
            with files.disk_errors_in_words(aside, "Nothing was changed"):
                disk.rename(self.folder(step), aside)
        return damaged

    def drop(self) -> None:
        """Removes all checkpoints. They are renamed first, in one step, so that readers see all of them or none."""
        if self.path.exists():
            files.remove_folder(self.path)

    # Reading

    def damage(self, step: int) -> str:
        """What is wrong with a checkpoint; empty if it is intact."""
        try:
            self._content(step, (WEIGHTS, OPTIMISER, STATE))
        except RunError as error:
            return str(error)
        return ""

    def read(self, step: int) -> Checkpoint:
        """A checkpoint, checked against its manifest."""
        weights, optimiser, state = self._content(step, (WEIGHTS, OPTIMISER, STATE))
        return Checkpoint(
            step=step,
            weights=files.unpack_tensors(weights, origin=str(self.folder(step) / WEIGHTS)),
            optimiser=files.unpack_tensors(optimiser, origin=str(self.folder(step) / OPTIMISER)),
            state=json.loads(state),
        )

    def state(self, step: int) -> dict[str, Any]:
        """The training state in a checkpoint, without its tensors."""
        state: dict[str, Any] = json.loads(self._content(step, [STATE])[0])
        return state

    def latest_weights(self) -> tuple[dict[str, Tensor], str]:
        """The weights of the latest intact checkpoint, and a description of that checkpoint.

        Training may replace checkpoints at the same time. One that disappears is not damaged: the list is read again.
        """
        passed_over: dict[int, str] = {}
        steps = self.steps
        while steps:
            step = steps.pop()
            try:
                weights = files.unpack_tensors(self._content(step, [WEIGHTS])[0], origin=str(self.folder(step)))
            except RunError as error:
                if self.folder(step).exists():
                    passed_over[step] = str(error)
                else:
                    steps = [found for found in self.steps if found not in passed_over]
                continue
            instead = "".join(f", because the one at step {found:,} is damaged" for found in passed_over)
            return weights, f"checkpoint at step {step:,}{instead}"
        raise RunError(next(iter(passed_over.values()), f"{self.path} holds no checkpoint any more."))

    def _content(self, step: int, names: Collection[str]) -> list[bytes]:
        folder = self.folder(step)
        manifest = files.read_manifest(folder, must_be_sealed=True)
        if manifest.get("step") != step:
            raise RunError(f"{folder} is the checkpoint of step {manifest.get('step')}. It was renamed.")
        return [files.read_checked(folder, name, manifest) for name in names]
