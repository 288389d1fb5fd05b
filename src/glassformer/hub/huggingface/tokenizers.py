"""Tokenizers of Hugging Face folders: tokenizer.json, or the older files from which it is made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.errors import ImportingError
from glassformer.hub.huggingface import fields
from glassformer.hub.huggingface.checkpoint import read_json
from glassformer.hub.huggingface.marks import (
    ADDED,
    NAMES,
    TOKENIZER,
    TOKENS,
    optional_json,
    special_texts,
)
from glassformer.store.bundle import Bundle
from glassformer.text import Tokenizer
from glassformer.text.foreign import refuse_far_ids
from glassformer.text.framing import Frame, with_frame
from glassformer.text.sentencepiece import read_sentencepiece, tokenizer_of
from glassformer.text.vocabulary_files import bert_tokenizer, gpt2_tokenizer

FAST, TARGET = "tokenizer.json", "target"  # a folder for the second tokenizer: other programs have no place for it
SENTENCEPIECE = ("spiece.model", "tokenizer.model", "sentencepiece.bpe.model")
RENUMBERED = ("xlm-roberta", "camembert", "pegasus", "mbart")  # their ids are not those of their SentencePiece file
DEFAULTS = {  # names of the special tokens if no file gives them
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
SHOWN = 8  # files of a folder that an error lists
SENTINELS = 100  # T5's <extra_id_0> to <extra_id_99>
MOST_SENTINELS = 10_000


def read_tokenizers(folder: Path, theirs: Mapping[str, Any]) -> tuple[Tokenizer | None, Tokenizer | None]:
    """The folder's tokenizer, and the target side's if it has its own. None: there are no tokenizer files."""
    if (folder / "source.spm").is_file():
        return marian(folder)
    model_type = str(theirs.get("model_type"))
    family = FAMILIES.get(model_type, model_type)
    if (folder / FAST).is_file():  # it is complete, including the special tokens around texts
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


def tokenizer_in(folder: Path) -> Tokenizer:
    """The tokenizer of a folder with tokenizer files of any kind, with or without a model; the source side's of two."""
    if (folder / "encoder.json").is_file() and (folder / "vocab.bpe").is_file():  # as GPT-2 was first published
        return gpt2_tokenizer(folder / "encoder.json", folder / "vocab.bpe")
    found, _ = read_tokenizers(folder, optional_json(folder / "config.json"))
    if found is None:
        files = ", ".join(sorted(one.name for one in folder.iterdir())[:SHOWN]) or "nothing"
        raise ImportingError(
            f"{folder} has no tokenizer. It has {files}. Expected {FAST}, vocab.json with merges.txt (GPT-2), "
            f"vocab.txt (BERT) or a SentencePiece file ({', '.join(SENTENCEPIECE)})."
        )
    return found


# One kind of files each


def bert(folder: Path) -> Tokenizer:
    """WordPiece from vocab.txt, with the flags of tokenizer_config.json."""
    about, texts = optional_json(folder / TOKENIZER), DEFAULTS["bert"] | special_texts(folder)
    tokenizer = bert_tokenizer(
        folder / "vocab.txt",
        lowercase=fields.flag(about, "do_lower_case", True),
        strip_accents=fields.optional_flag(about, "strip_accents"),
        chinese=fields.flag(about, "tokenize_chinese_chars", True),
    )
    tokenizer = with_specials(tokenizer, folder, texts)
    cls, sep = (needed(tokenizer, texts[name], folder) for name in ("cls", "sep"))
    return with_frame(tokenizer, Frame((cls,), (sep,), (sep,)))


