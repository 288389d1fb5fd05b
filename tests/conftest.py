"""One thread and a fixed seed for every test; `double` for those that compare with a formula.

`toy` is a small translation task as files, with a recipe that learns it in a moment; `trained` a run made of it,
shared by all tests that only read it; `command` the command line inside this process.
"""

from __future__ import annotations

import os

# Read when numpy and torch are loaded, here and in the processes that tests start. Several workers with several threads
# each would fight over the cores, and threads that wait for others keep a core busy.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import functools
import gc
import io
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import typer.main

import forking
from glassformer.training import budget, plan
from toy_corpus import Outcome, Toy, write_toy

torch.set_num_threads(1)


MANY_MODULES = 100  # loaded since the last freeze: torch and transformers load hundreds when something first needs them
FROZEN = {"modules": 0}


def freeze() -> None:
    """Each training collects garbage three times; it need not look through all modules and tests each time."""
    gc.collect()
    gc.freeze()
    FROZEN["modules"] = len(sys.modules)


def pytest_collection_finish() -> None:
    freeze()


def pytest_runtest_logfinish() -> None:
    if len(sys.modules) > FROZEN["modules"] + MANY_MODULES:
        freeze()


def pytest_sessionfinish() -> None:
    forking.close()


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
    plan.PATIENCE = budget.SHORTEST_TRIAL = budget.LONGEST_TRIAL = 0.0  # a few steps are timed, not seconds of them


@pytest.fixture
def double() -> Iterator[None]:
    """New tensors and modules are float64 while the test runs."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


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
    train_translator(toy.recipe(train={"steps": 40, "valid_every": 20, "seed": 3}), toy.folder / "run")
    return toy.folder / "run"


@pytest.fixture
def run_copy(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "copied-run")


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
