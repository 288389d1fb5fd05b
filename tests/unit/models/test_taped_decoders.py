"""The compiled step of decoders that stand alone: the same numbers as the modules, for every wiring."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from glassformer.models.decoding.decoder_only import DecoderOnly
from glassformer.models.decoding.state import DecodingState
from glassformer.models.gpt import Gpt, GptConfig
from glassformer.models.llama import Llama, LlamaConfig
from glassformer.nn.native import compiler
from glassformer.nn.taps import listen

pytestmark = pytest.mark.skipif(compiler.kernels() is None, reason="there is no C compiler here")

SHAPE = {"vocabulary": 41, "N": 2, "d": 24, "d_ff": 37}
MODELS = {
    "gpt": lambda: Gpt(GptConfig(**SHAPE, h=3, max_length=64)),
    "gpt, untied, relu": lambda: Gpt(GptConfig(**SHAPE, h=4, max_length=64, tied=False, activation="relu")),
    "llama": lambda: Llama(LlamaConfig(**SHAPE, h=4, max_length=64)),
    "llama, grouped": lambda: Llama(LlamaConfig(**SHAPE, h=6, kv_heads=2, head_width=10, max_length=64)),
    "llama, one key head, biases": lambda: Llama(
        LlamaConfig(**SHAPE, h=3, kv_heads=1, biases="qkv", feed_forward_bias=True, tied=True)
    ),
    "llama, window": lambda: Llama(LlamaConfig(**SHAPE, h=4, window=4)),
}


@dataclass
class Texts:
    ids: Tensor
    lengths: Tensor


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> DecoderOnly:
    torch.manual_seed(7)
    made = MODELS[request.param]()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made.eval()


def texts(*lengths: int) -> Texts:
    return Texts(torch.randint(41, (len(lengths), max(lengths))), torch.tensor(lengths))


def walk(model: DecoderOnly, batch: Texts, *, taped: bool) -> list[Tensor]:
    """Some steps in which rows are repeated, reordered, dropped, and a text ends."""
    found = []
    with torch.inference_mode(), listen(model, lambda _: not taped):  # whoever listens hears the modules
        state = model.start(batch)
        assert model.taped(state) is taped
        chosen = [None, [0, 0, 1, 1, 1, 2], [5, 4, 0, 1], None, [3, 3, 0], [0], None, None]
        for step, rows in enumerate(chosen):
            if rows is not None:
                state = model.select(state, torch.tensor(rows))
            generator = torch.Generator().manual_seed(step)
            logits, state, _ = model.step(torch.randint(41, (state.rows,), generator=generator), state)
            found.append(logits)
    return found


def test_the_tape_says_what_the_modules_say(model: DecoderOnly) -> None:
    batch = texts(3, 7, 5)
    for one, other in zip(walk(model, batch, taped=True), walk(model, batch, taped=False), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


def test_only_the_best_are_the_best_of_all(model: DecoderOnly) -> None:
    batch = texts(1, 4)
    with torch.inference_mode():
        one, other = model.start(batch), model.start(batch)
        for step in range(3):
            ids = torch.tensor([step, 7])
            log_probs = model.step(ids, one)[0].log_softmax(dim=-1)
            found = model.step_to_best(ids, other, 5)
            assert found is not None
            expected = log_probs.topk(5)
            torch.testing.assert_close(torch.from_numpy(found[0][0]), expected.values, rtol=1e-5, atol=1e-5)
            assert found[0][1].tolist() == expected.indices.tolist()


def test_a_text_has_the_same_numbers_in_any_company(model: DecoderOnly) -> None:
    batch = texts(2, 6, 6)
    alone = Texts(batch.ids[:1, :2], batch.lengths[:1])
    with torch.inference_mode():
        one, other = model.start(batch), model.start(alone)
        for step in range(4):
            together = model.step(torch.tensor([step, 7, 9]), one)[0]
            torch.testing.assert_close(together[:1], model.step(torch.tensor([step]), other)[0], rtol=1e-4, atol=1e-5)


def test_two_states_can_take_turns(model: DecoderOnly) -> None:
    with torch.inference_mode():
        first, second = texts(3), texts(3)
        ids = [torch.tensor([i]) for i in range(5)]
        expected = [walk_alone(model, batch, ids) for batch in (first, second)]
        one, other = model.start(first), model.start(second)
        for i, token in enumerate(ids):
            torch.testing.assert_close(model.step(token, one)[0], expected[0][i])
            torch.testing.assert_close(model.step(token, other)[0], expected[1][i])


def walk_alone(model: DecoderOnly, batch: Texts, ids: list[Tensor]) -> list[Tensor]:
    state = model.start(batch)
    return [model.step(token, state)[0] for token in ids]


def test_experts_are_left_to_the_modules() -> None:
    model = Llama(LlamaConfig(**SHAPE, h=4, experts=3)).eval()
    with torch.inference_mode():
        state = model.start(texts(3))
        assert not model.taped(state)
        assert model.step_to_best(torch.tensor([1]), state, 2) is None
        assert state.length == 0


def test_tapes_and_modules_may_take_turns_while_the_past_grows(model: DecoderOnly) -> None:
    """The modules may move the past to where there is more room."""
    batch, stores = texts(2, 2), []
    with torch.inference_mode():
        mixed, alone = model.start(batch), model.start(batch)
        for step in range(40):
            ids = torch.tensor([step, 7])
            stores += [cache.store for cache in mixed.caches]  # what was left behind is not reused
            with listen(model, lambda _, silent=not 10 <= step < 30: not silent):
                logits, mixed, _ = model.step(ids, mixed)
            with listen(model):
                expected, alone, _ = model.step(ids, alone)
            torch.testing.assert_close(logits, expected, rtol=1e-4, atol=5e-5)


def test_a_thread_that_continues_for_another_has_the_same_weights(model: DecoderOnly) -> None:
    batch, ids = texts(3, 2), torch.tensor([1, 2])

    def step(state: DecodingState | None = None) -> Tensor:
        with torch.inference_mode():
            return model.step(ids, model.start(batch) if state is None else state)[0]

    with ThreadPoolExecutor(1) as other:
        before = other.submit(step).result()
        model.load_state_dict({name: 2 * weight for name, weight in model.state_dict().items()})
        with torch.inference_mode():
            state = model.start(batch)
        after = other.submit(step, state).result()
    assert torch.equal(after, step())
    assert not torch.equal(after, before)


def test_a_block_more_is_noticed(model: DecoderOnly) -> None:
    batch, ids = texts(3, 2), torch.tensor([1, 2])
    with torch.inference_mode():
        model.step(ids, model.start(batch))
        model.blocks.append(copy.deepcopy(model.blocks[0]))
        found = model.step(ids, model.start(batch))[0]
        with listen(model):
            expected = model.step(ids, model.start(batch))[0]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=5e-5)
