"""Labels of words: spans in every scheme and back, the scheme of a file, and which labels may follow each other."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random

import pytest

from glassformer.data.schemes import (
    BILOU,
    BIO,
    IO,
    IOB1,
    IOBES,
    PLAIN,
    SchemeCount,
    Span,
    converted,
    faults,
    label_names,
    labels_of,
    scheme_of_names,
    spans_of,
    transitions,
)

TEXT = [("PER", 0, 2), ("PER", 2, 3), ("LOC", 5, 6), ("LOC", 6, 9)]
WRITTEN = {
    IO: "I-PER I-PER I-PER O O I-LOC I-LOC I-LOC I-LOC",
    IOB1: "I-PER I-PER B-PER O O I-LOC B-LOC I-LOC I-LOC",
    BIO: "B-PER I-PER B-PER O O B-LOC B-LOC I-LOC I-LOC",
    BILOU: "B-PER L-PER U-PER O O U-LOC B-LOC I-LOC L-LOC",
    IOBES: "B-PER E-PER S-PER O O S-LOC B-LOC I-LOC E-LOC",
}


def spans(random: Random, length: int) -> list[Span]:
    found, at = list[Span](), 0
    while at < length:
        end = min(length, at + random.randint(1, 3))
        if random.random() < 0.6:
            found.append((random.choice(("PER", "LOC")), at, end))
        at = end
    return found


@pytest.mark.parametrize("scheme", WRITTEN)
def test_spans_are_written_by_hand(scheme: str) -> None:
    assert labels_of(TEXT, 9, scheme) == WRITTEN[scheme].split()


@pytest.mark.parametrize("scheme", [IOB1, BIO, BILOU, IOBES])
def test_every_scheme_but_io_keeps_all_spans(scheme: str) -> None:
    random = Random(3)
    for _ in range(200):
        given = spans(random, 11)
        labels = labels_of(given, 11, scheme)
        assert spans_of(labels) == given
        assert not list(faults(labels, scheme))
        assert labels_of(given, 11, BIO) == converted(labels, BIO)


def test_io_loses_only_the_border_between_neighbours_of_one_type() -> None:
    random, lost = Random(4), 0
    for _ in range(200):
        given = spans(random, 11)
        kept = spans_of(labels_of(given, 11, IO)) == given
        assert kept == all(a[0] != b[0] or a[2] != b[1] for a, b in pairwise(given))
        lost += not kept
    assert 0 < lost < 200


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("O I-PER I-PER O", [("PER", 1, 3)]),  # begins without B
        ("B-PER I-LOC", [("PER", 0, 1), ("LOC", 1, 2)]),  # changes its type
        ("B-PER B-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("U-PER L-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("B-PER O L-PER", [("PER", 0, 1), ("PER", 2, 3)]),
        ("B-A-B I-A-B", [("A-B", 0, 2)]),  # a type with a dash
        ("", []),
    ],
)
def test_sequences_that_break_the_rules_are_read_as_conll_does(labels: str, found: list[Span]) -> None:
    assert spans_of(labels.split()) == found


@pytest.mark.parametrize("scheme", WRITTEN)
def test_the_scheme_of_a_file_is_recognised(scheme: str) -> None:
    random, count = Random(5), SchemeCount()
    for _ in range(40):
        count.add(labels_of(spans(random, 11), 11, scheme))
    assert count.scheme() == scheme


def test_a_file_with_a_few_mistakes_keeps_its_scheme() -> None:
    random, count = Random(6), SchemeCount()
    for _ in range(40):
        count.add(labels_of(spans(random, 11), 11, BIO))
    count.add(["O", "I-PER", "I-PER"])
    assert count.scheme() == BIO
    assert list(faults(["O", "I-PER", "I-PER"], BIO)) == [(1, "I-PER continues no span of its type")]


@pytest.mark.parametrize("labels", [["NOUN", "VERB", "X"], ["O", "O"], ["O", "PER"], ["B-PER", "-", "O"], ["", "O"]])
def test_other_labels_are_plain(labels: list[str]) -> None:
    count = SchemeCount()
    count.add(labels)
    assert count.scheme() == PLAIN


@pytest.mark.parametrize("scheme", [BIO, IOB1, BILOU, IOBES])
def test_allowed_sequences_are_those_without_faults(scheme: str) -> None:
    names = label_names(("A", "B"), scheme)
    rules = transitions(names, scheme)
    for path in product(range(len(names)), repeat=3):
        allowed = (
            rules.first[path[0]]
            and rules.last[path[2]]
            and rules.next[path[0], path[1]]
            and rules.next[path[1], path[2]]
        )
        assert allowed == (not list(faults([names[i] for i in path], scheme)))


def test_names_of_labels_say_the_scheme_unless_b_and_i_may_be_either() -> None:
    assert scheme_of_names(label_names(("A",), BILOU)) == BILOU
    assert scheme_of_names(label_names(("A",), IO)) == IO
    assert scheme_of_names(label_names(("A",), BIO)) is None
    assert scheme_of_names(["NOUN", "VERB"]) == PLAIN
