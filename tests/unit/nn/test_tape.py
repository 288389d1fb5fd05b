"""Operations on a tape: the same numbers as torch's, and the same bits in any company."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn.attention import attend
from glassformer.nn.feed_forward import ACTIVATIONS
from glassformer.nn.native import compiler
from glassformer.nn.native.tape import Panels, Tape, ThreadTimings, best_of
from glassformer.nn.norms import LayerNorm

needs_kernels = pytest.mark.skipif(compiler.kernels() is None, reason="there is no C compiler here")


def product(layer: nn.Linear, x: Tensor, *, panels: Panels | None = None, **options: object) -> Tensor:
    tape = Tape(max(1, len(x)), capacity=1, panels=panels)
    to = tape.buffer(layer.out_features)
    tape.product(layer, x, to=to, **options)  # type: ignore[arg-type]
    tape.run(len(x))
    return to[: len(x)]


@needs_kernels
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("out", "into"), [(16, 8), (37, 11), (1, 1), (300, 5), (7, 257)])
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 6, 7, 13, 251])
def test_a_product(rows: int, out: int, into: int, bias: bool) -> None:
    layer, x = nn.Linear(into, out, bias=bias), torch.randn(rows, into)
    torch.testing.assert_close(product(layer, x), F.linear(x, layer.weight, layer.bias), rtol=1e-5, atol=1e-5)


@needs_kernels
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_before_what_is_added(name: str) -> None:
    layer = nn.Linear(1, 33)
    x = torch.linspace(-120, 120, 331)[:, None]
    plus = torch.randn(331, 33)
    expected = ACTIVATIONS[name](F.linear(x, layer.weight, layer.bias)) + plus
    found = product(layer, x, activation=ACTIVATIONS[name], plus=plus)
    torch.testing.assert_close(found, expected, rtol=2e-6, atol=2e-6)


@needs_kernels
def test_a_row_has_the_same_bits_in_any_company() -> None:
    layer, x = nn.Linear(67, 91), torch.randn(100, 67)
    together = product(layer, x)
    for row in range(100):
        assert torch.equal(product(layer, x[row : row + 1]), together[row : row + 1])
    assert torch.equal(product(layer, x[40:53]), together[40:53])


@needs_kernels
def test_a_tape_holds_what_it_reads_and_writes() -> None:
    tape, layer = Tape(2, capacity=1), nn.Linear(3, 5)
    given = [torch.zeros(2, 3), torch.zeros(2, 5), torch.zeros(2, 5), torch.zeros(2, 5)]
    tape.product(layer, given[0], to=given[1], times=given[2], plus=given[3])
    assert {one.data_ptr() for one in given} <= {one.data_ptr() for one in tape.held}


@needs_kernels
def test_changed_weights_are_noticed() -> None:
    layer, x, panels = nn.Linear(4, 30), torch.randn(2, 4), Panels()
    product(layer, x, panels=panels)
    with torch.no_grad():
        layer.bias.mul_(2)
    torch.testing.assert_close(product(layer, x, panels=panels), layer(x))
    assert set(layer.state_dict()) == {"weight", "bias"}


@needs_kernels
def test_panels_are_made_once_and_given_up_together() -> None:
    one, other, panels = nn.Linear(5, 7), nn.Linear(3, 40), Panels()
    kept = panels.of(one)
    again = panels.of(other)
    assert panels.of(one)[0] is kept[0]
    with torch.no_grad():
        one.weight.zero_()
    assert not panels.of(one)[0].any()
    assert panels.of(other)[0] is not again[0]
    torch.testing.assert_close(panels.of(other)[0], again[0])  # what was given out stays as it was
    assert kept[0].any()


@needs_kernels
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("width", [13, 67, 131])
def test_a_norm_also_in_its_own_place(width: int, bias: bool) -> None:
    norm, x = LayerNorm(width, bias=bias), 3 * torch.randn(9, width) + 50
    with torch.no_grad():
        norm.gain.normal_()
    expected = norm(x)
    tape = Tape(9, capacity=1)
    tape.norm(norm, x, to=x)
    tape.run(9)
    torch.testing.assert_close(x, expected, rtol=1e-5, atol=1e-5)


@needs_kernels
def test_embeddings_have_the_positions_of_their_sentence() -> None:
    table, positions, ids = torch.randn(20, 6), torch.randn(3, 6), torch.tensor([[1, 2, 3], [19, 0, 1]])
    tape = Tape(6, capacity=1)
    to = tape.buffer(6)
    op = tape.embed(table, to=to, scale=2.5)
    op.set_ids(ids, positions, together=3)
    tape.run(6)
    torch.testing.assert_close(to.view(2, 3, 6), 2.5 * table[ids] + positions)
    op.set_ids(ids, None, together=3)
    tape.run(6)
    torch.testing.assert_close(to.view(2, 3, 6), 2.5 * table[ids])


@needs_kernels
@pytest.mark.parametrize("heads", [2, 6])  # of queries; keys and values have 2
@pytest.mark.parametrize(("slots", "head_width"), [(1, 3), (8, 8), (21, 19), (5, 37), (40, 131)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(heads: int, slots: int, head_width: int, masked: bool) -> None:
    sentences, together = 3, 4
    q = torch.randn(sentences * together, heads * head_width)
    keys, values = torch.randn(2, sentences, 2, slots + 5, head_width) * 3  # with room for more
    mask = torch.zeros(sentences, together, slots)
    if masked:
        mask = torch.where(torch.rand(mask.shape) < 0.5, float("-inf"), torch.randn(mask.shape))
        mask[:, :, -1] = 0
    tape = Tape(sentences * together, capacity=1)
    to = tape.buffer(heads * head_width)
    op = tape.attend(q, to=to, groups=2, head_width=head_width, scale=None)
    owners = np.repeat(np.arange(sentences), together)
    op.set_keys_values(
        keys, values, slots=slots, owners=owners.ctypes.data, row_mask=mask.flatten(0, 1) if masked else None
    )
    tape.run(sentences * together)
    many = [x[:, :, :slots].repeat_interleave(heads // 2, dim=1).double() for x in (keys, values)]
    in_heads = q.view(sentences, together, heads, head_width).transpose(1, 2).double()
    expected, _ = attend(in_heads, *many, mask=mask[:, None].double())
    torch.testing.assert_close(to.double(), expected.transpose(1, 2).reshape(to.shape), rtol=2e-5, atol=2e-5)


@needs_kernels
def test_a_mask_may_be_each_sentences() -> None:
    q, keys, values = torch.randn(3, 4), torch.randn(2, 1, 5, 4), torch.randn(2, 1, 5, 4)
    mask, owners = torch.tensor([[0, 0, 0, float("-inf"), 0], [0, float("-inf"), -1, 0, 0]]), np.array([0, 1, 1])
    tape = Tape(3, capacity=1)
    to = tape.buffer(4)
    op = tape.attend(q, to=to, groups=1, head_width=4, scale=0.7)
    op.set_keys_values(keys, values, slots=5, owners=owners.ctypes.data, mask=mask)
    tape.run(3)
    for row, owner in enumerate(owners):
        pattern = (0.7 * keys[owner, 0] @ q[row] + mask[owner]).softmax(dim=0)
        torch.testing.assert_close(to[row], pattern @ values[owner, 0], rtol=1e-5, atol=1e-5)


@needs_kernels
def test_new_keys_and_values_go_to_their_slots() -> None:
    given = torch.randn(6, 2 * 2 * 5)  # 2 sentences, 3 hypotheses of each; 2 heads of width 5
    keys, values = torch.zeros(2, 2, 2, 9, 5)
    tape = Tape(6, capacity=1)
    owners, places = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    op = tape.append(given, groups=2, head_width=5)
    op.set_cache(keys, values, first_slot=4, owners=owners.ctypes.data, places=places.ctypes.data)
    tape.run(6)
    new_keys, new_values = given.view(2, 3, 2, 2, 5).permute(2, 0, 3, 1, 4)  # (B, G, k, E)
    assert torch.equal(keys[:, :, 4:7], new_keys)
    assert torch.equal(values[:, :, 4:7], new_values)
    assert not keys[:, :, :4].any()
    assert not values[:, :, 7:].any()


@needs_kernels
@pytest.mark.parametrize(("size", "n"), [(1, 1), (5, 5), (64, 3), (1000, 1), (3001, 7), (200, 200)])
def test_the_best_of_logits(size: int, n: int) -> None:
    logits = 10 * torch.randn(11, size)
    logits[3] = logits[3].sort().values
    logits[4] = -30000.0
    logits[4, 0] = 0
    found = best_of(logits, n)
    assert found is not None
    expected = logits.double().log_softmax(dim=1).topk(n, dim=1)
    np.testing.assert_allclose(found[0], expected.values.numpy(), rtol=1e-6, atol=4e-6)
    sound = np.arange(11) != 4  # where there are no equals
    np.testing.assert_array_equal(found[1][sound], expected.indices.numpy()[sound])


@needs_kernels
def test_of_equals_the_first_is_best() -> None:
    found = best_of(torch.zeros(1, 300), 4)
    assert found is not None
    assert found[1].tolist() == [[0, 1, 2, 3]]


@needs_kernels
def test_what_is_not_a_number_stays_so() -> None:
    layer, x = nn.Linear(3, 20), torch.tensor([[1.0, float("nan"), 2.0], [1.0, 1.0, 1.0]])
    for activation in ACTIVATIONS.values():
        found = product(layer, x, activation=activation)
        assert found[0].isnan().all()
        assert found[1].isfinite().all()
    logits = torch.zeros(2, 100)
    logits[0, 50] = float("nan")
    best = best_of(logits, 2)
    assert best is not None
    assert np.isnan(best[0][0]).all()
    assert np.isfinite(best[0][1]).all()


@needs_kernels
def test_ids_that_are_not_in_the_table_are_refused() -> None:
    tape = Tape(1, capacity=1)
    op = tape.embed(torch.randn(20, 6), to=tape.buffer(6), scale=1.0)
    for wrong in (20, -1, 10**9):
        ids = torch.tensor([wrong])
        op.set_ids(ids, None, together=1)
        with pytest.raises(IndexError, match="not in the vocabulary"):
            tape.run(1)


@needs_kernels
def test_half_precision_is_left_to_torch() -> None:
    assert best_of(torch.zeros(1, 3, dtype=torch.bfloat16), 1) is None
    assert best_of(torch.zeros(3, 2).t(), 1) is None


@needs_kernels
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("rows", "size", "n"), [(1, 1, 1), (3, 7, 9), (5, 256, 2), (7, 257, 5), (241, 1031, 3)])
def test_the_best_outputs_of_a_product_without_the_others(rows: int, size: int, n: int, threads: int) -> None:
    layer, x = nn.Linear(11, size), 3 * torch.randn(rows, 11)
    tape = Tape(rows, capacity=1)
    op = tape.product(layer, x, to=torch.empty(0, size))
    values, places = op.best_outputs(rows, n)
    assert compiler.kernels().run(ctypes.addressof(tape.ops), 1, rows, threads) == 0  # type: ignore[union-attr]
    expected = layer(x).log_softmax(dim=1).topk(min(n, size), dim=1)
    torch.testing.assert_close(torch.from_numpy(values), expected.values, rtol=1e-5, atol=1e-5)
    assert places.tolist() == expected.indices.tolist()


@needs_kernels
def test_best_outputs_have_the_same_bits_in_any_company_and_with_any_threads() -> None:
    layer, x = nn.Linear(31, 1500), torch.randn(300, 31)
    tape = Tape(300, capacity=1)
    op = tape.product(layer, x, to=torch.empty(0, 1500))
    found = []
    for threads in (1, 2, 3):
        values, _ = op.best_outputs(300, 4)
        compiler.kernels().run(ctypes.addressof(tape.ops), 1, 300, threads)  # type: ignore[union-attr]
        found.append(values)
    op.x += 4 * 31 * 250
    alone, _ = op.best_outputs(1, 4)
    compiler.kernels().run(ctypes.addressof(tape.ops), 1, 1, 1)  # type: ignore[union-attr]
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert (alone[0] == found[0][250]).all()


@needs_kernels
@pytest.mark.parametrize("filling", [float("-inf"), float("nan")])
def test_many_outputs_that_cannot_be_or_are_no_numbers(filling: float) -> None:
    layer, x = nn.Linear(5, 1537), torch.randn(3, 5)
    with torch.no_grad():
        layer.bias[1536:] = filling  # a whole portion, and only that
    tape = Tape(3, capacity=1)
    values, _ = tape.product(layer, x, to=torch.empty(0, 1537)).best_outputs(3, 2)
    tape.run(3)
    expected = layer(x).log_softmax(dim=1)[:, :1536].topk(2, dim=1).values
    torch.testing.assert_close(torch.from_numpy(values), expected, rtol=1e-5, atol=1e-5, equal_nan=True)


@needs_kernels
def test_of_equal_outputs_the_first_are_the_best() -> None:
    layer = nn.Linear(1, 700, bias=False)
    with torch.no_grad():
        layer.weight.zero_()
    tape = Tape(1, capacity=1)
    op = tape.product(layer, torch.ones(1, 1), to=torch.empty(0, 700))
    _, places = op.best_outputs(1, 3)
    tape.run(1)
    assert places.tolist() == [[0, 1, 2]]


# Attention over whole sentences


def together(qkv: Tensor, lengths: list[int], *, heads: int, seen: list[int] | None = None) -> Tensor:
    """Attention of rows (R, 3 * H * E) within sentences of these lengths, of which each may see fewer tokens."""
    tape, width = Tape(len(qkv), capacity=1), qkv.size(1) // 3
    z = tape.buffer(width)
    op = tape.attend(qkv[:, :width], to=z, groups=heads, head_width=width // heads, scale=None)
    _, keys, values = qkv.unflatten(1, (3, heads, -1)).unbind(1)  # (R, H, E)
    row, head, _ = keys.stride()
    as_slots = ((len(qkv), heads, 1, width // heads), (row, head, row, 1))
    first = torch.repeat_interleave(torch.tensor([0, *lengths]).cumsum(0)[:-1], torch.tensor(lengths))
    mask = torch.full((len(qkv), max(lengths)), float("-inf"))
    for start, count in zip(first.unique().tolist(), seen or lengths, strict=True):
        mask[start, :count] = 0
    owners = first.contiguous()
    op.set_keys_values(
        keys.as_strided(*as_slots),
        values.as_strided(*as_slots),
        slots=max(lengths),
        owners=owners.data_ptr(),
        mask=mask,
        together=True,
    )
    tape.run(len(qkv))
    return z


@needs_kernels
@pytest.mark.parametrize("head_width", [1, 5, 8, 13, 16, 24, 64])
@pytest.mark.parametrize("lengths", [[1], [3, 3], [4], [17, 9, 8, 2, 1], [40, 33]])
def test_sentences_attend_to_themselves(lengths: list[int], head_width: int) -> None:
    qkv = torch.randn(sum(lengths), 3 * 3 * head_width)
    found = together(qkv, lengths, heads=3).split(lengths)
    for own, z in zip(qkv.split(lengths), found, strict=True):
        q, k, v = own.unflatten(1, (3, 3, -1)).permute(1, 2, 0, 3)  # (H, T, E)
        expected = attend(q, k, v)[0].transpose(0, 1).flatten(1)
        torch.testing.assert_close(z, expected, rtol=1e-5, atol=1e-5)


@needs_kernels
@pytest.mark.parametrize("head_width", [5, 16, 32])
def test_a_sentence_that_attends_has_the_same_bits_in_any_company(head_width: int) -> None:
    lengths = [17, 9, 8, 5, 2, 1]
    qkv = torch.randn(sum(lengths), 3 * 3 * head_width)
    rows = together(qkv, lengths, heads=3).split(lengths)
    for own, z in zip(qkv.split(lengths), rows, strict=True):
        assert torch.equal(together(own.contiguous(), [len(own)], heads=3), z)
    padded = torch.cat([qkv[:5], torch.randn(6, qkv.size(1))])
    alone = together(qkv[:5].contiguous(), [5], heads=3)
    assert torch.equal(together(padded, [11], heads=3, seen=[5])[:5], alone), "padding is not seen"


@needs_kernels
def test_who_sees_nothing_mixes_nothing() -> None:
    assert together(torch.randn(3, 48), [3], heads=2, seen=[0]).eq(0).all()


def test_the_faster_number_of_threads_is_found_and_tried_again() -> None:
    """By timings that are given: two threads are slower at first, then faster."""
    timings, chosen = ThreadTimings(), []
    for i in range(1000):
        shared = timings.worth_sharing()
        chosen.append(shared)
        timings.note((3.0 if i < 500 else 0.5) if shared else 1.0, 1, shared=shared)
    assert chosen[:4] == [True, False, True, False]
    assert sum(chosen[4:500]) <= 5
    assert sum(chosen[620:]) >= 370


@needs_kernels
def test_there_is_always_a_thread_and_never_more_than_cores() -> None:
    library = compiler.kernels()
    assert library is not None
    assert library.threads_now(1) == 1
    assert 1 <= library.threads_now(1000) <= (os.cpu_count() or 1)


@needs_kernels
def test_callers_at_the_same_time_and_a_forked_process_get_the_same_bits() -> None:
    layer, x = nn.Linear(64, 3000), torch.randn(40, 64)

    def bits(threads: int) -> bytes:
        tape = Tape(40, capacity=1)
        to = tape.buffer(3000)
        tape.product(layer, x, to=to)
        for _ in range(20):
            assert compiler.kernels().run(ctypes.addressof(tape.ops), 1, 40, threads) == 0  # type: ignore[union-attr]
        return to.numpy().tobytes()

    alone = bits(1)
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(bits, [2, 3, 2, 3, 1, 2])) == {alone}
    child = os.fork()  # it has none of the threads
    if child == 0:
        code = 1
        try:
            code = 0 if bits(3) == alone else 1
        finally:  # an error must not go on as a second pytest
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
