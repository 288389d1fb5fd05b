"""Malformed files, settings and arguments: exit code 2, one clear message, nothing made and nothing overwritten."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Prepare = Callable[[Path], object]


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, every folder with None."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


@dataclass(frozen=True)
class Bad:
    """A mistake: what is prepared in the folder, what is asked, and what the message must say."""

    arguments: str  # split at spaces; ~ stands for a space inside an argument
    told: str | tuple[str, ...]
    prepare: Prepare = lambda _: None
    stdin: bytes = b""

    @property
    def parts(self) -> list[str]:
        return [part.replace("~", " ") for part in self.arguments.split(" ")]


def write(name: str, content: bytes | str) -> Prepare:
    return lambda folder: (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def damage(name: str, change: Callable[[bytes], bytes]) -> Prepare:
    """Changes a file of the run."""

    def prepare(folder: Path) -> None:
        path = folder / "run" / name
        path.write_bytes(change(path.read_bytes()))

    return prepare


def remove(name: str) -> Prepare:
    return lambda folder: (folder / "run" / name).unlink()


def manifest(**changed: Any) -> Prepare:
    return damage("manifest.json", lambda old: json.dumps({**json.loads(old), **changed}).encode())


def both(*steps: Prepare) -> Prepare:
    return lambda folder: [step(folder) for step in steps]


FILES = "train --source toy.en --target toy.de --valid toy.en toy.de --set model.size=nano --set text.kind=word"
OUT = f"{FILES} --out new/run"
PAIRS = "train --pairs bad.tsv --out new/run"
SOURCE = "train --source bad.en --target toy.de --out new/run"
LINE = b"the dog eats bread.\n"

DATA = {
    "source is missing": Bad("train --source none.en --target toy.de --out new/run", "none.en: no such file"),
    "target is missing": Bad("train --source toy.en --target none.de --out new/run", "none.de: no such file"),
    "held-out file is missing": Bad(f"{OUT} --valid none.en toy.de", "none.en: no such file"),
    "source is a folder": Bad("train --source . --target toy.de --out new/run", ". is a folder"),
    "source is below a file": Bad("train --source toy.en/x --target toy.de --out new/run", "toy.en/x"),
    "source is empty": Bad(SOURCE, ("line 1 of toy.de has no partner", "bad.en has 0 lines"), write("bad.en", "")),
    "all is empty": Bad(
        "train --source bad.en --target bad.de --out new/run",
        "bad.en and bad.de: no sentences found",
        both(write("bad.en", ""), write("bad.de", "")),
    ),
    "only blank lines": Bad(SOURCE, "bad.en and toy.de: no usable sentence pair. 60 of 60", write("bad.en", "\n" * 60)),
    "one line too few": Bad(SOURCE, "line 60 of toy.de has no partner", write("bad.en", LINE * 59)),
    "one line too many": Bad(SOURCE, "line 61 of bad.en has no partner", write("bad.en", LINE * 61)),
    "UTF-16": Bad(SOURCE, ("bad.en looks like UTF-16", "iconv"), write("bad.en", LINE.decode().encode("utf-16"))),
    "Latin-1": Bad(
        SOURCE, "bad.en, line 2, byte 20: not UTF-8 (got byte 0xe4)", write("bad.en", LINE + b"\xe4\n" * 6 + LINE * 53)
    ),
    "a NUL": Bad(SOURCE, "bad.en, line 2, byte 21: a NUL", write("bad.en", LINE + b"a\0b\n" * 6 + LINE * 53)),
    "cut gzip": Bad(
        "train --source bad.gz --target toy.de --out new/run",
        "bad.gz: cut off after 20 bytes",
        write("bad.gz", gzip.compress(LINE)[:-4]),
    ),
    "no gzip": Bad(
        "train --source bad.gz --target toy.de --out new/run",
        "bad.gz: named .gz, but it is not packed",
        write("bad.gz", LINE),
    ),
    "TSV with one column": Bad(PAIRS, "bad.tsv, line 2, byte 4: got 1 column", write("bad.tsv", "a\tb\nonly\n")),
    "TSV blank on one side": Bad(PAIRS, "bad.tsv: no usable sentence pair", write("bad.tsv", "a\t\n\tb\n")),
    "too few to hold out": Bad(PAIRS, "have the same source", write("bad.tsv", "a\tb\na\td\n")),
    "held-out TSV is bad": Bad(
        f"{FILES.replace('--valid toy.en toy.de', '--valid bad.tsv')} --out new/run",
        "bad.tsv does not look like a TSV",
        write("bad.tsv", "x\n"),
    ),
    "nothing short enough": Bad(f"{OUT} --set data.max_tokens=2", "longer than data.max_tokens = 2"),
}

SETTINGS = {
    "no data": Bad("train --out new/run", "No training data"),
    "source alone": Bad("train --source toy.en --out new/run", ("data", "target is missing")),
    "corpus and source": Bad(f"{OUT} --corpus phrasebook", ("data", "not both")),
    "unknown corpus": Bad("train --corpus wiki --out new/run", "There is no corpus 'wiki'"),
    "corpus too small": Bad(
        "train --corpus phrasebook --set data.corpus_size=50 --out new/run", ("data.corpus_size", "8000")
    ),
    "unknown setting": Bad(f"{OUT} --set train.zzz=1", "unknown setting train.zzz"),
    "a typo": Bad(f"{OUT} --set train.warmupp=1", "Did you mean train.warmup?"),
    "wrong type": Bad(f"{OUT} --set train.lr=fast", ("train.lr", "got 'fast'")),
    "out of range": Bad(f"{OUT} --set train.lr=-1", ("train.lr", "greater than 0")),
    "no number": Bad(f"{OUT} --set train.lr=nan", "train.lr"),
    "heads do not divide": Bad(f"{OUT} --set model.d=10 --set model.h=4", "d = 10 is not a multiple of h = 4"),
    "tied with two vocabularies": Bad(
        f"{OUT} --set text.shared=false --set model.tied=all", "model.tied = 'all' needs text.shared"
    ),
    "learned positions too few": Bad(
        f"{OUT} --set model.positions=learned --set model.max_length=9", "model.max_length > data.max_tokens"
    ),
    "unknown tokenizer": Bad(f"{OUT} --set text.kind=bytes", "text.kind"),
    "vocabulary too small": Bad(f"{OUT} --set text.kind=bpe --set text.vocab_size=100", "vocab_size of bpe"),
    "vocabulary far too small": Bad(f"{OUT} --set text.vocab_size=3", "text.vocab_size"),
    "unknown device": Bad(f"{OUT} --set train.device=gpu", "device 'gpu' is not on this machine"),
    "no threads": Bad(f"{OUT} --set train.threads=0", "train.threads"),
    "seed too large": Bad(f"{OUT} --set train.seed=9223372036854775808", "train.seed"),
    "seed below zero": Bad(f"{OUT} --set train.seed=-1", "train.seed"),
    "no steps": Bad(f"{OUT} --set train.steps=0", "train.steps"),
    "several problems": Bad(
        f"{OUT} --set train.lr=x --set model.d=0 --set foo.bar=1", ("3 problems", "train.lr", "model.d", "foo")
    ),
    "--set without =": Bad(f"{OUT} --set train.lr", "--set train.lr: got no name=value"),
    "--set below a value": Bad(f"{OUT} --set train.lr=1 --set train.lr.x=1", "lr is a single value, not a section"),
    "a section as a value": Bad(f"{OUT} --set model=3", "model"),
    "text is no section": Bad(f"{OUT} --set text=3", "text"),
    "recipe is missing": Bad("train none.toml --out new/run", "none.toml: no such recipe"),
    "recipe is a folder": Bad("train . --out new/run", ". is a folder"),
    "recipe is no TOML": Bad("train bad.toml --out new/run", "bad.toml: not valid TOML", write("bad.toml", "[train\n")),
    "recipe is binary": Bad("train bad.toml --out new/run", "bad.toml: not UTF-8", write("bad.toml", b"\xff\xfe")),
    "recipe with a typo": Bad(
        "train bad.toml --out new/run",
        ("bad.toml", "unknown setting train.stesp"),
        write("bad.toml", "[train]\nstesp = 1\n"),
    ),
    "recipe with NUL in a name": Bad(
        "train bad.toml --out new/run",
        "it contains a NUL character",
        write("bad.toml", '[data]\nsource = "a\\u0000b"\ntarget = "x"\n'),
    ),
    "no --out": Bad(FILES, "--out runs/NAME"),
    "out is a file": Bad(f"{FILES} --out toy.en", "toy.en: cannot be created"),
    "out is below a file": Bad(f"{FILES} --out toy.en/run", "toy.en/run: cannot be created"),
    "out has other files": Bad(
        f"{FILES} --out mine",
        "mine is not empty and not a run (it has notes.txt)",
        both(lambda folder: (folder / "mine").mkdir(), write("mine/notes.txt", "mine")),
    ),
    "out is unfinished with other settings": Bad(
        f"{FILES} --out run",
        "run was started with different settings",
        lambda folder: (folder / "run" / "checkpoints").mkdir(),
    ),
    "recipe: unknown setting": Bad("recipe --set train.zzz=1", "unknown setting train.zzz"),
}

USING = {
    "run is missing": Bad("translate none x", ("none: no such folder", "glassformer train --task TASK")),
    "run is a file": Bad("translate toy.en x", "toy.en is not a model"),
    "run is another folder": Bad("translate . x", ". is not a model"),
    "weights are cut": Bad(
        "translate run x", "run/model.safetensors is damaged", damage("model.safetensors", lambda old: old[:-7])
    ),
    "weights are changed": Bad(
        "translate run x", "run/model.safetensors is damaged", damage("model.safetensors", lambda old: old[:-1] + b"\7")
    ),
    "tokenizer is damaged": Bad(
        "translate run x", "run/tokenizer.json is damaged", damage("tokenizer.json", lambda old: old + b" ")
    ),
    "tokenizer is missing": Bad("translate run x", "run/tokenizer.json is missing", remove("tokenizer.json")),
    "settings are damaged": Bad(
        "translate run x", "run/config.toml is damaged", damage("config.toml", lambda old: old[:-30])
    ),
    "settings are edited": Bad(
        "explain run x",
        "run/config.toml is damaged or was changed",
        damage("config.toml", lambda old: old.replace(b"d = 16", b"d = 32")),
    ),
    "manifest is missing": Bad("translate run x", "run/manifest.json is missing", remove("manifest.json")),
    "manifest is of a newer format": Bad("translate run x", "run/manifest.json: format 2", manifest(format=2)),
    "manifest is no JSON": Bad(
        "translate run x", "run/manifest.json: not valid JSON", damage("manifest.json", lambda old: old[:-9])
    ),
    "manifest has no files": Bad("translate run x", "run/manifest.json", manifest(files=[])),
    "weights are missing": Bad(
        "translate run x",
        "run/model.safetensors is missing, although",
        remove("model.safetensors"),
    ),
    "more wanted than the beam": Bad("translate run x --beam 2 --n-best 3", ("3 translations", "a beam of 2")),
    "beam of 0": Bad("translate run x --beam 0", "--beam"),
    "text and file": Bad("translate run x --input toy.en", "--input"),
    "input is missing": Bad("translate run --input none.en", "none.en: no such file"),
    "input is not UTF-8": Bad("translate run --input bad.en", "bad.en, line 1", write("bad.en", b"\xff\n")),
    "stdin is not UTF-8": Bad("translate run", "stdin, line 1, byte 3: not UTF-8", stdin=b"ab\xff\n"),
    "unknown device to translate on": Bad("translate run x --device gpu", "'gpu' is not on this machine"),
    "one file of one column": Bad("evaluate run toy.en", "toy.en has no partner among the files given"),
    "three files": Bad("evaluate run toy.en toy.de toy.en", "toy.en is given twice"),
    "no files": Bad("evaluate run", "Got no file"),
    "misaligned files": Bad("evaluate run toy.en bad.de", "line 2 of toy.en has no partner", write("bad.de", "x\n")),
    "unknown corpus to measure with": Bad("evaluate run --corpus wiki", "There is no corpus 'wiki'"),
    "output exists": Bad("evaluate run toy.en toy.de --output toy.en", "toy.en already exists"),
    "output in no folder": Bad("evaluate run toy.en toy.de --output none/out.txt", "there is no folder none"),
    "blank text to explain": Bad("explain run ~", "Nothing to explain"),
    "no such layer": Bad("explain run the~dog --layer 9", "no layer 9"),
    "no such head": Bad("explain run the~dog --layer 1 --head 9", "no head 9"),
    "unknown lesson": Bad("lesson algebra", ("There is no lesson 'algebra'", "mixing")),
    "help of an unknown lesson": Bad("lesson algebra --help", ("There is no lesson 'algebra'", "mixing")),
    "empty words for a lesson": Bad("lesson mixing ~", ("A text is empty",)),
    "bytes for a lesson that are no text": Bad("lesson words -", "stdin, line 1, byte 3: not UTF-8", stdin=b"ab\xff\n"),
    "a page of no lesson": Bad("lesson --html page.html", ("Name it", "lesson mixing --html")),
    "a page and JSON of a lesson": Bad("lesson norm --html page.html --json", "Leave one of them out"),
    "an unknown lesson's page": Bad("lesson algebra --html page.html", "There is no lesson 'algebra'"),
    "a page over a file": Bad("lesson norm --html toy.en", ("toy.en exists", "--force")),
    "a page's option without one": Bad("lesson norm --open", "add --html FILE"),
    "a lesson's wrong option": Bad("lesson norm --width 8", ("does not take --width",)),
    "a lesson without a model": Bad("lesson norm --model nowhere", ("does not take --model", "beam")),
    "tokenizer of a missing file": Bad("tokenizer trace none.json word", "none.json"),
    "tokenizer that is no JSON": Bad("tokenizer encode toy.en word", "toy.en is not JSON"),
    "tokenizer that is other JSON": Bad(
        "tokenizer trace bad.json word", "bad.json is JSON but not a tokenizer", write("bad.json", "{}")
    ),
    "tokenizer from a missing file": Bad("tokenizer train none.en --out new.json", "none.en"),
    "tokenizer over a file": Bad("tokenizer train toy.en --out toy.de", "toy.de already exists"),
    "tokenizer into no folder": Bad("tokenizer train toy.en --out none/t.json", "there is no folder none"),
    "tokenizer of unknown kind": Bad("tokenizer train toy.en --kind bytes --out new.json", "bytes"),
    "tokenizer from nothing": Bad("tokenizer train bad.en --out new.json", "no text to train", write("bad.en", "\n")),
    "tokenizer without --out": Bad("tokenizer train toy.en", "--out"),
    "unknown verb": Bad("transalte run x", "transalte"),
    "unknown option": Bad("translate run x --beams 3", "--beams"),
    "no run given": Bad("translate", "RUN"),
}
CASES = {**DATA, **SETTINGS, **USING}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_in_plain_words_and_changes_nothing(
    toy: Any, trained: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, folder = CASES[name], toy.folder
    shutil.copytree(trained, folder / "run")
    case.prepare(folder)
    monkeypatch.chdir(folder)
    before = contents(folder)
    outcome = command(*case.parts, stdin=case.stdin)
    assert outcome.code == 2, outcome
    for part in (case.told,) if isinstance(case.told, str) else case.told:
        assert part in outcome.err, outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    assert "{'" not in outcome.err, "Python shows through"
    assert "None" not in outcome.err
    assert len(outcome.err) < 1500
    assert outcome.err.count("glassformer: ") == 1 or outcome.err.startswith("Usage: ")
    assert contents(folder) == before


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 35


def test_a_sentence_longer_than_the_learned_positions_is_refused(toy: Any, command: Callable[..., Any]) -> None:
    learned = ("data.max_tokens=8", "model.positions=learned", "model.max_length=9", "train.steps=1")
    assert command(*toy.arguments(toy.folder / "run", *learned)).code == 0
    outcome = command("translate", toy.folder / "run", "the dog " * 9)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "has 19 tokens; this model learned 9 positions. Split the sentence" in outcome.err


def test_an_argument_that_is_not_text_is_refused(trained: Path, command: Callable[..., Any]) -> None:
    """The shell hands on bytes that are not UTF-8 as halves of surrogate pairs."""
    outcome = command("translate", trained, "a\udcffb")
    assert outcome.code == 2
    assert "surrogate" in outcome.err


def test_a_file_name_that_is_not_text_is_refused(toy: Any, command: Callable[..., Any]) -> None:
    """It could not be written into the run's settings."""
    odd = toy.source.rename(toy.folder / "\udcff.en")
    outcome = command("train", "--source", odd, "--target", toy.target, "--valid", odd, toy.target,
                      "--set", "text.kind=word", "--out", toy.folder / "run")  # fmt: skip
    assert outcome.code == 2
    assert "is not text, since its bytes are not UTF-8: rename the file" in outcome.err
    assert not (toy.folder / "run").exists()
