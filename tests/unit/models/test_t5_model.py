"""T5's promises: caches and beams keep to the distances, padding is nothing, settings, taps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import validate
from glassformer.decode import Best, Search, search
from glassformer.errors import SettingsError
from glassformer.models.decoding import state as decoding_state
from glassformer.models.t5 import SIZES, T5, T5Config
from glassformer.nn.taps import Tap, listen

V, PAD, EOS = 19, 0, 1


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


def make_model(**settings) -> T5:
    shape = {"N": 2, "N_decoder": 3, "d": 7, "h": 3, "d_kv": 5, "d_ff": 11, "buckets": 6, "max_distance": 9}
    model = T5(T5Config(vocabulary=V, **shape | settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model


def make_batch(lengths: tuple[int, ...] = (13, 5, 3), target: int = 23) -> Batch:
    source = torch.randint(2, V, (len(lengths), max(lengths)))
    for row, length in enumerate(lengths):
        source[row, length:] = PAD
    return Batch(source, torch.tensor(lengths), torch.randint(2, V, (len(lengths), target)))


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("settings", [{}, {"gated": True, "tied": False, "scaled_output": False}])
@torch.no_grad()
def test_step_by_step_equals_all_at_once(settings: dict) -> None:
    model, batch = make_model(**settings), make_batch()
    expected, state = model(batch), model.start(batch)
    for t in range(23):
        logits, state, attention = model.step(batch.target_in[:, t], state)
        close(logits, expected[:, t])
        assert attention is None


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("clearing", [12, 512])
@torch.no_grad()
def test_hypotheses_side_by_side_keep_their_distances(clearing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reordered, repeated and dropped at random; slots that nobody needs are given up on the way, or not."""
    monkeypatch.setattr(decoding_state, "COMPACT_ABOVE", clearing)
    model, batch = make_model(), make_batch()
    random = np.random.default_rng(5)
    said, owners, state = [[PAD] for _ in range(3)], [0, 1, 2], model.start(batch)
    slots = []
    for _ in range(25):
        logits, state, _ = model.step(torch.tensor([ids[-1] for ids in said]), state)
        slots.append(state.caches[0].length)
        for row, owner in enumerate(owners):
            own = Batch(batch.source[[owner]], batch.source_lengths[[owner]], torch.tensor([said[row]]))
            close(logits[row], model(own)[0, -1])
        rows = sorted(random.integers(0, len(said), int(random.integers(2, 8))).tolist(), key=lambda i: owners[i])
        state = model.select(state, torch.tensor(rows))
        said = [[*said[i], int(random.integers(2, V))] for i in rows]
        owners = [owners[i] for i in rows]
    assert any(later < earlier for earlier, later in pairwise(slots)) == (clearing == 12)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("beam", [1, 4])
def test_a_beam_knows_how_likely_its_sentences_are(beam: int) -> None:
    model, batch = make_model(), make_batch()
    task = Search(model, batch, np.full(3, 17), bos=PAD, eos=EOS, device=torch.device("cpu"), chooser=Best(beam))
    for row, options in enumerate(search(task)):
        said = [PAD, *options[0].ids]
        own = Batch(batch.source[[row]], batch.source_lengths[[row]], torch.tensor([said]))
        log_probs = model(own)[0].log_softmax(-1)
        chosen = [*said[1:], EOS][: len(options[0].log_probs)]
        close(torch.tensor(options[0].log_probs), log_probs[range(len(chosen)), chosen].detach())


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_padding_and_neighbours_change_nothing() -> None:
    model, batch = make_model(), make_batch()
    together = model(batch)
    for row, length in enumerate([13, 5, 3]):
        alone = Batch(batch.source[[row], :length], batch.source_lengths[[row]], batch.target_in[[row]])
        close(model(alone)[0], together[row])


@torch.no_grad()
def test_cross_attention_of_a_step() -> None:
    model, batch = make_model(), make_batch()
    state = model.select(model.start(batch), torch.tensor([0, 0, 1, 2]))
    _, state, attention = model.step(torch.tensor([2, 3, 4, 5]), state, want_attention=True)
    assert attention.shape == (4, 3, 3, 13)
    torch.testing.assert_close(attention.sum(-1), torch.ones(4, 3, 3))
    assert torch.equal(attention[3, :, :, 3:], torch.zeros(3, 3, 10)), "nothing is read from padding"
    assert not torch.equal(attention[0], attention[1])


def test_every_tap_is_passed_and_listening_changes_nothing() -> None:
    model, batch = make_model(gated=True), make_batch()
    plain = model(batch)
    with listen(model) as heard:
        listened = model(batch)
    torch.testing.assert_close(plain, listened, rtol=0, atol=1e-5)
    assert set(heard) == {name for name, module in model.named_modules() if isinstance(module, Tap)}


def test_training_moves_every_weight_and_is_seen_by_decoding() -> None:
    torch.manual_seed(0)
    model, batch = T5(T5Config(vocabulary=V)), make_batch()
    model.eval()
    with torch.no_grad():
        before, *_ = model.step(torch.tensor([2]), model.select(model.start(batch), torch.tensor([0])))
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    model(batch).log_softmax(-1)[:, :, 2].mean().neg().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in model.parameters())
    optimiser.step()
    model.eval()
    with torch.no_grad():
        after, *_ = model.step(torch.tensor([2]), model.select(model.start(batch), torch.tensor([0])))
        one = Batch(batch.source[[0]], batch.source_lengths[[0]], torch.tensor([[2]]))
        torch.testing.assert_close(after[0], model(one)[0, 0], rtol=0, atol=1e-5)
    assert not torch.allclose(before, after)


def test_a_fresh_model_starts_out_undecided() -> None:
    """Unscaled scores must not begin large: the initialisation takes the place of the division."""
    torch.manual_seed(0)
    model = T5(T5Config(size="small", N=1, vocabulary=V)).eval()
    with listen(model, lambda name: name.endswith("core.scores")) as heard:
        model(make_batch())
    for values in heard.values():
        assert 0.2 < float(values[0].std()) < 3


@pytest.mark.parametrize("size", SIZES)
def test_named_sizes(size: str) -> None:
    config = T5Config(size=size)
    assert {name: getattr(config, name) for name in SIZES[size]} == SIZES[size]
    assert config.gated == config.size.startswith("1.1")
    assert T5Config(size=size, d_ff=3).d_ff == 3


@pytest.mark.parametrize(("size", "millions"), [("small", 60.5), ("1.1-small", 77.0), ("base", 222.9)])
def test_sizes_have_the_published_number_of_parameters(size: str, millions: float) -> None:
    with torch.device("meta"):
        model = T5(T5Config(size=size))
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, abs=0.06)


@pytest.mark.parametrize(
    ("values", "message"),
    [({"max_distance": 16}, "max_distance = 16"), ({"size": "huge"}, "size"), ({"buckets": 3}, "buckets")],
)
def test_settings_that_cannot_be(values: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        validate(T5Config, values)


def test_a_step_wants_a_token_for_each_hypothesis() -> None:
    model, batch = make_model(), make_batch()
    with pytest.raises(ValueError, match="got 2 tokens for 3 hypotheses"):
        model.step(torch.tensor([2, 3]), model.start(batch))
