"""What an explanation offers: attention by name, layer and head, plain data, and a short repr."""

from __future__ import annotations

import json
import math

import pytest
import torch

from glassformer.errors import ModelError
from glassformer.explain.explanation import Attention, Explanation, Tokens

TEXT = Tokens("text", tuple("abcde"), (3, 4, 5, 6, 7))


def test_shapes_and_names(explanation: Explanation) -> None:
    assert explanation.encoder_attention.shape == (3, 2, 5, 5)
    assert explanation.decoder_attention.shape == (3, 2, 7, 7)
    assert explanation.cross_attention.shape == (3, 2, 7, 5)
    assert explanation.source == ("p5", "p11", "p7", "p3", "</s>")
    assert explanation.target == ("p13", "p4", "p9", "p17", "p6", "p8", "</s>")
    assert explanation.tokens["decoder"].pieces == ("<s>", *explanation.target[:-1]), "what the decoder reads"
    assert explanation.values["logits"].shape == (1, 7, 19)
    assert explanation.values["encoder.blocks.1.self_attention.core.scaled"].shape == (1, 2, 5, 5)


def test_rows_of_cross_attention_are_what_was_written(explanation: Explanation) -> None:
    cross, decoder = explanation.attention("cross"), explanation.attention("decoder")
    assert (cross.queries.pieces, cross.keys.pieces) == (explanation.target, explanation.source)
    assert decoder.queries.pieces == decoder.keys.pieces == explanation.tokens["decoder"].pieces


def test_alignment_takes_one_head_or_a_mean(explanation: Explanation) -> None:
    cross = explanation.cross_attention
    assert torch.equal(explanation.alignment(2, 1), cross[2, 1])
    torch.testing.assert_close(explanation.alignment(1), cross[1].mean(0))
    torch.testing.assert_close(explanation.alignment(head=1), cross[:, 1].mean(0))
    torch.testing.assert_close(explanation.alignment(), cross.mean((0, 1)))
    with pytest.raises(ModelError, match="no layer 4: the cross-attention has 3"):
        explanation.alignment(3)
    with pytest.raises(ModelError, match="no head 3: the self-attention of the encoder has 2"):
        explanation.attention("encoder").pattern(0, 2)


def test_an_attention_is_chosen_by_name(explanation: Explanation) -> None:
    assert explanation.attention().name == "cross"
    assert [one.name for one in explanation.attentions] == ["encoder", "decoder", "cross"]
    with pytest.raises(ModelError, match=r"no attention .self. in this model\. It has: encoder, decoder, cross\."):
        explanation.attention("self")


def test_as_json(explanation: Explanation) -> None:
    data = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert data["kind"] == "transformer"
    assert (data["text"], data["answer"], data["translation"]) == ("a text", "Text", "Text")
    assert data["source"][1] == data["tokens"]["encoder"]["tokens"][1] == {"piece": "p11", "id": 11}
    assert data["target"][0] == {"piece": "p13", "id": 13}
    assert data["values"]["logits"] == [1, 7, 19]
    assert data["steps"] == data["predictions"]
    assert len(data["steps"]) == 7
    assert set(data["steps"][0]) == {"at", "chosen", "id", "probability", "log_probability", "top"}
    assert set(data["steps"][0]["top"][0]) == {"piece", "id", "probability"}
    assert len(data["blocks"]) == 3 * 2 + 3 * 3
    assert len(data["inputs"]["decoder"]["sum"]) == 7
    assert set(data["attention"]) == {"encoder", "decoder", "cross"}
    flat = [w for layer in data["attention"]["cross"] for head in layer for row in head for w in row]
    assert all(w == round(w, 4) for w in flat)
    assert len(flat) == 3 * 2 * 7 * 5


def one_stack() -> Explanation:
    attention = Attention("self", TEXT, TEXT, torch.eye(5).expand(3, 2, 5, 5))
    return Explanation("gpt", "a text", "", {"": TEXT}, None, (attention,), (), (), "", None, {})


def test_a_model_with_one_stack_has_no_steps_source_or_target() -> None:
    found = one_stack()
    assert found.attention().name == "self"
    assert found.steps == ()
    assert not {"steps", "source", "target", "translation"} & set(found.to_dict())
    for what in ("source", "source_ids", "target", "target_ids"):
        with pytest.raises(ModelError, match="A gpt model has no source and target"):
            getattr(found, what)


def test_probabilities_too_small_for_a_float_still_add_up(explanation: Explanation) -> None:
    assert explanation.score == pytest.approx(sum(step.log_probability for step in explanation.steps))
    step = explanation.steps[0]
    assert step.probability == pytest.approx(math.exp(step.log_probability))


def test_repr_is_one_line(explanation: Explanation) -> None:
    assert repr(explanation).startswith(
        "<Explanation of 'a text' -> 'Text' by a transformer model: 5 source tokens, 7 target tokens, "
    )
    assert repr(one_stack()).startswith("<Explanation of 'a text' by a gpt model: 5 text tokens, ")
