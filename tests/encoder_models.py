"""Small encoders and a decoder with tokenizers of their own, for tests that need texts."""

from __future__ import annotations

from typing import Any

import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers

from glassformer.models.bert import Bert, BertConfig
from glassformer.models.gpt import Gpt, GptConfig
from glassformer.models.roformer import RoFormer, RoFormerConfig
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, with_frame

WORDS = [
    *("the", "a", "money", "river", "bank", "grows", "flows", "of", "france", "germany", "spain", "is"),
    *("paris", "berlin", "madrid", "capital", "dog", "cat", "runs", "un"),
]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##believ", "##able", "##s", ".", ","]
MARKS = SpecialIds(pad=0, unk=1, cls=2, sep=3, mask=4)
SHAPE: dict[str, Any] = {"N": 2, "d": 30, "h": 3, "d_ff": 19, "dropout": 0.0}


def wordpiece() -> Tokenizer:
    inner = tokenizers.Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    inner.add_special_tokens(PIECES[:5])
    return with_frame(Tokenizer(inner), Frame((2,), (3,), (3,)))


def byte_level(*special: str) -> Tokenizer:
    """Every byte a piece, and a few words with the space before them."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {sign: i for i, sign in enumerate(signs)}
    merges = []
    for word in ("Ġbank", "bank", "Ġriver"):
        whole = word[0]
        for sign in word[1:]:
            merges.append((whole, sign))
            whole += sign
            vocabulary.setdefault(whole, len(vocabulary))
    inner = tokenizers.Tokenizer(models.BPE(vocabulary, list(dict.fromkeys(merges))))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(list(special))
    return Tokenizer(inner)


def bert(*, extras: dict[str, Any] | None = None, **changed: Any) -> Bundle:
    values = {**SHAPE, "vocabulary": len(PIECES), "max_length": 23, "head": "words", **changed}
    return Bundle("bert", wild(Bert(BertConfig(**values))), wordpiece(), MARKS, extras or {})


def roformer(**changed: Any) -> Bundle:
    values = {**SHAPE, "vocabulary": len(PIECES), "max_length": 23, "head": "words", **changed}
    return Bundle("roformer", wild(RoFormer(RoFormerConfig(**values))), wordpiece(), MARKS)


def gpt() -> Bundle:
    tokenizer = byte_level("<|endoftext|>")
    model = Gpt(GptConfig(**SHAPE, vocabulary=len(tokenizer), max_length=40))
    return Bundle("gpt", wild(model), tokenizer, SpecialIds(eos=tokenizer.id("<|endoftext|>")))


def roberta(**changed: Any) -> Bundle:
    tokenizer = byte_level("<s>", "<pad>", "</s>", "<mask>")
    names = {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"}
    ids = {mark: tokenizer.id(name) for mark, name in names.items()}
    model = Bert(BertConfig(**{**SHAPE, "vocabulary": len(tokenizer), "max_length": 40, "head": "words", **changed}))
    return Bundle("bert", wild(model), tokenizer, SpecialIds(**ids))


def wild(model: torch.nn.Module) -> torch.nn.Module:
    """Random weights so large that vectors of different texts differ."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(float(name.endswith("gain")) + 0.3 * torch.randn_like(parameter))
    return model.eval()
