"""The run folder: one folder is a model.

config.toml          the resolved settings
tokenizer.json       or source.tokenizer.json and target.tokenizer.json
model.safetensors    the weights that training chose, once it has finished
metrics.jsonl        one line a measurement
report.html          the page to look at
manifest.json        sha256 of each file, fingerprints of data and code, format version
checkpoints/         while training: step-00000500/ with model, optimiser and state
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from torch import Tensor

from glassformer.errors import RunError
from glassformer.store import files

WEIGHTS, OPTIMISER, STATE = "model.safetensors", "optimiser.safetensors", "state.json"
CONFIG, METRICS, REPORT = "config.toml", "metrics.jsonl", "report.html"
LOCK = ".lock"


@dataclass(frozen=True)
class Checkpoint:
    """All that training needs to go on from a step as if it had never stopped."""

    step: int
    weights: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    state: Mapping[str, Any]


class RunFolder:
    """One run on disk. Nothing in it is ever half written, but for the last line of metrics.jsonl after a crash."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # What is there

    @property
    def exists(self) -> bool:
        return (self.path / CONFIG).is_file()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the checkpoints go last."""
        return self.has(WEIGHTS) and not self._checkpoints.exists()

    @property
    def steps(self) -> list[int]:
        """The steps that have a checkpoint, in rising order."""
        names = (path.name.removeprefix("step-") for path in self._checkpoints.glob("step-*"))
        return sorted(int(name) for name in names if name.isdecimal())

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def config_text(self) -> str:
        return self.text(CONFIG).decode("utf-8")

    def describe_missing(self) -> str:
        """Why this is no run, and how to make one."""
        what = "is not a run folder (it has no config.toml)" if self.path.exists() else "does not exist"
        return (
            f"{self.path} {what}. Make a run first:\n"
            f"  glassformer train --source train.en --target train.de --out {self.path}\n"
            f"  glassformer train --corpus phrasebook --out {self.path}     # nothing to download"
        )

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the folder for one training at a time; the system frees it even after a crash.

        If no run was begun while it was held, what was made for the lock goes again.
        """
        made = [path for path in (self.path / LOCK, self.path, *self.path.parents) if not path.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = (self.path / LOCK).open("a")
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be made or written ({error.strerror}). Choose another --out."
            ) from None
        with handle:
            if not _held(handle):
                raise RunError(f"{self.path} is in use by another training. Wait, or choose another --out.")
            try:
                if self.exists:
                    self.sweep()
                yield
            finally:
                if not self.exists:
                    _remove_empty(made)

    def begin(self, *, config: str, texts: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
        """Writes what is known before the first step. A folder with other things in it is refused."""
        self.refuse_foreign()
        self.sweep()
        content = {**texts, CONFIG: config.encode()}
        self._write_manifest(content, about)  # first: it tells what of this is ours, should we be cut off
        for name, text in content.items():  # config.toml comes last: from there on this is a run
            files.write_atomically(self.path / name, text)

    def refuse_foreign(self) -> None:
        """An error if something stands here that is not left from a beginning of ours that was cut off."""
        own = {LOCK}
        with suppress(RunError):
            own |= {files.MANIFEST, *files.read_manifest(self.path)["files"]}
        paths = (path for path in self.path.iterdir() if not path.match(files.TEMPORARY))
        foreign = sorted(path.name for path in paths if path.name not in own)
        if foreign:
            raise RunError(
                f"{self.path} is not empty and not a run (it has {', '.join(foreign[:3])}). "
                "Choose another --out; nothing was changed."
            )

    def sweep(self) -> None:
        """Removes what a killed process left half written. Only who holds the lock may do this."""
        for left in [*self.path.glob(files.TEMPORARY), *self._checkpoints.glob(files.TEMPORARY)]:
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    def _write_manifest(self, content: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
        files.write_atomically(self.path / files.MANIFEST, files.manifest_of(content, about=about))

    def save_checkpoint(self, checkpoint: Checkpoint, *, keep: set[int]) -> None:
        """Writes a checkpoint; older ones go, except those to keep, once the new one is safe."""
        content = {
            WEIGHTS: files.pack_tensors(checkpoint.weights),
            OPTIMISER: files.pack_tensors(checkpoint.optimiser),
            STATE: files.to_json(dict(checkpoint.state)),
        }
        folder = self._step_folder(checkpoint.step)
        if not folder.exists():
            if not folder.parent.exists():
                folder.parent.mkdir()
                files.sync_folder(self.path)
            files.write_folder(folder, content, about={"step": checkpoint.step})
        for step in self.steps:
            if step != checkpoint.step and step not in keep:
                shutil.rmtree(self._step_folder(step))

    def _step_folder(self, step: int) -> Path:
        return self._checkpoints / f"step-{step:08d}"

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        with (self.path / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(record), ensure_ascii=False) + "\n")

    def cut_metrics(self, step: int) -> None:
        """Forgets measurements after `step`, and those of no step, which close a run: they will be made again."""
        kept = [record for record in self.metrics() if record.get("step", math.inf) <= step]
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in kept)
        files.write_atomically(self.path / METRICS, text.encode())

    def write_report(self, html: str) -> Path:
        files.write_atomically(self.path / REPORT, html.encode())
        return self.path / REPORT

    def show_report(self, html: str) -> None:
        """A page of a run that goes on: never half written, but not worth waiting for the disk; the next one comes."""
        files.replace_quickly(self.path / REPORT, html.encode())

    def finish(self, weights: Mapping[str, Tensor], *, about: Mapping[str, Any]) -> None:
        """Puts the chosen weights in place, with a manifest of all."""
        packed = files.pack_tensors(weights)
        begun = files.read_manifest(self.path)
        content = {name: files.read_checked(self.path, name, begun) for name in begun["files"] if name != WEIGHTS}
        content[WEIGHTS] = packed
        self._write_manifest(content, {**self.about(), **about})
        files.write_atomically(self.path / WEIGHTS, packed)

    def drop_checkpoints(self) -> None:
        """The end of a run: from here on it is finished. One rename, so that no half of them is ever seen."""
        if self._checkpoints.exists():
            doomed = files.temporary_name(self._checkpoints)
            self._checkpoints.replace(doomed)
            shutil.rmtree(doomed)

    # Reading

    def metrics(self) -> list[dict[str, Any]]:
        """All measurements; a last line cut by a crash is left out."""
        records = []
        with suppress(FileNotFoundError):
            for line in (self.path / METRICS).read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):
                    records.append(json.loads(line))
        return records

    def text(self, name: str) -> bytes:
        """A file of the run's start (a tokenizer), checked against the manifest."""
        return files.read_checked(self.path, name, files.read_manifest(self.path))

    def about(self) -> dict[str, Any]:
        """What the manifest says besides the files: fingerprints of data and code, how training ended."""
        return {key: value for key, value in files.read_manifest(self.path).items() if key not in ("format", "files")}

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def checkpoint(self, step: int) -> Checkpoint:
        """A checkpoint, checked against its manifest."""
        folder = self._step_folder(step)
        manifest = files.read_manifest(folder)
        weights, optimiser, state = (files.read_checked(folder, n, manifest) for n in (WEIGHTS, OPTIMISER, STATE))
        return Checkpoint(
            step=step,
            weights=files.unpack_tensors(weights, origin=str(folder / WEIGHTS)),
            optimiser=files.unpack_tensors(optimiser, origin=str(folder / OPTIMISER)),
            state=json.loads(state),
        )

    def weights(self) -> tuple[dict[str, Tensor], str]:
        """The weights to use and where they come from: the chosen ones, or the latest checkpoint's while training."""
        folder, origin = self.path, "finished training"
        if not self.has(WEIGHTS):
            steps = self.steps
            if not steps:
                raise RunError(
                    f"{self.path} has no weights yet: training has not reached its first checkpoint. "
                    "Run the same train command again to go on."
                )
            folder, origin = self._step_folder(steps[-1]), f"checkpoint at step {steps[-1]:,}"
        content = files.read_checked(folder, WEIGHTS, files.read_manifest(folder))
        return files.unpack_tensors(content, origin=str(folder / WEIGHTS)), origin


def _held(handle: TextIO) -> bool:
    """Tries to lock the file. One that was removed meanwhile, when its holder gave up, holds nobody off."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return os.fstat(handle.fileno()).st_nlink > 0


def _remove_empty(paths: Sequence[Path]) -> None:
    """Removes the lock's file and the folders made for it, innermost first, as far as nothing else stands in them."""
    with suppress(OSError):
        for path in paths:
            path.unlink() if path.name == LOCK else path.rmdir()
