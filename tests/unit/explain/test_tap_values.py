"""What is read from the taps of a pass is what the model computed, whatever the model."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from glassformer.explain.tap_values import attentions, inputs, recorded_pass, sublayers
from glassformer.models.registry import build

IDS = torch.tensor([[5, 11, 7, 3, 2]])
LENGTHS = torch.tensor([5])
TEXT = SimpleNamespace(ids=IDS, lengths=LENGTHS, segments=None)
PAIR = SimpleNamespace(source=IDS, source_lengths=LENGTHS, target_in=torch.tensor([[1, 13, 4]]))
IMAGE = SimpleNamespace(images=torch.randn(1, 1, 28, 28), target_in=torch.tensor([[1, 13, 4]]))
SMALL = {"N": 3, "d": 12, "h": 2, "d_ff": 11}
KINDS = {
    "bert": ({**SMALL, "vocabulary": 19, "head": "words"}, TEXT),
    "roformer": ({**SMALL, "vocabulary": 19}, TEXT),
    "gpt": ({**SMALL, "vocabulary": 19, "size": "nano"}, TEXT),
    "llama": ({**SMALL, "vocabulary": 19, "size": "tiny", "experts": 3, "kv_heads": 1}, TEXT),
    "t5": ({**SMALL, "vocabulary": 19, "d_kv": 5}, PAIR),
    "vit": ({**SMALL, "size": "nano", "patch": 7}, IMAGE),
    "transformer": ({**SMALL, "size": "nano", "source_vocabulary": 19, "target_vocabulary": 19}, PAIR),
    "captioner": ({**SMALL, "size": "tiny", "vocabulary": 19}, IMAGE),
}
TWO_STACKS = ("t5", "transformer", "captioner")


def recorded(kind: str) -> dict[str, torch.Tensor]:
    settings, batch = KINDS[kind]
    return recorded_pass(build(kind, settings), batch)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_attention_is_found_with_its_stack(kind: str) -> None:
    values = recorded(kind)
    both = {("encoder", "self"), ("decoder", "self"), ("decoder", "cross")}
    found = attentions(values)
    assert set(found) == (both if kind in TWO_STACKS else {("", "self")})
    for (stack, how), patterns in found.items():
        assert patterns.shape[:2] == ((4, 4) if (kind, stack) == ("captioner", "encoder") else (3, 2))
        torch.testing.assert_close(patterns.sum(-1), torch.ones(patterns.shape[:-1]))
        taps = [name for name in values if name.startswith(f"{stack}.blocks.1." if stack else "blocks.1.")]
        own = [name for name in taps if name.endswith(".core.pattern") and (how == "cross") == ("cross" in name)]
        assert torch.equal(patterns[1], values[own[0]][0])


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_of_the_stream_are_those_of_its_vectors(kind: str) -> None:
    values = recorded(kind)
    counts = {"t5": 3 * 2 + 3 * 3, "transformer": 3 * 2 + 3 * 3, "captioner": 4 * 2 + 3 * 3}
    assert len(sublayers(values)) == counts.get(kind, 3 * 2)
    for one in sublayers(values):
        prefix = f"{one.stack}.blocks" if one.stack else "blocks"
        residual = f"{prefix}.{one.block}.{one.name}_residual"
        for what in ("before", "added", "after"):
            expected = values[f"{residual}.{what}"][0].norm(dim=-1)
            assert getattr(one, what) == pytest.approx(expected.tolist(), rel=1e-4)
        assert one.scale == pytest.approx(values[f"{residual}.norm.scale"].flatten().tolist(), rel=1e-4)
        assert (one.active is None) == ("attention" in one.name)


def test_blocks_are_in_the_order_of_the_pass() -> None:
    order = [(one.stack, one.block, one.name) for one in sublayers(recorded("t5"))]
    first = [("encoder", 0, "self_attention"), ("encoder", 0, "feed_forward"), ("encoder", 1, "self_attention")]
    assert order[:3] == first
    assert order[6:9] == [("decoder", 0, part) for part in ("self_attention", "cross_attention", "feed_forward")]


def test_experts_are_counted() -> None:
    values = recorded("llama")
    for one in sublayers(values):
        if one.name == "feed_forward":
            assert len(one.experts) == 3
            assert sum(one.experts) == 2 * 5, "each of 5 tokens goes through 2"
            chosen = values[f"blocks.{one.block}.feed_forward.router.chosen"]
            assert one.experts[1] == int((chosen == 1).sum())
            assert 0 < one.active < 1
        else:
            assert one.experts == ()


def test_inputs_have_one_number_for_each_token() -> None:
    assert {name: len(numbers) for name, numbers in inputs(recorded("bert"), "").items()} == dict.fromkeys(
        ("token", "segment", "position", "sum"), 5
    )
    assert set(inputs(recorded("llama"), "")) == {"token", "sum"}
    captioner = recorded("captioner")
    assert len(inputs(captioner, "encoder")["sum"]) == 50
    assert len(inputs(captioner, "decoder")["position"]) == 3
    assert inputs(captioner, "nowhere") == {}


def test_layers_are_in_the_order_of_their_numbers() -> None:
    values = {f"encoder.blocks.{i}.self_attention.core.pattern": torch.full((1, 1, 2, 2), float(i)) for i in (10, 9, 2)}
    assert attentions(values)["encoder", "self"][:, 0, 0, 0].tolist() == [2, 9, 10]
    assert attentions({}) == {}


def test_recording_changes_neither_the_mode_nor_the_values() -> None:
    settings, batch = KINDS["transformer"]
    model = build("transformer", {**settings, "dropout": 0.5}).train()
    logits, values = recorded_pass(model, batch)
    assert model.training
    model.eval()
    with torch.no_grad():
        torch.testing.assert_close(model(batch), logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(values["logits"], logits)
