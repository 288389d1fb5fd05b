"""Tokenizers from the files that GPT-2 and BERT came with, before there was tokenizer.json."""

from __future__ import annotations

from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from glassformer.errors import TokenizerError
from glassformer.text.foreign import parse_json, read_text_file, refuse_far_ids
from glassformer.text.library import guarded
from glassformer.text.pieces import GPT2_END
from glassformer.text.tokenizer import Tokenizer

BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def gpt2_tokenizer(vocab_json: str | Path, merges_txt: str | Path, *, add_prefix_space: bool = False) -> Tokenizer:
    """GPT-2's byte-level BPE from its two files (vocab.json or encoder.json, merges.txt or vocab.bpe)."""
    lines = [line for line in lines_of(merges_txt) if line and not line.startswith("#version")]
    vocabulary = parse_json(read_text_file(vocab_json), origin=vocab_json)
    with guarded(f"{vocab_json} and {merges_txt} are not GPT-2's vocabulary and merges"):
        refuse_far_ids(max(vocabulary.values(), default=0), len(vocabulary), origin=vocab_json)
        merges = [(left, right) for left, right in (line.split(" ") for line in lines)]
        model = models.BPE(vocab=vocabulary, merges=merges)
    inner = tokenizers.Tokenizer(model)
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    inner.decoder = decoders.ByteLevel()
    if model.token_to_id(GPT2_END) is not None:
        inner.add_special_tokens([GPT2_END])
    return Tokenizer(inner)


def bert_tokenizer(
    vocab_txt: str | Path, *, lowercase: bool = True, strip_accents: bool | None = None, chinese: bool = True
) -> Tokenizer:
    """BERT's WordPiece from its vocab.txt: one piece per line, the line number is the id.

    Accents are removed if text is lower-cased, unless `strip_accents` says otherwise. With `chinese`, each Chinese
    character is a word.
    """
    pieces = lines_of(vocab_txt)
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    if "[UNK]" not in vocabulary:
        raise TokenizerError(f"{vocab_txt} has no [UNK] among its {len(pieces):,} lines; expected BERT's vocab.txt")
    inner = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(
        lowercase=lowercase, strip_accents=strip_accents, handle_chinese_chars=chinese
    )
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    inner.add_special_tokens([token for token in BERT_TOKENS if token in vocabulary])
    return Tokenizer(inner)


def lines_of(path: str | Path) -> list[str]:
    """Only a line feed ends a line, since pieces may contain other separators; Windows files have a "\\r" before it."""
    return read_text_file(path).replace("\r\n", "\n").removesuffix("\n").split("\n")
