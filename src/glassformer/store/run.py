"""The run folder: one folder holds one model.

config.toml          the resolved settings
tokenizer.json       or source.tokenizer.json and target.tokenizer.json
model.safetensors    the weights that training chose, once it has finished
metrics.jsonl        one line per measurement
plan.jsonl           with a time budget: one line per change of plan
report.html          the report, to open in a browser
manifest.json        sha256 of each file, fingerprints of data and code, format version
checkpoints/         while training: step-00000500/ with model, optimiser and state
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from torch import Tensor

from glassformer.errors import RunError
from glassformer.store import disk, files
from glassformer.store.checkpoints import WEIGHTS, Checkpoints
from glassformer.text.foreign import NO_LIMIT, regular_bytes

CONFIG, METRICS, PLAN, REPORT = "config.toml", "metrics.jsonl", "plan.jsonl", "report.html"
SHARED_TOKENIZER, TARGET_TOKENIZER = "tokenizer.json", "target.tokenizer.json"
ADAPTER = "adapter.safetensors"  # what LoRA alone has learned
FINAL = (WEIGHTS, ADAPTER)  # files that the end of training writes
FINISHED = "finished training"  # the origin of the weights that training chose at its end
LOCK = ".lock"
NAMES = re.compile(  # names of files and folders in a run folder
    r"config\.toml|metrics\.jsonl|plan\.jsonl|report\.html|manifest\.json|(model|adapter)\.safetensors|(source\.|target\.)?tokenizer\.json|"
    r"checkpoints|diverged"
)
STEPS = re.compile(r"(step|damaged)-.*")  # names in checkpoints/


class RunFolder:
    """One run on disk. All files are complete, except that a crash can cut the last line of metrics.jsonl."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = Checkpoints(path / "checkpoints")

    # What is there

    @property
    def exists(self) -> bool:
        return (self.path / CONFIG).is_file()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the checkpoints are removed last."""
        return self.has(WEIGHTS) and not self.checkpoints.path.exists()

    @property
    def steps(self) -> list[int]:
        """The steps that have a checkpoint, in ascending order."""
        return self.checkpoints.steps

    def config_text(self) -> str:
        return self.text(CONFIG).decode("utf-8")

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Locks the folder for one training process; the system releases the lock even after a crash.

        If no run was begun under the lock, the files and folders made for the lock are removed again.
        """
        made = [path for path in (self.path / LOCK, self.path, *self.path.parents) if not path.exists()]
        was_run = self.exists
        if (self.path / LOCK).exists() and not (self.path / LOCK).is_file():  # opening a pipe would wait for a reader
            raise RunError(f"{self.path / LOCK} is not a regular file. Remove it, or choose another --out.")
        try:
            disk.make_folder(self.path)
            handle = (self.path / LOCK).open("a")
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be created or written ({error.strerror}). Choose another --out."
            ) from None
        with handle:
            if not _held(handle):
                raise RunError(f"{self.path} is in use by another training process. Wait, or choose another --out.")
            try:
                yield
            except BaseException:
                if was_run:  # a refused command leaves no new file
                    _remove_empty(made)
                raise
            finally:
                if not self.exists:
                    _remove_empty(made)

    def begin(self, *, config: str, texts: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
        """Writes what is known before the first step; an error if the folder contains anything else."""
        self.refuse_foreign()
        self.sweep()
        content = {**texts, CONFIG: config.encode()}
        self._write_manifest(content, about)  # first: after a crash it shows which files are ours
        for name, text in content.items():  # config.toml comes last: from there on this is a run
            files.write_atomically(self.path / name, text)

    def refuse_other_folder(self) -> None:
        """An error if the folder is not empty and not a run. Called before the lock, which creates a file.

        The manifest is written before config.toml, so a config.toml without a manifest is not ours.
        """
        if self.path.is_dir() and not (self.exists and (self.path / files.MANIFEST).exists()):
            self.refuse_foreign()

    def refuse_foreign(self) -> None:
        """An error if the folder contains anything that an interrupted `begin` of ours did not leave."""
        own = {LOCK}
        with suppress(RunError):
            own |= {files.MANIFEST, *files.read_manifest(self.path)["files"]}
        paths = (path for path in self.path.iterdir() if not files.is_left_behind(path, NAMES))
        foreign = sorted(path.name for path in paths if path.name not in own)
        if foreign:
            raise RunError(
                f"{self.path} is not empty and not a run (it has {', '.join(foreign[:3])}). "
                "Choose another --out; nothing was changed."
            )

    def sweep(self) -> None:
        """Removes incomplete files that a killed process left; only names that are ours.

        Only for the process that holds the lock, and only once the command is accepted.
        """
        folders = ((self.path, NAMES), (self.checkpoints.path, STEPS))
        with files.disk_errors_in_words(self.path, "The run was not changed"):
            for folder, names in folders:
                for left in [path for path in folder.glob(files.TEMPORARY) if files.is_left_behind(path, names)]:
                    disk.remove_tree(left) if left.is_dir() else disk.remove(left)

    def _write_manifest(self, content: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
        files.write_atomically(self.path / files.MANIFEST, files.manifest_of(content, about=about))

    def change(self, *, config: str, about: Mapping[str, Any]) -> None:
        """Changes the settings of the run. After a crash at any point, manifest and settings still fit each other."""
        content = {name: self.text(name) for name in files.read_manifest(self.path)["files"] if name not in FINAL}
        manifest = json.loads(files.manifest_of({**content, CONFIG: config.encode()}, about=about))
        for name in FINAL:
            disk.remove(self.path / name)  # exists if training was cut off at its very end; they are chosen again
        manifest["files"][CONFIG][files.BEFORE] = files.sha256(content[CONFIG])
        del manifest[files.SEAL]
        files.write_atomically(self.path / files.MANIFEST, files.sealed(manifest))
        files.write_atomically(self.path / CONFIG, config.encode())
        self._write_manifest({**content, CONFIG: config.encode()}, about)

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(dict(record), ensure_ascii=False) + "\n"
        with files.disk_errors_in_words(self.path / METRICS, "The checkpoints are unchanged"):
            disk.append(self.path / METRICS, line.encode())

    def flush_metrics(self) -> int:
        """Flushes the measurements before a checkpoint that depends on them; returns their size in bytes."""
        path = self.path / METRICS
        if not path.exists():
            return 0
        with files.disk_errors_in_words(path, "The checkpoints are unchanged"):
            disk.flush(path)
        return path.stat().st_size

    def cut_metrics(self, size: int) -> None:
        """Drops the measurements after the first `size` bytes; they will be made again."""
        content = b""
        with suppress(FileNotFoundError):
            content = regular_bytes(self.path / METRICS, limit=NO_LIMIT, error=RunError)
        whole = content[:size]
        files.write_atomically(self.path / METRICS, whole[: whole.rfind(b"\n") + 1])

    def record_change(self, change: Mapping[str, Any]) -> None:
        """Writes a change of plan to disk before it takes effect, so that a resumed run repeats it at the same step."""
        path = self.path / PLAN
        is_new = not path.exists()
        with files.disk_errors_in_words(path, "The checkpoints are unchanged"):
            disk.append(path, (json.dumps(dict(change)) + "\n").encode())
            disk.flush(path)
        if is_new:
            files.sync_folder(self.path)

    def plan_changes(self) -> list[dict[str, Any]]:
        """The changes of plan so far. A last line that a crash has cut had not taken effect, and is dropped."""
        path = self.path / PLAN
        if not path.exists():
            return []
        content = regular_bytes(path, limit=NO_LIMIT, error=RunError)
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            files.write_atomically(path, whole)
        try:
            return [json.loads(line) for line in whole.split(b"\n") if line]
        except ValueError as error:
            raise RunError(f"{path}: damaged ({error}). Restore it from a copy.") from None

    def cut_plan(self, count: int) -> None:
        """Keeps the first `count` changes of plan; later ones will not happen."""
        kept = self.plan_changes()[:count]
        files.write_atomically(self.path / PLAN, "".join(json.dumps(change) + "\n" for change in kept).encode())

    def keep_aside(self, name: str, content: Mapping[str, bytes]) -> Path:
        """Writes a folder of files to examine, complete or not at all; replaces a folder of the same name."""
        if (self.path / name).exists():
            files.remove_folder(self.path / name)
        files.write_folder(self.path / name, content, about={})
        return self.path / name

    def write_report(self, html: str) -> Path:
        files.write_atomically(self.path / REPORT, html.encode())
        return self.path / REPORT

    def report(self) -> str:
        return files.read_bytes(self.path / REPORT).decode()

    def show_report(self, html: str) -> None:
        """Writes the report during training. It is always complete, but not flushed to disk: a newer one follows."""
        files.replace_quickly(self.path / REPORT, html.encode())

    def finish(
        self,
        weights: Mapping[str, Tensor],
        *,
        about: Mapping[str, Any],
        adapter: Mapping[str, Tensor] = MappingProxyType({}),
    ) -> None:
        """Writes the chosen weights and the final manifest; with an adapter, also what it alone has learned."""
        begun = files.read_manifest(self.path)
        content = {name: files.read_checked(self.path, name, begun) for name in begun["files"] if name not in FINAL}
        final = {ADAPTER: files.pack_tensors(adapter)} if adapter else {}
        final[WEIGHTS] = files.pack_tensors(weights)
        self._write_manifest({**content, **final}, {**self.about(), **about})
        for name, packed in final.items():  # the weights come last: from there on the run is finished
            files.write_atomically(self.path / name, packed)

    def adapter(self) -> dict[str, Tensor]:
        """The adapters of a run that was fine-tuned with LoRA, and the heads that were trained with them."""
        if not self.holds(ADAPTER):
            raise RunError(
                f"{self.path} has no adapter: it was not fine-tuned with train.lora, is not finished, or nothing was "
                "better than the model that it started from."
            )
        content = files.read_checked(self.path, ADAPTER, files.read_manifest(self.path))
        return files.unpack_tensors(content, origin=str(self.path / ADAPTER))

    # Reading

    def metrics(self) -> list[dict[str, Any]]:
        """All measurements, without damaged lines and a last line that a crash has cut.

        Only a line feed ends a line: sentences may contain other characters at which `str.splitlines` splits.
        """
        found: list[Any] = []
        with suppress(FileNotFoundError):
            for line in regular_bytes(self.path / METRICS, limit=NO_LIMIT, error=RunError).split(b"\n"):
                with suppress(ValueError, RecursionError):  # text that is not UTF-8 is a ValueError too
                    found.append(json.loads(line))
        return [record for record in found if isinstance(record, dict)]

    def text(self, name: str) -> bytes:
        """A file written when the run began (a tokenizer), checked against the manifest."""
        return files.read_checked(self.path, name, files.read_manifest(self.path))

    def about(self) -> dict[str, Any]:
        """The manifest without its list of files: fingerprints of data and code, how training ended."""
        return {key: value for key, value in files.read_manifest(self.path).items() if key not in ("format", "files")}

    def holds(self, name: str) -> bool:
        """Whether a file belongs to this run, even if it is missing."""
        return name in files.read_manifest(self.path)["files"]

    def has(self, name: str) -> bool:
        """Whether a file exists."""
        return (self.path / name).is_file()

    def weights(self) -> tuple[dict[str, Tensor], str]:
        """The weights to use, and their origin: the chosen ones, or during training those of the latest checkpoint."""
        if not self.has(WEIGHTS) and self.steps:
            with suppress(RunError):
                return self.checkpoints.latest_weights()
            if not self.has(WEIGHTS):  # if it exists now, training has just ended
                return self.checkpoints.latest_weights()
        if not self.has(WEIGHTS):
            raise RunError(self.describe_no_weights())
        content = files.read_checked(self.path, WEIGHTS, files.read_manifest(self.path))
        return files.unpack_tensors(content, origin=str(self.path / WEIGHTS)), FINISHED

    @property
    def lost_its_weights(self) -> bool:
        """Whether training had finished, but its weights are gone."""
        return not self.has(WEIGHTS) and not self.steps and self.holds(WEIGHTS)

    def describe_no_weights(self) -> str:
        if self.lost_its_weights:
            return (
                f"{self.path / WEIGHTS} is missing, although training had finished. Restore it from a copy, or train "
                "again with the same settings and another --out."
            )
        return (
            f"{self.path} has no weights yet: training has not reached its first checkpoint. "
            "Run the same train command again to resume."
        )


def _held(handle: TextIO) -> bool:
    """Tries to lock the file. A file that its holder has removed in the meantime does not count as a lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return os.fstat(handle.fileno()).st_nlink > 0


def _remove_empty(paths: Sequence[Path]) -> None:
    """Removes the lock file and the folders made for it, innermost first, if they are empty."""
    with suppress(OSError):
        for path in paths:
            disk.remove(path) if path.name == LOCK else disk.remove_empty(path)
