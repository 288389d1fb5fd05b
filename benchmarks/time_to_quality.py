"""The scores of a translator after T minutes of training: ours, MarianMTModel or JoeyNMT, on the same machine and data.

    python benchmarks/time_to_quality.py --data FOLDER --peer transformers --minutes 30 --work FOLDER
    python benchmarks/time_to_quality.py --data FOLDER --peer joeynmt --minutes 30 --work FOLDER [--joeynmt FOLDER]
    python benchmarks/time_to_quality.py --data FOLDER --ours --minutes 3.75 --work FOLDER

FOLDER holds train, val and test_2016_flickr, .en and .de (plain or .gz). The peers get a joint BPE vocabulary trained
by glassformer, their ids ready made, and T minutes from the first update on: their validations count; reading, building
the model and the final translations do not. Ours is the whole command `glassformer train ... --budget T`. All
translate with a beam of 5. Reports sacreBLEU's BLEU, cased and detokenised, that of lower-cased text, and chrF.

The default settings of the peers are common ones for small models on such a corpus.
transformers: batches of 128 sentences, AdamW, warm-up, a line down to zero at the end of the time, the last weights.
JoeyNMT: as its small Transformer configurations (batches by tokens, Adam, 1/sqrt(update)), its own best checkpoint.
Choose settings with --part val; the test part is for the recorded runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from peers.corpus import Corpus, load_ids, save_ids, unpacked
from peers.joey_environment import joey_python
from peers.joey_files import ids_of, write_joey_files
from peers.scoring import scores
from peers.wire import BENCHMARKS

from glassformer.text import Tokenizer, train_tokenizer

TEST = "test_2016_flickr"
DEFAULTS: dict[str, dict[str, Any]] = {
    "transformers": {"lr": 2e-3, "warmup": 400, "dropout": 0.1, "weight_decay": 0.0, "validations": 4},
    "joeynmt": {"lr": 2e-3, "warmup": 400, "dropout": 0.1, "weight_decay": 0.0, "validations": 4},
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with train, val and test_2016_flickr")
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--peer", choices=sorted(DEFAULTS))
    who.add_argument("--ours", action="store_true", help="glassformer train --budget")
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps everything; a new one")
    parser.add_argument("--part", default="test", choices=["test", "val"], help="what is scored")
    parser.add_argument("--size", default="tiny", choices=["tiny", "small"])
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--warmup", type=int)
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--weight-decay", type=float)
    parser.add_argument("--validations", type=int, help="how often in between")
    parser.add_argument("--sentences", type=int, default=128, help="transformers: a batch")
    parser.add_argument("--grouped", action="store_true", help="transformers: its sampler by length")
    parser.add_argument("--batch-tokens", type=int, default=2048, help="joeynmt: a batch, its longer side")
    parser.add_argument("--decay", action="store_true", help="joeynmt: to zero by the clock, not its own schedule")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--joeynmt", type=Path, help="folder of its environment; without, one in the work folder")
    parser.add_argument("--set", action="append", default=[], help="ours: a setting, as model.size=small")
    given = parser.parse_args()
    for name, value in DEFAULTS.get(given.peer, {}).items():
        if getattr(given, name) is None:
            setattr(given, name, value)
    return given


def run_transformers(given: argparse.Namespace, corpus: Corpus, tokenizer: Tokenizer) -> tuple[list[str], Any]:
    from peers.marian_quality import train_marian, translate_marian  # here, because only this peer needs it

    for part in ("train", "val"):
        save_ids(given.work / f"{part}.npz", corpus, part, tokenizer)
    (pairs, vocabulary), (valid, _) = (load_ids(given.work / f"{part}.npz") for part in ("train", "val"))
    model, records = train_marian(pairs, valid, vocabulary, told_of(given))
    model.save_pretrained(given.work / "model")
    rows = tokenizer.encode_batch(corpus.sentences(part_name(given))[0])
    found = translate_marian(model, rows, pairs, beam=given.beam)
    return [tokenizer.decode(ids) for ids in found], {"validations": records}


def run_joeynmt(given: argparse.Namespace, corpus: Corpus, tokenizer: Tokenizer) -> tuple[list[str], Any]:
    python = joey_python(given.joeynmt or given.work / "environment")
    files, found, report = given.work / "files", given.work / "found.txt", given.work / "report.json"
    write_joey_files(files, corpus, ("train", "val", part_name(given)), tokenizer)
    told = {**told_of(given), "files": str(files), "out": str(given.work / "model")}
    told |= {"found": str(found), "report": str(report), "parts": {"dev": "val", "test": part_name(given)}}
    told |= {"training": joey_training(given), "testing": {"beam_size": given.beam, "eval_metrics": ["bleu"]}}
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS), "OMP_NUM_THREADS": str(given.threads)}
    with (given.work / "joeynmt.log").open("w") as log:
        command = [python, "-m", "peers.joey_quality", json.dumps(told)]
        subprocess.run(command, env=environment, stdout=log, stderr=log, check=True)
    lines = found.read_text(encoding="utf-8").splitlines()
    return [tokenizer.decode(ids_of(line)) for line in lines], json.loads(report.read_text())


def joey_training(given: argparse.Namespace) -> dict[str, Any]:
    """What its Transformer configurations have, where a race for speed had something else."""
    return {
        "optimizer": "adam",
        "weight_decay": given.weight_decay,
        "early_stopping_metric": "bleu",
        "keep_best_ckpts": 2,
        "logging_freq": 50,
    }


def run_ours(given: argparse.Namespace, corpus: Corpus) -> tuple[list[str], Any]:
    """The command as a user gives it, then `translate`."""
    source, target = map(str, corpus.files("train"))
    out, began = given.work / "run", time.monotonic()
    settings = [part for assignment in given.set for part in ("--set", assignment)]
    files = ["--source", source, "--target", target, "--valid", *map(str, corpus.files("val"))]
    glassformer = [sys.executable, "-m", "glassformer"]
    environment = {**os.environ, "OMP_NUM_THREADS": str(given.threads)}
    budget = ["--budget", f"{given.minutes:g}m", "--out", str(out)]
    subprocess.run([*glassformer, "train", *files, *budget, *settings], env=environment, check=True)
    seconds = time.monotonic() - began
    translate = [*glassformer, "translate", str(out), "--beam", str(given.beam), "--input"]
    text = str(corpus.files(part_name(given))[0])
    done = subprocess.run([*translate, text], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines(), {"command_seconds": round(seconds, 1)}


def told_of(given: argparse.Namespace) -> dict[str, Any]:
    names = "minutes size lr warmup dropout weight_decay validations sentences grouped batch_tokens decay seed threads"
    return {name: getattr(given, name) for name in names.split()}


def part_name(given: argparse.Namespace) -> str:
    return TEST if given.part == "test" else "val"


def main() -> None:
    given = arguments()
    given.work = given.work.resolve()
    given.work.mkdir(parents=True)
    corpus = unpacked(given.data, given.work / "text", ("train", "val", TEST))
    name, load = given.peer or "ours", os.getloadavg()[0]
    if given.ours:
        found, trained = run_ours(given, corpus)
    else:
        sentences = [line for side in corpus.sentences("train") for line in side]
        tokenizer = train_tokenizer("bpe", sentences, vocab_size=given.vocab_size)
        peer = run_transformers if given.peer == "transformers" else run_joeynmt
        found, trained = peer(given, corpus, tokenizer)
    (given.work / "hypotheses.de").write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
    result = scores(found, corpus.sentences(part_name(given))[1])
    report(name, given, result, {"trained": trained, "load_before": load})


def report(name: str, given: argparse.Namespace, result: dict[str, Any], more: dict[str, Any]) -> None:
    print(f"{name} after {given.minutes:g} minutes of training, {part_name(given)}, beam {given.beam}")
    print(f"  BLEU               {result['bleu']:6.2f}   {result['signature']}")
    print(f"  BLEU, lower-cased  {result['bleu_lower']:6.2f}   {result['signature_lower']}")
    print(f"  chrF               {result['chrf']:6.2f}")
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(given).items()}
    line = json.dumps({"benchmark": "time_to_quality", "who": name, **result, **more, "settings": settings})
    (given.work / "result.json").write_text(line + "\n", encoding="utf-8")
    print(line)


if __name__ == "__main__":
    main()