def byte_level(folder: Path, family: str) -> Tokenizer:
    """GPT-2's and RoBERTa's byte-level BPE from vocab.json and merges.txt."""
    about = optional_json(folder / TOKENIZER)
    texts = DEFAULTS["roberta" if family == "roberta" else "gpt2"] | special_texts(folder)
    tokenizer = gpt2_tokenizer(
        folder / "vocab.json", folder / "merges.txt", add_prefix_space=fields.flag(about, "add_prefix_space", False)
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
    sentinels = fields.whole(about, "extra_ids", SENTINELS, least=0, most=MOST_SENTINELS) if family == "t5" else 0
    more = [f"<extra_id_{i}>" for i in reversed(range(sentinels))]
    tokenizer = Tokenizer(tokenizer_of(read_sentencepiece(folder / name), more=more))
    texts = DEFAULTS.get(family, {}) | special_texts(folder)
    tokenizer = with_specials(tokenizer, folder, texts)
    if family == "t5":
        end = needed(tokenizer, texts["eos"], folder)
        return with_frame(tokenizer, Frame((), (end,), (end,)))
    return with_flags(folder, tokenizer, family, default=family == "llama")


def marian(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Marian's SentencePiece models, one per language, with the ids of vocab.json (and target_vocab.json)."""
    about = optional_json(folder / TOKENIZER)
    ids = read_ids(folder / "vocab.json")
    separate = fields.flag(about, "separate_vocabs", False)
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
    if not ids or not all(fields.is_whole(number, least=0) for number in ids.values()):
        raise ImportingError(f"{path}: expected tokens and their ids. Fetch the file again.")
    if len(set(ids.values())) < len(ids):
        raise ImportingError(f"{path}: two tokens have the same id. Fetch the file again.")
    refuse_far_ids(max(ids.values()), len(ids), origin=path)
    return ids


# Special tokens and frames


def with_specials(tokenizer: Tokenizer, folder: Path, texts: Mapping[str, str]) -> Tokenizer:
    """Marks the special tokens, and adds those of added_tokens.json with their ids."""
    given = optional_json(folder / ADDED)
    if not all(fields.is_whole(number, least=0) for number in given.values()):
        raise ImportingError(f"{folder / ADDED}: expected tokens and their ids. Fetch the file again.")
    for text, number in sorted(given.items(), key=lambda item: item[1]):
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
    """Adds special tokens, and `first`, which are found in texts before anything else. New ones get the next ids."""
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
    """Adds bos and eos as tokenizer_config.json says; `default`: whether to add bos if it says nothing."""
    about, texts = optional_json(folder / TOKENIZER), DEFAULTS.get(family, {}) | special_texts(folder)
    wanted = {name: fields.flag(about, f"add_{name}_token", default and name == "bos") for name in ("bos", "eos")}
    found = {name: tokenizer.id(texts[name]) if wanted[name] and name in texts else None for name in wanted}
    before, after = (tuple(number for number in [found[name]] if number is not None) for name in ("bos", "eos"))
    return with_frame(tokenizer, Frame(before, (*after, *before), after))


def needed(tokenizer: Tokenizer, text: str, folder: Path) -> int:
    number = tokenizer.id(text)
    if number is None:
        raise ImportingError(f"{folder}: the tokenizer's vocabulary has no {text}, which is put around every text.")
    return number


# Writing


def tokenizer_files(bundle: Bundle) -> dict[str, bytes]:
    """tokenizer.json and what `transformers.AutoTokenizer` needs beside it; a target side's in a folder of its own."""
    if bundle.tokenizer is None:
        return {}
    files = files_of(bundle.tokenizer, bundle)
    if bundle.target is not None:
        files |= {f"{TARGET}/{name}": text for name, text in files_of(bundle.target, bundle).items()}
    return files


def files_of(tokenizer: Tokenizer, bundle: Bundle) -> dict[str, bytes]:
    texts = {
        f"{name}_token": tokenizer.token(number)
        for name in NAMES
        if (number := getattr(bundle.marks, name)) is not None and number < len(tokenizer)
    }
    about: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", **texts}
    about["clean_up_tokenization_spaces"] = False
    config = getattr(bundle.model, "config", None)
    if getattr(config, "segments", 1) > 1:  # without them, the second text of a pair would be in the first
        about["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    if "max_length" in bundle.extras:
        limits = (bundle.extras["max_length"], getattr(config, "max_length", None))
        about["model_max_length"] = min(limit for limit in limits if limit is not None)
    as_json = {TOKENIZER: about, TOKENS: texts}
    return {FAST: tokenizer.to_json().encode()} | {
        name: (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode() for name, content in as_json.items()
    }
