"""Taps: named points of a model where a value can be read.

A tap is an identity module. Without listeners it costs two attribute look-ups. A listener belongs to a thread:
`listen`, `listening` and `watch` see only the passes of the thread that opened them, so several threads can use one
model at once while some of them listen. Ordinary forward hooks work too, for all threads.
A value that has passed a tap is never changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from threading import get_ident
from typing import Any

from torch import Tensor, nn

Listener = Callable[[Tensor], Tensor | None]  # a tensor that it returns replaces the value


class Listeners(dict[int, tuple[Listener, ...]]):
    """The listeners of a tap, by thread id. A copy of a tap has none."""

    def add(self, listener: Listener, thread: int) -> None:
        self[thread] = (*self.get(thread, ()), listener)

    def remove(self, listener: Listener, thread: int) -> None:
        left = tuple(one for one in self[thread] if one is not listener)
        if left:
            self[thread] = left
        else:
            del self[thread]

    def __reduce__(self) -> tuple[type[Listeners], tuple[()]]:
        return Listeners, ()


class Tap(nn.Module):
    """The identity, with a name: its place in the module tree."""

    listeners: Listeners

    def __init__(self) -> None:
        super().__init__()
        self.listeners = Listeners()

    def __call__(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Skips nn.Module's call machinery without hooks; it costs more than the tap."""
        if self.listeners:
            for listener in self.listeners.get(get_ident(), ()):
                given = listener(value)
                value = value if given is None else given
        return super().__call__(value, *args, **kwargs) if self._forward_hooks else value

    def forward(self, value: Tensor) -> Tensor:
        return value

    @property
    def heard(self) -> bool:
        """Whether something listens here in this thread."""
        return bool(self._forward_hooks) or (bool(self.listeners) and get_ident() in self.listeners)


class WithTaps(nn.Module):
    """A module with taps inside, which can say whether something listens at any of them."""

    @cached_property
    def tap_hooks(self) -> list[Mapping[int, Any]]:
        """The hooks of every tap in here, for all threads; the mappings stay current."""
        return [one._forward_hooks for one in self.modules() if isinstance(one, Tap)]

    @cached_property
    def tap_listeners(self) -> list[Listeners]:
        """The listeners of every tap in here, by thread; the mappings stay current."""
        return [one.listeners for one in self.modules() if isinstance(one, Tap)]

    @property
    def heard(self) -> bool:
        """Whether something listens in this thread."""
        if any(self.tap_hooks):
            return True
        if not any(self.tap_listeners):
            return False
        thread = get_ident()
        return any(thread in one for one in self.tap_listeners)

    @cached_property
    def branches(self) -> list[tuple[Mapping[str, nn.Module | None], Mapping[str, nn.Module | None]]]:
        """The children of every module in here, as they are now and as they were at the first call."""
        return [(one._modules, dict(one._modules)) for one in self.modules() if not isinstance(one, Tap)]

    @cached_property
    def holders(self) -> list[Mapping[str, Tensor | None]]:
        """The mappings in which every module in here keeps its parameters and buffers; they stay current."""
        modules = (one for one in self.modules() if not isinstance(one, Tap))
        return [held for one in modules for held in (one._parameters, one._buffers)]

    def tensors(self) -> list[Tensor]:
        """All parameters and buffers. The tree is walked again only if a module in it was replaced or added."""
        if any(held != known for held, known in self.branches):
            for one in self.modules():
                for known in ("branches", "holders", "tap_hooks", "tap_listeners"):
                    one.__dict__.pop(known, None)
        return [one for held in self.holders for one in held.values() if one is not None]


@contextmanager
def listen(root: nn.Module, wanted: Callable[[str], bool] | None = None) -> Iterator[dict[str, list[Tensor]]]:
    """While open, records the value at every tap below `root`, or at those whose dotted name is wanted.

    Only values of this thread are recorded, and only this thread avoids tapes and other fast paths meanwhile.
    """
    heard: dict[str, list[Tensor]] = {}

    def keep(name: str) -> Listener:
        return lambda value: heard.setdefault(name, []).append(value.detach())

    taps = ((name, one) for name, one in root.named_modules() if isinstance(one, Tap))
    with listening((tap, keep(name)) for name, tap in taps if wanted is None or wanted(name)):
        yield heard


@contextmanager
def listening(pairs: Iterable[tuple[Tap, Listener]]) -> Iterator[None]:
    """While open, each listener gets every value that passes its tap in this thread, and may replace it."""
    thread = get_ident()  # a generator may be closed by another thread
    with ExitStack() as open_:
        for tap, listener in pairs:
            tap.listeners.add(listener, thread)
            open_.callback(tap.listeners.remove, listener, thread)
        yield


@contextmanager
def watch(modules: Mapping[str, nn.Module]) -> Iterator[dict[str, Tensor]]:
    """While open, records the last output of each of these modules in this thread, by the given names.

    For modules that are not taps. Fast paths do not call modules: to avoid them, `listen` as well.
    """
    given: dict[str, Tensor] = {}
    thread = get_ident()

    def keep(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        def hook(_: nn.Module, __: Any, value: Tensor) -> None:
            if get_ident() == thread:
                given[name] = value

        return hook

    with ExitStack() as open_:
        for name, module in modules.items():
            open_.callback(module.register_forward_hook(keep(name)).remove)
        yield given
