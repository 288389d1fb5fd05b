"""What an experiment was started with, in a file of its folder: only the same experiment may continue there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.data.readers.inputs import fingerprint
from glassformer.data.sources.files import text_files
from glassformer.errors import RunError
from glassformer.store import files

RECORD = "experiment.json"


def check_same(folder: Path, named: Mapping[str, Sequence[str]], settings: Mapping[str, Any]) -> None:
    """Records what a new experiment is started with; raises an error if the folder has one with anything else.

    `named` are the files by the name of their option, and `settings` the other options; None was not given.
    """
    contents = {name: fingerprint(text_files(given)[0]) for name, given in named.items()}
    options = {**{name: " ".join(given) for name, given in named.items()}, **settings}
    record = {"options": {name: value for name, value in options.items() if value is not None}, "contents": contents}
    if not (folder / RECORD).exists():
        files.make_parents(folder / RECORD)
        files.write_atomically(folder / RECORD, files.to_json(record))
        return
    if changes := differences(files.read_json(folder / RECORD), record):
        raise RunError(
            f"{folder} has an experiment that was started with different settings: {'; '.join(changes)}. Give the same "
            "settings and files to continue it, or choose another --out for a new experiment."
        )


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words; a file of the same name with another content is a difference too."""
    old, new = then.get("options", {}), now["options"]
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    found = [f"{name} was {old.get(name, 'not given')}, now {new.get(name, 'not given')}" for name in names]
    contents = then.get("contents", {})
    return found + [
        f"the content of {name} {new[name]} has changed"
        for name, digest in now["contents"].items()
        if name not in names and contents.get(name) != digest
    ]
