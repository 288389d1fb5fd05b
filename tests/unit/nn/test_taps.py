"""Listening: what is recorded, and that nothing stays behind."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn

from glassformer.nn.attention import SelfAttention
from glassformer.nn.taps import Tap, WithTaps, listen, listening, watch


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Tap(), Tap()

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x) * 2)


def hooks(module: nn.Module) -> int:
    taps = (m for m in module.modules() if isinstance(m, Tap))
    return sum(len(m._forward_hooks) for m in module.modules()) + sum(len(tap.listeners) for tap in taps)


def test_a_tap_is_the_identity_itself() -> None:
    x = torch.randn(3)
    assert Tap()(x) is x


def test_listening_records_each_value_in_order() -> None:
    pair = Pair()
    with listen(pair) as heard:
        pair(torch.ones(3))
        pair(torch.zeros(3))
    assert [value.tolist() for value in heard["second"]] == [[2, 2, 2], [0, 0, 0]]
    assert list(heard) == ["first", "second"]


def test_only_what_is_wanted_is_recorded() -> None:
    pair = Pair()
    with listen(pair, lambda name: name == "second") as heard:
        assert not pair.first.heard
        assert pair.second.heard
        pair(torch.ones(3))
    assert list(heard) == ["second"]


def test_recorded_values_hold_no_graph() -> None:
    pair = Pair()
    with listen(pair) as heard:
        pair(torch.ones(3, requires_grad=True))
    assert not heard["second"][0].requires_grad


def test_listening_leaves_nothing_behind() -> None:
    attention = SelfAttention(10, heads=2)
    with listen(attention):
        assert hooks(attention) > 0
    assert hooks(attention) == 0
    assert not attention.core.heard


def test_listening_leaves_nothing_behind_after_an_error() -> None:
    pair = Pair()
    with pytest.raises(ZeroDivisionError), listen(pair):
        raise ZeroDivisionError
    assert hooks(pair) == 0


def test_two_can_listen_and_each_leaves_alone() -> None:
    pair = Pair()
    with listen(pair) as outer:
        with listen(pair, lambda name: name == "first") as inner:
            pair(torch.ones(3))
        pair(torch.ones(3))
    assert (len(inner["first"]), len(outer["first"])) == (1, 2)


def test_a_hook_may_replace_the_value() -> None:
    pair = Pair()
    handle = pair.first.register_forward_hook(lambda _, __, value: value + 1)
    assert pair(torch.ones(3)).tolist() == [4, 4, 4]
    handle.remove()
    assert pair(torch.ones(3)).tolist() == [2, 2, 2]


def test_a_tap_has_no_parameters_and_no_state() -> None:
    assert not Tap().state_dict()


class Nest(WithTaps):
    def __init__(self, inside: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList([inside])


@pytest.mark.parametrize("change", ["replaced", "added", "added inside", "a tap"])
def test_what_comes_later_is_known_and_heard_at_every_level(change: str) -> None:
    inner = Nest(SelfAttention(6, heads=2))
    outer, new = Nest(inner), SelfAttention(6, heads=2)
    assert not outer.heard
    assert not inner.heard
    assert set(outer.tensors()) == set(outer.parameters())
    if change == "replaced":
        inner.parts[0] = new
    elif change == "added":
        inner.parts.append(new)
    elif change == "a tap":
        inner.parts[0].q = new.q
    else:
        inner.parts[0].out.linear.more = new
    assert set(outer.tensors()) == set(outer.parameters())
    with listen(new):
        assert outer.heard
        assert inner.heard


def test_parameters_that_come_later_are_known() -> None:
    nest = Nest(nn.Identity())
    assert nest.tensors() == []
    nest.parts[0].weight = nn.Parameter(torch.ones(3))
    assert len(nest.tensors()) == 1


# Threads


def elsewhere(work: object) -> object:
    """The result of `work` in another thread."""
    with ThreadPoolExecutor(1) as worker:
        return worker.submit(work).result()  # type: ignore[arg-type]


def test_listening_belongs_to_its_thread() -> None:
    pair = Pair()
    with listen(pair) as heard:
        pair(torch.ones(3))
        assert elsewhere(lambda: pair(torch.zeros(3))).tolist() == [0, 0, 0]  # type: ignore[attr-defined]
        assert not elsewhere(lambda: pair.first.heard)
    assert [value.tolist() for value in heard["second"]] == [[2, 2, 2]]


def test_a_model_is_heard_only_by_the_thread_that_listens() -> None:
    nest = Nest(SelfAttention(6, heads=2))
    with listen(nest):
        assert nest.heard
        assert not elsewhere(lambda: nest.heard)


def test_a_value_is_replaced_only_for_the_thread_that_asks() -> None:
    pair = Pair()
    with listening([(pair.first, lambda value: value + 1), (pair.first, lambda value: value * 2)]):
        assert pair(torch.ones(3)).tolist() == [8, 8, 8]
        assert elsewhere(lambda: pair(torch.ones(3))).tolist() == [2, 2, 2]  # type: ignore[attr-defined]
    assert hooks(pair) == 0


def test_modules_are_watched_only_in_this_thread() -> None:
    pair = Pair()
    with watch({"whole": pair}) as given:
        pair(torch.ones(3))
        elsewhere(lambda: pair(torch.zeros(3)))
    assert given["whole"].tolist() == [2, 2, 2]
    assert hooks(pair) == 0


def test_what_one_thread_opens_another_may_close() -> None:
    pair = Pair()
    context = listen(pair)
    elsewhere(context.__enter__)
    assert hooks(pair) == 2
    context.__exit__(None, None, None)
    assert hooks(pair) == 0


def test_a_copy_has_no_listeners() -> None:
    nest = Nest(SelfAttention(6, heads=2))
    assert not nest.heard  # what is known of it is copied as well
    with listen(nest):
        for twin in (copy.deepcopy(nest), pickle.loads(pickle.dumps(nest))):
            assert hooks(twin) == 0
            assert not twin.heard
            with listen(twin):
                assert twin.heard
