"""The committed bundle of the page is made from the sources in glass/; nobody needs npm to check that."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLASS = ROOT / "glass"
BUNDLE = ROOT / "src" / "glassformer" / "explain" / "glass"
STALE = "run `npm ci` and `npm run build` in glass/"
LARGEST = 150_000  # bytes of page.js as a web server sends it, gzipped; it is part of every page
LARGEST_OF_A_LESSON = 45_000
NAMES = ("page.js", "lesson.js")


def digest_of_sources() -> str:
    """As in glass/build.mjs: sha256 of the lines "<sha256>  <path>" of all sources, sorted by path."""
    files = [GLASS / name for name in ("build.mjs", "wat.mjs", "package-lock.json")]
    files += [path for path in (GLASS / "src").rglob("*") if path.is_file()]
    named = sorted(((path.relative_to(GLASS).as_posix(), path) for path in files), key=as_in_javascript)
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in named)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def as_in_javascript(named: tuple[str, Path]) -> bytes:
    return named[0].encode("utf-16-be")


def script(name: str = "page.js") -> str:
    return (BUNDLE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_bundle_is_made_from_these_sources(name: str) -> None:
    head = script(name).splitlines()[:3]
    assert f"sources sha256: {digest_of_sources()}" in head, STALE


def test_the_bundle_is_small_and_names_what_it_carries() -> None:
    assert len(gzip.compress(script().encode())) <= LARGEST
    head = script().partition("*/")[0]
    for name in json.loads((GLASS / "package.json").read_text(encoding="utf-8"))["dependencies"]:
        assert f"\n{name} " in head, f"the head of page.js does not name {name}"


def test_the_script_of_lessons_is_small_and_names_what_it_carries() -> None:
    assert len(gzip.compress(script("lesson.js").encode())) <= LARGEST_OF_A_LESSON
    head = script("lesson.js").partition("*/")[0]
    assert "\npreact " in head
    assert "\n@preact/signals " in head


@pytest.mark.parametrize("name", NAMES)
def test_the_bundle_loads_nothing_and_makes_no_code_from_text(name: str) -> None:
    code = script(name).partition("*/")[2]
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|importScripts|sendBeacon)\b\s*\(", code)
    assert not re.search(r"\beval\(|\bnew Function\(", code)
    assert "<!--" not in code


def test_the_lockfile_names_no_host() -> None:
    lock = json.loads((GLASS / "package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, one in lock["packages"].items() if "resolved" in one]
    assert all("integrity" in one for name, one in lock["packages"].items() if name)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
@pytest.mark.skipif(not (GLASS / "node_modules").is_dir(), reason="needs `npm ci` in glass/")
def test_the_engine_passes_its_own_tests() -> None:
    done = subprocess.run(["node", "test.mjs"], cwd=GLASS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
