"""Ways to damage a model's folder. All draw from a `random.Random`, so a case can be made again by its number."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

RAW = "@@raw@@"  # a string that begins so is written without its quotes
DEPTH = 20_000
HOSTILE = "\x1b[31mred\nglassformer: all is well\u202e"
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 7, 10**6, 10**9, 10**12, 2**31, 2**32 - 1, 2**63, 2**64, 10**400, -(10**400),
    0.5, -0.5, 1e308, f"{RAW}NaN", f"{RAW}Infinity", f"{RAW}-Infinity", f"{RAW}1e400", f"{RAW}{'9' * 5000}",
    "", "yes", "100", "a" * 5000, HOSTILE, f'{RAW}"\\ud800"', [], {}, [[]], [None], {"a": 1, "b": "2"}, [1, "2", None],
    RAW + "[" * DEPTH + "]" * DEPTH, RAW + '{"a":' * DEPTH + "1" + "}" * DEPTH,
]  # fmt: skip
# Fields that are read where they are there; most seeds do not have them.
FIELDS = [
    "extra_ids", "strip_accents", "do_lower_case", "tokenize_chinese_chars", "add_bos_token", "add_eos_token",
    "decoder_start_token_id", "eos_token_id", "bos_token_id", "pad_token_id", "cls_token", "unk_token", "mask_token",
    "id2label", "num_labels", "architectures", "rope_scaling", "rope_parameters", "rope_theta", "sliding_window",
    "head_dim", "bad_words_ids", "num_beams", "length_penalty", "no_repeat_ngram_size", "quantization_config",
    "model_max_length", "max_seq_length", "prompts", "default_prompt_name", "pooling_mode", "separate_vocabs", "size",
    "crop_size", "image_mean", "image_std", "resample", "do_center_crop", "embedding_size", "n_inner", "model_type",
    "max_position_embeddings", "tie_word_embeddings", "source_lang", "target_lang", "layer_types", "weight_map",
    "num_key_value_heads", "hidden_dropout_prob", "layer_norm_eps", "patch_size", "image_size", "config",
]  # fmt: skip
REGEXES = ["(a+)+$", "(?:(?:a?){1000}){1000}", "[", "", "(?<=a*)b", "(" * 500 + ")" * 500, "\\", "(?i)" + "a|" * 3000]
PARTS: list[tuple[str, Any]] = [
    *(("pre_tokenizer", {"type": "Split", "pattern": {"Regex": one}, "behavior": "Isolated", "invert": False})
      for one in REGEXES),
    *(("normalizer", {"type": "Replace", "pattern": {"Regex": one}, "content": "b"}) for one in REGEXES),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "/////w=="}),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": ""}),
    ("normalizer", {"type": "Prepend", "prepend": "\x1b" * 100}),
    ("normalizer", {"type": "Strip", "strip_left": True, "strip_right": True}),
    ("normalizer", {"type": "Sequence", "normalizers": []}),
    ("decoder", {"type": "Strip", "content": "a", "start": 2**31, "stop": 2**31}),
    ("decoder", {"type": "CTC", "pad_token": "", "word_delimiter_token": "", "cleanup": True}),
    ("truncation", {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 5}),
    ("padding", {"strategy": {"Fixed": 2**31}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                 "pad_type_id": 0, "pad_token": "x"}),
    ("post_processor", {"type": "BertProcessing", "sep": ["x", 10**9], "cls": ["y", 10**9]}),
    ("post_processor", {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "q", "type_id": 0}}],
                        "pair": [], "special_tokens": {"q": {"id": "q", "ids": [10**9], "tokens": ["q"]}}}),
    ("post_processor", {"type": "Sequence", "processors": []}),
    ("model", {"type": "BPE", "vocab": {"a": 0, "b": 2**32 - 1}, "merges": []}),
    ("model", {"type": "BPE", "vocab": {"a": 0, "b": 2 * 10**8}, "merges": []}),
    ("model", {"type": "WordLevel", "vocab": {}, "unk_token": "x"}),
    ("model", {"type": "WordPiece", "vocab": {}, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
               "max_input_chars_per_word": 0}),
    ("model", {"type": "Unigram", "vocab": [["a", float("-1e308")]], "unk_id": 7}),
    ("model", {"type": "Unigram", "vocab": [], "unk_id": None}),
]  # fmt: skip

Mutation = Callable[[Path, Random], str]


def mutate(folder: Path, random: Random) -> list[str]:
    """Damages a folder in one to three ways, and says how."""
    done = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if not files:
            break
        path = random.choice(files)
        change = random.choice(MUTATIONS.get(path.suffix, BINARY))
        done.append(f"{path.relative_to(folder)}: {change(path, random)}")
    return done


# JSON


def change_value(path: Path, random: Random) -> str:
    """One value, anywhere in the file, becomes another."""
    content = json.loads(path.read_text(encoding="utf-8"))
    holder, key = drawn_place(content, random)
    if holder is None:
        return truncated(path, random)
    old = holder[key]
    holder[key] = new_value(old, random)
    write_json(path, content)
    return f"{key}: {shown(old)} -> {shown(holder[key])}"


def new_value(old: Any, random: Random) -> Any:
    near: list[Any] = [[old], str(old), {"x": old}]
    if isinstance(old, int) and not isinstance(old, bool):
        near += [f"{RAW}{old}.0", old + 1, old - 1, old * 2, -old, old + 1000]
    if isinstance(old, str):
        near += [old + "x", old.upper(), old[1:], HOSTILE + old]
    return random.choice([*VALUES, *near, *near])


def delete_key(path: Path, random: Random) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    holder, key = drawn_place(content, random)
    if holder is None:
        return truncated(path, random)
    del holder[key]
    write_json(path, content)
    return f"{key} deleted"


def rename_key(path: Path, random: Random) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    holder, key = drawn_place(content, random)
    if not isinstance(holder, dict):
        return delete_key(path, random)
    new = random.choice([key + "x", HOSTILE, "", *holder])
    holder[new] = holder.pop(key)
    write_json(path, content)
    return f"{key} renamed to {new!r}"


def duplicate_key(path: Path, random: Random) -> str:
    """The first key of an object twice, the second time with another value."""
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    if not isinstance(content, dict) or not content:
        return truncated(path, random)
    key = random.choice(sorted(content))
    twice = as_text({key: new_value(content[key], random)})[1:-1]
    path.write_text(f"{{{twice},{text.lstrip()[1:]}", encoding="utf-8")
    return f"{key} twice"


def add_field(path: Path, random: Random) -> str:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        return change_value(path, random)
    name = random.choice(FIELDS)
    content[name] = random.choice(VALUES)
    write_json(path, content)
    return f"{name} = {shown(content[name])}"


def hostile_part(path: Path, random: Random) -> str:
    """A tokenizer.json with a part that its library reads and then fails at."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if path.name != "tokenizer.json" or not isinstance(content, dict):
        return add_field(path, random)
    name, part = random.choice(PARTS)
    content[name] = part
    write_json(path, content)
    return f"{name} = {shown(part)}"


