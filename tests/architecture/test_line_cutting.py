"""Text of users is cut into lines at line feeds only.

`str.splitlines` also cuts at U+2028, U+2029, U+0085 and others, which belong to their sentence.
"""

from __future__ import annotations

from pathlib import Path

import glassformer

# What these cut has no sentence of a user in it: files of the system, tables of ours, messages of libraries.
ALLOWED = (
    "nn/native/compiler.py",
    "training/plan.py",
    "training/ranks.py",
    "hub/huggingface/fetching.py",
    "data/phrasebook/",
)


def test_no_text_of_users_is_cut_by_splitlines() -> None:
    package = Path(glassformer.__file__).parent
    found = [
        f"{name}:{number}"
        for path in sorted(package.rglob("*.py"))
        if not (name := path.relative_to(package).as_posix()).startswith(ALLOWED)
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if ".splitlines(" in line
    ]
    assert found == []
