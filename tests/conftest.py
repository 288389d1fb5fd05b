"""One thread and a fixed seed for every test; `double` for those that compare with a formula.

`toy` is a small translation task as files, with a recipe that learns it in a moment; `trained` a run made of it,
shared by all tests that only read it; `command` the command line inside this process.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is loaded; several workers would fight over the cores

import functools
import io
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import typer.main

from glassformer.train import plan

torch.set_num_threads(1)

SUBJECTS = {"the dog": "der Hund", "a cat": "eine Katze", "my boy": "mein Junge", "his wife": "seine Frau"}
VERBS = {"eats": "isst", "sees": "sieht", "has": "hat"}
OBJECTS = {"bread": "Brot", "two eggs": "zwei Eier", "old red wine": "alten roten Wein", "me": "mich", "us": "uns"}


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["GLASSFORMER_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # a training in an earlier test may have taken all cores


@pytest.fixture(autouse=True, scope="session")
def _hear_interrupts() -> None:
    """A shell lets what it starts in the background ignore Ctrl-C, and so would every process that a test starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _short_forecasts() -> None:
    plan.PATIENCE = 0.0  # a few steps are timed, not seconds of them


@pytest.fixture
def double() -> Iterator[None]:
    """New tensors and modules are float64 while the test runs."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def toy_pairs() -> list[tuple[str, str]]:
    """60 sentence pairs of a small grammar."""
    parts = product(SUBJECTS.items(), VERBS.items(), OBJECTS.items())
    return [(f"{s} {v} {o}.", f"{zs} {zv} {zo}.") for (s, zs), (v, zv), (o, zo) in parts]


@dataclass(frozen=True)
class Toy:
    """The pairs as aligned files in a folder, and a recipe that learns from them."""

    folder: Path
    pairs: list[tuple[str, str]]

    @property
    def source(self) -> Path:
        return self.folder / "toy.en"

    @property
    def target(self) -> Path:
        return self.folder / "toy.de"

    def recipe(self, **changed: dict[str, Any]) -> dict[str, Any]:
        """Settings of a tiny training; `changed` overrides some, section by section."""
        files = (str(self.source), str(self.target))
        tree: dict[str, dict[str, Any]] = {
            "data": {"source": files[0], "target": files[1], "valid": files},
            "text": {"kind": "word", "vocab_size": 60},
            "model": {"size": "nano", "N": 1, "d": 16, "h": 2, "d_ff": 24, "dropout": 0.1},
            "train": {
                "steps": 6,
                "batch_tokens": 150,
                "lr": 1e-2,
                "warmup": 2,
                "valid_every": 2,
                "valid_sentences": 4,
                "threads": 1,
                "device": "cpu",
            },
            "decode": {"beam": 2},
        }
        return {name: {**tree.get(name, {}), **changed.get(name, {})} for name in tree | changed}

    def arguments(self, out: Path | str, *settings: str) -> list[str]:
        """The same recipe for the command line."""
        tree = self.recipe()
        given = [
            f"{section}.{name}={value}"
            for section in ("text", "model", "train")
            for name, value in tree[section].items()
        ]
        files = ["--source", str(self.source), "--target", str(self.target)]
        files += ["--valid", str(self.source), str(self.target)]
        return ["train", *files, "--out", str(out), *(x for s in (*given, *settings) for x in ("--set", s))]


def write_toy(folder: Path) -> Toy:
    toy = Toy(folder, toy_pairs())
    toy.source.write_text("".join(f"{source}\n" for source, _ in toy.pairs), encoding="utf-8")
    toy.target.write_text("".join(f"{target}\n" for _, target in toy.pairs), encoding="utf-8")
    return toy


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return write_toy(tmp_path)


@pytest.fixture(scope="session")
def shared_toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """The same for tests that only read its files."""
    return write_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="session")
def trained(shared_toy: Toy) -> Path:
    """A finished run. Only to be read; `run_copy` is for tests that change it."""
    from glassformer import train_translator

    toy = shared_toy
    train_translator(toy.recipe(train={"steps": 40, "valid_every": 20}), toy.folder / "run")
    return toy.folder / "run"


@pytest.fixture
def run_copy(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "copied-run")


@dataclass(frozen=True)
class Outcome:
    """What a command left behind in this process."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.removesuffix("\n").split("\n")


MADE_ONCE = functools.cache(typer.main.get_command)  # putting the verbs together takes most of a short command's time


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """command("translate", run, ...) runs the entry point as a shell would; `stdin` is what is piped in."""
    from glassformer.cli.main import main

    monkeypatch.setattr(typer.main, "get_command", MADE_ONCE)
    monkeypatch.setenv("COLUMNS", "400")  # no message is broken into lines
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["glassformer", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
        shown = capsys.readouterr()
        return Outcome(code or 0, shown.out, shown.err)

    return run
