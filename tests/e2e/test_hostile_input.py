"""Numbers, nestings and files that were made to break things: one line and exit code 2, as for any other mistake."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_bad_input import OUT, Bad, contents, damage, write

from glassformer.store import files

DIGITS = "9" * 5000
DEEP = 100_000
CORPUS = "train --corpus phrasebook --out new/run"

NUMBERS = {
    "a beam of 100,000": Bad("translate run x --beam 100000", "--beam"),
    "a beam of 10**22": Bad(f"translate run x --beam {10**22}", "--beam"),
    "a beam of 5,000 digits": Bad(f"translate run x --beam {DIGITS}", "--beam"),
    "many translations": Bad("translate run x --beam 1000 --n-best 100000", "--n-best"),
    "decode.beam of 5,000 digits": Bad(f"translate run x --set decode.beam={DIGITS}", "decode.beam"),
    "decode.max_extra beyond 64 bits": Bad(
        "translate run x --set decode.max_extra=99999999999999999999", ("max_extra", "1000000")
    ),
    "decode.batch_tokens": Bad(f"translate run x --set decode.batch_tokens={10**30}", "batch_tokens"),
    "a temperature of 400 digits": Bad(f"translate run x --sample --temperature 1{'0' * 400}", "--temperature"),
    "train.lr of 400 digits": Bad(f"{OUT} --set train.lr=1{'0' * 400}", "train.lr"),
    "train.threads": Bad(f"{OUT} --set train.threads={10**9}", ("train.threads", "1024")),
    "train.batch_tokens": Bad(f"{OUT} --set train.batch_tokens={10**15}", "train.batch_tokens"),
    "train.steps": Bad(f"{OUT} --set train.steps={10**30}", "train.steps"),
    "a budget of a thousand years": Bad(f"{OUT} --budget 8760000h", ("train.budget", "a year")),
    "a budget of 5,000 digits": Bad(f"{OUT} --budget {DIGITS}h", "train.budget"),
    "a vocabulary of 10**12": Bad(f"{OUT} --set text.vocab_size={10**12}", "text.vocab_size"),
    "a tokenizer of 10**12": Bad(f"tokenizer train toy.en --vocab-size {10**12} --out new.json", "--vocab-size"),
    "a corpus of 10**15": Bad(f"{CORPUS} --set data.corpus_size={10**15}", ("data.corpus_size", "1000000")),
    "a corpus too small to test with": Bad(f"{CORPUS} --set data.corpus_size=200", ("data.corpus_size", "8000")),
    "10**8 blocks": Bad(f"{OUT} --set model.N={10**8}", ("model.N", "1000")),
    "a width of 10**9": Bad(f"{OUT} --set model.d={10**9}", ("model.d", "1048576")),
    "a model that no machine holds": Bad(
        f"{OUT} --set model.d=1048576 --set model.d_ff=1048576 --set model.h=1024 --set model.N=100", ("GB", "model")
    ),
    "a recipe with 5,000 digits": Bad("train bad.toml --out new/run", "bad.toml", write("bad.toml", f"x = {DIGITS}\n")),
}

NESTED = {
    "--set of brackets": Bad(f"translate run x --set decode.beam={'[' * DEEP}", "decode.beam"),
    "--set of lists": Bad(f"translate run x --set decode.beam={'[' * DEEP}{']' * DEEP}", "decode.beam"),
    "a recipe of lists": Bad(
        "train bad.toml --out new/run", "bad.toml", write("bad.toml", f"x = {'[' * DEEP}{']' * DEEP}\n")
    ),
    "a recipe of tables": Bad(
        "train bad.toml --out new/run", "bad.toml", write("bad.toml", f"[{'a.' * 5000}a]\nb = 1")
    ),
    "a manifest of lists": Bad(
        "translate run x", "run/manifest.json", damage("manifest.json", lambda _: b"[" * DEEP + b"]" * DEEP)
    ),
    "a manifest of 5,000 digits": Bad(
        "translate run x", "run/manifest.json", damage("manifest.json", lambda _: DIGITS.encode())
    ),
    "a tokenizer of lists": Bad("tokenizer encode bad.json x", "bad.json", write("bad.json", "[" * DEEP + "]" * DEEP)),
}


def card(**changed: Any) -> Callable[[Path], object]:
    """The card of an export, edited; the engine's own files are not looked at before it."""
    told = {
        "tokenizers": ["tokenizer.json"],
        "beam": 2,
        "alpha": 1.0,
        "max_ratio": 3.0,
        "max_extra": 10,
        "min_ratio": 0.0,
    }
    told |= {"no_repeat": 0, "batch_tokens": 4096, "positions": 512}
    return write("run/exported.json", json.dumps(told | changed))


