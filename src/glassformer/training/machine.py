"""The machine that trains: its allocator, its threads, its device."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from pathlib import Path

import torch

from glassformer.errors import SettingsError
from glassformer.training.ranks import Ranks

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEEP = 1 << 30


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory instead of returning it to the system at once.

    Every step frees and allocates the same large blocks. Getting them from the system again costs a page fault per
    4 KB, which can take longer than the arithmetic. Without glibc this does nothing.
    """
    if (libc := glibc()) is not None:
        libc.mallopt(M_MMAP_THRESHOLD, KEEP)
        libc.mallopt(M_TRIM_THRESHOLD, KEEP)


def give_back_memory() -> None:
    """Returns free memory to the system: for use between two stages of work that need different blocks."""
    gc.collect()
    if (libc := glibc()) is not None:
        libc.malloc_trim(0)


def glibc() -> ctypes.CDLL | None:
    """The C library if it is glibc, which has these options."""
    try:
        return ctypes.CDLL("libc.so.6") if sys.platform == "linux" else None
    except OSError:
        return None


def thread_count(wanted: int | None, *, processes: int = 1) -> int:
    """The wanted number of threads, or OMP_NUM_THREADS, or an equal share of the cores that this process may use.

    With several processes, torchrun sets OMP_NUM_THREADS=1 if it is unset. That looks the same as a user's choice, so 1
    then counts as unset; users who want one thread set `train.threads`.
    """
    if wanted is not None:
        return wanted
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) and not (processes > 1 and asked == "1"):
        return int(asked)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // processes)


def process_age() -> float:
    """Seconds since this process was started; its CPU time if the system does not give the start."""
    try:
        stat = Path("/proc/self/stat").read_text(errors="replace")
        ticks = int(stat.rpartition(")")[2].split()[19])  # field 22: the start, in ticks since the boot
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()


def device_of_rank(name: str, ranks: Ranks) -> torch.device:
    """The device of this process. Several processes on a machine each have their own GPU, or all use the CPU."""
    if ranks.world == 1:
        return choose_device(name)
    if name not in ("auto", "cpu", "cuda"):
        raise SettingsError(f"train.device = {name!r} cannot be shared by {ranks.world} processes. Allowed: cpu, cuda.")
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if ranks.local_world > torch.cuda.device_count():
        raise SettingsError(
            f"{ranks.local_world} processes on this machine and {torch.cuda.device_count()} GPUs: each process needs "
            "one of its own. Start fewer (--nproc-per-node), or train on the CPU with --set train.device=cpu."
        )
    device = choose_device(f"cuda:{ranks.local_rank}")
    torch.cuda.set_device(device)
    return device


def choose_device(name: str) -> torch.device:
    """The device with this name; `auto` is a GPU if there is one. A missing device is an error."""
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


def precision_on(device: str) -> str:
    """bf16 on GPUs that multiply in it, else fp32.

    CPUs compute in fp32, also those that multiply faster in bf16 (AMX): autocast leaves our kernels, which are float32,
    and converts between the formats around every product. A small language model trained at 0.7 times the speed of a
    plain float32 loop that way.
    """
    fast = device.startswith("cuda") and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if fast else "fp32"
