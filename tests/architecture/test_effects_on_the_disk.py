"""All that a run changes on the disk goes through `store/disk.py`, so that tests can break each effect in turn."""

from __future__ import annotations

import re
from pathlib import Path

import glassformer

EFFECTS = r"write_bytes|write_text|\.replace\(\w*path|\.rename\(|unlink|rmtree|mkdir|rmdir|fsync|save_file|\bopen\("


def test_no_other_file_of_the_store_or_of_training_touches_the_disk() -> None:
    package = Path(glassformer.__file__).parent
    found = [
        f"{path.name}: {line.strip()}"
        for room in ("store", "train", "tasks")
        for path in sorted((package / room).rglob("*.py"))
        for line in path.read_text().splitlines()
        if re.search(EFFECTS, line) and path.name != "disk.py" and "disk.rename(" not in line
    ]
    assert found == ['run.py: handle = (self.path / LOCK).open("a")']  # holds nothing
