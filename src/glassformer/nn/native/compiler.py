"""The C kernels, compiled once for this machine if there is a C compiler. Without one, torch computes everything.

The compiled file is kept in the user's cache folder, under a name that changes with the source, the compiler's options
and the processor. Where there is no such folder, each process compiles its own. GLASSFORMER_NATIVE=0 turns it off.
A slow compilation or a missing compiler is logged as a warning, once.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING

from glassformer.user_cache import user_cache_folder

if TYPE_CHECKING:
    from glassformer.nn.native.private_folder import PrivateFolder

FOLDER = Path(__file__).parent
SOURCE_NAMES = ("kernels.c", "attention.c", "activations.c", "rms_norm.c", "dropout.c", "word2vec.c", "word_lines.c")
SOURCES = [FOLDER / name for name in SOURCE_NAMES]
HEADERS = [FOLDER / name for name in ("vectors.h", "activations.h", "team.h", "parallel.h")]
OPTIONS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-pthread", "-shared", "-fPIC")
SWITCH = "GLASSFORMER_NATIVE"
COMPILERS = ("cc", "gcc", "clang")
SECONDS = 120  # longer than any compiler needs
ANNOUNCE_AFTER = 1.0  # seconds; a longer compilation is announced

SLOWER = f"decoding on the CPU is 2 to 4 times slower, and training slower too. {SWITCH}=0 silences this note."
NO_COMPILER = f"No C compiler was found ({', '.join(COMPILERS)}); install one, for example gcc. Without it {SLOWER}"
COMPILING = "Compiling the kernels for this processor. This is done once and takes a few seconds."
COMPILING_AGAIN = "Compiling the kernels for this process. This takes a few seconds."

Pointer, Whole = ctypes.c_void_p, ctypes.c_int64
COMPILING_LOCK = Lock()
log = logging.getLogger(__name__)


class CompilerError(Exception):
    """The kernels cannot be compiled here, for the given reason."""


@cache
def kernels() -> ctypes.CDLL | None:
    """The library, or None if it is turned off or cannot be compiled."""
    with COMPILING_LOCK:  # one thread compiles, the others find its file
        return found_or_compiled()


def found_or_compiled() -> ctypes.CDLL | None:
    if os.environ.get(SWITCH) == "0" or os.name != "posix":
        return None
    compiler = compiler_command()
    if not compiler:
        log.warning(NO_COMPILER)
        return None
    command = [*compiler, *OPTIONS]
    try:
        try:
            return kept(command)
        except OSError as error:  # no home folder, or no safe place in it
            log.warning("The compiled kernels cannot be kept, so every process compiles them: %s.", reason_of(error))
        return compiled_for_this_process(command)
    except (OSError, CompilerError) as error:
        log.warning("The kernels cannot be compiled (%s). Without them %s", reason_of(error), SLOWER)
        return None


def reason_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def compiler_command() -> list[str]:
    """The command in CC, or the first compiler that is found, or nothing."""
    asked = os.environ.get("CC", "")
    try:
        words = shlex.split(asked)
    except ValueError as error:
        log.warning("CC is %r, which is not a command (%s). It is ignored.", asked, error)
        words = []
    return words or next(([path] for name in COMPILERS if (path := shutil.which(name))), [])


def kept(command: Sequence[str]) -> ctypes.CDLL:
    """The library in the cache folder, compiled if it is missing or damaged. One of several processes compiles."""
    from glassformer.nn.native.private_folder import PrivateFolder

    sources = [path.read_text(encoding="utf-8") for path in (*SOURCES, *HEADERS)]
    key = "\n".join([*sources, *command, processor()])
    name = f"kernels-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
    with PrivateFolder(user_cache_folder() / "kernels") as folder:
        if (library := loaded(folder, name)) is not None:
            return library
        with announced(COMPILING), folder.locked():
            if (library := loaded(folder, name)) is not None:  # another process has just compiled it
                return library
            with tempfile.TemporaryDirectory(dir=folder.path) as work:
                put(compiled(command, Path(work, name)), folder.path / name)
        library = loaded(folder, name)
    if library is None:
        raise PermissionError(f"{folder.path / name} was changed while it was loaded")
    return library


def put(made: Path, path: Path) -> None:
    """Moves the library into place atomically; only this user may write it, whatever the umask is."""
    digest = made.with_suffix(".sha256")
    digest.write_text(hashlib.sha256(made.read_bytes()).hexdigest())
    for one, target in ((made, path), (digest, path.with_suffix(".sha256"))):
        one.chmod(0o700)
        one.replace(target)


def compiled_for_this_process(command: Sequence[str]) -> ctypes.CDLL:
    from glassformer.nn.native.private_folder import PrivateFolder

    with tempfile.TemporaryDirectory() as work, PrivateFolder(Path(work)) as folder:
        with announced(COMPILING_AGAIN):
            put(compiled(command, folder.path / "made.so"), folder.path / "kernels.so")
        library = loaded(folder, "kernels.so")
    if library is None:
        raise PermissionError(f"{work} was changed by another process")
    return library


def loaded(folder: PrivateFolder, name: str) -> ctypes.CDLL | None:
    """The library of this name if it exists and is undamaged. The same open file is checked and loaded."""
    try:
        digest = read(folder.open(str(Path(name).with_suffix(".sha256"))))
        descriptor = folder.open(name)
    except FileNotFoundError:
        return None
    if hashlib.sha256(read(os.dup(descriptor))).hexdigest().encode() != digest:
        os.close(descriptor)
        return None
    # It stays open: the loader takes two libraries with the same path, here the same descriptor, for one.
    return opened(folder.loadable(name, descriptor))


def read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def opened(path: str | Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.threads_now.argtypes, library.threads_now.restype = [Whole], Whole
    library.panel_width.restype = library.op_size.restype = Whole
    library.run.argtypes, library.run.restype = [Pointer, Whole, Whole, Whole], Whole
    library.best.argtypes = [Pointer, Whole, Whole, Whole, Pointer, Pointer, Whole]
    library.best.restype = None
    library.attention.argtypes, library.attention.restype = [Pointer, Whole, Whole], Whole
    library.dropout.argtypes = [Pointer, Pointer, Whole, ctypes.c_uint64, Whole, Whole]
    library.dropout.restype = None
    library.activate.argtypes = [Whole, Pointer, Pointer, Pointer, Whole, Whole]
    library.activate.restype = None
    library.activate_backward.argtypes = [Whole, Pointer, Pointer, Pointer, Pointer, Pointer, Whole, Whole]
    library.activate_backward.restype = None
    library.rms_norm.argtypes = [*(4 * [Pointer]), Whole, Whole, ctypes.c_double, Whole]
    library.rms_norm.restype = None
    library.rms_norm_backward.argtypes = [*(6 * [Pointer]), Whole, Whole, Whole]
    library.rms_norm_backward.restype = None
    library.rms_norm_portions.argtypes, library.rms_norm_portions.restype = [Whole], Whole
    library.word2vec.argtypes, library.word2vec.restype = [Pointer], Whole
    library.word2vec_size.restype = Whole
    library.word_lines.argtypes, library.word_lines.restype = [Pointer, *(2 * [Whole]), *(3 * [Pointer])], Whole
    library.attention_size.restype = library.lanes.restype = library.has_threads.restype = Whole
    return library


def compiled(command: Sequence[str], to: Path) -> Path:
    call = [*command, *map(str, SOURCES), "-o", str(to), "-lm", "-ldl"]
    try:
        subprocess.run(call, check=True, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").split("\n")
        reason = next((line for line in lines if "error" in line), f"exit code {error.returncode}")
        raise CompilerError(f"{command[0]}: {reason.strip()}") from None
    except subprocess.TimeoutExpired:
        raise CompilerError(f"{command[0]} took longer than {SECONDS} seconds") from None
    except OSError as error:
        raise CompilerError(f"{command[0]}: {error.strerror}") from None
    if not to.is_file():
        raise CompilerError(f"{command[0]}: the compiler made no file")
    return to


@contextmanager
def announced(message: str) -> Iterator[None]:
    """Logs the message if the work takes longer than a moment."""
    timer = Timer(ANNOUNCE_AFTER, log.warning, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def processor() -> str:
    """What the compiler's "native" means here: several machines may share a home folder."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    known = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join([platform.platform(), platform.machine(), *sorted(known)])
