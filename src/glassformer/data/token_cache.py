"""Examples as ids on disk, encoded once and read shard by shard: a corpus may be larger than memory.

A cache is a folder of shards, each a safetensors file with the columns of 16,384 examples, and a cache.json that is
written last. Shards are written atomically, so an interrupted build continues where it stopped. A lock makes a second
run wait for the first instead of doing the same work. Ids take 2 bytes if the vocabulary allows it, lengths 4. Each
shard has a checksum. All shards are checked before training starts, when damaged ones can still be rebuilt, and again
whenever they are read.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.columns import Changing, Columns, Encoded, Pool
from glassformer.data.shards import check_shard, flush, read_shard, write_shard, write_whole
from glassformer.errors import DataError
from glassformer.user_cache import user_cache_folder

SHARD = 16_384  # examples
POOL = 16  # shards in memory at a time: 262,144 examples are enough to group them by length
EPOCH_DRAWS = 13  # keeps the random numbers of epochs apart from others of the same seed
FORMAT = 3  # 1 had no checksums, 2 only pairs
CARD, LOCK, SHARDS = "cache.json", ".lock", "shard-*.safetensors"
SEAL = "seal"  # the card's key for the sha256 of all its other keys
NAME = re.compile(r"[0-9a-f]{32}")  # of a cache folder
UNUSED_DAYS = 30

Example = Any
Encode = Callable[[list[Example]], Encoded]  # defined by a task: examples to columns of ids
PoolOf = Callable[[Columns], Pool]  # defined by a task: columns to batches
Progress = Callable[[int], None]


class TokenCache:
    """A corpus as ids on disk."""

    def __init__(self, folder: Path, pool_of: PoolOf) -> None:
        self.folder = folder
        self.pool_of = pool_of
        card = read_card(folder)
        if card is None:
            raise DataError(f"{folder} is not a complete token cache. Remove it; it will be rebuilt when needed.")
        self.card = card
        self._whole: Pool | None = None

    def __len__(self) -> int:
        return int(self.card["examples"])

    @property
    def left_out(self) -> int:
        """Examples that were empty or too long."""
        return int(self.card["left_out"])

    @property
    def cut(self) -> int:
        """Examples that were truncated."""
        return int(self.card["cut"])

    def pools(self, *, seed: int, epoch: int) -> Iterator[Pool]:
        """All examples, a few shards at a time; which shards are together is a function of (seed, epoch).

        So is what a pool changes from epoch to epoch.
        """
        for number, pool in enumerate(self._pools(seed=seed, epoch=epoch)):
            if isinstance(pool, Changing):
                yield pool.of_epoch(np.random.default_rng([seed, epoch, number, EPOCH_DRAWS]))
            else:
                yield pool

    def _pools(self, *, seed: int, epoch: int) -> Iterator[Pool]:
        shards = int(self.card["shards"])
        if shards <= POOL:
            if self._whole is None:
                self._whole = self._read(range(shards))
            yield self._whole
            return
        order = np.random.default_rng([seed, epoch, shards]).permutation(shards)
        for group in np.array_split(order, -(-shards // POOL)):
            yield self._read(group.tolist())

    def _read(self, numbers: Sequence[int]) -> Pool:
        parts = [read_shard(shard_path(self.folder, number)).columns for number in numbers]
        return self.pool_of(Columns.joined(parts))


def cache_folder() -> Path:
    """The folder of the caches: below $GLASSFORMER_CACHE, or the user's cache folder. Nothing else is in it.

    If the user's folder cannot be written, or there is no home, it is a private temporary folder.
    """
    if own := os.environ.get("GLASSFORMER_CACHE"):
        return Path(own) / "tokens"
    with suppress(FileNotFoundError):
        folder = user_cache_folder()
        if os.access(next(path for path in (folder, *folder.parents) if path.exists()), os.W_OK | os.X_OK):
            return folder / "tokens"
    return _temporary_folder() / "tokens"


def _temporary_folder() -> Path:
    """The same for every process of this user; refused if another user may have created it."""
    folder = Path(tempfile.gettempdir()) / f"glassformer-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022:
            return folder
    raise DataError(f"{folder}: not a folder that only you can write. Set GLASSFORMER_CACHE to a folder of your own.")


def build_cache(
    folder: Path,
    examples: Iterable[Example],
    encode: Encode,
    *,
    progress: Progress | None = None,
    on_wait: Callable[[], None] | None = None,
    on_damage: Callable[[str], None] | None = None,
) -> None:
    """Builds the cache in `folder` from `examples`, unless it exists.

    An existing cache is checked. Damaged files are rebuilt with the same bytes, and reported to `on_damage`. This
    thread continues to read while the tokenizer's threads, which do not hold the GIL, work on the previous shard.
    """
    with held(folder, on_wait=on_wait):
        damaged = damaged_files(folder)
        if not damaged and read_card(folder) is not None:
            return
        if damaged and on_damage is not None:
            names = damaged[0] if len(damaged) == 1 else f"{damaged[0]} and {len(damaged) - 1:,} more"
            on_damage(f"The token cache {folder} is damaged ({names}); rebuilding it from the data")
        try:
            sizes = list(make_shards(folder, examples, encode, progress))
        except DataError:  # the data is not usable after all: keep nothing of it
            for shard in folder.glob(SHARDS):
                shard.unlink()
            raise
        kept, left_out, cut = (sum(size[i] for size in sizes) for i in range(3))
        card: dict[str, Any] = {"format": FORMAT, "examples": kept, "left_out": left_out, "cut": cut}
        card["shards"] = len(sizes)
        write_whole(folder / CARD, json.dumps({**card, SEAL: seal_of(card)}).encode())
        flush(folder)


def make_shards(
    folder: Path, examples: Iterable[Example], encode: Encode, progress: Progress | None
) -> Iterator[tuple[int, int, int]]:
    """For each shard in turn: how many examples are in it, how many were left out and how many truncated."""
    done = 0
    with ThreadPoolExecutor(max_workers=1) as worker:
        work = (
            (worker.submit(make_shard, shard_path(folder, number), shard, encode), len(shard))
            for number, shard in enumerate(shards_of(examples))
        )
        for made, count in one_ahead(work):
            size = made.result()
            done += count
            if progress is not None:
                progress(done)
            yield size


def one_ahead(items: Iterator[Any]) -> Iterator[Any]:
    """The items one step late: the next one is started before this one is awaited."""
    before = next(items, None)
    while before is not None:
        following = next(items, None)
        yield before
        before = following


def shards_of(examples: Iterable[Example]) -> Iterator[list[Example]]:
    rest = iter(examples)
    while shard := list(islice(rest, SHARD)):
        yield shard


def make_shard(path: Path, examples: list[Example], encode: Encode) -> tuple[int, int, int]:
    """Encodes one shard, unless an interrupted build did. Returns examples in it, left out, and truncated."""
    with suppress(DataError):
        made = read_shard(path)
        return len(made.columns), made.left_out, made.cut
    encoded = encode(examples)
    write_shard(path, encoded)
    return len(encoded.columns), encoded.left_out, encoded.cut


def shard_path(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:06d}.safetensors"


def read_card(folder: Path) -> dict[str, Any] | None:
    """The card of a finished cache; None if there is no cache, or if one of its files is missing."""
    card = _card(folder)
    if card is None or not all(shard_path(folder, number).is_file() for number in range(card["shards"])):
        return None
    with suppress(OSError):
        os.utime(folder / CARD)  # marks it as used: `sweep` keeps it
    return card


def damaged_files(folder: Path) -> list[str]:
    """Names of damaged files of a finished cache. Each shard is read once, block by block."""
    if not (folder / CARD).exists() or _of_another_version(folder):
        return []
    card = _card(folder)
    if card is None:
        return [CARD]
    return [path.name for path in (shard_path(folder, number) for number in range(card["shards"])) if _damaged(path)]


def _damaged(path: Path) -> bool:
    try:
        check_shard(path)
    except DataError:
        return True
    return False


def _card(folder: Path) -> dict[str, Any] | None:
    """The card of a finished cache, if it is undamaged and in this version's format."""
    card = _content(folder / CARD)
    seal = card.pop(SEAL, None)
    return card if card.get("format") == FORMAT and seal == seal_of(card) else None


def _of_another_version(folder: Path) -> bool:
    found = _content(folder / CARD).get("format")
    return isinstance(found, int) and found != FORMAT


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def seal_of(card: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(card, sort_keys=True).encode()).hexdigest()


@contextmanager
def held(folder: Path, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Locks a folder of the cache; a second process waits. The system releases the lock even after a crash."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a")
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be created or written ({error.strerror}). Set GLASSFORMER_CACHE to another folder."
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
    """Removes caches that were not used for 30 days and are not being built; returns the removed folders."""
    oldest = (time.time() if now is None else now) - UNUSED_DAYS * 86_400
    ours = [path for path in root.glob("*") if NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]
    return [folder for folder in ours if (folder / LOCK).exists() and _removed(folder, oldest)]


def _removed(folder: Path, oldest: float) -> bool:
    with suppress(OSError), (folder / LOCK).open("a") as lock:  # a file may disappear in the meantime
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if max(path.stat().st_mtime for path in folder.iterdir() if path.name != LOCK) < oldest:
            shutil.rmtree(folder, ignore_errors=True)
            return True
    return False
