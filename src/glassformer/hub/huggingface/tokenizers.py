"""Tokenizers of Hugging Face folders: tokenizer.json, or the files of old from which it is made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.checkpoint import read_json
from glassformer.hub.huggingface.marks import (
    ADDED,
    NAMES,
    TOKENIZER,
    TOKENS,
    optional_json,
    special_texts,
)
from glassformer.hub.huggingface.pretrained import Pretrained
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, with_frame
from glassformer.text.sentencepiece import read_sentencepiece, tokenizer_of

FAST, TARGET = "tokenizer.json", "target"  # a folder for the second tokenizer: others have no place for it
SENTENCEPIECE = ("spiece.model", "tokenizer.model", "sentencepiece.bpe.model")
RENUMBERED = ("xlm-roberta", "camembert", "pegasus", "mbart")  # whose ids are not those of their SentencePiece file
DEFAULTS = {  # what the special tokens are called where no file says
    "bert": {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"},
    "roberta": {
        **{"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "unk": "<unk>"},
        **{"pad": "<pad>", "mask": "<mask>"},
    },
    "gpt2": dict.fromkeys(("unk", "bos", "eos"), "<|endoftext|>"),
    "llama": {"unk": "<unk>", "bos": "<s>", "eos": "</s>"},
    "t5": {"unk": "<unk>", "eos": "</s>", "pad": "<pad>"},
}
FAMILIES = {"roformer": "bert", "mixtral": "llama", "mistral": "llama", "mt5": "t5", "xlm-roberta": "roberta"}
SENTINELS = 100  # T5's <extra_id_0> to <extra_id_99>


def read_tokenizers(folder: Path, theirs: Mapping[str, Any]) -> tuple[Tokenizer | None, Tokenizer | None]:
    """The folder's tokenizer, and that of the target side if it is another. None: there are no tokenizer files."""
    if (folder / "source.spm").is_file():
        return marian(folder)
    model_type = str(theirs.get("model_type"))
    family = FAMILIES.get(model_type, model_type)
    if (folder / FAST).is_file():  # it says all, also what stands around texts
        target = folder / TARGET / FAST
        return Tokenizer.load(folder / FAST), Tokenizer.load(target) if target.is_file() else None
    if (folder / "vocab.txt").is_file():
        return bert(folder), None
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return byte_level(folder, family), None
    for name in SENTENCEPIECE:
        if (folder / name).is_file():
            return sentencepiece(folder, name, family), None
    return None, None


# One kind of files each


def bert(folder: Path) -> Tokenizer:
    """WordPiece from vocab.txt, with the flags of tokenizer_config.json."""
    about, texts = optional_json(folder / TOKENIZER), DEFAULTS["bert"] | special_texts(folder)
    tokenizer = Tokenizer.from_bert_vocab(
        folder / "vocab.txt",
        lowercase=about.get("do_lower_case", True) is not False,
        strip_accents=about.get("strip_accents"),
        chinese=about.get("tokenize_chinese_chars", True) is not False,
    )
    tokenizer = with_specials(tokenizer, folder, texts)
    cls, sep = (needed(tokenizer, texts[name], folder) for name in ("cls", "sep"))
    return with_frame(tokenizer, Frame((cls,), (sep,), (sep,)))


def byte_level(folder: Path, family: str) -> Tokenizer:
    """GPT-2's and RoBERTa's byte-level BPE from vocab.json and merges.txt."""
    about = optional_json(folder / TOKENIZER)
    texts = DEFAULTS["roberta" if family == "roberta" else "gpt2"] | special_texts(folder)
    tokenizer = Tokenizer.from_gpt2_files(
        folder / "vocab.json", folder / "merges.txt", add_prefix_space=about.get("add_prefix_space", False) is True
    )
    tokenizer = with_specials(tokenizer, folder, texts)
    if family == "roberta":
        cls, sep = (needed(tokenizer, texts[name], folder) for name in ("cls", "sep"))
        return with_frame(tokenizer, Frame((cls,), (sep, sep), (sep,)))
    return with_flags(folder, tokenizer, family)


def sentencepiece(folder: Path, name: str, family: str) -> Tokenizer:
    """T5's and Llama's SentencePiece files."""
    about = optional_json(folder / TOKENIZER)
    if family in RENUMBERED or name == "sentencepiece.bpe.model":
        raise ImportingError(
            f"{folder / name}: the ids of {family} are not those of this file. Its {FAST} is needed beside it."
        )
    sentinels = about.get("extra_ids", SENTINELS) if family == "t5" else 0
    more = [f"<extra_id_{i}>" for i in reversed(range(sentinels))]
    tokenizer = Tokenizer(tokenizer_of(read_sentencepiece(folder / name), more=more))
    texts = DEFAULTS.get(family, {}) | special_texts(folder)
    tokenizer = with_specials(tokenizer, folder, texts)
    if family == "t5":
        end = needed(tokenizer, texts["eos"], folder)
        return with_frame(tokenizer, Frame((), (end,), (end,)))
    return with_flags(folder, tokenizer, family, default=family == "llama")


