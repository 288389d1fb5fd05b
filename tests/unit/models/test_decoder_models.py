"""The promises of decoders that stand alone: caches, prompts of different lengths, the protocol, windows, sizes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.config import validate
from glassformer.decode import Best, Sample, Search, search
from glassformer.decode.rules import NoRepeatNgram
from glassformer.errors import ModelError, SettingsError
from glassformer.models import gpt, llama
from glassformer.models.decoding import state as decoding_state
from glassformer.models.decoding.decoder_only import DecoderOnly
from glassformer.models.registry import build, values_of
from glassformer.nn.taps import Tap, listen

V, EOS = 23, 1


@dataclass(frozen=True)
class Texts:
    ids: Tensor
    lengths: Tensor


def padded(rows: list[list[int]]) -> Texts:
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return Texts(ids, torch.tensor([len(row) for row in rows]))


def make_gpt(**changed: Any) -> DecoderOnly:
    given = {"vocabulary": V, "N": 2, "d": 15, "h": 3, "d_ff": 11, "max_length": 61} | changed
    return spread(gpt.Gpt(gpt.GptConfig(**given)))


def make_llama(**changed: Any) -> DecoderOnly:
    given = {"vocabulary": V, "N": 2, "d": 14, "h": 6, "kv_heads": 3, "head_width": 4, "d_ff": 11} | changed
    return spread(llama.Llama(llama.LlamaConfig(**given)))


def spread(model: DecoderOnly) -> DecoderOnly:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.eval()


MAKERS: dict[str, Callable[[], DecoderOnly]] = {
    "gpt": make_gpt,
    "gpt, untied": lambda: make_gpt(tied=False, d=16, h=1),
    "llama": make_llama,
    "llama, one key head": lambda: make_llama(kv_heads=1, tied=True),
    "llama, a window": lambda: make_llama(window=5),
    "llama, stretched": lambda: make_llama(rope_scaling={"kind": "llama3", "factor": 8.0, "length": 16}),
    "llama, experts": lambda: make_llama(experts=5),
}
everyone = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def random_rows(*lengths: int) -> list[list[int]]:
    return [torch.randint(2, V, (length,)).tolist() for length in lengths]


def step_by_step(model: DecoderOnly, prompts: list[list[int]], then: list[list[int]]) -> Tensor:
    """Logits (steps, rows, V) after the prompts and after each token that is said then."""
    state, found = model.start(padded(prompts)), []
    for ids in [[row[-1] for row in prompts], *zip(*then, strict=True)]:
        logits, state, _ = model.step(torch.tensor(ids), state)
        found.append(logits)
    return torch.stack(found)


def all_at_once(model: DecoderOnly, prompt: list[int], then: list[int]) -> Tensor:
    return model(padded([prompt + then]))[0, len(prompt) - 1 :]


@pytest.mark.usefixtures("double")
@everyone
@torch.no_grad()
def test_step_by_step_equals_all_at_once(make: Callable[[], DecoderOnly]) -> None:
    model, prompts, then = make(), random_rows(7, 1, 4), random_rows(19, 19, 19)
    found = step_by_step(model, prompts, then)
    for row, (prompt, said) in enumerate(zip(prompts, then, strict=True)):
        torch.testing.assert_close(found[:, row], all_at_once(model, prompt, said), rtol=0, atol=1e-10)


@everyone
@torch.no_grad()
def test_a_prompt_continues_alone_as_it_does_among_others(make: Callable[[], DecoderOnly]) -> None:
    model, prompts, then = make(), random_rows(7, 1, 4), random_rows(9, 9, 9)
    together = step_by_step(model, prompts, then)
    for row, (prompt, said) in enumerate(zip(prompts, then, strict=True)):
        torch.testing.assert_close(together[:, [row]], step_by_step(model, [prompt], [said]), rtol=0, atol=1e-5)


@pytest.mark.usefixtures("double")
@everyone
@torch.no_grad()
def test_hypotheses_can_be_reordered_dropped_and_repeated(
    make: Callable[[], DecoderOnly], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding_state, "COMPACT_ABOVE", 8)  # slots are given up on the way
    model, prompts = make(), random_rows(5, 1, 3)
    state, said = model.start(padded(prompts)), [prompts[0], prompts[1], prompts[2]]
    owners = np.array([0, 1, 2])
    for rows in ([0, 0, 1, 2], [1, 0, 2, 3], [0, 0, 1, 3], [2, 1], [0, 1, 1], [0, 2]):
        logits, state, _ = model.step(torch.tensor([row[-1] for row in said]), state)
        for row, text in zip(logits, said, strict=True):
            torch.testing.assert_close(row, model(padded([text]))[0, -1], rtol=0, atol=1e-10)
        order = np.array(sorted(rows, key=lambda i: (owners[i], rows.index(i))))
        owners, said = owners[order], [[*said[i], int(torch.randint(2, V, ()))] for i in order]
        state = model.select(state, torch.from_numpy(order))


def task(model: DecoderOnly, prompts: list[list[int]], chooser: Any, **more: Any) -> Search:
    last = np.array([row[-1] for row in prompts])
    limits = np.full(len(prompts), 13)
    cpu = torch.device("cpu")
    return Search(model, padded(prompts), limits, bos=last, eos=EOS, device=cpu, chooser=chooser, **more)


@everyone
def test_search_gives_each_prompt_what_it_gets_alone(make: Callable[[], DecoderOnly]) -> None:
    model, prompts = make(), random_rows(7, 1, 4, 2)
    for beam in (1, 3):
        together = search(task(model, prompts, Best(beam), n_best=beam, rules=[NoRepeatNgram(2)]))
        for prompt, found in zip(prompts, together, strict=True):
            alone = search(task(model, [prompt], Best(beam), n_best=beam, rules=[NoRepeatNgram(2)]))[0]
            assert [one.ids for one in found] == [one.ids for one in alone]
            np.testing.assert_allclose([h.score for h in found], [h.score for h in alone], atol=1e-5)


def test_samples_of_a_prompt_do_not_depend_on_its_neighbours() -> None:
    model, prompts = make_llama(), random_rows(7, 1, 4)
    together = search(task(model, prompts, Sample(3, [0, 1, 2], seed=5), n_best=3))
    alone = search(task(model, prompts[2:], Sample(3, [2], seed=5), n_best=3))
    assert [one.ids for one in together[2]] == [one.ids for one in alone[0]]
    assert len({one.ids for one in alone[0]}) > 1


@everyone
def test_nothing_is_said_where_nothing_may_be(make: Callable[[], DecoderOnly]) -> None:
    prompts = random_rows(3, 1)
    asked = task(make(), prompts, Best(1))
    none = search(Search(**{**vars(asked), "limits": np.array([0, 2])}))
    assert none[0][0].ids == ()
    assert len(none[1][0].log_probs) in (1, 2)


@everyone
def test_copies_and_other_precisions_keep_working(make: Callable[[], DecoderOnly]) -> None:
    model, prompts = make(), random_rows(5, 3)
    expected = search(task(model, prompts, Best(1)))
    assert [h[0].ids for h in search(task(copy.deepcopy(model), prompts, Best(1)))] == [h[0].ids for h in expected]
    rough = search(task(copy.deepcopy(model).bfloat16(), prompts, Best(2)))
    assert all(len(found) == 1 for found in rough)


@everyone
@torch.no_grad()
def test_taps_are_heard_while_decoding(make: Callable[[], DecoderOnly]) -> None:
    model, prompts = make(), random_rows(4, 2)
    silent = step_by_step(model, prompts, [[2], [3]])
    with listen(model) as heard:
        loud = step_by_step(model, prompts, [[2], [3]])
    torch.testing.assert_close(loud, silent, rtol=0, atol=1e-5)
    assert len(heard["blocks.1.attention.core.pattern"]) == 3  # the prompts, then two tokens
    every = {name for name, module in model.named_modules() if isinstance(module, Tap)}
    with listen(model) as heard:
        model(padded(random_rows(40, 40)))
    assert every - heard.keys() == set()


def test_a_wrong_number_of_tokens_is_an_error() -> None:
    model = make_gpt()
    with pytest.raises(ValueError, match="got 3 tokens for 2 hypotheses"):
        model.step(torch.tensor([1, 2, 3]), model.start(padded(random_rows(2, 2))))


def test_learned_positions_have_an_end() -> None:
    model = make_gpt(max_length=5)
    state = model.start(padded(random_rows(5, 2)))
    _, state, _ = model.step(torch.tensor([1, 2]), state)
    with pytest.raises(ModelError, match="has 6 tokens; this model learned 5 positions"):
        model.step(torch.tensor([1, 2]), state)


@torch.no_grad()
def test_a_window_hides_what_is_further_back() -> None:
    rows = random_rows(12)
    other = [[2 if token != 2 else 3 for token in rows[0][:3]] + rows[0][3:]]
    near, far = make_llama(window=2, N=1), make_llama(N=1)
    assert torch.equal(near(padded(rows))[0, 5:], near(padded(other))[0, 5:])
    assert not torch.allclose(far(padded(rows))[0, 5:], far(padded(other))[0, 5:])


# Sizes


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("size", "millions"), [("small", 124.44), ("medium", 354.82), ("large", 774.03), ("xl", 1557.61)]
)
def test_gpt2s_sizes_have_as_many_parameters_as_published(size: str, millions: float) -> None:
    with torch.device("meta"):
        model = gpt.Gpt(gpt.GptConfig(size=size, vocabulary=50257))
    assert round(count(model) / 1e6, 2) == millions


@pytest.mark.parametrize(
    ("size", "vocabulary", "billions"),
    [("1.1B", 32000, 1.10), ("7B", 32000, 6.74), ("13B", 32000, 13.02), ("70B", 32000, 68.98), ("3-8B", 128256, 8.03),
     ("mistral-7B", 32000, 7.24), ("mixtral-8x7B", 32000, 46.70)],
)  # fmt: skip
def test_llamas_sizes_have_as_many_parameters_as_published(size: str, vocabulary: int, billions: float) -> None:
    with torch.device("meta"):
        model = llama.Llama(llama.LlamaConfig(size=size, vocabulary=vocabulary))
    assert round(count(model) / 1e9, 2) == billions


@pytest.mark.parametrize(
    ("config", "values", "message"),
    [
        (gpt.GptConfig, {"d": 10, "h": 3}, "d = 10 is not a multiple of h = 3"),
        (gpt.GptConfig, {"size": "huge"}, "size"),
        (llama.LlamaConfig, {"d": 10, "h": 3, "kv_heads": 3}, "d = 10 is not a multiple of h = 3: give head_width"),
        (llama.LlamaConfig, {"h": 4, "kv_heads": 3}, "h = 4 is not a multiple of kv_heads = 3"),
        (llama.LlamaConfig, {"experts": 1, "experts_per_token": 2}, "experts_per_token = 2 is more than experts = 1"),
        (llama.LlamaConfig, {"experts": 4, "feed_forward_bias": True}, "experts have no biases"),
        (llama.LlamaConfig, {"rope_scaling": {"kind": "yarn", "factor": 2}}, "rope_scaling"),
        (llama.LlamaConfig, {"rope_scaling": {"kind": "llama3", "factor": 2, "slow": 5.0}}, "slow = 5 must be less"),
    ],
)
def test_shapes_that_cannot_be_are_refused(config: Any, values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        validate(config, {"vocabulary": V, **values})


def test_every_named_size_can_be_asked_for() -> None:
    for module, kind in ((gpt, gpt.GptConfig), (llama, llama.LlamaConfig)):
        sizes = kind.model_fields["size"].annotation.__args__
        assert set(sizes) == set(module.SIZES)
        assert all(kind(size=size, vocabulary=V).model_fields_set == {"size", "vocabulary"} for size in sizes)


def test_a_config_that_was_written_is_read_as_it_was() -> None:
    for given in ({"h": 4, "kv_heads": None}, {"rope_scaling": {"kind": "linear", "factor": 2.0}}, {"window": 3}):
        model = llama.Llama(llama.LlamaConfig(vocabulary=V, d=16, **given))
        again = build("llama", values_of(model)).config
        assert again == model.config
        assert model.blocks[0].attention.kv_heads == again.kv_heads


# First weights


@torch.no_grad()
def test_first_weights_are_small_and_what_is_added_to_the_stream_smaller() -> None:
    model = gpt.Gpt(gpt.GptConfig(vocabulary=97, N=8, d=64, h=4, d_ff=256, max_length=31))
    assert float(model.head.weight.std()) == pytest.approx(0.02, rel=0.1)
    assert float(model.blocks[3].feed_forward.up.weight.std()) == pytest.approx(0.02, rel=0.1)
    assert float(model.blocks[3].feed_forward.down.weight.std()) == pytest.approx(0.02 / 4, rel=0.1)
    assert float(model.blocks[3].attention.out.linear.weight.std()) == pytest.approx(0.02 / 4, rel=0.1)
    assert not model.blocks[3].attention.qkv.bias.any()
    assert (model.final_norm.gain == 1).all()


def test_a_text_that_has_ended_needs_no_more_positions() -> None:
    """One of many: its rows are gone, but it leaves only with others."""
    model, rows = make_gpt().double(), random_rows(60, *[2] * 15)
    limits = np.array([2] + 15 * [20])
    firsts = np.array([row[-1] for row in rows])
    found = search(Search(model, padded(rows), limits, firsts, -1, torch.device("cpu"), Best(1)))
    assert [len(options[0].ids) for options in found] == limits.tolist()