def drawn_place(content: Any, random: Random) -> tuple[Any, Any]:
    """A random walk down: outer places are as likely as those in a long list."""
    holder, key = None, None
    while isinstance(content, dict | list) and content and (holder is None or random.random() < 0.6):
        holder = content
        key = random.choice(list(content)) if isinstance(content, dict) else random.randrange(len(content))
        content = content[key]
    return holder, key


def as_text(content: Any) -> str:
    """JSON, with the strings that begin with RAW written as they are."""
    pieces = json.dumps(content).split(f'"{RAW}')
    found = pieces[0]
    for piece in pieces[1:]:
        raw, _, rest = _string_end(piece)
        found += raw + rest
    return found


def _string_end(piece: str) -> tuple[str, str, str]:
    at = 0
    while piece[at] != '"':
        at += 2 if piece[at] == "\\" else 1
    return json.loads(f'"{piece[:at]}"'), '"', piece[at + 1 :]


def write_json(path: Path, content: Any) -> None:
    path.write_text(as_text(content), encoding="utf-8")


def shown(value: Any) -> str:
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge number"
    return text if len(text) < 60 else f"{text[:57]}..."


# Bytes


def flipped(path: Path, random: Random) -> str:
    content = bytearray(path.read_bytes())
    places = [random.randrange(len(content)) for _ in range(random.choice([1, 3, 20]))] if content else []
    for place in places:
        content[place] ^= 1 << random.randrange(8)
    path.write_bytes(bytes(content))
    return f"bits flipped at {places[:3]}"


