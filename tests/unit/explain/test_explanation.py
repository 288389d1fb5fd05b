"""What an explanation says is what the model computes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch

from glassformer.errors import ModelError
from glassformer.explain.hearing import attentions, heard_pass
from glassformer.explain.trace import Explanation
from glassformer.models.transformer import Transformer

Explain = Callable[..., Explanation]


def test_shapes_and_names(explanation: Explanation) -> None:
    assert explanation.encoder_attention.shape == (3, 2, 5, 5)
    assert explanation.decoder_attention.shape == (3, 2, 7, 7)
    assert explanation.cross_attention.shape == (3, 2, 7, 5)
    assert explanation.source == ("s5", "s11", "s7", "s3", "</s>")
    assert explanation.target[-1] == "</s>"
    assert explanation.values["logits"].shape == (1, 7, 19)
    assert explanation.values["encoder.blocks.1.self_attention.core.scaled"].shape == (1, 2, 5, 5)


def test_every_row_of_attention_sums_to_one(explanation: Explanation) -> None:
    for patterns in (explanation.encoder_attention, explanation.decoder_attention, explanation.cross_attention):
        torch.testing.assert_close(patterns.sum(-1), torch.ones(patterns.shape[:-1]))
    assert explanation.decoder_attention.triu(1).abs().max() == 0


def test_steps_and_score_are_those_of_step_by_step_decoding(explanation: Explanation, model: Transformer) -> None:
    """The single pass stands for decoding: walk the cached steps and compare."""
    batch = pair_of(explanation)
    model.eval()
    with torch.no_grad():
        state, last, score = model.start(batch), torch.tensor([1]), 0.0
        for t, chosen in enumerate(explanation.target_ids):
            logits, state, attention = model.step(last, state, want_attention=True)
            probabilities = logits[0].softmax(-1)
            assert explanation.steps[t].probability == pytest.approx(float(probabilities[chosen]), abs=1e-5)
            assert explanation.steps[t].top[0][1] == pytest.approx(float(probabilities.max()), abs=1e-5)
            assert attention is not None
            torch.testing.assert_close(explanation.cross_attention[:, :, t], attention[0], atol=1e-5, rtol=0)
            score += float(probabilities[chosen].log())
            last = torch.tensor([chosen])
    assert explanation.score == pytest.approx(score, abs=1e-4)


def pair_of(explanation: Explanation) -> Any:
    class Source:
        source = torch.tensor([explanation.source_ids])
        source_lengths = torch.tensor([len(explanation.source_ids)])
        target_in = torch.tensor([(1, *explanation.target_ids[:-1])])

    return Source()


def test_listening_changes_neither_the_mode_nor_the_values(explanation: Explanation, model: Transformer) -> None:
    model.train()
    logits, values = heard_pass(model, pair_of(explanation))
    assert model.training
    model.eval()
    with torch.no_grad():
        torch.testing.assert_close(model(pair_of(explanation)), logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(values["logits"], logits)


def test_top_candidates_fall_and_are_as_many_as_asked(explain: Explain) -> None:
    for step in explain(top=3).steps:
        probabilities = [p for _, p in step.top]
        assert len(probabilities) == 3
        assert probabilities == sorted(probabilities, reverse=True)
    assert len(explain(top=1000).steps[0].top) == 19


def test_alignment_takes_one_head_or_a_mean(explanation: Explanation) -> None:
    cross = explanation.cross_attention
    assert torch.equal(explanation.alignment(2, 1), cross[2, 1])
    torch.testing.assert_close(explanation.alignment(1), cross[1].mean(0))
    torch.testing.assert_close(explanation.alignment(head=1), cross[:, 1].mean(0))
    torch.testing.assert_close(explanation.alignment(), cross.mean((0, 1)))
    with pytest.raises(ModelError, match="no layer 4: this model has 3"):
        explanation.alignment(3)
    with pytest.raises(ModelError, match="no head 3: this model has 2"):
        explanation.alignment(0, 2)


def test_as_json(explanation: Explanation) -> None:
    data = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert data["source"][1] == {"piece": "s11", "id": 11}
    assert data["values"]["logits"] == [1, 7, 19]
    assert len(data["steps"]) == 7
    flat = [w for layer in data["cross_attention"] for head in layer for row in head for w in row]
    assert all(w == round(w, 4) for w in flat)
    assert len(flat) == 3 * 2 * 7 * 5


def test_a_batch_that_is_not_the_pair_is_refused(explain: Explain) -> None:
    with pytest.raises(ModelError, match="4 source and 7 target ids"):
        explain(source_ids=(5, 11, 7, 2))


def test_layers_stand_in_the_order_of_their_numbers() -> None:
    values = {f"encoder.blocks.{i}.self_attention.core.pattern": torch.full((1, 1, 2, 2), float(i)) for i in (10, 9, 2)}
    assert attentions(values)["encoder", "self"][:, 0, 0, 0].tolist() == [2, 9, 10]
    assert attentions({}) == {}
