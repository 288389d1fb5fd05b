"""The terminal's view fits its width and holds every number; parts can be chosen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

from glassformer.errors import ModelError
from glassformer.explain.explanation import Explanation
from glassformer.explain.view import explanation_view


def rendered(shown: object, width: int = 100) -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(explanation: Explanation, width: int) -> None:
    lines = rendered(explanation_view(explanation, attention="all"), width=width).splitlines()
    assert max(map(cell_len, lines)) <= width


def test_the_view_holds_every_token_id_and_probability(explanation: Explanation) -> None:
    text = str(explanation)
    for piece, i in zip(
        explanation.source + explanation.target, explanation.source_ids + explanation.target_ids, strict=True
    ):
        assert f"{piece}·{i}" in text
    for step in explanation.steps:
        assert f"{step.probability:.1%}" in text
    assert f"{explanation.score:.3f}" in text


def test_a_translation_is_shown_block_by_block(explanation: Explanation) -> None:
    lines = str(explanation).splitlines()
    for stack, parts in (("encoder", 2), ("decoder", 3)):
        for block in (1, 2, 3):
            assert sum(line.startswith(f"{stack} {block} ") for line in lines) == parts
    assert sum(line.startswith("Input vectors") for line in lines) == 2


def test_a_head_can_be_chosen(explanation: Explanation) -> None:
    assert "Cross-attention, layer 2, head 1" in rendered(explanation_view(explanation, layer=1, head=0))
    layer, head = explanation.best_head()
    assert f"Cross-attention, layer {layer + 1}, head {head + 1}" in str(explanation)
    assert f"Best aligned: layer {layer + 1}, head {head + 1}" in str(explanation)
    assert "Cross-attention, mean of all heads" in str(explanation)
    with pytest.raises(ModelError, match="no layer 9"):
        explanation_view(explanation, layer=8)


@pytest.mark.parametrize("name", ["encoder", "decoder", "cross", "all"])
def test_an_attention_can_be_chosen(explanation: Explanation, name: str) -> None:
    text = rendered(explanation_view(explanation, attention=name))
    titles = {
        "encoder": "Self-attention of the encoder, layer",
        "decoder": "Self-attention of the decoder, layer",
        "cross": "Cross-attention, layer",
    }
    assert {one for one, title in titles.items() if title in text} == (set(titles) if name == "all" else {name})


def test_every_head_has_its_line(explanation: Explanation) -> None:
    lines = rendered(explanation_view(explanation), width=80).splitlines()
    first = lines.index("What each head of the cross-attention looks at") + 2
    assert [line.split()[:2] for line in lines[first : first + 6]] == [[n, h] for n in "123" for h in "12"]
    assert lines[first + 6].startswith("Best aligned")


def test_markup_in_pieces_stays_text(explain: Callable[..., Explanation]) -> None:
    shown = explain(name=lambda i: "[bold]" if i != 2 else "</s>", text="[red]x[/red]")
    assert "[bold]·5" in str(shown)
    assert "[red]x[/red]" in str(shown)
