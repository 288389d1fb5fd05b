"""Unforeseen errors: the user gets one line, and a traceback only on request."""

from __future__ import annotations

import errno
import io
import os
import re
import resource
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEBUG = "GLASSFORMER_DEBUG"
BROKEN_PIPE = 141  # a shell's exit code for a process that SIGPIPE ended
NOT_LOADED = ("failed to map segment", "cannot allocate", "Cannot allocate")  # messages of libraries without memory
# Address space that the libraries alone take (ulimit -v, measured with 2 threads). With less they end the process
# themselves, some without a message, so the command is refused before it starts.
LEAST = {"train": 1100 << 20, "demo": 1100 << 20} | dict.fromkeys(
    ("translate", "evaluate", "explain", "compare", "generate", "embed", "fill", "classify", "caption", "tag"),
    650 << 20,
)
ASKED_FOR = re.compile(r"tried to allocate (\d+) bytes|Unable to allocate ([\d.]+ [KMGTPE]?i?B)")


def out_of_memory(error: BaseException) -> bool:
    """Whether Python, torch, NumPy, the tokenizers or a file operation ran out of memory."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    said = str(error)
    if isinstance(error, SystemError):  # from a module without memory for its own error
        return "without exception set" in said and bool(_limit())
    if isinstance(error, ImportError):
        return any(words in said for words in NOT_LOADED)
    from_libraries = "allocate memory" in said or "not enough memory" in said or "out of memory" in said.lower()
    panic = type(error).__name__ == "PanicException" and ("ThreadPoolBuild" in said or "WouldBlock" in said)
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and from_libraries) or panic


def memory_in_words(error: BaseException, verb: str) -> str:
    """The message: which command, how much it needed if known, and how much there is."""
    found = ASKED_FOR.search(str(error))
    needed = ""
    if found and not (found[1] and int(found[1]) < 2**20):  # a small last request says little
        needed = f" (it needed {found[2] or _size(int(found[1]))} at once)"
    there = ", ".join(part for part in (_free(), _limit()) if part)
    return (
        f"not enough memory for `{verb}`{needed}. {there[:1].upper()}{there[1:]}. Close other programs, raise the "
        "limit, or use smaller settings (beam, decode.batch_tokens, train.batch_tokens, model.size)."
    )


def too_small_a_limit(verb: str) -> str:
    """The message if this process' memory limit is too small for a command to start; empty if it is not."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    least = LEAST.get(verb, 0)
    if limit == resource.RLIM_INFINITY or limit >= least:
        return ""
    return (
        f"`glassformer {verb}` needs at least {_size(least)} of address space to load its libraries, and {_limit()}. "
        "Raise the limit: ulimit -v unlimited."
    )


def _free() -> str:
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except (OSError, MemoryError):
        found = None
    return f"{_size(1024 * int(found[1]))} of memory are free" if found else ""


def _limit() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return "" if limit == resource.RLIM_INFINITY else f"this process may have {_size(limit)} (ulimit -v)"


def _size(count: int) -> str:
    return f"{count / 2**30:,.1f} GB" if count >= 2**30 else f"{count / 2**20:,.0f} MB"


def bug_in_words(error: BaseException) -> str:
    """The message for a bug in glassformer, with the place to report."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    said = " ".join(str(error).split())[:200]
    return (
        f"internal error{place}: {type(error).__name__}: {said}. This is a bug in glassformer, please report it; "
        f"{DEBUG}=1 shows the traceback."
    )


def wants_traceback() -> bool:
    return os.environ.get(DEBUG, "") not in ("", "0")


class Nowhere(io.FileIO):
    """Replaces a closed stream; remembers whether anything was written to it."""

    lost = False

    def __init__(self) -> None:
        super().__init__(os.devnull, "w")

    def write(self, data: Buffer) -> int:
        self.lost = True
        return super().write(data)


def open_closed_streams() -> None:
    """Discards output to stdout or stderr if the process was started with it closed (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(Nowhere()), encoding="utf-8"))


def output_was_lost() -> bool:
    """Whether results were written to a closed stdout."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, Nowhere) and raw.lost


def reader_left(leaving: BaseException) -> bool:
    """Whether a library ends the process because the reader of our output is gone."""
    before = leaving.__context__
    return isinstance(before, BrokenPipeError) or (before is not None and reader_left(before))


def leave_at_once(leaving: SystemExit) -> None:
    """Ends a process that torchrun started, without the interpreter's teardown; does nothing in others.

    During teardown, threads of the communication library may still run and abort the process after all is written.
    """
    if int(os.environ.get("WORLD_SIZE") or 1) == 1 or not isinstance(leaving.code, int | None):
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(leaving.code or 0)
