"""Traces: how a word became its pieces, and how that is printed."""

from __future__ import annotations

import pytest

from glassformer.text import train_tokenizer
from glassformer.text.pieces import width

TEXTS = ["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3


def test_bpe_trace_shows_each_merge() -> None:
    trace = train_tokenizer("bpe", TEXTS, vocab_size=264).trace("lowest")
    assert [(step.merged, step.rank) for step in trace.steps] == [
        (("e", "s"), 0),
        (("es", "t"), 1),
        (("l", "o"), 2),
        (("lo", "w"), 3),
    ]
    assert trace.steps[0].before == ("l", "o", "w", "e", "s", "t")
    assert trace.steps[1].before == trace.steps[0].after == ("l", "o", "w", "es", "t")
    assert trace.steps[-1].after == trace.pieces == ("low", "est")
    assert str(trace) == "\n".join(
        [
            "bpe: lowest",
            "Join the two neighbours whose merge has the lowest rank; rank 0 was learned first. Stop when none fits.",
            "step   merge   rank  pieces",
            "start                l | o | w | e | s | t",
            "1      e + s   0     l | o | w | es | t",
            "2      es + t  1     l | o | w | est",
            "3      l + o   2     lo | w | est",
            "4      lo + w  3     low | est",
            "ids: low (263) est (261)",
        ]
    )


def test_wordpiece_trace_shows_matches_and_the_merges_that_made_them() -> None:
    trace = train_tokenizer("wordpiece", TEXTS, vocab_size=60).trace("lowest")
    first, second = trace.steps
    assert first.before == ("▁lowest",)
    assert first.tried == ("▁lowest", "▁lowes", "▁lowe", "▁low")
    assert first.after == ("▁low", "##est")
    assert second.tried == ("##est",)
    assert second.after == trace.pieces == ("▁low", "##est")
    assert first.merged is not None
    assert first.rank is not None
    assert first.score is not None
    assert first.score > 0
    assert first.count == 7  # low five times, lower twice
    _, _, head, one, two, _ = str(trace).split("\n")
    assert head.split() == ["step", "rest", "longest", "match", "lookups", "learned", "from", "rank", "count", "score"]
    assert one.split()[:5] == ["1", "▁lowest", "▁low", "4", "▁lo"]
    assert two.split()[:4] == ["2", "##est", "##est", "1"]


def test_unknown_words_have_one_step() -> None:
    trace = train_tokenizer("wordpiece", TEXTS, vocab_size=60).trace("loж")
    assert [step.after for step in trace.steps] == [("<unk>",)]


@pytest.mark.parametrize("kind", ["word", "char"])
def test_lookups_have_one_step(kind: str) -> None:
    trace = train_tokenizer(kind, TEXTS).trace("low")
    assert len(trace.steps) == 1
    assert trace.steps[0].after == trace.pieces


@pytest.mark.parametrize("kind", ["word", "char", "bpe", "wordpiece"])
def test_nothing_to_trace(kind: str) -> None:
    trace = train_tokenizer(kind, TEXTS, vocab_size=300).trace("")
    assert trace.steps == trace.pieces == trace.ids == ()
    assert str(trace).startswith(f"{kind}:")


def test_columns_stay_aligned_in_any_script() -> None:
    trace = train_tokenizer("bpe", ["日本語 हिन्दी"] * 3, vocab_size=300).trace("日本語")
    _, _, head, start, *rows, _ = str(trace).split("\n")
    assert start.split()[:2] == ["start", trace.steps[0].before[0]]
    starts = {width(row) - width(" | ".join(step.after)) for row, step in zip(rows, trace.steps, strict=True)}
    assert starts == {head.index("pieces")}
