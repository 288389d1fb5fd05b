"""Analyses the trace of a step: which operation is inside which, its group, and how much it multiplies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from glassformer.training import profile_groups as groups

BACKWARD = "autograd::engine::evaluate_function"


@dataclass
class Event:
    """One operation in the profiler's trace."""

    name: str
    start: float
    end: float
    own: float  # microseconds, without the operations inside it
    shapes: Sequence[Sequence[int]] = ()
    sequence: int | None = None  # the same for a backward node and its forward operation
    outer: Event | None = None

    def chain(self) -> Iterator[Event]:
        """The event itself, then the events around it, innermost first."""
        event: Event | None = self
        while event is not None:
            yield event
            event = event.outer


@dataclass
class Account:
    """Seconds by group, summed over the traces of several steps."""

    groups: dict[str, float] = field(default_factory=lambda: dict.fromkeys(groups.GROUPS, 0.0))
    others: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    flops: float = 0.0
    product_seconds: float = 0.0

    @property
    def total(self) -> float:
        return sum(self.groups.values())

    def largest_others(self, most: int = 5) -> list[tuple[str, float]]:
        return sorted(self.others.items(), key=lambda item: -item[1])[:most]

    def add(self, events: Sequence[Event]) -> None:
        forward: dict[int, str] = {}
        attention: dict[int, float] = {}  # by sequence number: the forward pass of attention in C
        for event in events:
            name, seconds = group_of(event, forward), event.own / 1e6
            self.groups[name] += seconds
            if name == groups.OTHERS:
                self.others[event.name] += seconds
            if name != groups.OPTIMISER and (flops := flops_of(event) or native_attention_flops(event, attention)):
                self.flops += flops
                self.product_seconds += seconds


def nested(trace: Sequence[Mapping[str, Any]]) -> list[Event]:
    """The events inside the mark of the step, each linked to the event that encloses it in time."""
    kept = [e for e in trace if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
    step = next(e for e in kept if e["name"] == groups.STEP)
    kept = [e for e in kept if e["tid"] == step["tid"] and e["ts"] >= step["ts"]]
    kept.sort(key=lambda e: (e["ts"], -e["dur"]))
    found: list[Event] = []
    open_: list[Event] = []
    for e in kept:
        while open_ and open_[-1].end <= e["ts"]:
            open_.pop()
        args, outer = e.get("args", {}), open_[-1] if open_ else None
        shapes, sequence = args.get("Input Dims", ()), args.get("Sequence number")
        event = Event(e["name"], e["ts"], e["ts"] + e["dur"], e["dur"], shapes, sequence, outer)
        if outer is not None:
            outer.own -= event.own
        found.append(event)
        open_.append(event)
    return found


def group_of(event: Event, forward: dict[int, str]) -> str:
    """The group of an event. `forward` remembers the scopes of forward operations for their backward nodes."""
    chain = list(event.chain())
    node = next((one for one in chain if one.name.startswith(BACKWARD)), None)
    scope = scope_of(chain)
    if node is None and event.sequence is not None:
        forward[event.sequence] = scope or ""  # the last operation with this number made the node
    if scope is None and node is not None and node.sequence is not None:
        scope = forward.get(node.sequence) or None
    return scope or operation_group(event.name)


def scope_of(chain: Sequence[Event]) -> str | None:
    for event in reversed(chain):
        for begin, group in groups.SCOPES.items():
            if event.name.startswith(begin):
                return group
    return None


def operation_group(name: str) -> str:
    if name.startswith(("aten::", "mkldnn::")):
        return groups.OPERATIONS.get(name.removeprefix("aten::"), groups.OTHERS)
    between = name.startswith(groups.BETWEEN) or name == "detach" or name.removesuffix("0").endswith("Backward")
    return groups.PYTHON if between else groups.OTHERS


# Products


def flops_of(event: Event) -> float:
    """Multiplications and additions of a matrix product or of fused attention; 0 for anything else."""
    shapes = [shape for shape in event.shapes if len(shape) >= 2]
    name = event.name.removeprefix("aten::")
    if not shapes:
        return 0.0
    if name in ("addmm", "addmm_", "baddbmm"):
        *_, rows, columns = shapes[:3] if len(event.shapes[0]) >= 2 else shapes[:2]
    elif name in ("mm", "bmm"):
        rows, columns = shapes[:2]
    elif name == "mkldnn::_linear_pointwise":  # (M, K) and (N, K)
        return 2.0 * prod(shapes[0]) * shapes[1][0]
    elif name.startswith("_scaled_dot_product") and "attention" in name:
        return attention_flops(shapes, backward="backward" in name)
    else:
        return 0.0
    return 2.0 * prod(rows) * columns[-1]


def native_attention_flops(event: Event, forward: dict[int, float]) -> float:
    """The same for attention in C. Its backward pass has no shapes of its own: `forward` remembers those before."""
    if event.sequence is None or not event.name.startswith("_Attention"):
        return 0.0
    if event.name.startswith("_AttentionBackward"):
        return 2.5 * forward.get(event.sequence, 0.0)
    forward[event.sequence] = attention_flops(event.shapes, backward=False)
    return forward[event.sequence]


def attention_flops(shapes: Sequence[Sequence[int]], *, backward: bool) -> float:
    """Two products forward, five backward (which computes the pattern again)."""
    query, keys = shapes[1:3] if backward else shapes[:2]  # (B, H, T, E), (B, H, K, E)
    return (10.0 if backward else 4.0) * prod(query) * keys[-2]
