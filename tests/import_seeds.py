"""Tiny models in every layout that can be imported: what the fuzzer damages.

Each seed is a folder. Folders of Hugging Face come from our own export; tokenizer files that the export does not write
(vocab.txt, merges.txt, SentencePiece) replace its tokenizer.json where a seed needs them.
"""

from __future__ import annotations

import base64
import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import encoder_models
import llama2c_files
from glassformer.hub.huggingface.folders import write_folder
from glassformer.models.registry import build
from glassformer.store.bundle import Bundle, SpecialIds
from glassformer.text import Tokenizer
from glassformer.text.framing import Frame, with_frame
from spm_files import BPE, BYTES, SPECIAL, WORDS, scored, write_spm

GERMAN = ["▁", "▁die", "▁Katze", "▁sa", *"Katzesdiuf.,"]
SHAPE: dict[str, Any] = {"N": 2, "d": 12, "h": 2, "d_ff": 14}
SLOW = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def text_model(kind: str, tokenizer: Tokenizer, marks: SpecialIds, *, as_type: str = "", **values: Any) -> Bundle:
    model = build(kind, {**SHAPE, "vocabulary": len(tokenizer), **values})
    return Bundle(kind, model.eval(), tokenizer, marks, {"model_type": as_type} if as_type else {})


def decoder(kind: str, as_type: str = "", **values: Any) -> Bundle:
    tokenizer = encoder_models.byte_level("<|endoftext|>")
    end = tokenizer.id("<|endoftext|>")
    return text_model(kind, tokenizer, SpecialIds(bos=end, eos=end), as_type=as_type, max_length=40, **values)


def encoder(kind: str = "bert", **values: Any) -> Bundle:
    return text_model(kind, encoder_models.wordpiece(), encoder_models.MARKS, **{"max_length": 23, **values})


def t5() -> Bundle:
    tokenizer = encoder_models.byte_level("<pad>", "</s>")
    pad, end = tokenizer.id("<pad>"), tokenizer.id("</s>")
    assert end is not None
    marks = SpecialIds(eos=end, pad=pad, start=pad)
    return text_model("t5", with_frame(tokenizer, Frame((), (end,), (end,))), marks, d_kv=6)


def vit(**values: Any) -> dict[str, Any]:
    return {"N": 1, "d": 12, "h": 2, "d_ff": 14, "patch": 4, "image": 8, "channels": 1, **values}


def captioner() -> Bundle:
    made = decoder("gpt")
    model = build("captioner", {**SHAPE, "vocabulary": len(made.tokenizer or ()), "max_length": 20, "encoder": vit()})
    return replace(made, kind="captioner", model=model.eval(), marks=replace(made.marks, start=made.marks.bos))


# Tokenizer files of old


def slow(folder: Path) -> None:
    for name in SLOW:
        (folder / name).unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def bert_vocab(folder: Path) -> None:
    slow(folder)
    (folder / "vocab.txt").write_text("\n".join(encoder_models.PIECES) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"do_lower_case": True, "cls_token": "[CLS]", "mask_token": "[MASK]"})


