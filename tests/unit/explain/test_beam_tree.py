"""The tree of a search: which nodes lead to the translation, and how the lines show them."""

from __future__ import annotations

from rich.console import Console

from glassformer.decode.tree import ROOT, Node
from glassformer.explain.beam_tree import BeamTree, Beginning, beginnings_of, run_line, tree_view

NODES = [Node(1, ROOT, 7, -0.1, -0.1), Node(2, ROOT, 8, -2.5, -2.5), Node(3, 1, 9, -0.2, -0.3), Node(4, 3, 2, 0, -0.3)]


def tree() -> BeamTree:
    beginnings = beginnings_of(NODES, ["ein", "der", "Hund", "</s>"], [0.9, 0.08, 0.8, 1.0], eos=2, best=(7, 9, 2))
    return BeamTree("a dog", "ein Hund", 2, beginnings)


def test_the_path_to_the_translation_is_marked() -> None:
    found = tree().beginnings
    assert [one.best for one in found] == [True, False, True, True]
    assert [one.ended for one in found] == [False, False, False, True]
    assert tree().to_dict()["beginnings"][2]["log_prob"] == -0.3


def test_a_run_without_branches_is_one_line() -> None:
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(tree_view(tree()))
    first, best, dropped = captured.get().splitlines()
    assert first.strip() == "a dog  →  ein Hund"
    assert best.rstrip() == "├── ein 0.90  Hund 0.80  </s> 1.00  ✓  log P -0.30"
    assert dropped.rstrip() == "└── der 0.08  ✗  log P -2.50"


def test_a_deep_tree_is_drawn_without_recursion() -> None:
    nodes = tuple(Beginning(i, i - 1, "x", 0.5, -1.0, ended=False, best=False) for i in range(1, 3000))
    assert tree_view(BeamTree("t", "t", 1, nodes)).children
    assert run_line(nodes[:2], dropped=True).plain == "x 0.50  x 0.50  ✗  log P -1.00"
