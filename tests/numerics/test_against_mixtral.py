"""The same numbers, the same choice of experts and the same balancing loss as `transformers`' MixtralForCausalLM, tiny
and random; in float64 as a plain formula. (Theirs casts RMSNorm, the router and rotary angles to float32.)"""

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
from torch import Tensor, nn
from transformers import MixtralConfig, MixtralForCausalLM

from glassformer.errors import ExportError, ImportingError
from glassformer.models.llama import Llama, LlamaConfig
from glassformer.nn.experts import Experts, Routing, balancing_loss
from glassformer.nn.taps import listen
from glassformer.store.bundle import Bundle

V = 23
VARIANTS: list[dict[str, Any]] = [
    {},
    {"num_local_experts": 5, "num_experts_per_tok": 1, "num_key_value_heads": 1, "head_dim": 6},
    {"num_local_experts": 3, "num_experts_per_tok": 3, "tie_word_embeddings": True, "hidden_act": "gelu"},
    {"sliding_window": 5, "num_hidden_layers": 1},
]


def make(*, std: float = 0.3, **changed: Any) -> MixtralForCausalLM:
    given = {
        "vocab_size": V, "hidden_size": 24, "intermediate_size": 11, "num_hidden_layers": 3, "num_attention_heads": 6,
        "num_key_value_heads": 3, "num_local_experts": 7, "num_experts_per_tok": 2, "max_position_embeddings": 64,
        "bos_token_id": EOS, "eos_token_id": EOS, "pad_token_id": PAD,
    } | changed  # fmt: skip
    theirs = MixtralForCausalLM(MixtralConfig(**given))
    theirs.set_experts_implementation("eager")  # the other ones want widths that are multiples of 4
    return randomised(theirs, std=std)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_logits_and_hidden_states_equal_mixtrals(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, texts(17, 5, 1, vocabulary=V)
    close(ours(batch)[batch.real], their_logits(theirs, batch)[batch.real])
    for got, one in zip(our_hidden_states(ours, batch), their_hidden_states(theirs, batch), strict=True):
        close(got[batch.real], one[batch.real])


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_equal_mixtrals(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, texts(17, 13, 11, vocabulary=V)
    gradients_of(theirs, their_logits(theirs, batch), batch)
    gradients_of(ours, ours(batch), batch)
    for parameter in ours.parameters():  # an expert that nobody chose has none
        parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    if theirs.config.num_experts_per_tok == 1:  # the only weight is always 1: the router learns by the balancing alone
        for name, parameter in theirs.named_parameters():
            if name.endswith("gate.weight"):
                assert parameter.grad.abs().max() < 1e-6
                parameter.grad[:] = parameter.grad.new_ones(())
        for block in ours.blocks:
            assert block.feed_forward.router.linear.weight.grad.abs().max() < 1e-6
            block.feed_forward.router.linear.weight.grad[:] = 1
    close_gradients(ours, theirs, as_in_memory(their_weights(ours, "mixtral", gradients=True)))


def as_in_memory(w: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their file has every expert apart, their model has them together."""
    named = {name.replace("block_sparse_moe", "mlp"): tensor for name, tensor in w.items()}
    blocks = sorted({name.split(".experts.")[0] for name in named if ".experts." in name})
    for block in blocks:
        count = len({name for name in named if name.startswith(f"{block}.experts.") and name.endswith("w1.weight")})
        each = [[named[f"{block}.experts.{e}.{part}.weight"] for part in ("w1", "w3", "w2")] for e in range(count)]
        named[f"{block}.experts.gate_up_proj"] = torch.stack([torch.cat([gate, up]) for gate, up, _ in each])
        named[f"{block}.experts.down_proj"] = torch.stack([down for _, _, down in each])
    return named


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_what_is_written_gives_the_same_logits_there(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path / "theirs"), texts(17, 5, 1, vocabulary=V)
    back = exported(Bundle("llama", ours.model, marks=MARKS), tmp_path / "ours")
    assert back.config.model_type == "mixtral"
    back.set_experts_implementation("eager")
    assert torch.equal(their_logits(back, batch), their_logits(theirs, batch))


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_greedy_continuations_of_prompts_of_any_length_equal_theirs(variant: dict[str, Any], tmp_path: Path) -> None:
    rows = texts(7, 1, 4, 7, vocabulary=V).rows()
    theirs = talkative(lambda: make(std=1.0, **variant), rows, 11)
    ours, expected = read(theirs, tmp_path).model, their_continuations(theirs, rows, 11)
    assert our_continuations(ours, rows, 11) == expected
    assert [our_continuations(ours, [row], 11)[0] for row in rows] == expected


# Routing


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_the_same_experts_are_chosen_with_the_same_weights(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, texts(17, 17, vocabulary=V)
    expected: list[tuple[Tensor, Tensor, Tensor]] = []
    for layer in theirs.model.layers:
        layer.mlp.gate.register_forward_hook(lambda _, __, found: expected.append(found))
    theirs(batch.ids)
    with listen(ours, lambda name: ".router." in name) as heard:
        ours(batch)
    assert len(expected) == len(ours.blocks)
    for i, (scores, weights, chosen) in enumerate(expected):
        place = f"blocks.{i}.feed_forward.router"
        close(heard[f"{place}.scores"][0], scores)
        assert torch.equal(heard[f"{place}.chosen"][0], chosen)
        close(heard[f"{place}.weights"][0], weights)
    assert len(expected[0][2].unique()) > theirs.config.num_experts_per_tok or theirs.config.num_local_experts == 3


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_balancing_loss_and_its_gradients_equal_theirs(variant: dict[str, Any], tmp_path: Path) -> None:
    theirs = make(**variant)
    ours, batch = read(theirs, tmp_path).model, texts(17, 5, 1, vocabulary=V)
    found = theirs(batch.ids, attention_mask=batch.real.long(), output_router_logits=True)
    hidden, balance = ours.hidden_and_balance(batch)
    assert balance is not None
    close(balance, found.aux_loss)
    close(ours.head(hidden)[batch.real], found.logits[batch.real])
    found.aux_loss.backward()
    balance.backward()
    for layer, block in zip(theirs.model.layers, ours.blocks, strict=True):
        close(block.feed_forward.router.linear.weight.grad, layer.mlp.gate.weight.grad)


def test_without_experts_nothing_is_balanced() -> None:
    ours = Llama(LlamaConfig(vocabulary=V, N=1, d=8, h=2, kv_heads=2, d_ff=7))
    assert ours.hidden_and_balance(texts(3, vocabulary=V))[1] is None


# The formula


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("experts", "per_token"), [(7, 2), (5, 1), (3, 3)])
@torch.no_grad()
def test_a_mixture_equals_the_formula_in_float64(experts: int, per_token: int) -> None:
    leaf = Experts(11, 13, experts=experts, per_token=per_token)
    for parameter in leaf.parameters():
        parameter.normal_(std=0.6)
    x, routings = torch.randn(3, 5, 11), []
    got = leaf(x, routings=routings).flatten(0, 1)
    for token, vector in enumerate(x.flatten(0, 1).numpy()):
        chosen, weights, expected = mixture(leaf, vector, per_token)
        assert routings[0].chosen[token].tolist() == chosen
        close(routings[0].weights[token], torch.from_numpy(weights), atol=1e-12)
        close(got[token], torch.from_numpy(expected), atol=1e-9)


def mixture(
    leaf: Experts, x: NDArray[np.float64], per_token: int
) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]]:
    """One token, in plain numpy."""

    def weight(layer: nn.Linear) -> NDArray[np.float64]:
        return layer.weight.numpy()

    scores = weight(leaf.router.linear) @ x
    chances = np.exp(scores) / np.exp(scores).sum()
    chosen = np.argsort(-chances)[:per_token]
    weights = chances[chosen] / chances[chosen].sum()
    total = np.zeros_like(x)
    for number, share in zip(chosen.tolist(), weights, strict=True):
        expert = leaf.each[number]
        gate = weight(expert.gate) @ x
        total = total + share * (weight(expert.down) @ (gate / (1 + np.exp(-gate)) * (weight(expert.up) @ x)))
    return chosen.tolist(), weights, total


@pytest.mark.usefixtures("double")
def test_balance_is_least_where_experts_are_used_alike() -> None:
    """One expert a token: 1 where all are used alike, the number of experts where one does everything."""
    even = Routing(torch.eye(4), torch.arange(4)[:, None], torch.ones(4, 1))
    close(balancing_loss([even, even]), torch.tensor(1.0), atol=1e-12)
    one = torch.zeros(4, 4)
    one[:, 2] = 1
    crowded = Routing(one, torch.full((4, 1), 2), torch.ones(4, 1))
    close(balancing_loss([crowded]), torch.tensor(4.0), atol=1e-12)
    real = torch.tensor([True, False, False, False])
    close(balancing_loss([even], real=real), torch.tensor(4.0), atol=1e-12)


# What is not supported


def test_noise_in_the_router_is_refused(tmp_path: Path) -> None:
    theirs = make()
    theirs.config.router_jitter_noise = 0.1
    with pytest.raises(ImportingError, match=r"router_jitter_noise = 0\.1"):
        read(theirs, tmp_path)


def test_experts_with_biases_in_attention_are_not_written(tmp_path: Path) -> None:
    ours = Llama(LlamaConfig(vocabulary=V, N=1, d=8, h=2, kv_heads=2, d_ff=7, experts=3, biases="qkv"))
    with pytest.raises(ExportError, match=r"experts = 3|biases = 'qkv'"):
        exported(Bundle("llama", ours), tmp_path / "ours")
