"""kernels.c, compiled once for this machine where a C compiler is at hand. Without one, torch alone computes.

The compiled file is kept in the user's cache folder, under a name that changes with the source, the compiler's options
and the processor; where there is no such folder, each process compiles its own. GLASSFORMER_NATIVE=0 leaves it out.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("kernels.c")
OPTIONS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fopenmp", "-shared", "-fPIC")
SWITCH = "GLASSFORMER_NATIVE"
COMPILERS = ("cc", "gcc", "clang")
SECONDS = 120  # longer than any compiler needs

Pointer, Whole = ctypes.c_void_p, ctypes.c_int64


@cache
def kernels() -> ctypes.CDLL | None:
    """The library, or None where it is not wanted or cannot be made."""
    found = [path for name in COMPILERS if (path := shutil.which(name))]
    compiler = shlex.split(os.environ.get("CC", "")) or found[:1]
    if os.environ.get(SWITCH) == "0" or not compiler:
        return None
    command = [*compiler, *OPTIONS]
    try:
        return opened(kept(command))
    except (OSError, RuntimeError):  # no home, or no place to keep it safely
        pass
    except (subprocess.SubprocessError, AttributeError):  # it cannot be compiled
        return None
    try:
        with tempfile.TemporaryDirectory() as own:
            return opened(compiled(command, Path(own, "kernels.so")))
    except (OSError, subprocess.SubprocessError):
        return None


def opened(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.panel_width.restype = library.op_size.restype = Whole
    library.run.argtypes, library.run.restype = [Pointer, Whole, Whole, Whole], Whole
    library.best.argtypes = [Pointer, Whole, Whole, Whole, Pointer, Pointer, Whole]
    library.best.restype = None
    return library


def kept(command: Sequence[str]) -> Path:
    """The library's file in the cache folder, made if it is not there whole; others may be making it too."""
    told = "\n".join([SOURCE.read_text(encoding="utf-8"), *command, processor()])
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"kernels-{hashlib.sha256(told.encode()).hexdigest()[:16]}.so"
    if not (is_ours(folder) and (not path.exists() or is_ours(path))):
        raise PermissionError(f"{path} could be changed by others")
    digest = path.with_suffix(".sha256")
    if not (path.exists() and digest.exists() and digest.read_text() == sha256_of(path)):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            made = compiled(command, Path(own, path.name))
            Path(own, digest.name).write_text(sha256_of(made))
            made.replace(path)
            Path(own, digest.name).replace(digest)
    return path


def compiled(command: Sequence[str], to: Path) -> Path:
    order = [*command, str(SOURCE), "-o", str(to), "-lm"]
    subprocess.run(order, check=True, capture_output=True, timeout=SECONDS)
    return to


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_ours(path: Path) -> bool:
    """What is loaded is run: nobody else may be able to write it."""
    found = path.stat()
    return found.st_uid == os.getuid() and not found.st_mode & 0o022


def cache_folder() -> Path:
    asked = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (asked if asked.is_absolute() else Path.home() / ".cache") / "glassformer"


def processor() -> str:
    """What the compiler's "native" means here: homes are shared between machines."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    known = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join([platform.platform(), platform.processor(), *sorted(known)])
