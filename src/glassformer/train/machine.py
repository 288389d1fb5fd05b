"""The machine under the training: its allocator, its threads, its device."""

from __future__ import annotations

import ctypes
import os
import sys

import torch

from glassformer.errors import SettingsError

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEEP = 1 << 30


def keep_freed_memory() -> None:
    """Tells glibc to keep freed memory instead of giving it back at once.

    Every step frees and asks for the same large blocks; fetching them from the system anew costs a page fault per
    4 KB, which can take longer than the arithmetic. Elsewhere than on glibc this does nothing.
    """
    if sys.platform != "linux":
        return
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return
    libc.mallopt(M_MMAP_THRESHOLD, KEEP)
    libc.mallopt(M_TRIM_THRESHOLD, KEEP)


def thread_count(wanted: int | None) -> int:
    """The wanted number of threads, or OMP_NUM_THREADS, or one per core that this process may use."""
    if wanted is not None:
        return wanted
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU where there is one; a device that is not there is an error."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # must hold numbers, which "meta" does not
    except (RuntimeError, AssertionError, NotImplementedError):
        raise SettingsError(
            f"The device {name!r} is not on this machine. Allowed: auto, cpu, cuda, mps, or one of several as cuda:1."
        ) from None
    return device
