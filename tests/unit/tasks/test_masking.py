"""Placeholders are taken out of a text and come back: all of them, beside the right words, spaced as before."""

from __future__ import annotations

import random

import numpy as np
import pytest

from glassformer.tasks.translation.masking import kept, masked
from glassformer.tasks.translation.parts import blocks_of, parts_of
from glassformer.tasks.translation.restoring import best_interval, restored
from glassformer.tasks.translation.word_boundaries import tokens_of
from glassformer.text.placeholders import placeholders_in


def put_back(source: str, target: str, links: dict[int, int]) -> str:
    """`links`: the source word of each target word."""
    whole, words = masked(source), tokens_of(target)
    shares = np.zeros((len(words), len(tokens_of(whole.plain))))
    for t, s in links.items():
        shares[t, s] = 1
    return restored(target, words, shares, whole, tokens_of(whole.plain))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("is riding {vehicle}.", "is riding."),
        ("A <b>blue shirt</b> here", "A blue shirt here"),
        ("{name}, hello", ", hello"),
        ("one<br/>two", "one two"),
        ("un<b>believ</b>able", "unbelievable"),
        ("%s", ""),
        ("a {x} {y} b", "a b"),
        ("( {x} )", "( )"),
        ('a "b"{x}"c" d', 'a "b""c" d'),
        ("<p>A dog.</p> <p>A cat.</p>", "A dog. A cat."),
        ("no such thing", "no such thing"),
    ],
)
def test_the_plain_text(text: str, plain: str) -> None:
    assert masked(text).plain == plain


@pytest.mark.parametrize(
    ("source", "target", "links", "result"),
    [
        ("A <b>red car</b> stops.", "Ein rotes Auto hält.", {0: 0, 1: 1, 2: 2, 3: 3, 4: 4},
         "Ein <b>rotes Auto</b> hält."),
        ("a <b>red</b> <i>car</i>", "une voiture rouge", {0: 0, 1: 2, 2: 1}, "une <i>voiture</i> <b>rouge</b>"),
        ("is riding {vehicle}.", "fährt.", {0: 1, 1: 2}, "fährt {vehicle}."),
        ("I saw {x} yesterday.", "Gestern sah ich.", {0: 2, 1: 1, 2: 0, 3: 3}, "Gestern sah {x} ich."),
        ("<b>{name}</b> eats", "isst", {0: 0}, "<b>{name}</b> isst"),
        ("<i>a <b>big</b> dog</i> eats", "frisst ein großer Hund", {0: 3, 1: 0, 2: 1, 3: 2},
         "frisst <i>ein <b>großer</b> Hund</i>"),
        ("%s sees %d", "sieht", {0: 0}, "%s sieht %d"),
        ("one <b>%s</b> two %d three four", "vier drei zwei eins", {0: 3, 1: 2, 2: 1, 3: 0},
         "vier drei <b>%s</b> zwei %d eins"),
        ("dogs<br/>cats", "Katzen Hunde", {0: 1, 1: 0}, "Katzen Hunde<br/>"),
        ("one<br/>two", "eins zwei", {0: 0, 1: 1}, "eins<br/>zwei"),
        ("a ({x}) b", "b ein", {0: 1, 1: 0}, "b ein ({x})"),
        ('"{name}" runs.', "rennt.", {0: 0, 1: 1}, '"{name}" rennt.'),
        ("“[%s]”, a dog", "Hund", {0: 2}, "“[%s]” Hund"),
        ("{n}px wide", "px breit", {0: 0, 1: 1}, "{n}px breit"),
        ("<b>red {x}</b> car", "Auto rot", {0: 1, 1: 0}, "Auto <b>rot {x}</b>"),
    ],
)  # fmt: skip
def test_each_comes_back_beside_its_words(source: str, target: str, links: dict[int, int], result: str) -> None:
    assert put_back(source, target, links) == result
    assert kept(source, result)


def test_those_filled_in_by_order_keep_their_order() -> None:
    turned = put_back("%s sees %d", "x sieht y", {0: 0, 1: 0, 2: 0})
    assert [one.text for one in placeholders_in(turned)] == ["%s", "%d"]


