"""Files and folders that are whole or not there, whatever fails on the way."""

from __future__ import annotations

import errno
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from faults import DEATH, DEATH_WITHIN, FULL, Killed, breaking_disk
from glassformer.errors import RunError
from glassformer.store import disk, files


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@contextmanager
def small_files_only(most: int) -> Iterator[None]:
    """The system itself refuses to write more than so many bytes into a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_written_file_holds_the_bytes_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "a", b"one")
    files.write_atomically(tmp_path / "a", b"two")
    assert everything_in(tmp_path) == {"a": b"two"}


@pytest.mark.parametrize("at", [1, 2, 3])
def test_whatever_fails_in_writing_a_file_the_old_one_is_whole(tmp_path: Path, at: int) -> None:
    """Written, flushed, renamed."""
    files.write_atomically(tmp_path / "a", b"old")
    said = r"a: cannot be written \(No space left on device\)\. .*unchanged\. Free some space and run the same command"
    with breaking_disk(at, FULL), pytest.raises(RunError, match=said):
        files.write_atomically(tmp_path / "a", b"new")
    assert everything_in(tmp_path) == {"a": b"old"}


def test_a_file_cut_by_the_system_never_gets_its_name(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "a", b"old")
    with small_files_only(1000), pytest.raises(RunError, match="File too large"):
        files.write_atomically(tmp_path / "a", b"x" * 5000)
    assert everything_in(tmp_path) == {"a": b"old"}


def test_an_interrupted_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    files.write_atomically(tmp_path / "a", b"old")
    monkeypatch.setattr(disk, "flush", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(tmp_path / "a", b"new")
    assert everything_in(tmp_path) == {"a": b"old"}


def test_a_folder_that_cannot_be_flushed_is_an_error_in_words(tmp_path: Path) -> None:
    with breaking_disk(4, FULL), pytest.raises(RunError, match=rf"^{tmp_path}: cannot be written"):
        files.write_atomically(tmp_path / "a", b"new")


def test_a_failing_disk_has_another_message_than_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(disk, "write", failing)
    with pytest.raises(RunError, match=r"\(Input/output error\).*Check the disk"):
        files.write_atomically(tmp_path / "a", b"new")


def test_whatever_fails_in_writing_a_folder_nothing_of_it_is_left(tmp_path: Path) -> None:
    with breaking_disk() as counted:
        files.write_folder(tmp_path / "counted" / "step", {"a": b"1", "b": b"2"}, about={})
    assert len(counted.done) == 10  # made, three files written and flushed, flushed, renamed, the name flushed
    for at in range(1, 10):
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "earlier").write_bytes(b"safe")
        said = r"step: cannot be written \(No space left on device\)"
        with breaking_disk(at, FULL), pytest.raises(RunError, match=said):
            files.write_folder(folder / "step", {"a": b"1", "b": b"2"}, about={})
        assert [path.name for path in folder.iterdir()] == ["earlier"]


def test_a_folder_that_is_removed_is_never_seen_half(tmp_path: Path) -> None:
    for at, left in ((1, ["step"]), (2, [])):
        files.write_folder(tmp_path / "step", {"a": b"1", "b": b"2"}, about={})
        with breaking_disk(at, DEATH_WITHIN if at == 2 else DEATH), pytest.raises(Killed):
            files.remove_folder(tmp_path / "step")
        assert [path.name for path in tmp_path.glob("step*")] == left
        if left:
            files.remove_folder(tmp_path / "step")


def test_a_folder_has_its_files_and_a_manifest_of_them(tmp_path: Path) -> None:
    files.write_folder(tmp_path / "step", {"b": b"two", "a": b"1"}, about={"step": 7})
    manifest = json.loads((tmp_path / "step" / "manifest.json").read_text())
    assert list(manifest) == ["format", "step", "files", "seal"]
    assert manifest["files"] == {
        "a": {"sha256": files.sha256(b"1"), "bytes": 1},
        "b": {"sha256": files.sha256(b"two"), "bytes": 3},
    }
    assert files.read_checked(tmp_path / "step", "b", files.read_manifest(tmp_path / "step")) == b"two"


@pytest.mark.parametrize("damage", [b"", b"tw", b"tvo", b"two!"])
def test_a_damaged_or_cut_file_is_refused_by_name(tmp_path: Path, damage: bytes) -> None:
    files.write_folder(tmp_path / "step", {"b": b"two"}, about={})
    (tmp_path / "step" / "b").write_bytes(damage)
    with pytest.raises(RunError, match=rf"step/b is damaged or was changed: {len(damage)} bytes, expected 3"):
        files.read_checked(tmp_path / "step", "b", files.read_manifest(tmp_path / "step"))


def test_a_file_that_the_manifest_does_not_know_is_refused(tmp_path: Path) -> None:
    files.write_folder(tmp_path / "step", {"b": b"two"}, about={})
    (tmp_path / "step" / "c").write_bytes(b"three")
    with pytest.raises(RunError, match="step/c is not in the manifest"):
        files.read_checked(tmp_path / "step", "c", files.read_manifest(tmp_path / "step"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"format": 2, "files": {}}', "format 2; this version reads format 1. Update"),
        (b"[]", "format []"),
        (b"{}", "format None"),
        (b'{"format": 1', "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b'{"format": 1}', "damaged"),
        (b'{"format": 1, "files": []}', "damaged"),
        (b'{"format": 1, "files": {"a": 3}}', "damaged"),
        (b'{"format": 1, "files": {"a": {"sha256": "x"}}}', "damaged"),
    ],
)
def test_a_manifest_that_is_none_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(RunError) as caught:
        files.read_manifest(tmp_path)
    assert str(tmp_path / "manifest.json") in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"none\.json is missing\. Restore it"):
        files.read_json(tmp_path / "none.json")


def test_tensors_come_back_bit_by_bit() -> None:
    tensors = {"a": torch.randn(3, 5), "b": torch.randn(7).double(), "c": torch.randn(5, 3).t(), "n": torch.tensor(3.0)}
    found = files.unpack_tensors(files.pack_tensors(tensors), origin="here")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_bytes_that_hold_no_tensors_are_refused_with_their_origin() -> None:
    for content in (b"", b"no tensors", files.pack_tensors({"a": torch.ones(3)})[:-1]):
        with pytest.raises(RunError, match=r"here: not a safetensors file"):
            files.unpack_tensors(content, origin="here")


def test_a_quick_replacement_is_whole_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page"
    files.replace_quickly(path, b"one")
    files.replace_quickly(path, b"two")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("page", b"two")]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RunError, match=r"page: cannot be written \(No space left on device\)\. The previous content"):
        files.replace_quickly(path, b"three")
    assert path.read_bytes() == b"two"
