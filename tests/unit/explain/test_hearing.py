"""What is read from the taps of a pass is what the model computed, whatever the model."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from glassformer.errors import ModelError
from glassformer.explain.heads import most_telling, sharpness, summarise
from glassformer.explain.hearing import attentions, heard_pass, inputs, sublayers
from glassformer.explain.passage import Passage, Tokens, pass_through, predictions
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
    "captioner": ({**SMALL, "size": "tiny", "vocabulary": 19}, IMAGE),
}


def heard(kind: str) -> dict[str, torch.Tensor]:
    settings, batch = KINDS[kind]
    return heard_pass(build(kind, settings), batch)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_attention_is_found_with_its_stack(kind: str) -> None:
    values = heard(kind)
    both = {("encoder", "self"), ("decoder", "self"), ("decoder", "cross")}
    found = attentions(values)
    assert set(found) == (both if kind in ("t5", "captioner") else {("", "self")})
    for (stack, how), patterns in found.items():
        assert patterns.shape[:2] == ((4, 4) if (kind, stack) == ("captioner", "encoder") else (3, 2))
        torch.testing.assert_close(patterns.sum(-1), torch.ones(patterns.shape[:-1]))
        taps = [name for name in values if name.startswith(f"{stack}.blocks.1." if stack else "blocks.1.")]
        own = [name for name in taps if name.endswith(".core.pattern") and (how == "cross") == ("cross" in name)]
        assert torch.equal(patterns[1], values[own[0]][0])


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_of_the_stream_are_those_of_its_vectors(kind: str) -> None:
    values = heard(kind)
    counts = {"t5": 3 * 2 + 3 * 3, "captioner": 4 * 2 + 3 * 3}
    assert len(sublayers(values)) == counts.get(kind, 3 * 2)
    for one in sublayers(values):
        prefix = f"{one.stack}.blocks" if one.stack else "blocks"
        residual = f"{prefix}.{one.block}.{one.name}_residual"
        for what in ("before", "added", "after"):
            expected = values[f"{residual}.{what}"][0].norm(dim=-1)
            assert getattr(one, what) == pytest.approx(expected.tolist(), rel=1e-4)
        assert one.scale == pytest.approx(values[f"{residual}.norm.scale"].flatten().tolist(), rel=1e-4)
        assert (one.active is None) == ("attention" in one.name)


def test_blocks_stand_in_the_order_of_the_pass() -> None:
    order = [(one.stack, one.block, one.name) for one in sublayers(heard("t5"))]
    first = [("encoder", 0, "self_attention"), ("encoder", 0, "feed_forward"), ("encoder", 1, "self_attention")]
    assert order[:3] == first
    assert order[6:9] == [("decoder", 0, part) for part in ("self_attention", "cross_attention", "feed_forward")]


def test_experts_are_counted() -> None:
    values = heard("llama")
    for one in sublayers(values):
        if one.name == "feed_forward":
            assert len(one.experts) == 3
            assert sum(one.experts) == 2 * 5, "each of 5 tokens goes through 2"
            chosen = values[f"blocks.{one.block}.feed_forward.router.chosen"]
            assert one.experts[1] == int((chosen == 1).sum())
            assert 0 < one.active < 1
        else:
            assert one.experts == ()


def test_what_goes_in_has_one_number_for_each_token() -> None:
    assert {name: len(numbers) for name, numbers in inputs(heard("bert"), "").items()} == dict.fromkeys(
        ("token", "segment", "position", "sum"), 5
    )
    assert set(inputs(heard("llama"), "")) == {"token", "sum"}
    captioner = heard("captioner")
    assert len(inputs(captioner, "encoder")["sum"]) == 50
    assert len(inputs(captioner, "decoder")["position"]) == 3
    assert inputs(captioner, "nowhere") == {}


def test_sharpness_counts_only_what_may_be_seen() -> None:
    alike = torch.ones(7, 7).tril()
    assert sharpness(alike / alike.sum(-1, keepdim=True)) == pytest.approx(0, abs=1e-6)
    assert sharpness(torch.eye(7)) == 1
    assert sharpness(torch.full((7, 7), 1 / 7)) == pytest.approx(0, abs=1e-6)
    half = torch.zeros(3, 4)
    half[:, :2] = 0.5
    assert sharpness(half) == pytest.approx(0.5)


def test_the_head_that_tells_most_neither_rests_nor_spreads() -> None:
    rests, spreads, shifts = torch.zeros(5, 5), torch.full((5, 5), 0.2), torch.eye(5).roll(1, dims=1)
    rests[:, 0] = 1
    patterns = torch.stack([torch.stack([rests, spreads]), torch.stack([spreads, shifts])])  # (2, 2, 5, 5)
    assert most_telling(patterns) == (1, 1)
    assert summarise(patterns)[0].looks_at == "mostly the first token"


def passage(**changed) -> Passage:
    settings, batch = KINDS["gpt"]
    usual = {
        "kind": "gpt",
        "text": "a text",
        "predicted": "next",
        "tokens": {"": Tokens("text", tuple("abcde"), (1,) * 5)},
    }
    model = build("gpt", settings)

    def predict(logits: torch.Tensor) -> list:
        return predictions(logits[0].softmax(-1), str, at="abcde", what=[11, 7, 3, 2, None], top=3)

    return pass_through(model, batch, predict=predict, **{**usual, **changed})


def test_predictions_are_the_models_own() -> None:
    found = passage()
    probabilities = found.values["logits"][0].softmax(-1)
    for i, known in enumerate([11, 7, 3, 2]):
        assert found.predictions[i].what == str(known)
        assert found.predictions[i].probability == pytest.approx(float(probabilities[i, known]))
    assert found.predictions[4].probability is None
    best = probabilities.topk(3)
    assert [name for name, _ in found.predictions[4].top] == [str(i) for i in best.indices[4].tolist()]


def test_an_attention_is_chosen_by_name_layer_and_head() -> None:
    one = passage().attention()
    assert one.name == "self"
    assert torch.equal(one.pattern(2, 1), one.patterns[2, 1])
    torch.testing.assert_close(one.pattern(1), one.patterns[1].mean(0))
    torch.testing.assert_close(one.pattern(), one.patterns.mean((0, 1)))
    with pytest.raises(ModelError, match="no layer 4: this attention has 3"):
        one.pattern(3)
    with pytest.raises(ModelError, match=r"no attention .cross. in this model\. It has: self"):
        passage().attention("cross")


def test_tokens_that_are_not_those_of_the_pass_are_refused() -> None:
    with pytest.raises(ModelError, match="5 x 5, for 4 and 4 tokens"):
        passage(tokens={"": Tokens("text", tuple("abcd"), (1,) * 4)})