def test_nothing_is_lost_and_the_words_stay_whatever_the_alignment() -> None:
    lot = random.Random(3)
    signs = ["{a}", "%s", "<br/>", "<b>", "</b>", "<i>", "</i>", "{0}", "$X", "<b>{n}</b>"]
    for _ in range(300):
        words = [lot.choice(["dog", "cat,", "(red)", "house", "ein-zwei"]) for _ in range(lot.randint(0, 6))]
        for _ in range(lot.randint(1, 6)):
            words.insert(lot.randint(0, len(words)), lot.choice(signs))
        source = lot.choice([" ", " ", ""]).join(words)
        target = " ".join(lot.choice(["Hund", "Katze,", "Haus."]) for _ in range(lot.randint(0, 6)))
        whole = masked(source)
        shares = np.random.default_rng(lot.randint(0, 999)).random(
            (len(tokens_of(target)), len(tokens_of(whole.plain)))
        )
        text = restored(target, tokens_of(target), shares, whole, tokens_of(whole.plain))
        assert kept(source, text), (source, target, text)
        assert "".join(masked(text).plain.split()) == "".join(target.split()), (source, target, text)


def test_lost_or_turned_placeholders_are_seen() -> None:
    assert kept("<b>a</b> %s", "%s <b>b</b>")
    assert not kept("%s %d", "%d %s")
    assert not kept("<b>a</b>", "</b>a<b>")
    assert not kept("{x}", "")
    assert kept("<b>x <i>y</b> z</i>", "<b>x <i>y</b> z</i>")  # crossed before


def test_the_best_interval() -> None:
    assert best_interval(np.array([-1.0, 2, -0.5, 2, -3])) == (1, 3)
    assert best_interval(np.array([-3.0, -1, -2])) == (1, 1)


Tree = tuple[str, tuple["Tree", ...]]


def tree_of(text: str) -> Tree:
    """The tags of a text, each with those inside it; inline siblings in any order, others in their own."""
    open_: list[tuple[str, list[Tree]]] = [("", [])]
    for one in placeholders_in(text):
        if one.opens:
            open_.append((one.text, []))
        elif one.closes:
            name, inside = open_.pop()
            assert one.name == name.strip("<>")
            open_[-1][1].append(_node(name, inside))
        else:
            open_[-1][1].append((one.text, ()))
    assert len(open_) == 1
    return _node(*open_[0])


def _node(name: str, inside: list[Tree]) -> Tree:
    kept_in_order = iter([one for one in inside if one[0] == "<p>"])
    free = sorted(one for one in inside if one[0] != "<p>")
    return name, (*kept_in_order, *free)


def random_tree(lot: random.Random, depth: int, number: list[int]) -> str:
    parts = []
    for _ in range(lot.randint(1, 3)):
        if depth and lot.random() < 0.5:
            name = lot.choice(["p", "p", "b", "i"])
            parts.append(f"<{name}>{random_tree(lot, depth - 1, number)}</{name}>")
        elif lot.random() < 0.2:
            number[0] += 1
            parts.append(f"{{x{number[0]}}}")
        else:
            parts.append(lot.choice(["dog", "cat,", "house."]))
    return " ".join(parts)


def test_tags_keep_their_tree_whatever_the_alignment() -> None:
    lot = random.Random(5)
    for _ in range(500):
        source = random_tree(lot, 3, [0])
        target = " ".join(lot.choice(["Hund", "Katze,", "Haus."]) for _ in range(lot.randint(1, 8)))
        whole = masked(source)
        places = (len(tokens_of(target)), len(tokens_of(whole.plain)))
        shares = np.random.default_rng(lot.randint(0, 999)).random(places) ** 8
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9)
        text = restored(target, tokens_of(target), shares, whole, tokens_of(whole.plain))
        assert tree_of(text) == tree_of(source), (source, text)
        assert kept(source, text)


def test_siblings_come_out_beside_each_other() -> None:
    links = {0: 0, 1: 1, 2: 2, 3: 1, 4: 4, 5: 5, 6: 7, 7: 8}  # "und" is taken for a word of the first
    found = put_back("<p>A dog runs.</p> <p>A man is standing.</p>", "Ein Hund rennt und ein Mann steht.", links)
    assert found == "<p>Ein Hund rennt und</p> <p>ein Mann steht.</p>"
    assert not kept("<p>a</p> <p>b</p>", "<p>a <p>b</p></p>")


@pytest.mark.parametrize("space", ["", " ", "\n"])
def test_blocks_are_parts_and_come_together_as_they_were(space: str) -> None:
    text = space.join(["<div>", "<p>A <b>dog</b></p>", "<p> A man. </p>", "</div>"])
    whole = masked(text)
    found = parts_of(text, blocks_of(whole), whole)
    assert [part.plain for part in found.parts] == ["A dog", "A man."]
    assert [[mark.text for mark in part.marks] for part in found.parts] == [
        ["<div>", "<p>", "<b>", "</b>", "</p>"],
        ["<p>", "</p>", "</div>"],
    ]
    assert found.between == (space,)
