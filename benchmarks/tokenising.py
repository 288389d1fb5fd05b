"""Sentences from two files to ids on disk: our token cache beside the `tokenizers` library's own batch encoding.

    python benchmarks/tokenising.py [--data FOLDER] [--rounds 5]

FOLDER holds train.en and train.de (plain or .gz), for instance Multi30k's; without it the built-in phrasebook serves.
Both read the same two files, encode them with the same trained tokenizer in its own threads, and leave the ids of both
sides on disk. Ours also checks every line (encoding, blanks, control signs), drops what is too long and can be cut off
at any moment. The two take turns; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from glassformer import phrasebook
from glassformer.data.batches import encode_pairs
from glassformer.data.readers.inputs import gather_sides, read_pairs
from glassformer.data.token_cache import build_cache
from glassformer.text import Tokenizer, train_tokenizer

SIDES = ("train.en", "train.de")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with train.en and train.de, plain or .gz")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--vocab-size", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = text_files(arguments.data, Path(folder))
        lines = [line for path in files for line in path.read_text(encoding="utf-8").split("\n")]
        tokenizer = train_tokenizer("bpe", lines, vocab_size=arguments.vocab_size)
        seconds: dict[str, list[float]] = {"ours": [], "library": []}
        for turn in range(arguments.rounds):
            fresh = [pickle.loads(pickle.dumps(tokenizer)) for _ in seconds]  # neither remembers any word yet
            seconds["ours"].append(timed(ours, files, fresh[0], Path(folder) / f"cache-{turn}"))
            seconds["library"].append(timed(library, files, fresh[1], Path(folder) / f"library-{turn}"))
        report(seconds, pairs=len(lines) // 2, cache=Path(folder) / "cache-0")


def text_files(data: Path | None, folder: Path) -> list[Path]:
    """Both sides as plain text in `folder`."""
    files = [folder / name for name in SIDES]
    found = [data / name for name in SIDES] if data else []
    if data and not all(path.exists() or path.with_name(f"{path.name}.gz").exists() for path in found):
        raise SystemExit(f"{data} has no {' and no '.join(SIDES)}, plain or .gz.")
    if not data:
        phrases = phrasebook(train=100_000).train
        files[0].write_text("".join(f"{phrase.source}\n" for phrase in phrases), encoding="utf-8")
        files[1].write_text("".join(f"{phrase.references[0]}\n" for phrase in phrases), encoding="utf-8")
    for path, here in zip(found, files, strict=False):
        packed = path.with_name(f"{path.name}.gz")
        here.write_bytes(path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes()))
    return files


def timed(work, *arguments) -> float:  # type: ignore[no-untyped-def]
    began = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began


def ours(files: list[Path], tokenizer: Tokenizer, folder: Path) -> None:
    inputs = gather_sides([str(files[0])], [str(files[1])])
    pairs = ((record.source, record.target) for record in read_pairs(inputs) if record.problem is None)
    build_cache(folder, pairs, partial(encode_pairs, source=tokenizer, target=tokenizer, most=200))


def library(files: list[Path], tokenizer: Tokenizer, folder: Path) -> None:
    """As people write it: read the lines, one call, ids to an array, saved."""
    folder.mkdir()
    inner = tokenizer._inner
    for path in files:
        with path.open(encoding="utf-8", newline="\n") as file:
            encoded = inner.encode_batch([line.rstrip("\n") for line in file], add_special_tokens=False)
        rows = [one.ids for one in encoded]
        np.save(folder / f"{path.name}.ids.npy", np.array([i for row in rows for i in row], dtype=np.uint16))
        np.save(folder / f"{path.name}.lengths.npy", np.array([len(row) for row in rows], dtype=np.int32))


def report(seconds: dict[str, list[float]], *, pairs: int, cache: Path) -> None:
    median = {name: statistics.median(values) for name, values in seconds.items()}
    size = sum(path.stat().st_size for path in cache.glob("*.safetensors"))
    print(f"ratio {median['library'] / median['ours']:.2f} (library / ours, medians of {len(seconds['ours'])} turns)")
    for name, value in median.items():
        print(f"  {name:8} {value:6.2f} s   {pairs / value:10,.0f} pairs/s   {min(seconds[name]):.2f} s at best")
    print(f"  {pairs:,} pairs, {size / pairs:.1f} bytes a pair on disk")
    print(json.dumps({"benchmark": "tokenising", "pairs": pairs, "seconds": seconds, "bytes_per_pair": size / pairs}))


if __name__ == "__main__":
    main()
