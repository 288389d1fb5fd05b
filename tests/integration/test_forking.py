"""A child of a process that has computed with several threads says so, and does not hang."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.errors import ModelError
from glassformer.tasks import forking

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]
TEXT = "the dog has me."
LONGEST = 60  # seconds; only a child that hangs takes them


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def in_child(work: Callable[[], bool]) -> bool:
    """Whether `work` says yes in a forked child; an error where it hangs."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def refused(call: Callable[[], object], way: str = "set_num_threads(1)") -> bool:
    try:
        call()
    except ModelError as error:
        return "spawn" in str(error) and way in str(error)
    return False


def test_a_child_of_several_threads_is_told(trained: Path) -> None:
    model = gf.load(trained)
    torch.set_num_threads(2)
    found = model.translate(TEXT)
    assert in_child(lambda: refused(lambda: model.translate(TEXT)))
    assert in_child(lambda: refused(lambda: model.explain(TEXT)))
    assert in_child(lambda: refused(lambda: model.stream(TEXT)))
    assert model.translate(TEXT) == found, "the parent goes on"


def test_a_child_of_several_threads_can_neither_load_nor_train(
    trained: Path, shared_toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    model = gf.load(trained)
    torch.set_num_threads(2)
    model.translate(TEXT)
    assert in_child(lambda: refused(lambda: gf.load(trained)))
    torch.set_num_threads(1)  # a training takes no notice of it
    recipe = shared_toy.recipe(train={"threads": 2})
    assert in_child(lambda: refused(lambda: gf.train_translator(recipe, trained), "train.threads = 1"))


def test_loading_with_several_threads_counts_as_using_them(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking._Process, "computed", False)  # by the tests before
    torch.set_num_threads(2)
    model = gf.load(trained)
    assert in_child(lambda: refused(lambda: model.translate(TEXT)))


def test_a_child_with_one_thread_works(trained: Path) -> None:
    model = gf.load(trained)
    torch.set_num_threads(1)
    found = model.translate(TEXT)
    assert in_child(lambda: model.translate(TEXT) == found)
    torch.set_num_threads(2)
    model.translate(TEXT)

    def with_one() -> bool:
        torch.set_num_threads(1)
        return model.translate(TEXT) == found

    assert in_child(with_one)
