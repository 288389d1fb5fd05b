"""kernels.c, compiled once for this machine where a C compiler is at hand. Without one, torch alone computes.

The compiled file is kept in the user's cache folder, under a name that changes with the source, the compiler's options
and the processor. GLASSFORMER_NATIVE=0 leaves it out.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("kernels.c")
OPTIONS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fopenmp", "-shared", "-fPIC")
SWITCH = "GLASSFORMER_NATIVE"
SECONDS = 120  # longer than any compiler needs

Pointer, Whole = ctypes.c_void_p, ctypes.c_int64


@cache
def kernels() -> ctypes.CDLL | None:
    """The library, or None where it is not wanted or cannot be made."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if os.environ.get(SWITCH) == "0" or compiler is None:
        return None
    try:
        return opened(compiled([*compiler.split(), *OPTIONS]))
    except (OSError, subprocess.SubprocessError):  # no such compiler, no OpenMP, no place to write
        return None


def opened(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.panel_width.restype = Whole
    library.run.argtypes, library.run.restype = [Pointer, Whole, Whole, Whole], Whole
    library.best.argtypes = [Pointer, Whole, Whole, Whole, Pointer, Pointer, Whole]
    library.best.restype = None
    return library


def compiled(command: Sequence[str]) -> Path:
    """The library's file, made if it is not there yet; others may be making it at the same time."""
    told = "\n".join([SOURCE.read_text(encoding="utf-8"), *command, processor()])
    folder = cache_folder()
    path = folder / f"kernels-{hashlib.sha256(told.encode()).hexdigest()[:16]}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as own:
            made = Path(own, path.name)
            order = [*command, str(SOURCE), "-o", str(made), "-lm"]
            subprocess.run(order, check=True, capture_output=True, timeout=SECONDS)
            made.replace(path)
    return path


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glassformer"


def processor() -> str:
    """What the compiler's "native" means here: homes are shared between machines."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    known = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join([platform.platform(), platform.processor(), *sorted(known)])
