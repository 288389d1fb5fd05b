"""The token cache: what goes in comes out, whole or not at all, and never twice at once."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from glassformer.data import shards, token_cache
from glassformer.data.batches import EncodedPairs, Marks, count_batches, encode_pairs, stream
from glassformer.data.columns import Columns, Encoded
from glassformer.data.token_cache import TokenCache, build_cache, cache_folder, held, read_shard, shard_path, sweep
from glassformer.errors import DataError
from glassformer.text import Tokenizer, train_tokenizer

MARKS = Marks(pad=0, bos=2, eos=3)
PAIRS = [(f"the house number {i} is {'very ' * (i % 7)}old", f"das Haus Nummer {i} ist alt") for i in range(53)]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "SHARD", 5)
    monkeypatch.setattr(token_cache, "POOL", 3)
    monkeypatch.setattr(shards, "BLOCK", 4)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer("bpe", [text for pair in PAIRS for text in pair], vocab_size=400)


def encoding(tokenizer: Tokenizer, *, most: int = 100) -> Callable[[list[tuple[str, str]]], Encoded]:
    return partial(encode_pairs, source=tokenizer, target=tokenizer, most=most)


def pool_of(columns: Columns) -> EncodedPairs:
    return EncodedPairs.of(columns, MARKS, MARKS)


def built(folder: Path, tokenizer: Tokenizer, *, most: int = 100) -> TokenCache:
    build_cache(folder, iter(PAIRS), encoding(tokenizer, most=most))
    return TokenCache(folder, pool_of)


def texts_of(cache: TokenCache, tokenizer: Tokenizer, *, seed: int = 1, epoch: int = 0) -> list[tuple[str, str]]:
    return [
        (tokenizer.decode(pool.columns["source"][i].tolist()), tokenizer.decode(pool.columns["target"][i].tolist()))
        for pool in cache.pools(seed=seed, epoch=epoch)
        for i in range(len(pool))
    ]


def test_every_pair_comes_back_once_in_every_epoch(tmp_path: Path, tokenizer: Tokenizer) -> None:
    cache = built(tmp_path, tokenizer)
    assert (len(cache), cache.left_out) == (53, 0)
    first, second = (texts_of(cache, tokenizer, epoch=epoch) for epoch in (0, 1))
    assert sorted(first) == sorted(second) == sorted(PAIRS)
    assert first != second != PAIRS
    assert first == texts_of(cache, tokenizer, epoch=0)
    assert first != texts_of(cache, tokenizer, seed=2, epoch=0)


def test_a_corpus_of_few_shards_is_one_pool_in_its_own_order(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_cache, "POOL", 11)
    cache = built(tmp_path, tokenizer)
    assert len(list(cache.pools(seed=1, epoch=0))) == 1
    assert texts_of(cache, tokenizer) == PAIRS


def test_pools_hold_no_more_than_their_shards(tmp_path: Path, tokenizer: Tokenizer) -> None:
    sizes = [len(pool) for pool in built(tmp_path, tokenizer).pools(seed=1, epoch=0)]
    assert sum(sizes) == 53
    assert max(sizes) <= 3 * 5
    assert len(sizes) == 4


def test_the_stream_over_a_cache_resumes_where_it_was(tmp_path: Path, tokenizer: Tokenizer) -> None:
    cache = built(tmp_path, tokenizer)
    per_epoch = count_batches(cache, tokens=80, seed=1)
    whole = [batch.source.tolist() for _, batch in islice(stream(cache, tokens=80, seed=1), 3 * per_epoch)]
    for skip in (1, per_epoch - 1, per_epoch, per_epoch + 2):
        later = [batch.source.tolist() for _, batch in islice(stream(cache, tokens=80, seed=1, skip=skip), per_epoch)]
        assert later == whole[skip : skip + per_epoch]


def test_pairs_too_long_or_empty_stay_out_and_are_counted(tmp_path: Path, tokenizer: Tokenizer) -> None:
    longest = sorted({max(len(tokenizer.encode(text)) for text in pair) for pair in PAIRS})
    most = longest[-2]
    expected = [pair for pair in PAIRS if max(len(tokenizer.encode(text)) for text in pair) <= most]
    build_cache(tmp_path, [*PAIRS, ("", "x")], encoding(tokenizer, most=most))
    cache = TokenCache(tmp_path, pool_of)
    assert sorted(texts_of(cache, tokenizer)) == sorted(expected)
    assert cache.left_out == len(PAIRS) + 1 - len(expected) > 1


def test_a_finished_cache_is_not_built_again(tmp_path: Path, tokenizer: Tokenizer) -> None:
    built(tmp_path, tokenizer)
    build_cache(tmp_path, iter([]), encoding(tokenizer))
    assert len(TokenCache(tmp_path, pool_of)) == 53


def test_an_interrupted_build_resumes_with_its_complete_shards(tmp_path: Path, tokenizer: Tokenizer) -> None:
    whole = texts_of(built(tmp_path / "whole", tokenizer), tokenizer)

    def cut_off() -> object:
        yield from PAIRS[:37]
        raise KeyboardInterrupt

    cut = tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        build_cache(cut, cut_off(), encoding(tokenizer))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not a complete token cache"):
        TokenCache(cut, pool_of)
    made = {path: path.stat().st_mtime_ns for path in cut.glob("shard-*")}
    assert len(made) == 7
    shard_path(cut, 2).write_bytes(b"half")  # a shard that the disk lost
    assert texts_of(built(cut, tokenizer), tokenizer) == whole
    again = {path: path.stat().st_mtime_ns for path in made}
    assert {path for path in made if again[path] != made[path]} == {shard_path(cut, 2)}


def test_a_second_run_waits_for_the_first_and_does_nothing_twice(tmp_path: Path, tokenizer: Tokenizer) -> None:
    entered, go_on, waited = threading.Event(), threading.Event(), threading.Event()

    def slowly() -> object:
        entered.set()
        go_on.wait(10)
        yield from PAIRS

    def never() -> object:
        raise AssertionError("the second run read the sentences again")
        yield

    arguments = {"encode": encoding(tokenizer)}
    first = threading.Thread(target=build_cache, args=(tmp_path, slowly()), kwargs=arguments)
    second = threading.Thread(target=build_cache, args=(tmp_path, never()), kwargs={**arguments, "on_wait": waited.set})
    first.start()
    assert entered.wait(10)
    second.start()
    assert waited.wait(10)
    go_on.set()
    first.join(10)
    second.join(10)
    assert len(TokenCache(tmp_path, pool_of)) == 53


def test_ids_take_two_bytes_where_the_vocabulary_allows(tmp_path: Path, tokenizer: Tokenizer) -> None:
    built(tmp_path, tokenizer)
    columns = read_shard(shard_path(tmp_path, 0)).columns
    assert columns["source"].flat.dtype == columns["target"].flat.dtype == np.uint16


def test_a_lost_shard_makes_the_cache_be_built_again(tmp_path: Path, tokenizer: Tokenizer) -> None:
    built(tmp_path, tokenizer)
    shard_path(tmp_path, 1).unlink()
    assert sorted(texts_of(built(tmp_path, tokenizer), tokenizer)) == sorted(PAIRS)


def test_a_folder_that_cannot_be_written_is_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="Set GLASSFORMER_CACHE"), held(tmp_path / "file" / "below"):
        pass


def test_where_the_cache_lives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GLASSFORMER_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "glassformer" / "tokens"
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own" / "tokens"


def test_without_a_home_that_can_be_written_it_is_a_temporary_folder_of_our_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GLASSFORMER_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder == tmp_path / f"glassformer-{os.getuid()}" / "tokens"
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "nobody").exists()
    folder.parent.chmod(0o777)  # others could put their ids there
    with pytest.raises(DataError, match="GLASSFORMER_CACHE"):
        cache_folder()


def test_a_home_that_cannot_be_written_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GLASSFORMER_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "glassformer" / "tokens"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert cache_folder() == tmp_path / f"glassformer-{os.getuid()}" / "tokens"


def test_sweeping_takes_only_caches_that_nobody_used_for_a_month(tmp_path: Path, tokenizer: Tokenizer) -> None:
    old, new, building = (tmp_path / (letter * 32) for letter in "abc")
    for folder in (old, new, building):
        built(folder, tokenizer)
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "a.txt").write_text("years of work")
    month = time.time() - 40 * 86_400
    for folder in (old, building, other):
        for path in folder.rglob("*"):
            os.utime(path, (month, month))
    with held(building):
        assert sweep(tmp_path) == [old]
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, building.name, "thesis"]


def test_sentences_that_prove_wrong_at_the_end_leave_no_shard(tmp_path: Path, tokenizer: Tokenizer) -> None:
    def wrong() -> object:
        yield from PAIRS
        raise DataError("changed")

    with pytest.raises(DataError, match="changed"):
        build_cache(tmp_path, wrong(), encoding(tokenizer))  # type: ignore[arg-type]
    assert not list(tmp_path.glob("shard-*"))


def test_a_damaged_card_counts_as_none(tmp_path: Path, tokenizer: Tokenizer) -> None:
    built(tmp_path, tokenizer)
    (tmp_path / "cache.json").write_text(json.dumps({"format": 99}))
    assert len(built(tmp_path, tokenizer)) == 53


def flipped_bit(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def exchanged(folder: Path) -> None:
    first, second = shard_path(folder, 1), shard_path(folder, 2)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)


def rewritten(folder: Path, **changed: np.ndarray) -> None:
    """A shard that is a right safetensors file with the old checksum, but with other tensors."""
    with safe_open(shard_path(folder, 1), framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        about = file.metadata()
    save_file({**tensors, **changed}, shard_path(folder, 1), metadata=about)


DAMAGE = {
    "a bit of the ids": lambda folder: flipped_bit(shard_path(folder, 1), -1),
    "a bit of the header": lambda folder: flipped_bit(shard_path(folder, 1), 40),
    "cut short": lambda folder: os.truncate(shard_path(folder, 1), 100),
    "empty": lambda folder: os.truncate(shard_path(folder, 1), 0),
    "two shards exchanged": exchanged,
    "lengths": lambda folder: rewritten(folder, **{"source.lengths": np.full(5, 2**30, np.int32)}),
    "ids beyond the vocabulary": lambda folder: rewritten(folder, **{"target.ids": np.full(9, 60_000, np.uint16)}),
    "lost": lambda folder: shard_path(folder, 1).unlink(),
    "another type": lambda folder: rewritten(folder, **{"target.ids": np.zeros(9, np.float64)}),
    "the card says fewer examples": lambda folder: (folder / "cache.json").write_text(
        (folder / "cache.json").read_text().replace('"examples": 53', '"examples": 43')
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_was_damaged_is_built_again_with_the_same_bytes_and_reported(
    tmp_path: Path, tokenizer: Tokenizer, damage: Callable[[Path], object]
) -> None:
    built(tmp_path, tokenizer)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    damage(tmp_path)
    reports: list[str] = []
    build_cache(tmp_path, iter(PAIRS), encoding(tokenizer), on_damage=reports.append)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert len(reports) == 1
    assert "damaged" in reports[0]
    assert "\n" not in reports[0]
    build_cache(tmp_path, iter([]), encoding(tokenizer), on_damage=reports.append)
    assert len(reports) == 1


def test_damage_during_a_training_is_an_error_that_says_what_to_do(tmp_path: Path, tokenizer: Tokenizer) -> None:
    cache = built(tmp_path, tokenizer)
    flipped_bit(shard_path(tmp_path, 4), -1)
    with pytest.raises(DataError, match=r"shard-000004.*damaged.*same command again"):
        list(cache.pools(seed=1, epoch=0))


def test_the_cache_of_an_older_version_is_built_again_without_an_alarm(tmp_path: Path, tokenizer: Tokenizer) -> None:
    built(tmp_path, tokenizer)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for path in tmp_path.glob("shard-*"):  # format 1 had no checksums
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        save_file(tensors, path)
    (tmp_path / "cache.json").write_text('{"format": 1, "pairs": 53, "left_out": 0, "shards": 11}')
    reports: list[str] = []
    build_cache(tmp_path, iter(PAIRS), encoding(tokenizer), on_damage=reports.append)
    assert reports == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_shards_are_on_the_disk_before_they_get_their_name(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects: list[tuple[str, int]] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (effects.append(("sync", os.fstat(file).st_ino)), sync(file))[1])

    def renamed(path: str, target: str) -> None:
        effects.append(("rename", os.stat(path).st_ino))
        replace(path, target)

    monkeypatch.setattr(os, "replace", renamed)
    built(tmp_path, tokenizer)
    for path in [*tmp_path.glob("shard-*"), tmp_path / "cache.json"]:
        node = path.stat().st_ino
        assert effects.index(("sync", node)) < effects.index(("rename", node))
    assert effects[-1] == ("sync", tmp_path.stat().st_ino)  # the folder's list of names
