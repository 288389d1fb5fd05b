"""The script of the pages, which is built from glass/ and committed: it is the one that these sources give."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "glass"
BUNDLE = ROOT / "src" / "glassformer" / "explain" / "glass"
BESIDE = ("build.mjs", "wat.mjs", "package-lock.json")


def digest_of_sources() -> str:
    """As in glass/build.mjs: sha256 of the lines "sha256 of the file, two spaces, its path", sorted by path."""
    paths = [*BESIDE, *(path.relative_to(SOURCES).as_posix() for path in (SOURCES / "src").rglob("*") if path.is_file())]
    found = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.encode("utf-16-be")):  # as JavaScript compares
        found.update(f"{hashlib.sha256((SOURCES / path).read_bytes()).hexdigest()}  {path}\n".encode())
    return found.hexdigest()


def test_the_bundle_is_built_from_these_sources() -> None:
    head = (BUNDLE / "page.js").read_text(encoding="utf-8")[:4000]
    named = re.search(r"^sources sha256: ([0-9a-f]{64})$", head, flags=re.MULTILINE)
    assert named, "page.js does not name its sources"
    assert named[1] == digest_of_sources(), "page.js is older than glass/src: run `npm run build` in glass/"


def test_the_bundle_names_what_it_carries_and_loads_nothing() -> None:
    script = (BUNDLE / "page.js").read_text(encoding="utf-8")
    head, _, code = script.partition("*/")
    for name in ("@huggingface/tokenizers", "@preact/signals", "preact", "Apache-2.0", "MIT"):
        assert name in head
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|importScripts|sendBeacon)\b\s*\(", code)
    assert not re.search(r"\beval\(|\bnew Function\(", code)
    assert "<!--" not in code
