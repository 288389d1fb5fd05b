"""The Transformer's promises: masks, caches, the decoding protocol, taps, sizes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.config import Settings, validate
from glassformer.errors import ModelError, SettingsError
from glassformer.models.decoding import state as decoding_state
from glassformer.models.decoding.state import DecodingState
from glassformer.models.fast.tapes import Tapes
from glassformer.models.transformer import SIZES, Transformer, TransformerConfig
from glassformer.nn.cache import KVCache
from glassformer.nn.native.compiler import kernels
from glassformer.nn.taps import Tap, listen

POSITIONS = ["sinusoidal", "sinusoidal-halves", "learned", "rotary"]
V, PAD = 17, 0


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


def make_model(**settings) -> Transformer:
    config = TransformerConfig(**({"N": 2, "d": 15, "h": 3, "d_ff": 11, "dropout": 0.1} | settings))
    model = Transformer(config, source_vocabulary=V, target_vocabulary=V).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model


def make_batch(lengths: tuple[int, ...] = (7, 5, 3), target: int = 5) -> Batch:
    source = torch.randint(1, V, (len(lengths), max(lengths)))
    for row, length in enumerate(lengths):
        source[row, length:] = PAD
    return Batch(source, torch.tensor(lengths), torch.randint(1, V, (len(lengths), target)))


def only(batch: Batch, rows: list[int]) -> Batch:
    return Batch(batch.source[rows], batch.source_lengths[rows], batch.target_in[rows])


def close(got: Tensor, expected: Tensor, *, atol: float = 1e-12) -> None:
    torch.testing.assert_close(got, expected, rtol=0, atol=atol)


# Cached is uncached.


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_step_by_step_equals_all_at_once(positions: str, norm: str) -> None:
    model, batch = make_model(positions=positions, norm=norm, N_decoder=3), make_batch(target=23)
    expected, state = model(batch), model.start(batch)
    for t in range(23):
        logits, state, attention = model.step(batch.target_in[:, t], state)
        close(logits, expected[:, t])
        assert attention is None


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-halves", "learned", "rotary"])
def test_the_quick_step_is_the_plain_one(positions: str, norm: str, activation: str) -> None:
    """What decoding runs when nobody listens, against the modules themselves, through reordered beams."""
    torch.manual_seed(2)
    config = TransformerConfig(
        size="nano", d=12, h=3, d_ff=20, positions=positions, norm=norm, activation=activation, output_bias=True
    )
    model = Transformer(config, source_vocabulary=11, target_vocabulary=11).double().eval()
    batch = SimpleNamespace(source=torch.randint(3, 11, (2, 5)), source_lengths=torch.tensor([5, 3]))
    quick, plain = model.start(batch), model.start(batch)
    for rows in ([0, 0, 0, 1, 1, 1], [2, 0, 0, 3, 4, 4], [1, 1, 2, 5, 3, 3], [3, 4, 5]):
        ids = torch.randint(0, 11, (quick.rows,))
        logits, quick, _ = model.step(ids, quick)
        with listen(model.decoder, lambda name: name.endswith("pattern")):
            expected, plain, _ = model.step(ids, plain)
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-12)
        quick, plain = (model.select(state, torch.tensor(rows)) for state in (quick, plain))


def test_slots_that_nobody_needs_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(2)
    config = TransformerConfig(size="nano", d=12, h=3, d_ff=20)
    model = Transformer(config, source_vocabulary=11, target_vocabulary=11).double().eval()
    batch = SimpleNamespace(source=torch.randint(3, 11, (2, 5)), source_lengths=torch.tensor([5, 3]))

    def run() -> tuple[list[torch.Tensor], int]:
        random = np.random.default_rng(3)
        state, found = model.select(model.start(batch), torch.tensor([0, 0, 0, 1, 1, 1])), []
        for _ in range(30):
            logits, state, _ = model.step(torch.as_tensor(random.integers(0, 11, 6)), state)
            found.append(logits)
            rows = np.concatenate([random.integers(0, 3, 3), 3 + random.integers(0, 3, 3)])
            state = model.select(state, torch.as_tensor(rows))
        return found, state.caches[0].length

    kept, all_slots = run()
    monkeypatch.setattr(decoding_state, "COMPACT_ABOVE", 12)
    cleared, fewer = run()
    assert fewer < all_slots == 90
    for one, other in zip(kept, cleared, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


# Padding is nothing.


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_source_padding_changes_nothing(positions: str) -> None:
    model, batch = make_model(positions=positions), make_batch()
    together = model(batch)
    more = Batch(nn.functional.pad(batch.source, (0, 4), value=3), batch.source_lengths, batch.target_in)
    close(model(more), together)
    for row, length in enumerate((7, 5, 3)):
        alone = Batch(batch.source[[row], :length], torch.tensor([length]), batch.target_in[[row]])
        close(model(alone)[0], together[row])


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_target_padding_changes_no_real_logit(positions: str) -> None:
    model, batch = make_model(positions=positions), make_batch()
    longer = Batch(batch.source, batch.source_lengths, nn.functional.pad(batch.target_in, (0, 6), value=PAD))
    close(model(longer)[:, :5], model(batch))


def test_without_padding_there_is_no_mask() -> None:
    model = make_model()
    assert model.source_mask(make_batch((5, 5))) is None
    mask = model.source_mask(make_batch((5, 3)))
    assert mask is not None
    assert mask.dtype == torch.float32
    assert mask[:, 0, 0].isinf().tolist() == [[False] * 5, [False, False, False, True, True]]


# The future is hidden.


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_a_future_token_changes_no_bit_of_a_past_logit(positions: str, norm: str) -> None:
    model, batch = make_model(positions=positions, norm=norm), make_batch(target=11)
    before = model(batch)
    for t in range(1, 11):
        changed = Batch(batch.source, batch.source_lengths, batch.target_in.clone())
        changed.target_in[:, t] = changed.target_in[:, t] % (V - 1) + 1
        after = model(changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert not torch.equal(after[:, t], before[:, t])


def test_no_gradient_flows_from_a_past_logit_to_a_future_token() -> None:
    model, batch = make_model(), make_batch(target=7)
    vectors = model.decoder.inputs.embedding(batch.target_in).detach().requires_grad_()
    handle = model.decoder.inputs.token.register_forward_hook(lambda *_: vectors)
    (gradient,) = torch.autograd.grad(model(batch)[:, 3].square().sum(), vectors)
    handle.remove()
    assert not gradient[:, 4:].any()
    assert gradient[:, :4].abs().sum(-1).all()


# Order is told by positions alone.


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_without_positions_nithish_killed_lion_is_lion_killed_nithish() -> None:
    model = make_model()
    model.encoder.inputs.positions = None
    nithish, killed, lion = 3, 5, 7
    one = model.encoder(torch.tensor([[nithish, killed, lion]]), mask=None)
    other = model.encoder(torch.tensor([[lion, killed, nithish]]), mask=None)
    close(other, one.flip(1))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_with_positions_the_order_matters(positions: str) -> None:
    model = make_model(positions=positions)
    one = model.encoder(torch.tensor([[3, 5, 7]]), mask=None)
    other = model.encoder(torch.tensor([[7, 5, 3]]), mask=None)
    assert (other - one.flip(1)).abs().max() > 0.01


# select() is running those rows alone.

SELECTIONS = {
    "reorder": [5, 3, 4, 2, 0, 1],
    "reorder within sentences": [1, 0, 3, 2, 5, 4],
    "repeat": [0, 0, 0, 1, 1, 1, 4, 4, 4],
    "drop one sentence": [0, 1, 4, 5],
    "uneven drop": [0, 2, 3, 5],
    "uneven repeat": [0, 0, 0, 2, 5],
    "interleaved": [0, 2, 4, 1, 3, 5],
    "apart": [0, 1, 2, 3, 1, 0],
    "one row": [3],
    "keep all": [0, 1, 2, 3, 4, 5],
}


@torch.no_grad()
def run_alone(model: Transformer, batch: Batch, sentence: int, tokens: list[int]) -> Tensor:
    """The logits after these target tokens of this sentence, with nothing else in the batch."""
    one = only(batch, [sentence])
    length = int(one.source_lengths[0])
    return model(Batch(one.source[:, :length], one.source_lengths, torch.tensor([tokens])))[0, -1]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize("selection", list(SELECTIONS))
@pytest.mark.parametrize("lengths", [(7, 5, 3), (5, 5, 5)])
@torch.no_grad()
def test_selected_rows_go_on_as_if_they_were_alone(selection: str, positions: str, lengths: tuple[int, ...]) -> None:
    model, batch = make_model(positions=positions), make_batch(lengths)
    state = model.select(model.start(batch), torch.tensor([0, 0, 1, 1, 2, 2]))  # two hypotheses each
    histories = [(sentence, []) for sentence in (0, 0, 1, 1, 2, 2)]
    for rows in (SELECTIONS["keep all"], SELECTIONS[selection], None):
        ids = torch.randint(1, V, (len(histories),))
        logits, state, _ = model.step(ids, state)
        histories = [(s, [*told, token]) for (s, told), token in zip(histories, ids.tolist(), strict=True)]
        for row, (sentence, tokens) in enumerate(histories):
            close(logits[row], run_alone(model, batch, sentence, tokens))
        if rows is not None:
            state = model.select(state, torch.tensor(rows))
            histories = [histories[row] for row in rows]
            assert state.rows == len(rows)


@torch.no_grad()
def test_the_memory_exists_once_per_sentence_however_many_hypotheses() -> None:
    model, batch = make_model(), make_batch()
    start = model.start(batch)
    five = model.select(start, torch.arange(3).repeat_interleave(5))
    assert five.memories is start.memories
    assert model.select(five, torch.tensor([0, 1, 2, 10, 11])).memories is start.memories


@torch.no_grad()
def test_a_selected_state_does_not_touch_the_one_it_came_from() -> None:
    model, batch = make_model(), make_batch()
    ids = torch.tensor([1, 2, 3])
    state = model.start(batch)
    model.step(ids, state)
    twin = model.select(state, torch.tensor([0, 1, 2]))
    model.step(ids + 5, twin)
    assert (state.caches[0].length, twin.caches[0].length) == (1, 2)
    again = model.select(state, torch.tensor([0, 1, 2]))
    assert torch.equal(model.step(ids, again)[0], model.step(ids, state)[0])


@torch.no_grad()
def test_rows_know_their_place_among_those_of_their_sentence() -> None:
    model, batch = make_model(), make_batch()
    start = model.start(batch)
    assert (start.owners.tolist(), start.places.tolist(), start.width) == ([0, 1, 2], [0, 0, 0], 1)
    state = model.select(start, torch.tensor([1, 1, 0, 0, 1]))
    assert (state.owners.tolist(), state.places.tolist(), state.width) == ([1, 1, 0, 0, 1], [0, 1, 0, 1, 2], 3)


@torch.no_grad()
def test_sentences_without_rows_are_given_up() -> None:
    model, batch = make_model(), make_batch()
    state = model.select(model.start(batch), torch.tensor([2, 2]))
    logits, state, _ = model.step(torch.tensor([1, 2]), state)
    assert (state.sentences, state.owners.tolist()) == (1, [0, 0])
    close(logits[1], run_alone(model, batch, 2, [2]), atol=1e-5)


# The compiled step is the plain one.

needs_kernels = pytest.mark.skipif(kernels() is None, reason="there is no C compiler here")


@needs_kernels
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-halves", "learned"])
@torch.no_grad()
def test_a_taped_step_is_the_plain_one(positions: str, norm: str, activation: str) -> None:
    """Through reordered beams, with rows and sentences that come and go."""
    torch.manual_seed(2)
    model = make_model(positions=positions, norm=norm, activation=activation, output_bias=True)
    batch = make_batch()
    taped = model.start(batch)
    assert model.tapes.usable(model)
    with listen(model):
        plain = model.start(batch)
    for (keys, values), (plain_keys, plain_values) in zip(taped.memories, plain.memories, strict=True):
        close(keys, plain_keys, atol=1e-5)
        close(values, plain_values, atol=1e-5)
    for rows in ([0, 0, 0, 1, 1, 2], [2, 0, 0, 3, 5, 5], [1, 1, 2, 3, 4], [4, 4, 4], [1, 2, 0, 0]):
        ids = torch.randint(0, V, (taped.rows,))
        logits, taped, _ = model.step(ids, taped)
        with listen(model):
            expected, plain, _ = model.step(ids, plain)
        torch.testing.assert_close(logits, expected, rtol=0, atol=2e-5)
        taped, plain = (model.select(state, torch.tensor(rows)) for state in (taped, plain))
    with listen(model):  # in the midst of it
        expected, plain, _ = model.step(torch.tensor([1, 2, 3, 4]), plain)
        logits, taped, _ = model.step(torch.tensor([1, 2, 3, 4]), taped)
    torch.testing.assert_close(logits, expected, rtol=0, atol=2e-5)


@needs_kernels
@torch.no_grad()
def test_tapes_and_modules_may_take_turns_while_the_past_grows() -> None:
    """The modules may move the past to where there is more room."""
    model, batch = make_model(), make_batch()
    mixed, alone, stores = model.start(batch), model.start(batch), []
    for step in range(40):
        ids = torch.full((3,), step % V)
        stores += [cache.store for cache in mixed.caches]  # what was left behind is not reused
        with listen(model, lambda _, silent=not 10 <= step < 20: not silent):
            logits, mixed, _ = model.step(ids, mixed)
        with listen(model):
            expected, alone, _ = model.step(ids, alone)
        torch.testing.assert_close(logits, expected, rtol=0, atol=5e-5)


@needs_kernels
@torch.no_grad()
def test_a_taped_sentence_has_the_same_bits_alone_and_in_any_batch() -> None:
    model, batch = make_model(), make_batch((7, 5, 3, 7, 1))
    together, logits = model.start(batch), []
    for token in (1, 5, 3):
        step, together, _ = model.step(torch.full((5,), token), together)
        logits.append(step)
    for sentence, length in enumerate((7, 5, 3, 7, 1)):
        one = only(batch, [sentence])
        alone = model.start(Batch(one.source[:, :length], one.source_lengths, one.target_in))  # without padding
        alone = model.select(alone, torch.tensor([0, 0, 0]))  # and among hypotheses
        for token, expected in zip((1, 5, 3), logits, strict=True):
            step, alone, _ = model.step(torch.tensor([token, 7, 8]), alone)
            assert torch.equal(step[0], expected[sentence])


@needs_kernels
@torch.no_grad()
def test_tapes_notice_other_weights_and_belong_to_one_model() -> None:
    model, batch, ids = make_model(), make_batch(), torch.tensor([1, 2, 3])
    first = model.step(ids, model.start(batch))[0]
    twin = copy.deepcopy(model)
    with torch.no_grad():
        model.head.weight.mul_(2)
        model.decoder.final_norm.bias.add_(1)
    with listen(model):
        expected = model.step(ids, model.start(batch))[0]
    close(model.step(ids, model.start(batch))[0], expected, atol=2e-5)
    assert torch.equal(twin.step(ids, twin.start(batch))[0], first)
    read = pickle.loads(pickle.dumps(twin))
    assert torch.equal(read.step(ids, read.start(batch))[0], first)


@needs_kernels
@torch.no_grad()
def test_a_wide_taped_model_is_the_plain_one() -> None:
    model, batch, ids = make_model(d=134, h=2, d_ff=70), make_batch(), torch.tensor([1, 2, 3])
    with listen(model):
        expected = model.step(ids, model.start(batch))[0]
    torch.testing.assert_close(model.step(ids, model.start(batch))[0], expected, rtol=1e-4, atol=1e-3)


CHANGES: dict[str, Callable[[Transformer], object]] = {
    "assigned": lambda model: model.load_state_dict({k: 2 * v for k, v in model.state_dict().items()}, assign=True),
    "another head": lambda model: setattr(model.head, "weight", nn.Parameter(2 * model.head.weight)),
    "another layer": lambda model: setattr(model.decoder.blocks[0].feed_forward, "up", nn.Linear(15, 11)),
    "another bias": lambda model: setattr(
        model.encoder.blocks[0].self_attention.qkv, "bias", nn.Parameter(torch.ones(45))
    ),
    "there and back": lambda model: model.bfloat16().float(),
    "trained": lambda model: fused_step(model),
}


def fused_step(model: Transformer) -> None:
    """Changes weights without counting it."""
    model.train()
    for weight in model.parameters():
        weight.data.add_(0.1)
    model.eval()


@needs_kernels
@pytest.mark.parametrize("change", CHANGES)
@torch.no_grad()
def test_no_change_of_weights_escapes_the_tapes(change: str) -> None:
    model, batch, ids = make_model(), make_batch(), torch.tensor([1, 2, 3])
    model.step(ids, model.start(batch))
    CHANGES[change](model)
    with listen(model):
        expected = model.step(ids, model.start(batch))[0]
    torch.testing.assert_close(model.step(ids, model.start(batch))[0], expected, rtol=1e-5, atol=1e-4)


@needs_kernels
def test_tapes_are_not_for_gradients_training_or_other_precision() -> None:
    model, batch, ids = make_model(dropout=0.0), make_batch(), torch.tensor([1, 2, 3])
    assert model.step(ids, model.start(batch))[0].requires_grad
    with torch.no_grad():
        assert model.tapes.ready(model)
        model.train()
        assert not model.tapes.ready(model)
        model.eval()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not model.tapes.ready(model)
            state = model.start(batch)
            model.step(ids, state)
        with pytest.raises(RuntimeError, match="same dtype"):  # must go on as it began; not nonsense
            model.step(ids, state)
    with torch.inference_mode():
        made = make_model()
        assert not made.tapes.ready(made)  # its weights could change unseen


@needs_kernels
@torch.no_grad()
def test_ids_of_any_kind_and_only_as_many_as_rows() -> None:
    model, batch = make_model(), make_batch()
    expected = model.step(torch.tensor([1, 2, 3]), model.start(batch))[0]
    apart = torch.tensor([[1, 9], [2, 9], [3, 9]])[:, 0]
    assert torch.equal(model.step(apart, model.start(batch))[0], expected)
    assert torch.equal(model.step(apart.int(), model.start(batch))[0], expected)
    with pytest.raises(IndexError):
        model.step(torch.tensor([1, 2, V]), model.start(batch))
    for wrong in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="tokens for 3 hypotheses"):
            model.step(torch.tensor(wrong), model.start(batch))


@needs_kernels
@torch.no_grad()
def test_torchs_defaults_do_not_matter() -> None:
    model, batch, ids = make_model(), make_batch(), torch.tensor([1, 2, 3])
    expected = model.step(ids, model.start(batch))[0]
    model.tapes = Tapes()
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(model.step(ids, model.start(batch))[0], expected)
    finally:
        torch.set_default_dtype(torch.float32)


@needs_kernels
def test_threads_do_not_disturb_each_other() -> None:
    model, batches = make_model(), [make_batch((7, 5, 3)), make_batch((4,)), make_batch((2, 2)), make_batch((6, 1))]

    @torch.inference_mode()
    def run(batch: Batch) -> Tensor:
        state, found = model.start(batch), []
        for token in range(1, 9):
            logits, state, _ = model.step(torch.full((state.rows,), token), state)
            found.append(logits)
        return torch.stack(found)

    expected = [run(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for one, other in zip(pool.map(run, batches), expected, strict=True):
                assert torch.equal(one, other)


# What can be seen.


@pytest.mark.usefixtures("double")
@torch.no_grad()
def test_wanted_attention_is_the_pattern_at_the_taps() -> None:
    model, batch = make_model(N_decoder=11), make_batch()
    rows = torch.tensor([0, 0, 1, 1, 2, 2])
    seen, unseen = (model.select(model.start(batch), rows) for _ in range(2))
    ids = torch.tensor([1, 2, 3, 4, 5, 6])
    logits, _, attention = model.step(ids, seen, want_attention=True)
    with listen(model.decoder) as heard:
        plain, _, _ = model.step(ids, unseen)
    assert attention is not None
    assert attention.shape == (6, 11, 3, 7)
    close(logits, plain)
    close(attention.sum(-1), torch.ones(6, 11, 3))
    assert not attention[4:, :, :, 3:].any(), "the padding of the third sentence is not looked at"
    for block in range(11):
        pattern = heard[f"blocks.{block}.cross_attention.core.pattern"][0]  # (3, H, 2, S)
        for row in range(6):
            close(attention[row, block], pattern[row // 2, :, row % 2])
    assert not any(tap.heard for tap in model.modules() if isinstance(tap, Tap))


def test_wanted_attention_of_many_blocks_is_in_their_order() -> None:
    """Blocks 0, 1, 2, ... 11: not the order of their names as texts."""
    model, batch = make_model(N=1, N_decoder=12), make_batch()
    with torch.no_grad(), listen(model.decoder, lambda name: name.endswith("cross_attention.core.pattern")) as heard:
        _, _, attention = model.step(torch.tensor([1, 2, 3]), model.start(batch), want_attention=True)
    assert attention is not None
    for number in range(12):
        pattern = heard[f"blocks.{number}.cross_attention.core.pattern"][0]  # (B, H, 1, S)
        assert torch.equal(attention[:, number], pattern[:, :, 0])


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_listening_everywhere_changes_neither_logits_nor_gradients(positions: str, norm: str) -> None:
    model, batch = make_model(positions=positions, norm=norm), make_batch()
    results = []
    for listening in (False, True):
        model.zero_grad()
        with listen(model, lambda _, on=listening: on):
            logits = model(batch)
        logits.square().mean().backward()
        results.append((logits, [parameter.grad.clone() for parameter in model.parameters()]))
    close(results[0][0], results[1][0])
    for one, other in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_nothing_is_written_into_a_value_that_passed_a_tap(norm: str, training: bool) -> None:
    model, batch = make_model(norm=norm).train(training), make_batch()
    pairs: list[tuple[str, Tensor, Tensor]] = []
    for name, tap in model.named_modules():
        if isinstance(tap, Tap):
            tap.register_forward_hook(lambda _, __, v, name=name: pairs.append((name, v.detach(), v.detach().clone())))
    model(batch).square().mean().backward()
    state = model.start(batch)
    with torch.no_grad():
        for token in (1, 2, 3):
            _, state, _ = model.step(torch.full((3,), token), state)
    assert len({name for name, _, _ in pairs}) == sum(isinstance(m, Tap) for m in model.modules())
    for name, value, at_the_time in pairs:
        assert torch.equal(value, at_the_time), name


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_residual_stream_can_be_followed_from_tap_to_tap(norm: str) -> None:
    model, batch = make_model(norm=norm), make_batch()
    with listen(model) as heard:
        logits = model(batch)
    for side, parts in (
        ("encoder", ["self_attention", "feed_forward"]),
        ("decoder", ["self_attention", "cross_attention", "feed_forward"]),
    ):
        stream = heard[f"{side}.inputs.sum"][0]
        for block in range(2):
            for part in parts:
                at = f"{side}.blocks.{block}.{part}_residual"
                assert torch.equal(heard[f"{at}.before"][0], stream)
                total = stream + heard[f"{at}.added"][0]
                layer = model.get_submodule(f"{at}.norm")
                stream = heard[f"{at}.after"][0]
                close(stream, total if norm == "pre" else layer(total))
    last = model.decoder.final_norm(stream)
    close(last @ model.head.weight.T, logits)
    assert torch.equal(heard["logits"][0], logits)
    close(heard["encoder.inputs.token"][0] + heard["encoder.inputs.position"][0], heard["encoder.inputs.sum"][0])


def test_the_embedding_of_the_inputs_is_scaled_by_root_d() -> None:
    model, batch = make_model(), make_batch()
    with listen(model, lambda name: name == "encoder.inputs.token") as heard:
        model(batch)
    torch.testing.assert_close(heard["encoder.inputs.token"][0], model.head.weight[batch.source] * 15**0.5)


# Dropout, learning, copies.


def test_dropout_works_in_training_only() -> None:
    model, batch = make_model(dropout=0.5), make_batch()
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


def test_every_parameter_gets_a_gradient() -> None:
    for tied in ("all", "output", "none"):
        for norm in ("pre", "post"):
            model = make_model(tied=tied, norm=norm, positions="learned", output_bias=True)
            model(make_batch()).log_softmax(-1)[..., 3].sum().backward()
            silent = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
            assert not silent


def test_a_copy_keeps_its_ties() -> None:
    twin = copy.deepcopy(make_model())
    assert twin.head.weight is twin.decoder.inputs.embedding.weight is twin.encoder.inputs.embedding.weight


@pytest.mark.parametrize(("tied", "matrices"), [("all", 1), ("output", 2), ("none", 3)])
def test_tied_says_how_many_matrices_there_are(tied: str, matrices: int) -> None:
    model = make_model(tied=tied)
    weights = [model.encoder.inputs.embedding.weight, model.decoder.inputs.embedding.weight, model.head.weight]
    assert len({id(weight) for weight in weights}) == matrices


def test_one_matrix_needs_one_vocabulary() -> None:
    with pytest.raises(ValueError, match=r"one vocabulary, got 11 and 13"):
        Transformer(TransformerConfig(size="nano"), source_vocabulary=11, target_vocabulary=13)


def test_two_vocabularies_give_logits_of_the_target() -> None:
    config = TransformerConfig(N=1, d=6, h=2, d_ff=5, dropout=0, tied="output")
    model = Transformer(config, source_vocabulary=V + 2, target_vocabulary=V)
    assert model(make_batch()).shape == (3, 5, V)


def test_a_sentence_past_the_learned_positions_is_an_error_for_people() -> None:
    model = make_model(positions="learned", max_length=5)
    with pytest.raises(ModelError, match="7 tokens"):
        model(make_batch())


def test_bfloat16_runs_in_training_and_decoding() -> None:
    for positions in POSITIONS:
        model, batch = make_model(positions=positions).to(torch.bfloat16), make_batch()
        logits = model(batch)
        assert logits.dtype == torch.bfloat16
        with torch.no_grad():
            step, _, _ = model.step(batch.target_in[:, 0], model.start(batch))
        torch.testing.assert_close(step, logits[:, 0].detach(), rtol=0.1, atol=0.2)


@pytest.mark.parametrize("positions", POSITIONS)
def test_mixed_precision_is_near_full_precision_in_training_decoding_and_listening(positions: str) -> None:
    model, batch = make_model(positions=positions), make_batch()
    expected = model(batch).detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(batch)
        with listen(model):
            heard = model(batch)
        with torch.no_grad():
            state = model.start(batch)
            step, state, _ = model.step(batch.target_in[:, 0], state)
    logits.float().square().mean().backward()
    for got, full in ((logits, expected), (heard, expected), (step, expected[:, 0])):
        torch.testing.assert_close(got.detach().float(), full, rtol=0, atol=0.05)
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


def test_the_same_seed_makes_the_same_model() -> None:
    config = TransformerConfig(size="nano")
    models = []
    for _ in range(2):
        torch.manual_seed(3)
        models.append(Transformer(config, source_vocabulary=V, target_vocabulary=V))
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_state_says_what_it_holds() -> None:
    model, batch = make_model(N_decoder=3), make_batch()
    state = model.start(batch)
    assert isinstance(state, DecodingState)
    assert state.rows == 3
    assert [tuple(k.shape) for k, _ in state.memories] == [(3, 3, 7, 5)] * 3
    assert all(isinstance(cache, KVCache) and cache.length == 0 for cache in state.caches)


# Sizes.


def count(size: str, vocabulary: int) -> int:
    with torch.device("meta"):
        model = Transformer(
            TransformerConfig(size=size, norm="post"), source_vocabulary=vocabulary, target_vocabulary=vocabulary
        )
    return sum(parameter.numel() for parameter in model.parameters())


def test_base_and_big_are_the_papers() -> None:
    assert SIZES["base"] == {"N": 6, "d": 512, "h": 8, "d_ff": 2048, "dropout": 0.1}
    assert SIZES["big"] == {"N": 6, "d": 1024, "h": 16, "d_ff": 4096, "dropout": 0.3}


def test_base_and_big_have_about_65_and_213_million_parameters() -> None:
    assert count("base", 37000) == pytest.approx(65e6, rel=0.04)
    assert count("big", 37000) == pytest.approx(213e6, rel=0.04)


def test_the_parameters_of_a_model_can_be_counted_on_paper() -> None:
    d, inner, blocks, vocabulary = 64, 128, 2, 101
    attention, feed_forward, norm = 4 * (d * d + d), 2 * d * inner + inner + d, 2 * d
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    assert count("nano", vocabulary) == vocabulary * d + blocks * (encoder + decoder)


@pytest.mark.parametrize("size", list(SIZES))
def test_a_size_fills_in_what_is_not_given(size: str) -> None:
    config = TransformerConfig(size=size)
    assert {name: getattr(config, name) for name in SIZES[size]} == SIZES[size]
    assert TransformerConfig(size=size, d_ff=7).d_ff == 7
    assert TransformerConfig() == TransformerConfig(size="tiny")


class Recipe(Settings):
    model: TransformerConfig = TransformerConfig()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"size": "huge"}, "settings: model.size: input should be 'nano', 'tiny', 'small', 'base' or 'big' "),
        ({"size": ["base"]}, "settings: model.size: input should be "),
        ("base", "settings: model: expected a section with settings"),
        ({"d": 10, "h": 3}, "settings: model: d = 10 is not a multiple of h = 3"),
        ({"d": 0}, "settings: model.d: "),
        ({"dropout": 1.0}, "settings: model.dropout: "),
        ({"heads": 3}, "settings: unknown setting model.heads."),
    ],
)  # fmt: skip
def test_a_wrong_model_section_is_one_clear_error(model: object, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        validate(Recipe, {"model": model})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
