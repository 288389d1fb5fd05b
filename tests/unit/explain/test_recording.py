"""What is recorded is what the model computes, step by step as well as at once."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from glassformer.errors import ModelError
from glassformer.explain.explanation import Explanation, Tokens
from glassformer.explain.recording import names_of, predictions, record
from glassformer.models.registry import build
from glassformer.models.transformer import Transformer
from glassformer.text import train_tokenizer

Explain = Callable[..., Explanation]
IDS = [5, 11, 7, 3, 2]


def test_every_row_of_attention_sums_to_one(explanation: Explanation) -> None:
    for patterns in (explanation.encoder_attention, explanation.decoder_attention, explanation.cross_attention):
        torch.testing.assert_close(patterns.sum(-1), torch.ones(patterns.shape[:-1]))
    assert explanation.decoder_attention.triu(1).abs().max() == 0


def test_steps_and_score_are_those_of_step_by_step_decoding(explanation: Explanation, model: Transformer) -> None:
    """One pass over everything equals decoding: walk the cached steps and compare."""
    source = torch.tensor([explanation.source_ids])
    model.eval()
    with torch.no_grad():
        state = model.start(SimpleNamespace(source=source, source_lengths=torch.tensor([source.size(1)])))
        last, score = torch.tensor([1]), 0.0
        for t, chosen in enumerate(explanation.target_ids):
            logits, state, attention = model.step(last, state, want_attention=True)
            probabilities = logits[0].softmax(-1)
            assert explanation.steps[t].probability == pytest.approx(float(probabilities[chosen]), abs=1e-5)
            assert explanation.steps[t].top[0].probability == pytest.approx(float(probabilities.max()), abs=1e-5)
            assert explanation.steps[t].top[0].id == int(probabilities.argmax())
            assert attention is not None
            torch.testing.assert_close(explanation.cross_attention[:, :, t], attention[0], atol=1e-5, rtol=0)
            score += float(probabilities[chosen].log())
            last = torch.tensor([chosen])
    assert explanation.score == pytest.approx(score, abs=1e-4)


def test_top_candidates_fall_and_are_as_many_as_asked(explain: Explain) -> None:
    for step in explain(top=3).steps:
        probabilities = [one.probability for one in step.top]
        assert len(probabilities) == 3
        assert probabilities == sorted(probabilities, reverse=True)
    assert len(explain(top=1000).steps[0].top) == 19


def test_a_batch_that_is_not_the_pair_is_refused(explain: Explain) -> None:
    with pytest.raises(ModelError, match="the encoder attention is 5 x 5, but there are 4 and 4 tokens"):
        explain(source=Tokens("source", tuple("abcd"), (1, 2, 3, 4)))
    with pytest.raises(ModelError, match="7 x 7, but there are 2 and 2 tokens"):
        explain(written=(3, 2))


def of_gpt(**changed: Any) -> Explanation:
    settings = {"N": 3, "d": 12, "h": 2, "d_ff": 11, "vocabulary": 19, "size": "nano"}
    batch = SimpleNamespace(ids=torch.tensor([IDS]), lengths=torch.tensor([5]), segments=None)
    usual: dict[str, Any] = {
        "kind": "gpt",
        "text": "a text",
        "predicted": "next",
        "tokens": {"": Tokens("text", tuple("abcde"), (1,) * 5)},
        "predict": lambda logits: predictions(logits[0], str, at="abcde", known=[*IDS[1:], None], top=3),
    }
    return record(build("gpt", settings), batch, **{**usual, **changed})


def test_predictions_are_the_models_own() -> None:
    found = of_gpt(in_order=True)
    probabilities = found.values["logits"][0].softmax(-1)
    for i, known in enumerate(IDS[1:]):
        assert (found.predictions[i].chosen, found.predictions[i].id) == (str(known), known)
        assert found.predictions[i].probability == pytest.approx(float(probabilities[i, known]), rel=1e-4)
    assert found.predictions[4].probability is None
    best = probabilities.topk(3)
    assert [one.piece for one in found.predictions[4].top] == [str(i) for i in best.indices[4].tolist()]
    assert found.score == pytest.approx(sum(float(probabilities[i, k].log()) for i, k in enumerate(IDS[1:])), abs=1e-4)
    assert of_gpt().score is None


def test_tokens_of_another_length_are_refused() -> None:
    with pytest.raises(ModelError, match="5 x 5, but there are 4 and 4 tokens"):
        of_gpt(tokens={"": Tokens("text", tuple("abcd"), (1,) * 4)})


def test_ids_that_the_tokenizer_does_not_know_have_a_name_too() -> None:
    tokenizer = train_tokenizer("word", ["the dog"] * 3, vocab_size=20)
    name = names_of(tokenizer)
    assert name(len(tokenizer) - 1) == tokenizer.pieces_of([len(tokenizer) - 1])[0]
    assert name(len(tokenizer)) == f"#{len(tokenizer)}"
