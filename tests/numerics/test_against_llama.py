"""The same numbers as `transformers`' LlamaForCausalLM, MistralForCausalLM and Qwen2ForCausalLM, tiny and random; in
float64 as a plain formula.

Those cast to float32 inside: RMSNorm and the angles of rotary positions. So float64 is compared with the formula only,
and far positions with their table of cosines and sines in ours: an angle of 1,000 has an error of 6e-5 in float32.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from decoder_peers import (
    EOS,
    MARKS,
    PAD,
    Texts,
    close,
    close_gradients,
    exported,
    gradients_of,
    our_continuations,
    our_hidden_states,
    randomised,
    read,
    talkative,
    texts,
    their_continuations,
    their_hidden_states,
    their_logits,
    their_weights,
)
from numpy.typing import NDArray
from torch import Tensor
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from glassformer.errors import ExportError, ImportingError
from glassformer.hub.huggingface.folders import read_folder
from glassformer.hub.huggingface.layouts.llama import rotary_values
from glassformer.models import llama
from glassformer.store.bundle import Bundle

V = 23
KINDS = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "mistral": (MistralConfig, MistralForCausalLM),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
}
LINEAR = {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0}
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip
VARIANTS: list[dict[str, Any]] = [
    {},
    {"num_key_value_heads": 1, "num_hidden_layers": 1, "rms_norm_eps": 1e-2},
    {"num_attention_heads": 5, "num_key_value_heads": 5, "hidden_size": 15, "head_dim": 4, "tie_word_embeddings": True},
    {"head_dim": 10, "attention_bias": True, "mlp_bias": True, "hidden_act": "gelu"},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 77.0}},
    {"rope_parameters": LINEAR, "tie_word_embeddings": True},
    {"rope_parameters": LLAMA3},
    {"kind": "mistral", "sliding_window": None, "head_dim": 6},
    {"kind": "mistral", "sliding_window": 5},
    {"kind": "qwen2", "tie_word_embeddings": True},
]


def make(*, kind: str = "llama", std: float = 0.3, **changed: Any) -> PreTrainedModel:
    given = {
        "vocab_size": V, "hidden_size": 18, "intermediate_size": 11, "num_hidden_layers": 3, "num_attention_heads": 3,
        "num_key_value_heads": 3, "max_position_embeddings": 64, "bos_token_id": EOS, "eos_token_id": EOS,
        "pad_token_id": PAD,
    } | changed  # fmt: skip
    if given["num_attention_heads"] == 3 and given["num_key_value_heads"] == 3 and "head_dim" not in given:
        given |= {"num_attention_heads": 6, "hidden_size": 24}  # two query heads share each key
    config, model = KINDS[kind]
    return randomised(model(config(**given)), std=std)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_logits_and_hidden_states_equal_theirs(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, texts(17, 5, 1, vocabulary=V)
    close(ours(batch)[batch.real], their_logits(theirs, batch)[batch.real])
    expected = their_hidden_states(theirs, batch)
    assert len(expected) == theirs.config.num_hidden_layers + 1
    for got, one in zip(our_hidden_states(ours, batch), expected, strict=True):
        close(got[batch.real], one[batch.real])


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_equal_theirs(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, texts(17, 5, 1, vocabulary=V)
    gradients_of(theirs, their_logits(theirs, batch), batch)
    gradients_of(ours, ours(batch), batch)
    # They compute the angles in float32 whatever the model has: where they are stretched it shows, in float64 too.
    close_gradients(ours, theirs, atol=5e-5 if "rope_parameters" in variant else 1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_what_is_written_gives_the_same_logits_there(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path / "theirs"), texts(17, 5, 1, vocabulary=V)
    back = exported(Bundle("llama", ours.model, marks=MARKS, extras=ours.extras), tmp_path / "ours")
    assert back.config.model_type == theirs.config.model_type
    assert (back.lm_head.weight is back.model.embed_tokens.weight) == theirs.config.tie_word_embeddings
    assert torch.equal(their_logits(back, batch), their_logits(theirs, batch))


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_greedy_continuations_of_prompts_of_any_length_equal_theirs(variant: dict[str, Any], tmp_path: Path) -> None:
    rows = texts(7, 1, 4, 7, vocabulary=V).rows()
    theirs = talkative(lambda: make(std=1.0, **variant), rows, 11)
    ours, expected = read(theirs, tmp_path).model, their_continuations(theirs, rows, 11)
    assert our_continuations(ours, rows, 11) == expected
    assert [our_continuations(ours, [row], 11)[0] for row in rows] == expected


@pytest.mark.parametrize("rope", [{"rope_type": "default", "rope_theta": 10000.0}, LINEAR, LLAMA3])
@torch.no_grad()
def test_far_positions_equal_theirs_with_their_angles(rope: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(rope_parameters=rope, max_position_embeddings=1024, num_hidden_layers=2)
    ours, batch = read(theirs, tmp_path).model, texts(997, 3, vocabulary=V)
    expected = their_logits(theirs, batch)[batch.real]
    exact = ours(batch)[batch.real]
    ours.rotary.turns.table = their_angles(theirs, batch)
    close(ours(batch)[batch.real], expected)
    close(exact, expected, atol=2e-3)


def their_angles(theirs: PreTrainedModel, batch: Texts) -> Tensor:
    places = torch.arange(batch.ids.size(1))[None]
    cos, sin = (half[0].chunk(2, dim=-1)[0] for half in theirs.model.rotary_emb(torch.zeros(1), places))
    return torch.stack([cos, sin], dim=1)


# The formula


def formula(w: dict[str, NDArray[np.float64]], ids: list[int], config: llama.LlamaConfig) -> NDArray[np.float64]:
    """Llama in plain numpy, with their names and their halves: (T,) -> (T, V)."""
    width, places = config.width_of_head, np.arange(len(ids))

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + config.norm_eps) * w[f"model.{name}.weight"]

    def linear(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ w[f"model.{name}.weight"].T + w.get(f"model.{name}.bias", 0.0)

    def turned(x: NDArray[np.float64]) -> NDArray[np.float64]:
        half = width // 2
        angle = places[:, None] * config.rope_theta ** (-2 * np.arange(half) / width)
        first, second = x[:, :half], x[:, half:]
        cos, sin = np.cos(angle), np.sin(angle)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(config.N):
        h = norm(x, f"layers.{i}.input_layernorm")
        q, k, v = (
            np.split(linear(h, f"layers.{i}.self_attn.{part}_proj"), count, axis=-1)
            for part, count in zip("qkv", (config.h, config.groups, config.groups), strict=True)
        )
        found = []
        for head in range(config.h):
            group = head * config.groups // config.h
            scores = turned(q[head]) @ turned(k[group]).T / np.sqrt(width)
            distance = places[:, None] - places
            scores[(distance < 0) | (distance >= (config.window or len(ids)))] = -np.inf
            pattern = np.exp(scores - scores.max(-1, keepdims=True))
            found.append(pattern / pattern.sum(-1, keepdims=True) @ v[group])
        x = x + linear(np.concatenate(found, axis=-1), f"layers.{i}.self_attn.o_proj")
        h = norm(x, f"layers.{i}.post_attention_layernorm")
        gate = linear(h, f"layers.{i}.mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(h, f"layers.{i}.mlp.up_proj"), f"layers.{i}.mlp.down_proj")
    return norm(x, "norm") @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


SHAPES: list[dict[str, Any]] = [
    {},
    {"kv_heads": 1, "tied": True},
    {"h": 3, "kv_heads": 3, "head_width": 10, "rope_theta": 77.0, "norm_eps": 1e-2},
    {"biases": "attention", "feed_forward_bias": True},
    {"biases": "qkv"},
    {"window": 5},
]


def in_float64(**changed: Any) -> llama.Llama:
    given = {"vocabulary": V, "N": 3, "d": 18, "h": 6, "kv_heads": 2, "head_width": 4, "d_ff": 11} | changed
    ours = llama.Llama(llama.LlamaConfig(**given)).eval()
    for parameter in ours.parameters():
        parameter.normal_(std=0.4)
    return ours


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("shape", SHAPES)
@torch.no_grad()
def test_logits_equal_the_formula_in_float64(shape: dict[str, Any]) -> None:
    ours, batch = in_float64(**shape), texts(19, 5, 1, vocabulary=V)
    weights = {name: tensor.numpy() for name, tensor in their_weights(ours, "llama").items()}
    for row, logits in zip(batch.rows(), ours(batch), strict=True):
        close(logits[: len(row)], torch.from_numpy(formula(weights, row, ours.config)), atol=1e-9)


# What is not supported


@pytest.mark.parametrize("rope", ["dynamic", "yarn", "longrope"])
def test_other_rotary_scalings_are_refused_by_name(rope: str, tmp_path: Path) -> None:
    theirs = make()
    theirs.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["rope_parameters"] = {"rope_type": rope, "rope_theta": 10.0, "factor": 2.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ImportingError, match=f"rope_type = '{rope}' is not supported. Allowed: 'default', 'linear'"):
        read_folder(tmp_path)


def test_a_window_for_some_blocks_only_is_refused(tmp_path: Path) -> None:
    theirs = make(kind="qwen2")
    theirs.config.use_sliding_window = True
    with pytest.raises(ImportingError, match="use_sliding_window = True"):
        read(theirs, tmp_path)


def test_angles_in_the_places_of_older_files_are_found() -> None:
    older = {"model_type": "llama", "rope_theta": 77.0, "rope_scaling": {"type": "linear", "factor": 4.0}}
    assert rotary_values(older) == {"rope_theta": 77.0, "rope_scaling": {"kind": "linear", "factor": 4.0}}


def test_a_model_that_no_llama_of_theirs_can_be_is_not_written(tmp_path: Path) -> None:
    ours = llama.Llama(llama.LlamaConfig(vocabulary=V, N=1, d=8, h=2, d_ff=7, biases="attention", window=3))
    with pytest.raises(ExportError, match=r"biases = 'attention'.*window = 3"):
        exported(Bundle("llama", ours), tmp_path / "ours")
