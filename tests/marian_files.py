"""A tiny MarianMT as OPUS-MT folders have them, random but not dull: its sentences end, differ, and do not loop."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import MarianConfig, MarianMTModel

from spm_files import SPECIAL, WORDS, scored, write_spm

GERMAN = [*("▁", "▁die", "▁Katze", "▁saß", "▁a", "uf"), *"Katzesßdiuf.,Hnr", "▁der", "▁Hund"]
SENTENCES = ["the cat sat on the mat.", "a dog", "on the mat he sat", "the thing"]
SEED, END_BIAS = 26, 1.5


def marian_tokenizer_files(folder: Path) -> dict[str, int]:
    """source.spm, target.spm and vocab.json, whose content is given back."""
    folder.mkdir(exist_ok=True)
    write_spm(folder / "source.spm", [*SPECIAL, *scored()])
    write_spm(folder / "target.spm", [*SPECIAL, *scored(GERMAN)])
    tokens = dict.fromkeys(["</s>", "<unk>", *WORDS, *GERMAN, ">>deu<<", "<pad>"])
    ids = {token: i for i, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "de"}', encoding="utf-8")
    return ids


def marian_folder(folder: Path) -> MarianMTModel:
    """The whole folder; the model is given back."""
    ids = marian_tokenizer_files(folder)
    pad = ids["<pad>"]
    both = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in SHAPE.items()}
    config = MarianConfig(
        **{"vocab_size": len(ids), "d_model": 20, "encoder_layers": 1, "decoder_layers": 2, **both},
        **{"activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 64},
        **{"pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad, "forced_eos_token_id": None},
    )
    torch.manual_seed(SEED)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                mean = 1.0 if name.endswith("layer_norm.weight") else 0.0
                parameter.copy_(mean + spread(name) * torch.randn_like(parameter))
        model.final_logits_bias[0, 0] = END_BIAS
    model.generation_config.update(no_repeat_ngram_size=2, bad_words_ids=[[pad]], num_beams=3)
    model.save_pretrained(folder)
    return model


SHAPE = {"attention_heads": 2, "ffn_dim": 13}


def spread(name: str) -> float:
    if "shared" in name or "embed" in name:
        return 0.12
    if name.endswith("bias"):
        return 0.1
    if "q_proj" in name:
        return 1.0
    return 0.3 if "out_proj" in name or "fc2" in name or "norm" in name else 0.4
