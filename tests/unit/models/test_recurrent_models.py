"""The recurrent translators, language model and encoder: decoding, padding, order of reading, taps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import SettingsError
from glassformer.decode import Best, Search, search
from glassformer.models.registry import RECURRENT, TRANSLATORS, build
from glassformer.nn.taps import listen

VOCABULARY, BOS, EOS = 13, 1, 2
VALUES: dict[str, dict[str, Any]] = {
    "lstm": {"N": 2, "d": 10, "dropout": 0.0, "source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY},
    "rnn_attention": {
        **{"d": 10, "n": 7, "l": 10, "dropout": 0.0},
        **{"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY},
    },
    "lstm_lm": {"N": 2, "d": 10, "dropout": 0.0, "vocabulary": VOCABULARY},
    "bilstm": {"N": 2, "d": 10, "dropout": 0.0, "vocabulary": VOCABULARY, "head": "sentence", "classes": 3},
}
WRITERS = ("lstm", "rnn_attention", "lstm_lm")
pytestmark = pytest.mark.usefixtures("double")


def made(kind: str, **changed: Any) -> Any:
    torch.manual_seed(3)
    model = build(kind, {**VALUES[kind], **changed}).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
    return model


def texts(count: int = 3) -> SimpleNamespace:
    """A batch of sources and of texts with different lengths."""
    torch.manual_seed(4)
    ids, lengths = torch.randint(3, VOCABULARY, (count, 6)), torch.tensor([6, 3, 1, 5, 2][:count])
    ids[torch.arange(6) >= lengths[:, None]] = 0
    return SimpleNamespace(source=ids, source_lengths=lengths, ids=ids, lengths=lengths)


def one(batch: SimpleNamespace, i: int) -> SimpleNamespace:
    """A text alone, without padding."""
    length = int(batch.lengths[i])
    own = {"ids": batch.ids[i : i + 1, :length], "lengths": batch.lengths[i : i + 1]}
    return SimpleNamespace(**own, source=own["ids"], source_lengths=own["lengths"])


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", TRANSLATORS[1:])
@pytest.mark.parametrize("heard", [False, True])
def test_step_by_step_equals_teacher_forcing(kind: str, heard: bool) -> None:
    model, batch = made(kind), texts()
    batch.target_in = torch.randint(3, VOCABULARY, (3, 4))
    if heard:
        with listen(model):
            expected = model(batch)
    else:
        expected = model(batch)
    state = model.start(batch)
    for t in range(4):
        logits, state, _ = model.step(batch.target_in[:, t], state)
        close(logits, expected[:, t])


def test_a_language_model_continues_as_it_reads() -> None:
    model, batch = made("lstm_lm"), texts()
    logits, state, _ = model.step(batch.ids[torch.arange(3), batch.lengths - 1], model.start(batch))
    more = torch.tensor([5, 6, 7])
    after, _, _ = model.step(more, state)
    for i in range(3):
        alone = one(batch, i)
        close(logits[i], model(alone)[0, -1])
        alone.ids = torch.cat([alone.ids, more[i : i + 1, None]], dim=1)
        close(after[i], model(alone)[0, -1])


@pytest.mark.parametrize("kind", RECURRENT)
def test_padding_never_changes_a_result(kind: str) -> None:
    model, batch = made(kind), texts()
    batch.target_in = torch.randint(3, VOCABULARY, (3, 4))
    together = model(batch)
    for i in range(3):
        alone = one(batch, i)
        alone.target_in = batch.target_in[i : i + 1]
        expected = model(alone)[0]
        close(together[i][: len(expected)], expected)


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_can_be_repeated_dropped_and_reordered(kind: str) -> None:
    model, batch = made(kind), texts()
    state = model.start(batch)
    rows = torch.tensor([2, 0, 0])
    logits, state, attention = model.step(torch.tensor([4, 5, 6]), state.select(rows), want_attention=True)
    for row, (i, token) in enumerate(zip(rows.tolist(), (4, 5, 6), strict=True)):
        alone, _, own = model.step(torch.tensor([token]), model.start(one(batch, i)), want_attention=True)
        close(logits[row], alone[0])
        if attention is not None:
            length = int(batch.lengths[i])
            close(attention[row, ..., :length], own[0])
            assert not attention[row, ..., length:].any()
    with pytest.raises(ValueError, match="got 1 tokens for 3"):
        model.step(torch.tensor([4]), state)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_beam_of_one_is_greedy_and_a_wide_one_finds_no_worse(kind: str) -> None:
    model, batch = made(kind), texts()

    def found(width: int) -> list[Any]:
        limits = np.full(3, 5)
        job = Search(
            model, batch, limits, BOS, EOS, torch.device("cpu"), Best(width), ranked=lambda p, _: p, cut_last=False
        )
        return [one[0] for one in search(job)]

    greedy = []
    for i in range(3):
        state, ids = model.start(one(batch, i)), [BOS]
        while len(ids) <= 5 and ids[-1] != EOS:
            logits, state, _ = model.step(torch.tensor([ids[-1]]), state)
            ids.append(int(logits[0].argmax()))
        greedy.append(tuple(token for token in ids[1:] if token != EOS))
    assert [one.ids for one in found(1)] == greedy
    assert sum(one.score for one in found(13)) >= sum(one.score for one in found(1)) - 1e-9


def test_the_source_is_reversed_within_its_length() -> None:
    """Reading reversed sources from their ends is the same as reading the sources from their beginnings."""
    batch, mirrored = texts(), texts()
    for i, length in enumerate(batch.lengths.tolist()):
        mirrored.source[i, :length] = batch.source[i, :length].flip(0)
    close(made("lstm").encode(batch), made("lstm", reverse_source=False).encode(mirrored))
    assert not torch.allclose(made("lstm").encode(batch), made("lstm", reverse_source=False).encode(batch))


def test_the_context_is_one_vector_per_sentence() -> None:
    model = made("lstm")
    with listen(model) as heard:
        model.encode(texts())
    assert heard["context"][0].shape == (3, 2, 2, 10)
    assert heard["encoder.blocks.1.forget_gate"][0].shape == (3, 6, 10)


def test_patterns_are_heard_and_sum_to_one() -> None:
    model, batch = made("rnn_attention"), texts()
    batch.target_in = torch.randint(3, VOCABULARY, (3, 4))
    with listen(model) as heard:
        model(batch)
    pattern = heard["decoder.blocks.0.cross_attention.core.pattern"][0]
    assert pattern.shape == (3, 1, 4, 6)
    close(pattern.sum(-1), torch.ones(3, 1, 4))


def test_one_matrix_needs_one_width() -> None:
    with pytest.raises(SettingsError, match="needs d = l, got 10 and 5"):
        made("rnn_attention", l=5)
    with pytest.raises(SettingsError, match="d = 7 is odd"):
        made("bilstm", d=7)
    with pytest.raises(SettingsError, match="classes of whole texts"):
        made("bilstm", pooling="attention", head="tokens")


def test_a_text_is_read_by_attention_over_its_tokens() -> None:
    model, batch = made("bilstm", pooling="attention"), texts()
    with listen(model) as heard:
        found = model(batch)
    weights, hidden = heard["attention.weights"][0], model.hidden(batch)
    for i, length in enumerate(batch.lengths.tolist()):
        own = torch.tanh(model.attention.key(hidden[i, :length])) @ model.attention.v
        close(weights[i, :length], own.softmax(0))
        assert not weights[i, length:].any()
        close(found[i], model.head(own.softmax(0) @ hidden[i, :length]))
        close(found[i], model(one(batch, i))[0])