def byte_level_files(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    slow(folder)
    end = len(content["vocab"])
    write_json(folder / "vocab.json", content["vocab"] | {"<|endoftext|>": end})
    merges = [one if isinstance(one, str) else " ".join(one) for one in content["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"add_prefix_space": False, "add_bos_token": False})
    write_json(folder / "added_tokens.json", {"<|endoftext|>": end})


def llama_spm(folder: Path) -> Tokenizer:
    pieces = [*SPECIAL, *BYTES, *scored()]
    write_spm(folder / "tokenizer.model", pieces, kind=BPE, byte_fallback=True, remove_spaces=False)
    return counted(len(pieces))


def t5_spm(folder: Path) -> Tokenizer:
    pieces = [("<pad>", 0.0, 3), ("</s>", 0.0, 3), ("<unk>", 0.0, 2), *scored()]
    write_spm(folder / "spiece.model", pieces)
    write_json(folder / "tokenizer_config.json", {"extra_ids": 7, "eos_token": "</s>"})
    return counted(len(pieces) + 7)


def counted(size: int) -> Tokenizer:
    """Only as large as the files' own tokenizer; it is not written."""
    from glassformer.hub.mingpt import numbered

    return numbered(size)


def spm_folder(folder: Path, kind: str, files: Callable[[Path], Tokenizer], marks: SpecialIds, **values: Any) -> None:
    folder.mkdir(parents=True)
    made = text_model(kind, files(folder), marks, **values)
    write_folder(replace(made, tokenizer=None), folder)


def marian(folder: Path) -> None:
    folder.mkdir(parents=True)
    write_spm(folder / "source.spm", [*SPECIAL, *scored()])
    write_spm(folder / "target.spm", [*SPECIAL, *scored(GERMAN)])
    ids = {token: i for i, token in enumerate(dict.fromkeys(["</s>", "<unk>", *WORDS, *GERMAN, ">>deu<<", "<pad>"]))}
    both = {"source_vocabulary": len(ids), "target_vocabulary": len(ids)}
    how = {"norm": "post", "positions": "sinusoidal-halves", "tied": "all", "output_bias": True}
    model = build("transformer", {"size": "nano", **SHAPE, **how, **both}).eval()
    marks = SpecialIds(eos=0, pad=ids["<pad>"], start=ids["<pad>"])
    extras = {"model_type": "marian", "beam": 2, "never": [ids["<pad>"]], "max_length": 32}
    write_folder(Bundle("transformer", model, None, marks, extras), folder)
    write_json(folder / "vocab.json", ids)
    write_json(folder / "tokenizer_config.json", {"source_lang": "en", "target_lang": "de"})


# Files that are no Hugging Face folders


def mingpt(folder: Path, *, packed: bool = False) -> None:
    config = {"n_layer": 1, "n_head": 2, "n_embd": 6, "vocab_size": 5, "block_size": 7, "resid_pdrop": 0.1}
    block = {
        **{"ln_1.weight": (6,), "ln_1.bias": (6,), "attn.c_attn.weight": (18, 6), "attn.c_attn.bias": (18,)},
        **{"attn.bias": (1, 1, 7, 7), "attn.c_proj.weight": (6, 6), "attn.c_proj.bias": (6,)},
        **{"ln_2.weight": (6,), "ln_2.bias": (6,), "mlp.c_fc.weight": (24, 6), "mlp.c_fc.bias": (24,)},
        **{"mlp.c_proj.weight": (6, 24), "mlp.c_proj.bias": (6,)},
    }
    outer = {"wte.weight": (5, 6), "wpe.weight": (7, 6), "ln_f.weight": (6,), "ln_f.bias": (6,)}
    shapes = {f"transformer.{name}": shape for name, shape in outer.items()}
    shapes |= {f"transformer.h.0.{name}": shape for name, shape in block.items()} | {"lm_head.weight": (5, 6)}
    random = np.random.default_rng(0)
    content = {"config": config} | {
        name: {
            "shape": list(shape),
            "dtype": "torch.float32",
            "data": base64.b64encode(random.normal(size=shape).astype("<f4").tobytes()).decode(),
        }
        for name, shape in shapes.items()
    }
    raw = json.dumps(content).encode()
    folder.mkdir(parents=True)
    (folder / f"sort-model.json{'.xz' if packed else ''}").write_bytes(lzma.compress(raw) if packed else raw)


def llama2c(folder: Path, *, packed: bool = False) -> None:
    folder.mkdir(parents=True)
    llama2c_files.write(folder, llama2c_files.model_bytes(), packed=packed)


# All of them


def exported(
    make: Callable[[], Bundle], *, then: Callable[[Path], None] | None = None, shard_bytes: int = 10**9
) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        folder.mkdir(parents=True)
        write_folder(make(), folder, shard_bytes=shard_bytes)
        if then is not None:
            then(folder)

    return write


def sentences() -> Bundle:
    return replace(encoder(), extras={"pooling": "mean", "normalise": True, "max_length": 16, "prompt": "query: "})


def labelled(**values: Any) -> Bundle:
    return replace(encoder(head="sentence", classes=3, **values), extras={"labels": ["good", "bad", "odd"]})


def roberta() -> Bundle:
    return replace(encoder_models.roberta(first_position=2, segments=1), extras={"model_type": "roberta"})


SEEDS: dict[str, Callable[[Path], None]] = {
    "gpt2": exported(lambda: decoder("gpt")),
    "gpt2-sharded": exported(lambda: decoder("gpt"), shard_bytes=6000),
    "gpt2-vocab-merges": exported(lambda: decoder("gpt"), then=byte_level_files),
    "llama": exported(lambda: decoder("llama", kv_heads=1)),
    "llama-spm": lambda folder: spm_folder(
        folder, "llama", llama_spm, SpecialIds(bos=1, eos=2), kv_heads=1, max_length=40
    ),
    "mistral": exported(lambda: decoder("llama", "mistral", window=5)),
    "qwen2": exported(lambda: decoder("llama", "qwen2", biases="qkv")),
    "mixtral": exported(lambda: decoder("llama", "mixtral", experts=3)),
    "bert-words": exported(lambda: encoder(head="words")),
    "bert-sentence": exported(labelled),
    "bert-tokens": exported(lambda: encoder(head="tokens", classes=3)),
    "bert-vocab": exported(lambda: encoder(head="words"), then=bert_vocab),
    "sentence-transformers": exported(sentences),
    "roberta": exported(roberta),
    "roformer": exported(lambda: encoder("roformer", head="words")),
    "t5": exported(t5),
    "t5-spm": lambda folder: spm_folder(folder, "t5", t5_spm, SpecialIds(eos=1, pad=0, start=0), d_kv=6),
    "vit": exported(lambda: Bundle("vit", build("vit", vit(classes=3)).eval(), extras={"labels": ["a", "b", "c"]})),
    "captioner": exported(captioner),
    "marian": marian,
    "llama2c": llama2c,
    "llama2c-xz": lambda folder: llama2c(folder, packed=True),
    "mingpt": mingpt,
    "mingpt-xz": lambda folder: mingpt(folder, packed=True),
}


def write_seeds(folder: Path) -> None:
    """Every seed in a folder of its name."""
    torch.manual_seed(0)
    for name, write in SEEDS.items():
        write(folder / name)