EXPORTED = "translate run x --engine ctranslate2"
CARDS = {
    "a beam in quotes": Bad(EXPORTED, ("exported.json: beam", "from 1 to 1,000"), card(beam="5")),
    "a beam of 10**30": Bad(EXPORTED, "exported.json: beam", card(beam=10**30)),
    "no ratio": Bad(EXPORTED, "exported.json: max_ratio", card(max_ratio=None)),
    "a list for a number": Bad(EXPORTED, "exported.json: alpha", card(alpha=[])),
    "a list for a card": Bad(EXPORTED, "exported.json", write("run/exported.json", "[]")),
    "a card of lists": Bad(EXPORTED, "run cannot be used", write("run/exported.json", "[" * DEEP)),
}
TOLD = {
    "a file of a run": Bad("translate run/model.safetensors x", "Give the folder: run"),
    "unequal files": Bad("evaluate run toy.en bad.de", "glassformer clean --trim", write("bad.de", "x\n")),
    "a line over 1 MB": Bad("translate run --input bad.en", "Split the line", write("bad.en", "a " * 700_000)),
}

CASES = {**NUMBERS, **NESTED, **CARDS, **TOLD}


@pytest.mark.parametrize("name", CASES)
def test_it_is_one_line_and_changes_nothing(
    toy: Any, trained: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, folder = CASES[name], toy.folder
    shutil.copytree(trained, folder / "run")
    case.prepare(folder)
    monkeypatch.chdir(folder)
    before = contents(folder)
    outcome = command(*case.parts)
    assert outcome.code == 2, outcome
    for part in (case.told,) if isinstance(case.told, str) else case.told:
        assert part in outcome.err, outcome.err
    assert outcome.out == ""
    assert outcome.err.count("glassformer: ") == 1 or outcome.err.startswith("Usage: ")
    assert len(outcome.err) < 1500
    assert contents(folder) == before


def sealed_anew(run: Path, old: bytes, new: bytes) -> None:
    """Changes the settings of a run as someone would who also knows how to seal them."""
    config = (run / "config.toml").read_bytes()
    assert old in config
    (run / "config.toml").write_bytes(config.replace(old, new))
    manifest = json.loads((run / "manifest.json").read_bytes())
    del manifest[files.SEAL]
    changed = (run / "config.toml").read_bytes()
    manifest["files"]["config.toml"] = {"sha256": files.sha256(changed), "bytes": len(changed)}
    (run / "manifest.json").write_bytes(files.sealed(manifest))


SIZES = {
    "blocks": (b"\nN = 1\n", b"\nN = 50\n", "do not fit"),
    "beyond all bounds": (b"\nN = 1\n", b"\nN = 10000000\n", "model.N"),
    "width": (b"\nd = 16\n", b"\nd = 1048576\n", "do not fit"),
    "inner width": (b"\nd_ff = 24\n", b"\nd_ff = 1000000\n", "do not fit"),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_the_weights_do_not_have_are_refused_before_memory_is_taken(
    run_copy: Path, command: Callable[..., Any], name: str
) -> None:
    old, new, told = SIZES[name]
    sealed_anew(run_copy, old, new)
    outcome = command("translate", run_copy, "the dog")
    assert outcome.code == 2, outcome
    assert told in outcome.err
    assert outcome.err.count("\n") == 1
