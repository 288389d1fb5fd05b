"""Training speed of every task against its peer: one table of ratios.

    python benchmarks/learning_speed.py --data FOLDER [--model all-MiniLM-L6-v2/] [--rows generate fill] [--rounds 5]

FOLDER has the folders tinyshakespeare, wikitext-2, scitldr-a and mr-polarity; rows whose data is absent are left out.
Each row alternates between ours and its peer in turns of some seconds, with the same model, batch size and threads;
ratios are of neighbouring turns. The file of each row (benchmarks/peers/) says what exactly its peer is:

    generate   nanogpt_loop.py   a plain loop with nanoGPT's settings for CPUs: 4 layers, d 128, block 64, batch 12
    fill       masked_lm.py      BertForMaskedLM with its collator, 4 layers, d 128
    classify   fine_tuners.py    a MiniLM classifier: a well-written loop, and the Trainer (needs --model)
    rewrite    t5.py             T5ForConditionalGeneration on the same batches
    images     vit.py            a ViT of torch.nn.TransformerEncoder, patch 7, d 64, 4 layers

`answers.py --part speed` measures question answering, `training_speed.py` translation.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROWS = ("generate", "fill", "classify", "rewrite", "images")


class Ratio(NamedTuple):
    """Ours divided by a peer, in examples or tokens per second."""

    row: str
    peer: str
    median: float
    least: float
    most: float


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--model", type=Path, help="folder of a BERT model, for the row classify")
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=ROWS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0, help="length of a turn")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def plain(path: Path, folder: Path) -> Path:
    """The file, unpacked into `folder` if it is compressed."""
    if path.suffix != ".xz":
        return path
    unpacked = folder / path.stem
    unpacked.write_bytes(lzma.decompress(path.read_bytes()))
    return unpacked


def found(folder: Path, *names: str) -> list[Path]:
    """The files of these names, plain or compressed; an error if one is missing."""
    paths = [next(iter(sorted(folder.glob(f"{name}*"))), None) for name in names]
    if None in paths:
        raise FileNotFoundError(f"{folder} has no {names[paths.index(None)]}")
    return [path for path in paths if path is not None]


def generate(given: argparse.Namespace, work: Path) -> Iterator[Ratio]:
    from peers.nanogpt_loop import LARGE, OURS, PRODUCTS, THEIRS, measure

    (text,) = found(given.data / "tinyshakespeare", "input.txt")
    rates = measure(plain(text, work), work, rounds=given.rounds, seconds=given.seconds, threads=given.threads)
    peer = f"plain loop ({rates[THEIRS]['tokens_per_second']:,.0f} tokens/s)"
    for name in (OURS, LARGE, PRODUCTS):
        yield Ratio("generate", f"{name} / {peer}", *(rates[name][one] for one in ("ratio", "least", "most")))


def fill(given: argparse.Namespace, work: Path) -> Iterator[Ratio]:
    from peers.masked_lm import measure

    train, valid = (plain(path, work) for path in found(given.data / "wikitext-2", "*train", "*valid"))
    rates = measure(train, valid, work, rounds=given.rounds, seconds=given.seconds, threads=given.threads)
    peer = f"BertForMaskedLM ({rates['transformers']['tokens_per_second']:,.0f} tokens/s)"
    yield Ratio("fill", peer, rates["ratio"], rates["least"], rates["most"])


def classify(given: argparse.Namespace, work: Path) -> Iterator[Ratio]:
    from fine_tuning_speed import LOOP, OURS, TRAINER, fine_tuning_speed

    if given.model is None:
        raise FileNotFoundError("no --model was given")
    texts = work / "reviews.tsv"
    with texts.open("w") as file:
        file.write("text\tlabel\n")
        for path in found(given.data / "mr-polarity", "*.pos", "*.neg"):
            lines = plain(path, work).read_text(encoding="latin-1").splitlines()
            file.writelines(f"{line.strip()}\t{'.pos' in path.name}\n" for line in lines)
    told = {"texts": texts, "each": 32, "lr": 5e-5, "without": [], **vars(given)}
    rates = fine_tuning_speed(argparse.Namespace(**told), work)
    for name in (LOOP, TRAINER):
        one = rates[name]
        peer = f"{name} ({one['examples_per_second']:.1f} examples/s, ours {rates[OURS]['examples_per_second']:.1f})"
        yield Ratio("classify", peer, one["ratio"], one["least"], one["most"])


def rewrite(given: argparse.Namespace, work: Path) -> Iterator[Ratio]:
    from peers.t5 import measure

    train, valid = found(given.data / "scitldr-a", "train.jsonl", "dev.jsonl")
    rates = measure(train, valid, work, rounds=given.rounds, seconds=given.seconds, threads=given.threads)
    peer = f"T5ForConditionalGeneration ({rates['transformers']['tokens_per_second']:,.0f} tokens/s)"
    yield Ratio("rewrite", peer, rates["ratio"], rates["least"], rates["most"])


def images(given: argparse.Namespace, work: Path) -> Iterator[Ratio]:  # noqa: ARG001 (images are random)
    import torch
    from peers.vit import measured

    torch.set_num_threads(given.threads)
    rates = measured(rounds=given.rounds, steps=round(8 * given.seconds))
    for name in ("adamw", "muon"):
        peer = f"ours with {name} / torch.nn ({rates['torch']['images_per_second']:,.0f} images/s)"
        yield Ratio("images", peer, *(rates[name][one] for one in ("ratio", "least", "most")))


MEASURES: dict[str, Callable[[argparse.Namespace, Path], Iterator[Ratio]]] = {
    "generate": generate,
    "fill": fill,
    "classify": classify,
    "rewrite": rewrite,
    "images": images,
}


def measured_row(name: str, given: argparse.Namespace, work: Path) -> list[Ratio]:
    work.mkdir()
    try:
        rows = list(MEASURES[name](given, work))
    except FileNotFoundError as missing:
        print(f"  left out: {name} ({missing})", flush=True)
        return []
    for row in rows:
        print(f"  {row.median:5.2f}  ({row.least:.2f} to {row.most:.2f})  {row.row}: {row.peer}", flush=True)
    return rows


def main() -> None:
    given = arguments()
    print(f"ours / peer, median of {given.rounds} rounds (least to most), {given.threads} threads, ", end="")
    print(f"load {os.getloadavg()[0]:.2f} before the start", flush=True)
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["GLASSFORMER_CACHE"] = str(Path(temporary) / "cache")
        for name in given.rows:
            results += [row._asdict() for row in measured_row(name, given, Path(temporary) / name)]
    print(json.dumps({"benchmark": "learning_speed", "threads": given.threads, "result": results}))


if __name__ == "__main__":
    main()
