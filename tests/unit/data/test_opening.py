"""Bytes of files: plain or packed, from a file or from stdin, never more at once than a block."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
import zstandard

from glassformer.data.readers.opening import STDIN, blocks_of, check_file, shown
from glassformer.errors import DataError

CONTENT = random.Random(3).randbytes(40_000) * 30
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
SUFFIXES = pytest.mark.parametrize("suffix", list(PACK))


@SUFFIXES
def test_a_file_gives_its_unpacked_bytes_in_blocks(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(PACK[suffix](CONTENT))
    blocks = list(blocks_of(path))
    assert b"".join(blocks) == CONTENT
    assert all(0 < len(block) <= 300_000 for block in blocks) or suffix == ".zst"  # whose steps are not so even


@SUFFIXES
def test_the_name_does_not_matter_if_it_promises_nothing(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "corpus.en"
    path.write_bytes(PACK[suffix](b"text"))
    assert b"".join(blocks_of(path)) == b"text"


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
@pytest.mark.parametrize("block", [1, 7, 100_000])
def test_several_streams_in_one_file_are_read_one_after_another(tmp_path: Path, suffix: str, block: int) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(PACK[suffix](b"one ") + PACK[suffix](b"") + bytes(8) + PACK[suffix](b"two") + bytes(4))
    assert b"".join(blocks_of(path, block=block)) == b"one two"


def test_zstd_frames_that_hold_no_data_are_skipped(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0note"
    path = tmp_path / "x.zst"
    path.write_bytes(skippable + PACK[".zst"](b"text") + skippable)
    assert b"".join(blocks_of(path)) == b"text"


def test_a_zstd_window_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    wide = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=28))
    packer = wide.compressobj()  # does not know the size ahead, so the whole window is announced
    path = tmp_path / "x.zst"
    path.write_bytes(packer.compress(b"text") + packer.flush())
    with pytest.raises(DataError, match="takes over 128 MB of memory"):
        list(blocks_of(path))


def test_an_xz_dictionary_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.xz"
    small = lzma.compress(b"text", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 192 << 20, "mode": lzma.MODE_FAST}])
    path.write_bytes(small)
    with pytest.raises(DataError, match="takes over 128 MB of memory"):
        list(blocks_of(path))


@SUFFIXES
def test_every_packed_byte_is_reported(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(PACK[suffix](CONTENT))
    heard: list[int] = []
    list(blocks_of(path, on_read=heard.append))
    assert sum(heard) == path.stat().st_size == check_file(path)


@SUFFIXES
def test_stdin_may_be_packed(monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    stdin = io.BytesIO(PACK[suffix](b"text"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    assert b"".join(blocks_of(STDIN)) == b"text"
    assert not stdin.closed


def test_a_closed_stdin_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="stdin is closed"):
        list(blocks_of(STDIN))


def test_a_cut_archive_gives_what_it_has_and_then_the_error(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(CONTENT)[:-100])
    blocks = blocks_of(path)
    assert CONTENT.startswith(b"".join(islice(blocks, 4)))
    with pytest.raises(DataError, match=r"x\.gz: cut off after 1,199,\d\d\d bytes unpacked \(gzip\)"):
        list(blocks)


def test_much_text_of_a_usual_ratio_is_no_bomb(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress((random.Random(1).randbytes(1000) * 16).ljust(100_000)) * 700)
    assert sum(len(block) for block in blocks_of(path)) == 70_000_000


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
def test_a_bomb_of_tiny_lines_is_refused_before_many_lines_are_read(tmp_path: Path, suffix: str) -> None:
    """Checks cost time for each line, so a file of tiny ones must be given up after few bytes."""
    path = tmp_path / f"x.tsv{suffix}"
    path.write_bytes(PACK[suffix](b"a\tb\n" * (1 << 20)) * 10)
    lines: list[int] = []
    with pytest.raises(DataError, match="over 250 times as much"):
        lines.extend(block.count(b"\n") for block in blocks_of(path))
    assert sum(lines) <= 1 << 20


def test_names_are_shown_on_one_printable_line() -> None:
    assert shown(Path("a/b.en")) == "a/b.en"
    assert shown(STDIN) == "stdin"
    assert shown(Path("größe.en")) == "größe.en"
    assert shown(Path("two\nlines")) == r"'two\nlines'"
    assert shown(Path("latin\udcfc.en")) == r"latin\xfc.en"
    assert len(shown(Path("x" * 5000))) < 300
