"""Key maps: read forwards and backwards."""

from __future__ import annotations

import pytest
import torch

from glassformer.hub.huggingface.keys import CHANGES, Line, to_ours, to_theirs
from glassformer.nn.positions import rotate

COUNTS = {"i": 3, "e": 5, "head_width": 6, "q_rows": 12, "kv_rows": 6, "channels": 3}
COUNTS |= {"patch_height": 2, "patch_width": 7}
LINES = [
    Line("blocks.{i}.qkv", ("{p}h.{i}.q", "{p}h.{i}.k", "{p}h.{i}.v"), rows=("q_rows", "kv_rows", "kv_rows")),
    Line("blocks.{i}.kv", ("{p}h.{i}.k2", "{p}h.{i}.v2"), ("pairs", "same")),
    Line("blocks.{i}.up", "{p}h.{i}.up", "transposed"),
    Line("blocks.{i}.experts", ("{p}h.{i}.experts.{e}.gate", "{p}h.{i}.experts.{e}.up")),
    Line("blocks.{i}.single.{e}", "{p}h.{i}.single.{e}"),
    Line("bias", "bias", "row"),
]


def their_tensors(prefix: str) -> dict[str, torch.Tensor]:
    tensors = {"bias": torch.randn(1, 7)}
    for i in range(3):
        h = f"{prefix}h.{i}"
        tensors |= {f"{h}.q": torch.randn(12, 7), f"{h}.k": torch.randn(6, 7), f"{h}.v": torch.randn(6, 7)}
        tensors |= {f"{h}.k2": torch.randn(12, 7), f"{h}.v2": torch.randn(12, 7), f"{h}.up": torch.randn(7, 11)}
        for e in range(5):
            tensors |= {f"{h}.experts.{e}.{part}": torch.randn(2, 7) for part in ("gate", "up")}
            tensors[f"{h}.single.{e}"] = torch.randn(2)
    return tensors


@pytest.mark.parametrize("prefix", ["", "model."])
def test_there_and_back_again(prefix: str) -> None:
    theirs = their_tensors(prefix)
    ours = dict(to_ours(LINES, theirs, COUNTS, prefix=prefix))
    again = dict(to_theirs(LINES, ours, COUNTS, prefix=prefix))
    assert again.keys() == theirs.keys()
    assert all(torch.equal(again[name], theirs[name]) for name in theirs)


def test_what_becomes_of_each_kind_of_line() -> None:
    theirs = their_tensors("")
    ours = dict(to_ours(LINES, theirs, COUNTS))
    assert len(ours) == 3 * (4 + 5) + 1
    assert torch.equal(ours["blocks.2.qkv"], torch.cat([theirs[f"h.2.{part}"] for part in "qkv"]))
    assert torch.equal(ours["blocks.1.up"], theirs["h.1.up"].T)
    assert ours["blocks.1.experts"].shape == (5, 4, 7)
    assert torch.equal(ours["blocks.1.experts"][3, :2], theirs["h.1.experts.3.gate"])
    assert torch.equal(ours["blocks.1.experts"][3, 2:], theirs["h.1.experts.3.up"])
    assert torch.equal(ours["blocks.0.kv"][12:], theirs["h.0.v2"])
    assert ours["bias"].shape == (7,)


def test_a_map_gives_their_shapes_without_numbers() -> None:
    theirs = their_tensors("")
    meta = {name: tensor.to("meta") for name, tensor in to_ours(LINES, theirs, COUNTS)}
    shapes = {name: tensor.shape for name, tensor in to_theirs(LINES, meta, COUNTS)}
    assert shapes == {name: tensor.shape for name, tensor in theirs.items()}


SHAPES = {"row": (1, 5), "vector": (1, 1, 5), "patches": (5, 3, 2, 7), "pairs": (12, 5)}


@pytest.mark.parametrize("how", CHANGES)
def test_every_change_has_its_inverse(how: str) -> None:
    tensor = torch.randn(SHAPES.get(how, (5, 7)))
    if how == "after_two":
        tensor[:2] = 0  # rows that nothing uses
    changed = CHANGES[how].to_ours(tensor, COUNTS)
    assert torch.equal(CHANGES[how].to_theirs(changed, COUNTS), tensor)


def test_pairs_are_what_our_rotation_turns_as_others_turn_halves() -> None:
    """Turning the halves of a head's rows is turning the pairs of the rows in our order."""
    rows, x = torch.randn(2 * 6, 5, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    angle = torch.rand(4, 3, dtype=torch.float64)

    def heads(weight: torch.Tensor) -> torch.Tensor:
        return (x @ weight.T).unflatten(1, (2, 6)).transpose(0, 1)[None]  # (1, H, T, E)

    first, second = heads(rows).chunk(2, dim=-1)
    turned = torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], dim=-1)
    ours = rotate(heads(CHANGES["pairs"].to_ours(rows, COUNTS)), (angle.cos(), angle.sin()))
    torch.testing.assert_close(ours @ ours.mT, turned @ turned.mT, rtol=0, atol=1e-12)
