"""Multi30k, or any corpus in files of that name, as text and as the ids that every competitor trains on."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glassformer.data.batches import EncodedPairs, Marks
from glassformer.data.columns import Ragged
from glassformer.tasks.translation.translator import marks_of
from glassformer.text import Tokenizer

LANGUAGES = ("en", "de")


@dataclass(frozen=True)
class Corpus:
    """Plain text files, NAME.en and NAME.de."""

    folder: Path

    def files(self, part: str) -> tuple[Path, Path]:
        source, target = (self.folder / f"{part}.{language}" for language in LANGUAGES)
        return source, target

    def sentences(self, part: str) -> tuple[list[str], list[str]]:
        source, target = (path.read_text(encoding="utf-8").splitlines() for path in self.files(part))
        return source, target


def unpacked(data: Path, folder: Path, parts: tuple[str, ...]) -> Corpus:
    """The parts as plain files in `folder`; in `data` they may be packed with gzip."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (f"{part}.{language}" for part in parts for language in LANGUAGES):
        plain, packed = data / name, data / f"{name}.gz"
        if not plain.exists() and not packed.exists():
            raise SystemExit(f"{data} has no {name}, plain or .gz. Give --data the folder of Multi30k's files.")
        content = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
        (folder / name).write_bytes(content)
    return Corpus(folder)


def save_ids(path: Path, corpus: Corpus, part: str, tokenizer: Tokenizer) -> None:
    """Both sides of a part as bare ids, with the marks that will frame them."""
    source, target = (Ragged.of(tokenizer.encode_batch(side)) for side in corpus.sentences(part))
    marks = marks_of(tokenizer)
    np.savez(
        path,
        source=source.flat,
        source_lengths=source.lengths,
        target=target.flat,
        target_lengths=target.lengths,
        marks=np.array([marks.pad, marks.bos, marks.eos, len(tokenizer)]),
    )


def load_ids(path: str | Path) -> tuple[EncodedPairs, int]:
    """What `save_ids` left, and the size of the vocabulary."""
    stored = np.load(path)
    pad, bos, eos, vocabulary = (int(value) for value in stored["marks"])
    marks = Marks(pad=pad, bos=bos, eos=eos)
    source, target = (Ragged(stored[side], stored[f"{side}_lengths"]) for side in ("source", "target"))
    return EncodedPairs(source, target, marks, marks), vocabulary
