"""Errors that nobody foresaw are one line each; a traceback is shown where it is asked for."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer

from glassformer.cli import failing
from glassformer.cli import main as entry
from glassformer.cli.failing import open_closed_streams
from glassformer.cli.translating import sentence_chunks
from glassformer.errors import GlassformerError

PanicException = type("PanicException", (BaseException,), {})  # as pyo3 names a panic of Rust

MEMORY = {
    "Python": MemoryError(),
    "torch": RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 13194139533312 bytes."),
    "NumPy": MemoryError("Unable to allocate 7.45 GiB for an array with shape (1000000000,)"),
    "a file": OSError(errno.ENOMEM, "Cannot allocate memory"),
    "the linker": ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    "rayon": PanicException("called `Result::unwrap()` on an `Err` value: ThreadPoolBuildError { kind: WouldBlock }"),
}
BUGS = {
    "a type": TypeError("'<' not supported"),
    "a key": KeyError("beam"),
    "two lines": ValueError("one\ntwo\x1b[31m"),
    "another panic": PanicException("index out of bounds"),
    "recursion": RecursionError("maximum recursion depth exceeded"),
}


@pytest.fixture
def failing_with(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Any]:
    def run(error: BaseException) -> Any:
        def fail() -> None:
            raise error

        monkeypatch.setattr(entry, "app", fail)
        return command("translate", "run", "x")

    return run


@pytest.mark.parametrize("name", MEMORY)
def test_too_little_memory_says_what_was_done_and_how_much_there_is(
    failing_with: Callable[[BaseException], Any], name: str
) -> None:
    outcome = failing_with(MEMORY[name])
    assert outcome.code == 2
    assert outcome.err.startswith("glassformer: not enough memory for `glassformer translate`")
    assert "free" in outcome.err
    assert outcome.err.count("\n") == 1


def limit_to(monkeypatch: pytest.MonkeyPatch, megabytes: int) -> None:
    monkeypatch.setattr(failing.resource, "getrlimit", lambda _: (megabytes << 20, megabytes << 20))


def test_a_module_that_fails_without_an_error_had_too_little_memory(
    failing_with: Callable[[BaseException], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = SystemError("error return without exception set")
    assert "internal error" in failing_with(error).err  # without a limit that would be a bug
    limit_to(monkeypatch, 800)
    assert "not enough memory" in failing_with(error).err


@pytest.mark.parametrize(("verb", "megabytes"), [("train", 1000), ("translate", 550)])
def test_a_limit_with_which_libraries_would_end_the_process_is_refused(
    verb: str, megabytes: int, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry, "app", lambda: None)
    assert command(verb, "x").err == ""
    limit_to(monkeypatch, megabytes)
    outcome = command(verb, "x")
    assert outcome.code == 2
    assert f"`glassformer {verb}` needs at least" in outcome.err
    assert "(ulimit -v)" in outcome.err
    assert outcome.err.count("\n") == 1
    assert command(verb, "--help").err == ""
    assert command("doctor", "x").err == ""


def test_a_small_last_request_is_not_reported_as_what_was_needed(failing_with: Callable[[BaseException], Any]) -> None:
    straw = RuntimeError("can't allocate memory: you tried to allocate 128 bytes.")
    assert "it needed" not in failing_with(straw).err


def test_the_requested_memory_is_reported(failing_with: Callable[[BaseException], Any]) -> None:
    assert "12,288.0 GB" in failing_with(MEMORY["torch"]).err
    assert "7.45 GiB" in failing_with(MEMORY["NumPy"]).err


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_one_line_that_says_how_to_see_more(failing_with: Callable[[BaseException], Any], name: str) -> None:
    outcome = failing_with(BUGS[name])
    assert outcome.code == 1
    assert outcome.err.startswith("glassformer: internal error in test_failing.py, line ")
    assert "GLASSFORMER_DEBUG=1" in outcome.err
    assert outcome.err.count("\n") == 1
    assert "\x1b" not in outcome.err


def test_the_traceback_comes_where_it_is_asked_for(
    failing_with: Callable[[BaseException], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSFORMER_DEBUG", "1")
    with pytest.raises(KeyError):
        failing_with(BUGS["a key"])


def test_a_reader_that_leaves_ends_the_command_as_elsewhere(failing_with: Callable[[BaseException], Any]) -> None:
    leaving = SystemExit(1)
    leaving.__context__ = BrokenPipeError()
    outcome = failing_with(leaving)
    assert (outcome.code, outcome.err) == (141, "")
    assert failing_with(SystemExit(1)).code == 1


def test_what_is_written_to_a_closed_stdout_is_an_error(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    outcome = command("--version")
    sys.stdout.close()
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "stdout is closed" in outcome.err


def test_nothing_is_lost_where_nothing_is_written(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def quiet() -> None:
        raise SystemExit(0)

    monkeypatch.setattr(entry, "app", quiet)
    monkeypatch.setattr(sys, "stdout", None)
    outcome = command("train")
    sys.stdout.close()
    assert (outcome.code, outcome.err) == (0, "")


def test_a_closed_stdin_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(GlassformerError, match="stdin is closed"):
        next(sentence_chunks(None, None))


def test_streams_that_were_closed_take_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    open_closed_streams()
    typer.echo("nobody hears this")
    typer.echo("nor this", err=True)
    sys.stdout.flush()


def test_a_process_of_torchrun_leaves_without_teardown_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(failing.os, "_exit", left.append)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    failing.leave_at_once(SystemExit(0))
    assert left == []
    monkeypatch.setenv("WORLD_SIZE", "2")
    failing.leave_at_once(SystemExit(None))
    failing.leave_at_once(SystemExit(2))
    assert left == [0, 2]
