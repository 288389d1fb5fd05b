"""Our ids in files that JoeyNMT reads: every token is a word of its own, so its ids are ours."""

from __future__ import annotations

from pathlib import Path

from glassformer.text import Tokenizer
from peers.corpus import LANGUAGES, Corpus

SPECIALS = ("<unk>", "<pad>", "<s>", "</s>")  # JoeyNMT's first four; ours differ in order, but no sentence holds them


def write_joey_files(folder: Path, corpus: Corpus, parts: tuple[str, ...], tokenizer: Tokenizer) -> None:
    """PART.en and PART.de as lines of words "t123", and vocab.txt with them all."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [*SPECIALS, *(word(id) for id in range(len(SPECIALS), len(tokenizer)))]
    (folder / "vocab.txt").write_text("".join(f"{one}\n" for one in words), encoding="utf-8")
    for part in parts:
        for language, sentences in zip(LANGUAGES, corpus.sentences(part), strict=True):
            lines = (" ".join(map(word, ids)) for ids in tokenizer.encode_batch(sentences))
            (folder / f"{part}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def word(id: int) -> str:
    return f"t{id}"


def ids_of(line: str) -> list[int]:
    """The ids of a line of words; marks and unknown words are left out."""
    return [int(one[1:]) for one in line.split() if one[1:].isdecimal()]
