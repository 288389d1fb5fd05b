"""Sentences turned into ids once, on disk, read through memory maps: a corpus may be larger than the memory.

A cache is a folder of shards, each a safetensors file with 16,384 pairs (ids and lengths of both sides), and a
cache.json that is written last. Shards are whole or not there, so a build that was cut off goes on where it stood; a
lock makes a second run wait for the first instead of doing the same work. Ids take 2 bytes where the vocabulary
allows it, lengths 4: about 2 bytes a token and 8 a pair.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from glassformer.data.batches import EncodedPairs, Marks, Ragged
from glassformer.errors import DataError
from glassformer.text import Tokenizer

SHARD = 16_384  # pairs
POOL = 16  # shards in memory at a time: 262,144 pairs are enough to find sentences of like length
FORMAT = 1
CARD, LOCK, SHARDS = "cache.json", ".lock", "shard-*.safetensors"
NAME = re.compile(r"[0-9a-f]{32}")  # of a cache's folder
UNUSED_DAYS = 30

Pair = tuple[str, str]
Progress = Callable[[int], None]


class TokenCache:
    """A corpus as ids on disk."""

    def __init__(self, folder: Path, *, source_marks: Marks, target_marks: Marks) -> None:
        self.folder = folder
        self.source_marks, self.target_marks = source_marks, target_marks
        card = read_card(folder)
        if card is None:
            raise DataError(f"{folder} is not a whole token cache. Remove it; it is built again when needed.")
        self.card = card
        self._whole: EncodedPairs | None = None

    def __len__(self) -> int:
        return int(self.card["pairs"])

    @property
    def left_out(self) -> int:
        """Pairs with a side of no tokens or of too many."""
        return int(self.card["left_out"])

    def pools(self, *, seed: int, epoch: int) -> Iterator[EncodedPairs]:
        """All pairs, some shards at a time; which ones come together is a function of (seed, epoch)."""
        shards = int(self.card["shards"])
        if shards <= POOL:
            if self._whole is None:
                self._whole = self._read(range(shards))
            yield self._whole
            return
        order = np.random.default_rng([seed, epoch, shards]).permutation(shards)
        for group in np.array_split(order, -(-shards // POOL)):
            yield self._read(group.tolist())

    def _read(self, numbers: Sequence[int]) -> EncodedPairs:
        parts = [read_shard(shard_path(self.folder, number)) for number in numbers]
        sides = (Ragged.joined([part[side] for part in parts]) for side in (0, 1))
        return EncodedPairs(next(sides), next(sides), self.source_marks, self.target_marks)


def cache_folder() -> Path:
    """Where caches live: below $GLASSFORMER_CACHE, or the user's cache folder. Nothing else is in it."""
    own, shared = os.environ.get("GLASSFORMER_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return (Path(own) if own else (Path(shared) if shared else Path.home() / ".cache") / "glassformer") / "tokens"


def build_cache(
    folder: Path,
    pairs: Iterable[Pair],
    source: Tokenizer,
    target: Tokenizer,
    *,
    most: int,
    progress: Progress | None = None,
    on_wait: Callable[[], None] | None = None,
) -> None:
    """Fills `folder` from `pairs`, unless that was done before. Pairs with a side of no or over `most` tokens stay out.

    Reading goes on in this thread while the tokenizer's own threads, which need no interpreter, work on the last shard.
    """
    with held(folder, on_wait=on_wait):
        if read_card(folder) is not None:
            return
        try:
            sizes = list(make_shards(folder, pairs, source, target, most, progress))
        except DataError:  # the sentences are not what they seemed: nothing of them may stay
            for shard in folder.glob(SHARDS):
                shard.unlink()
            raise
        kept, left_out = (sum(size[i] for size in sizes) for i in (0, 1))
        card = {"format": FORMAT, "pairs": kept, "left_out": left_out, "shards": len(sizes)}
        write_whole(folder / CARD, json.dumps(card).encode())


def make_shards(
    folder: Path, pairs: Iterable[Pair], source: Tokenizer, target: Tokenizer, most: int, progress: Progress | None
) -> Iterator[tuple[int, int]]:
    """Of each shard in turn how many pairs are in it and how many stayed out."""
    done = 0
    with ThreadPoolExecutor(max_workers=1) as worker:
        work = (
            worker.submit(make_shard, shard_path(folder, number), shard, source, target, most)
            for number, shard in enumerate(shards_of(pairs))
        )
        for made in one_ahead(work):
            size = made.result()
            done += sum(size)
            if progress is not None:
                progress(done)
            yield size


def one_ahead(items: Iterator[Any]) -> Iterator[Any]:
    """The items one step late: the next is begun before this one is waited for."""
    before = next(items, None)
    while before is not None:
        following = next(items, None)
        yield before
        before = following


def shards_of(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    rest = iter(pairs)
    while shard := list(islice(rest, SHARD)):
        yield shard


def make_shard(path: Path, pairs: list[Pair], source: Tokenizer, target: Tokenizer, most: int) -> tuple[int, int]:
    """Encodes one shard, unless an earlier build that was cut off did so; how many pairs are in it, how many not."""
    with suppress(DataError):
        kept = len(read_shard(path)[0])
        return kept, len(pairs) - kept
    sides = [encoder.encode_flat([pair[i] for pair in pairs]) for i, encoder in enumerate((source, target))]
    lengths = np.stack([lengths for _, lengths in sides], axis=1)
    keep = (lengths.min(axis=1) > 0) & (lengths.max(axis=1) <= most)
    tensors = {}
    for name, (flat, side), tokenizer in zip(("source", "target"), sides, (source, target), strict=True):
        dtype = np.uint16 if len(tokenizer) <= 1 << 16 else np.uint32
        tensors[f"{name}.ids"] = flat[np.repeat(keep, side)].astype(dtype)
        tensors[f"{name}.lengths"] = side[keep].astype(np.int32)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with told_as_data_error(path):
        save_file(tensors, temporary)
        temporary.replace(path)
    return int(keep.sum()), int((~keep).sum())


@contextmanager
def told_as_data_error(path: Path) -> Iterator[None]:
    """A disk that is full or fails is told with what to do."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"{path}: cannot be written ({error}). Make room, or set GLASSFORMER_CACHE to a folder on another disk."
        ) from None


def read_shard(path: Path) -> tuple[Ragged, Ragged]:
    """Both sides of one shard."""
    try:
        with safe_open(path, framework="numpy") as file:
            sides = [Ragged(file.get_tensor(f"{n}.ids"), file.get_tensor(f"{n}.lengths")) for n in ("source", "target")]
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}). Remove its folder; it is built again when needed."
        ) from None
    return sides[0], sides[1]


def shard_path(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:06d}.safetensors"


def read_card(folder: Path) -> dict[str, Any] | None:
    """What a finished cache says of itself; None where there is none."""
    try:
        card = json.loads((folder / CARD).read_bytes())
        os.utime(folder / CARD)  # in use: sweeping leaves it alone
    except (OSError, ValueError):
        return None
    shards = sum(1 for _ in folder.glob(SHARDS))
    return card if isinstance(card, dict) and card.get("format") == FORMAT and card.get("shards") == shards else None


def write_whole(path: Path, content: bytes) -> None:
    """A file that is whole or not there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with told_as_data_error(path):
        temporary.write_bytes(content)
        temporary.replace(path)


@contextmanager
def held(folder: Path, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Holds a folder of the cache; who comes second waits. The system lets go even after a crash."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a")
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be made or written ({error.strerror}). Set GLASSFORMER_CACHE to a folder of your own."
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if on_wait is not None:
                on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sweep(root: Path, *, now: float | None = None) -> list[Path]:
    """Removes caches of ours that nobody has used for 30 days and nobody is building; returns what went."""
    oldest = (time.time() if now is None else now) - UNUSED_DAYS * 86_400
    ours = [path for path in root.glob("*") if NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]
    return [folder for folder in ours if (folder / LOCK).exists() and _removed(folder, oldest)]


def _removed(folder: Path, oldest: float) -> bool:
    with suppress(OSError), (folder / LOCK).open("a") as lock:  # a file may go while we look
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if max(path.stat().st_mtime for path in folder.iterdir() if path.name != LOCK) < oldest:
            shutil.rmtree(folder, ignore_errors=True)
            return True
    return False
