"""The compiled kernel: made once, kept where nobody else can change it, and never silently missing."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from glassformer.nn.native import compiler, private_folder
from glassformer.nn.native.private_folder import PrivateFolder
from glassformer.nn.native.tape import Op

needs_kernels = pytest.mark.skipif(compiler.kernels() is None, reason="there is no C compiler here")
make = compiler.kernels.__wrapped__


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the library that this process has loaded: none of these tests needs to compile it again."""
    library, path = compiler.kernels(), tmp_path_factory.mktemp("made") / "kernels.so"
    assert library is not None
    path.write_bytes(Path(library._name).read_bytes())
    return path


@pytest.fixture
def compilations(made: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where each compilation wrote to. None of them runs a compiler; all leave the mode to the umask, as gcc does."""
    written: list[Path] = []

    def compiled(_command: object, to: Path) -> Path:
        with open(to, "wb", opener=lambda path, flags: os.open(path, flags, 0o777)) as file:
            file.write(made.read_bytes())
        written.append(to)
        return to

    monkeypatch.setattr(compiler, "compiled", compiled)
    return written


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def umask_002() -> Iterator[None]:
    before = os.umask(0o002)
    yield
    os.umask(before)


def kept_in(home: Path) -> Path:
    (path,) = (home / ".cache" / "glassformer" / "kernels").glob("*.so")
    return path


def test_where_there_is_a_compiler_they_compile(tmp_path: Path) -> None:
    gcc = shutil.which("cc")
    small = tmp_path / "small.c"
    small.write_text("#include <pthread.h>\nint main(void) { return 0; }\n")
    if gcc is None or subprocess.run([gcc, "-pthread", small, "-o", tmp_path / "small"]).returncode:
        pytest.skip("there is no C compiler here")
    strict = [gcc, *compiler.OPTIONS, "-Wall", "-Wextra", "-Wno-psabi", "-Werror"]
    library = compiler.opened(compiler.compiled(strict, tmp_path / "kernels.so"))
    assert library.panel_width() % 16 == 0
    assert library.op_size() == ctypes.sizeof(Op)


def test_kernels_can_be_left_out_without_a_word(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(compiler.SWITCH, "0")
    assert make() is None
    assert not caplog.messages


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false", "true"])
@pytest.mark.usefixtures("home")
def test_a_compiler_that_fails_is_reported(
    compiler: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", compiler)
    assert make() is None
    (line,) = caplog.messages
    assert compiler in line
    assert "2 to 4 times slower" in line


@pytest.mark.usefixtures("home")
def test_a_compiler_that_makes_no_file_is_named_as_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", "/bin/true")
    assert make() is None
    (line,) = caplog.messages
    assert "/bin/true: the compiler made no file" in line


def test_no_compiler_is_reported_with_the_way_out(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(home))
    assert make() is None
    (line,) = caplog.messages
    assert "2 to 4 times slower" in line
    assert "install one, for example gcc" in line


@needs_kernels
@pytest.mark.usefixtures("home", "compilations")
def test_a_malformed_cc_is_reported_and_ignored(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", 'gcc "')
    assert make() is not None
    assert caplog.messages == ["CC is 'gcc \"', which is not a command (No closing quotation). It is ignored."]


@needs_kernels
@pytest.mark.usefixtures("umask_002")
def test_it_is_compiled_once_whatever_the_umask(
    home: Path,
    compilations: list[Path],
) -> None:
    assert make() is not None
    assert make() is not None
    assert len(compilations) == 1
    assert kept_in(home).stat().st_mode & 0o777 == 0o700
    assert kept_in(home).parent.stat().st_mode & 0o777 == 0o700


@needs_kernels
def test_a_cache_folder_that_the_users_own_group_can_write_will_do(
    home: Path, compilations: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token cache makes it so with umask 002. A group that others are in will not do."""
    folder = home / ".cache" / "glassformer"
    folder.mkdir(parents=True)
    folder.chmod(0o775)
    monkeypatch.setattr(private_folder, "is_private_group", lambda _: True)
    assert make() is not None
    assert make() is not None
    assert len(compilations) == 1
    monkeypatch.setattr(private_folder, "is_private_group", lambda _: False)
    assert make() is not None
    assert len(compilations) == 2


@needs_kernels
@pytest.mark.usefixtures("compilations")
def test_a_damaged_file_is_made_again(
    home: Path,
) -> None:
    assert make() is not None
    path = kept_in(home)
    whole = path.read_bytes()
    broken = home / "broken"
    broken.write_bytes(whole[:3000])
    broken.chmod(0o700)
    broken.replace(path)
    assert make() is not None
    assert path.read_bytes() == whole


@needs_kernels
@pytest.mark.parametrize("above", ["", "private"])
@pytest.mark.usefixtures("compilations")
def test_a_folder_that_others_can_replace_is_not_used(
    above: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """Others who can write to any folder on the way can put another one in its place."""
    open_to_all = tmp_path / "all"
    (open_to_all / above).mkdir(parents=True, mode=0o700)
    open_to_all.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(open_to_all / above))
    announced: list[str] = []
    monkeypatch.setattr(compiler, "announced", lambda message: nullcontext(announced.append(message)))
    assert make() is not None
    assert not list(open_to_all.rglob("*.so"))
    assert ["done once" in message for message in announced] == [False]
    assert caplog.messages == [
        "The compiled kernels cannot be kept, so every process compiles them: "
        f"other users can write to {open_to_all} (mode 0777)."
    ]
    open_to_all.chmod(0o1777)  # with the sticky bit nobody can replace what belongs to another
    assert make() is not None
    assert list(open_to_all.rglob("*.so"))


@needs_kernels
@pytest.mark.parametrize("place", ["glassformer", "glassformer/kernels"])
@pytest.mark.usefixtures("compilations")
def test_a_link_in_the_place_of_a_folder_is_followed_only_before_the_checks(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "cache" / place).parent.mkdir(parents=True)
    (tmp_path / "cache" / place).symlink_to(tmp_path / "open")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert make() is not None
    assert not list((tmp_path / "open").iterdir())


@needs_kernels
@pytest.mark.skipif(not private_folder.DESCRIPTORS.is_dir(), reason="there is no /proc here")
@pytest.mark.usefixtures("compilations")
def test_what_was_checked_is_what_is_loaded(home: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make() is not None
    folder, opened, loads = kept_in(home).parent, compiler.opened, []

    def exchanged_and_opened(path: str) -> ctypes.CDLL:
        """The last moment for an attacker: between the check and the loader."""
        folder.rename(folder.with_name("moved"))
        folder.mkdir()
        for one in folder.with_name("moved").iterdir():
            (folder / one.name).write_bytes(b"foreign code")
        loads.append(Path(path).read_bytes())
        return opened(path)

    monkeypatch.setattr(compiler, "opened", exchanged_and_opened)
    assert make() is not None
    assert loads == [made.read_bytes()]


@needs_kernels
def test_without_a_home_it_is_compiled_for_this_process_and_no_home_is_made(
    compilations: list[Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nonexistent"))
    assert make() is not None
    assert len(compilations) == 1
    assert not (tmp_path / "nonexistent").exists()
    assert "nonexistent does not exist" in caplog.text


@needs_kernels
@pytest.mark.usefixtures("home")
def test_two_processes_that_need_it_at_once_compile_it_once(
    compilations: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second looks before the first has the lock, and gets the lock after the first is done."""
    locked = PrivateFolder.locked
    first = [True]

    def late(folder: PrivateFolder) -> object:
        if first.pop() if first else False:
            assert compiler.found_or_compiled() is not None  # the other process
        return locked(folder)

    monkeypatch.setattr(PrivateFolder, "locked", late)
    assert make() is not None
    assert len(compilations) == 1


def test_a_lock_excludes_others(tmp_path: Path) -> None:
    import fcntl

    with PrivateFolder(tmp_path) as folder, folder.locked():
        other = (tmp_path / private_folder.LOCK).open("a")
        with other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("takes_long", [True, False])
def test_only_a_wait_is_announced(
    takes_long: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiler, "ANNOUNCE_AFTER", 0.0 if takes_long else 1000.0)
    with compiler.announced("Compiling."):
        until = time.monotonic() + 30
        while takes_long and not caplog.messages and time.monotonic() < until:
            time.sleep(0.001)
    assert caplog.messages == (["Compiling."] if takes_long else [])
    assert all(record.levelno == logging.WARNING for record in caplog.records)
