"""How long training a tokenizer takes, and how many pieces a word then has.

    python benchmarks/tokenizers_train.py --data FOLDER

FOLDER holds train.en and train.de (plain or .gz), for instance Multi30k's. Kinds take turns, so that a busy moment of
the machine hits all alike; the shortest time counts. Beside our WordPiece, byte-level BPE of the `tokenizers` library
is trained to the same size, and WordPiece by the bare criterion (one low floor), to show why the floors halve.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tokenizers.normalizers import NFC

from glassformer.text import Tokenizer, train_tokenizer
from glassformer.text.training import train_wordpiece

SIDES = ("train.en", "train.de")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with train.en and train.de, plain or .gz")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    lines = _lines(arguments.data)
    if not lines:
        print(f"no data: {arguments.data} has no {' and no '.join(SIDES)} (plain or .gz); nothing measured")
        return 2
    rows = measure(lines, vocab_size=arguments.vocab_size, rounds=arguments.rounds)
    _print(rows, lines, arguments.vocab_size)
    return 0


def measure(lines: list[str], *, vocab_size: int, rounds: int) -> dict[str, dict[str, float]]:
    """The shortest training time of each kind, and how it then splits and how fast it encodes the same lines."""
    kinds: dict[str, Callable[[], Tokenizer]] = {
        "bpe (library)": lambda: train_tokenizer("bpe", lines, vocab_size=vocab_size),
        "wordpiece (ours)": lambda: train_tokenizer("wordpiece", lines, vocab_size=vocab_size),
        "wordpiece, bare criterion": lambda: _train_bare(lines, vocab_size),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    trained: dict[str, Tokenizer] = {}
    for _ in range(rounds):
        for name, train in kinds.items():
            start = time.perf_counter()
            trained[name] = train()
            seconds[name].append(time.perf_counter() - start)
    return {name: {"seconds": min(seconds[name]), **_splitting(trained[name], lines)} for name in kinds}


def _train_bare(lines: list[str], vocab_size: int) -> Tokenizer:
    """The likelihood ratio with no more than a least pair frequency of 2."""
    return train_wordpiece(
        lines, rules=[NFC()], vocab_size=vocab_size, min_frequency=2, progress=lambda _done, _total: None, floors=[2]
    )


def _splitting(tokenizer: Tokenizer, lines: list[str]) -> dict[str, float]:
    start = time.perf_counter()
    rows = tokenizer.encode_batch(lines)
    seconds = time.perf_counter() - start
    pieces, words = sum(map(len, rows)), sum(len(line.split()) for line in lines)
    used = len({number for row in rows for number in row})
    return {
        "vocabulary": len(tokenizer),
        "pieces_per_word": pieces / words,
        "share_of_vocabulary_used": used / len(tokenizer),
        "lines_encoded_per_second": len(lines) / seconds,
    }


def _lines(folder: Path) -> list[str]:
    lines: list[str] = []
    for side in SIDES:
        plain, packed = folder / side, folder / f"{side}.gz"
        if plain.exists():
            lines += plain.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        elif packed.exists():
            lines += gzip.decompress(packed.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")
    return lines


def _print(rows: dict[str, dict[str, float]], lines: list[str], vocab_size: int) -> None:
    ratio = rows["wordpiece (ours)"]["seconds"] / rows["bpe (library)"]["seconds"]
    print(f"{len(lines):,} lines, {vocab_size:,} pieces; our WordPiece takes {ratio:.1f} times the library's BPE\n")
    print(f"{'kind':<27}{'seconds':>9}{'vocabulary':>12}{'pieces/word':>13}{'used':>8}{'lines/s':>11}")
    for name, row in rows.items():
        print(
            f"{name:<27}{row['seconds']:>9.2f}{row['vocabulary']:>12,}{row['pieces_per_word']:>13.3f}"
            f"{row['share_of_vocabulary_used']:>8.1%}{row['lines_encoded_per_second']:>11,.0f}"
        )
    print()
    print(json.dumps({"ratio": ratio, "lines": len(lines), "vocab_size": vocab_size, "kinds": rows}))


if __name__ == "__main__":
    sys.exit(main())
