"""How many pieces a word takes: our BPE against SentencePiece's, trained on the same nine tenths of each file.

    python benchmarks/pieces_per_word.py hindi.txt thai.txt.gz --vocab-size 4000

A file has one sentence per line, in any script. The last tenth of its shuffled lines is held out and counted.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import time
from pathlib import Path

import sentencepiece

from glassformer.data.readers.texts import texts_of
from glassformer.text import train_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--vocab-size", type=int, default=8000)
    given = parser.parse_args()
    if not given.files:
        raise SystemExit("Give text files, one sentence per line.")
    rows = [measured(file, given.vocab_size) for file in given.files]
    for row in rows:
        print(
            f"{row['ratio']:.3f}  {row['file']}: {row['ours']:.3f} pieces per word, SentencePiece {row['theirs']:.3f}; "
            f"training {row['seconds']:.1f} s, SentencePiece {row['their_seconds']:.1f} s"
        )
    print(json.dumps(rows))


def measured(file: Path, size: int) -> dict[str, float | str]:
    lines = [line for line in dict.fromkeys(texts_of(file)) if line.strip()]
    random.Random(0).shuffle(lines)
    held, train = lines[: len(lines) // 10], lines[len(lines) // 10 :]
    words = sum(len(line.split()) for line in held)
    began = time.perf_counter()
    ours = train_tokenizer("bpe", train, vocab_size=size)
    between = time.perf_counter()
    theirs = sentencepiece_bpe(train, size)
    ended = time.perf_counter()
    counts = sum(map(len, ours.encode_batch(held))), sum(map(len, theirs.encode(held)))
    return {
        "file": file.name,
        "vocabulary": size,
        "ours": counts[0] / words,
        "theirs": counts[1] / words,
        "ratio": counts[0] / counts[1],
        "seconds": between - began,
        "their_seconds": ended - between,
    }


def sentencepiece_bpe(lines: list[str], size: int) -> sentencepiece.SentencePieceProcessor:
    """Its usual settings."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, model_type="bpe", minloglevel=2
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


if __name__ == "__main__":
    main()
