"""The same numbers as `transformers`' GPT2LMHeadModel, tiny and random; in float64 as a plain formula."""

from __future__ import annotations

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
from transformers import GPT2Config, GPT2LMHeadModel

from glassformer.errors import ImportingError
from glassformer.models.gpt import Gpt, GptConfig
from glassformer.store.bundle import Bundle

V = 23
VARIANTS: list[dict[str, Any]] = [
    {},
    {"n_layer": 1, "n_head": 1, "n_embd": 7, "activation_function": "relu"},
    {"n_head": 5, "n_embd": 15, "n_inner": 11, "tie_word_embeddings": False, "layer_norm_epsilon": 1e-3},
    {"n_positions": 131, "activation_function": "gelu"},
]
LENGTHS = {131: (131, 7, 1)}  # long positions


def make(*, std: float = 0.3, **changed: Any) -> GPT2LMHeadModel:
    given = {"vocab_size": V, "n_embd": 14, "n_layer": 3, "n_head": 2, "n_positions": 17} | changed
    config = GPT2Config(**given, bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD)
    return randomised(GPT2LMHeadModel(config), std=std)


def batch_for(theirs: GPT2LMHeadModel) -> Texts:
    return texts(*LENGTHS.get(theirs.config.n_positions, (17, 5, 1)), vocabulary=V)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_logits_and_hidden_states_equal_gpt2s(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, batch_for(theirs)
    close(ours(batch)[batch.real], their_logits(theirs, batch)[batch.real])
    expected = their_hidden_states(theirs, batch)
    assert len(expected) == theirs.config.n_layer + 1
    for got, one in zip(our_hidden_states(ours, batch), expected, strict=True):
        close(got[batch.real], one[batch.real])


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_equal_gpt2s(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, batch_for(theirs)
    gradients_of(theirs, their_logits(theirs, batch), batch)
    gradients_of(ours, ours(batch), batch)
    close_gradients(ours, theirs)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_what_is_written_gives_the_same_logits_there(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path / "theirs"), batch_for(theirs)
    back = exported(Bundle("gpt", ours.model, marks=MARKS, extras=ours.extras), tmp_path / "ours")
    assert (back.lm_head.weight is back.transformer.wte.weight) == theirs.config.tie_word_embeddings
    assert torch.equal(their_logits(back, batch), their_logits(theirs, batch))


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_greedy_continuations_of_prompts_of_any_length_equal_theirs(variant: dict[str, Any], tmp_path: Path) -> None:
    rows = texts(7, 1, 4, 7, vocabulary=V).rows()
    theirs = talkative(lambda: make(std=1.0, **variant), rows, 11)
    ours, expected = read(theirs, tmp_path).model, their_continuations(theirs, rows, 11)
    assert our_continuations(ours, rows, 11) == expected
    assert [our_continuations(ours, [row], 11)[0] for row in rows] == expected


@torch.no_grad()
def test_beams_equal_theirs_where_nothing_ends(tmp_path: Path) -> None:
    """Without ends: what becomes of a beam after one differs (ours shrinks, theirs is filled up again)."""
    rows = texts(7, 1, 4, vocabulary=V).rows()
    theirs = talkative(lambda: make(std=1.0), rows, 9)
    ours = read(theirs, tmp_path).model
    how = {"num_beams": 3, "early_stopping": "never", "length_penalty": 1.0, "eos_token_id": None}
    expected = their_continuations(theirs, rows, 9, **how)
    assert our_continuations(ours, rows, 9, beam=3, eos=-1) == expected
    assert their_continuations(theirs, rows, 9, eos_token_id=None) != expected, "the beam must matter"


# The formula


def formula(w: dict[str, NDArray[np.float64]], ids: list[int], *, heads: int, blocks: int) -> NDArray[np.float64]:
    """GPT-2 in plain numpy, with their names and their way to store matrices: (T,) -> (T, V)."""

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * w[f"transformer.{name}.weight"] + w[f"transformer.{name}.bias"]

    def linear(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ w[f"transformer.{name}.weight"] + w[f"transformer.{name}.bias"]

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: len(ids)]
    for i in range(blocks):
        parts = np.split(linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn"), 3, axis=-1)
        found = []
        for q, k, v in zip(*(np.split(part, heads, axis=-1) for part in parts), strict=True):
            scores = q @ k.T / np.sqrt(q.shape[-1])
            scores[np.triu_indices(len(ids), 1)] = -np.inf
            pattern = np.exp(scores - scores.max(-1, keepdims=True))
            found.append(pattern / pattern.sum(-1, keepdims=True) @ v)
        x = x + linear(np.concatenate(found, axis=-1), f"h.{i}.attn.c_proj")
        inner = linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        inner = inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        x = x + linear(inner, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["transformer.wte.weight"].T


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("heads", [1, 3, 5])
@torch.no_grad()
def test_logits_equal_the_formula_in_float64(heads: int) -> None:
    ours = Gpt(GptConfig(vocabulary=V, N=3, d=15, h=heads, d_ff=11, max_length=19)).eval()
    for parameter in ours.parameters():
        parameter.normal_(std=0.4)
    batch = texts(19, 5, 1, vocabulary=V)
    weights = {name: tensor.numpy() for name, tensor in their_weights(ours, "gpt2").items()}
    for row, logits in zip(batch.rows(), ours(batch), strict=True):
        expected = formula(weights, row, heads=heads, blocks=3)
        close(logits[: len(row)], torch.from_numpy(expected), atol=1e-9)


# What is not supported


@pytest.mark.parametrize(
    "field", ["scale_attn_by_inverse_layer_idx", "add_cross_attention", "scale_attn_weights", "activation_function"]
)
def test_what_we_do_not_have_is_refused_by_its_name(field: str, tmp_path: Path) -> None:
    theirs = make()
    setattr(theirs.config, field, {"scale_attn_weights": False, "activation_function": "mish"}.get(field, True))
    with pytest.raises(ImportingError, match=field):
        read(theirs, tmp_path)
