"""What a task trains with, the same for every model that predicts tokens: hidden states, a head with a loss, and the
auxiliary loss of a mixture of experts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.models.llama import Llama, LlamaConfig
from glassformer.models.registry import build
from glassformer.nn.experts import Routing, balancing_loss

V = 23
SHAPE = {"vocabulary": V, "N": 2, "d": 12, "h": 2, "d_ff": 10}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {"size": "nano", "source_vocabulary": V, "target_vocabulary": V}),
    "gpt": ("gpt", {**SHAPE, "max_length": 16}),
    "llama": ("llama", SHAPE),
    "llama with experts": ("llama", {**SHAPE, "experts": 5}),
    "t5": ("t5", {**SHAPE, "d_kv": 6}),
    "captioner": ("captioner", {**SHAPE, "max_length": 16, "encoder": {"size": "nano"}}),
    "bert": ("bert", {**SHAPE, "head": "words"}),
    "roformer": ("roformer", {**SHAPE, "max_length": 16, "head": "words"}),
}


def batch_of(lengths: tuple[int, ...] = (7, 3)) -> SimpleNamespace:
    """A batch that every model can read."""
    ids, real = torch.randint(1, V, (len(lengths), max(lengths))), torch.tensor(lengths)
    images = torch.randn(len(lengths), 1, 28, 28)
    return SimpleNamespace(
        ids=ids, lengths=real, segments=None, source=ids, source_lengths=real, target_in=ids, images=images
    )


def real_tokens(batch: SimpleNamespace) -> Tensor:
    return torch.arange(batch.ids.size(1)) < batch.lengths[:, None]  # (B, T)


def with_experts(**changed: Any) -> Llama:
    return Llama(LlamaConfig.model_validate({**SHAPE, "experts": 5, "balance": 0.01, **changed}))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("kind", "values"), MODELS.values(), ids=MODELS)
def test_hidden_states_and_the_heads_loss_are_the_cross_entropy_of_the_logits(kind: str, values: dict) -> None:
    model, batch = build(kind, values).eval(), batch_of()
    batch.images = batch.images.double()
    real = real_tokens(batch)
    labels = torch.randint(0, V, (int(real.sum()),))
    hidden = model.hidden(batch)
    assert hidden.shape[:2] == batch.ids.shape
    got = model.head.loss(hidden[real], labels, label_smoothing=0.1)
    expected = F.cross_entropy(model(batch)[real], labels, reduction="sum", label_smoothing=0.1)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-11)
    got.backward()


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("bert", "roformer", "llama with experts")])
def test_models_without_experts_have_no_auxiliary_loss(name: str) -> None:
    kind, values = MODELS[name]
    model, batch = build(kind, values).eval(), batch_of()
    hidden, auxiliary = model.hidden_and_auxiliary(batch)
    assert auxiliary is None
    assert torch.equal(hidden, model.hidden(batch))


@pytest.mark.usefixtures("double")
def test_the_auxiliary_loss_is_the_weighted_balance_of_the_real_tokens() -> None:
    model, batch = with_experts().eval(), batch_of()
    hidden, auxiliary = model.hidden_and_auxiliary(batch)
    assert auxiliary is not None
    assert torch.equal(hidden, model.hidden(batch))
    routings: list[Routing] = []
    for row, length in enumerate(batch.lengths.tolist()):  # each text alone, without padding
        model.states(batch.ids[row : row + 1, :length], routings=routings)
    torch.testing.assert_close(auxiliary, 0.01 * pooled_balance(routings), rtol=0, atol=1e-14)


def pooled_balance(routings: list[Routing]) -> Tensor:
    """Of layers whose numbers of tokens differ, all tokens together."""
    probabilities, chosen, weights = (torch.cat(parts) for parts in zip(*routings, strict=True))
    return balancing_loss([Routing(probabilities, chosen, weights)])


def test_padding_changes_no_bit_of_the_auxiliary_loss() -> None:
    model, batch = with_experts().eval(), batch_of()
    before = model.hidden_and_auxiliary(batch)[1]
    batch.ids[1, 3:] = (batch.ids[1, 3:] + 5) % V
    assert torch.equal(before, model.hidden_and_auxiliary(batch)[1])


def test_the_auxiliary_loss_has_gradients_in_every_router_and_every_weight_has_one_of_the_whole_loss() -> None:
    model, batch = with_experts(dropout=0.1).train(), batch_of()
    _, auxiliary = model.hidden_and_auxiliary(batch)
    auxiliary.backward()
    assert all(bool(block.feed_forward.router.linear.weight.grad.any()) for block in model.blocks)
    assert model.head.weight.grad is None
    hidden, auxiliary = model.hidden_and_auxiliary(batch)
    (model.head.loss(hidden.flatten(0, 1), batch.ids.flatten()) + auxiliary).backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_training_with_the_auxiliary_loss_spreads_tokens_over_the_experts() -> None:
    """Without it a router that starts out with one favourite keeps it."""

    def trained(weight: float) -> float:
        torch.manual_seed(1)
        model, batch = with_experts(balance=weight, experts_per_token=1).train(), batch_of((16, 16, 16, 16))
        with torch.no_grad():
            for block in model.blocks:
                block.attention_residual.norm.gain.fill_(1)
                block.feed_forward.router.linear.weight[0] += 0.5
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        for _ in range(40):
            hidden, auxiliary = model.hidden_and_auxiliary(batch)
            loss = model.head.loss(hidden.flatten(0, 1), batch.ids.flatten()) / batch.ids.numel() + auxiliary
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        routings: list[Routing] = []
        model.eval().states(batch.ids, routings=routings)
        chosen = torch.cat([routing.chosen for routing in routings]).flatten()
        return chosen.bincount(minlength=5).max().item() / len(chosen)  # the busiest expert's share; even is 0.2

    balanced, left_alone = trained(0.1), trained(0.0)
    assert balanced < 0.3
    assert left_alone > 0.4