def overwritten(path: Path, random: Random) -> str:
    content = bytearray(path.read_bytes())
    at, size = random.randrange(len(content) + 1), random.choice([1, 4, 8, 64])
    content[at : at + size] = random.choice([b"\xff" * size, bytes(size), random.randbytes(size)])
    path.write_bytes(bytes(content))
    return f"{size} bytes overwritten at {at}"


def start_overwritten(path: Path, random: Random) -> str:
    content, at = bytearray(path.read_bytes()), 4 * random.randrange(8)
    number = random.choice([0, 1, -1, 2**31 - 1, -(2**31), 1000, 7])
    content[at : at + 4] = struct.pack("<i", number)
    path.write_bytes(bytes(content))
    return f"{number} at {at}"


def truncated(path: Path, random: Random) -> str:
    content = path.read_bytes()
    size = random.choice([0, 1, 8, len(content) // 2, max(0, len(content) - 1), random.randrange(len(content) + 1)])
    path.write_bytes(content[:size])
    return f"cut to {size} bytes"


def lengthened(path: Path, random: Random) -> str:
    more = random.choice([b"\0", b"\xff" * 300_000, random.randbytes(100), path.read_bytes()])
    with path.open("ab") as file:
        file.write(more)
    return f"{len(more)} bytes added"


# safetensors


def header_of(content: bytes) -> tuple[Any, bytes]:
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def header_changed(path: Path, random: Random) -> str:
    """Its header's JSON changed, its length right."""
    try:
        header, body = header_of(path.read_bytes())
    except ValueError:
        return flipped(path, random)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(header), encoding="utf-8")
    done = random.choice([change_value, delete_key, rename_key, duplicate_key])(part, random)
    text = part.read_bytes()
    part.unlink()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return f"header: {done}"


def header_length(path: Path, random: Random) -> str:
    content = bytearray(path.read_bytes())
    length = random.choice([0, 1, 8, 10**7, 10**8, 2**31, 2**63, 2**64 - 1, random.randrange(1, 5000)])
    content[:8] = length.to_bytes(8, "little")
    path.write_bytes(bytes(content))
    return f"header of {length} bytes"


def no_numbers(path: Path, random: Random) -> str:
    content = bytearray(path.read_bytes())
    at = max(0, len(content) - 4 * random.randrange(1, 50))
    content[at : at + 4] = struct.pack("<f", random.choice([float("nan"), float("inf"), 3e38]))
    path.write_bytes(bytes(content))
    return f"no number at {at}"


# Files


def replaced_file(path: Path, random: Random) -> str:
    """Something else under its name: nothing, a folder, a pipe, a device, a loop, another of the folder's files."""
    others = sorted(one for one in path.parent.iterdir() if one.is_file() and one != path)
    what = random.choice(["gone", "folder", "pipe", "zero", "loop", "renamed", "other", "socket-like"])
    content = path.read_bytes()
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "zero":
        path.symlink_to("/dev/zero")
    elif what == "socket-like":
        path.symlink_to("/dev/stdin")
    elif what == "loop":
        path.symlink_to(path.name)
    elif what == "renamed":
        path.with_name(path.name + random.choice([".bak", ".xz", "\n\x1b[31m"])).write_bytes(content)
    elif what == "other" and others:
        shutil.copy(random.choice(others), path)
    return what


TEXT: list[Mutation] = [flipped, overwritten, truncated, lengthened, replaced_file]
JSON: list[Mutation] = [*[change_value] * 6, *[add_field] * 3, hostile_part, delete_key, rename_key, duplicate_key]
BINARY: list[Mutation] = [flipped, flipped, overwritten, start_overwritten, truncated, lengthened, replaced_file]
TENSORS: list[Mutation] = [header_changed, header_changed, header_changed, header_length, no_numbers, *BINARY]
MUTATIONS: dict[str, list[Mutation]] = {
    ".json": [*JSON, *TEXT],
    ".txt": TEXT,
    ".safetensors": TENSORS,
}