def marian(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Marian's: a SentencePiece model for each language, numbered by vocab.json (and target_vocab.json)."""
    about = optional_json(folder / TOKENIZER)
    ids = read_ids(folder / "vocab.json")
    separate = about.get("separate_vocabs", False) is True
    target_ids = read_ids(folder / "target_vocab.json") if separate else ids
    texts = {"unk": "<unk>", "eos": "</s>", "pad": "<pad>"} | special_texts(folder)
    sides = (("source.spm", ids), ("target.spm", target_ids))
    source, target = (marian_side(folder / file, numbers, texts) for file, numbers in sides)
    return source, target


def marian_side(path: Path, ids: Mapping[str, int], texts: Mapping[str, str]) -> Tokenizer:
    codes = [text for text in ids if text.startswith(">>") and text.endswith("<<")]  # of languages to translate into
    model = read_sentencepiece(path).with_ids(ids)
    tokenizer = Tokenizer(tokenizer_of(model))
    missing = [text for text in texts.values() if text not in ids]
    if missing:
        raise ImportingError(f"{path.with_name('vocab.json')} has no {', '.join(missing)}. Fetch the file again.")
    end = ids[texts["eos"]]
    return with_frame(with_added(tokenizer, list(texts.values()), first=codes), Frame((), (end,), (end,)))


def read_ids(path: Path) -> dict[str, int]:
    """A vocabulary: every token with its id."""
    ids = read_json(path)
    if not ids or not all(isinstance(number, int) and number >= 0 for number in ids.values()):
        raise ImportingError(f"{path}: expected tokens and their ids. Fetch the file again.")
    return ids


# Special tokens and frames


def with_specials(tokenizer: Tokenizer, folder: Path, texts: Mapping[str, str]) -> Tokenizer:
    """The special tokens marked as such, and those of added_tokens.json with their ids."""
    added = sorted(optional_json(folder / ADDED).items(), key=lambda item: item[1])
    for text, number in added:
        known = tokenizer.id(text)
        if known is None and number == len(tokenizer):
            tokenizer = with_added(tokenizer, [text])
        elif known != number:
            raise ImportingError(
                f"{folder / ADDED}: {text!r} should have the id {number}, but "
                f"{'ids end before it' if known is None else f'has {known}'}. Use the folder's {FAST}."
            )
    return with_added(tokenizer, [text for text in dict.fromkeys(texts.values()) if tokenizer.id(text) is not None])


def with_added(tokenizer: Tokenizer, special: Sequence[str], *, first: Sequence[str] = ()) -> Tokenizer:
    """Tokens that are no text; and `first`, which are found in texts before all else. New ones are numbered on."""
    content = json.loads(tokenizer.to_json())
    known = {token["content"]: token for token in content["added_tokens"]}
    following = len(tokenizer)
    for text in (*special, *first):
        number = tokenizer.id(text)
        if number is None:
            number, following = following, following + 1
        entry = {"id": number, "content": text, "single_word": False, "lstrip": False, "rstrip": text in first}
        known[text] = {**entry, "normalized": False, "special": text in special}
    content["added_tokens"] = sorted(known.values(), key=lambda token: token["id"])
    return Tokenizer.from_json(json.dumps(content), origin="the tokenizer")


def with_flags(folder: Path, tokenizer: Tokenizer, family: str, *, default: bool = False) -> Tokenizer:
    """Framed as add_bos_token and add_eos_token of tokenizer_config.json say; `default`: whether bos is, unsaid."""
    about, texts = optional_json(folder / TOKENIZER), DEFAULTS.get(family, {}) | special_texts(folder)
    flags = {name: about.get(f"add_{name}_token") for name in ("bos", "eos")}
    wanted = {"bos": default, "eos": False} | {name: flag is True for name, flag in flags.items() if flag is not None}
    found = {name: tokenizer.id(texts[name]) if wanted[name] and name in texts else None for name in wanted}
    before, after = (tuple(number for number in [found[name]] if number is not None) for name in ("bos", "eos"))
    return with_frame(tokenizer, Frame(before, (*after, *before), after))


def needed(tokenizer: Tokenizer, text: str, folder: Path) -> int:
    number = tokenizer.id(text)
    if number is None:
        raise ImportingError(f"{folder}: the tokenizer's vocabulary has no {text}, which stands around every text.")
    return number


# Writing


def tokenizer_files(pretrained: Pretrained) -> dict[str, bytes]:
    """tokenizer.json and what `transformers.AutoTokenizer` needs beside it; a target side's in a folder of its own."""
    if pretrained.tokenizer is None:
        return {}
    files = files_of(pretrained.tokenizer, pretrained)
    if pretrained.target is not None:
        files |= {f"{TARGET}/{name}": text for name, text in files_of(pretrained.target, pretrained).items()}
    return files


def files_of(tokenizer: Tokenizer, pretrained: Pretrained) -> dict[str, bytes]:
    texts = {
        f"{name}_token": tokenizer.token(number)
        for name in NAMES
        if (number := getattr(pretrained.marks, name)) is not None and number < len(tokenizer)
    }
    about: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", **texts}
    about["clean_up_tokenization_spaces"] = False
    if "max_length" in pretrained.extras:
        about["model_max_length"] = pretrained.extras["max_length"]
    as_json = {TOKENIZER: about, TOKENS: texts}
    return {FAST: tokenizer.to_json().encode()} | {
        name: (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode() for name, content in as_json.items()
    }
