"""Placeholders and tags of a text: which ones, in one linear scan."""

from __future__ import annotations

import re

import pytest

from glassformer.errors import TokenizerError
from glassformer.text import placeholders as module
from glassformer.text import train_tokenizer
from glassformer.text.placeholders import placeholders_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello {name}, {0, number} ${x} {{y}}", ["{name}", "{0, number}", "${x}", "{{y}}"]),
        ("%s %d %5.2f %1$s %(user)s %@ %i", ["%s", "%d", "%5.2f", "%1$s", "%(user)s", "%@", "%i"]),
        ("50%discount 100% sure 5 % so 5%-a 50%ige", []),
        ("%d%% of dogs, 100%% sure", ["%d", "%%", "%%"]),
        ("5%d dogs 5%s.", ["%d", "%s"]),
        (
            '<img src="a.png" alt="a > b"> <a href=\'x>y\'>z</a>',
            ['<img src="a.png" alt="a > b">', "<a href='x>y'>", "</a>"],
        ),
        ("<a title=it's>x</a>", ["<a title=it's>", "</a>"]),
        ("a <!-- <b> no -- tag --> b", ["<!-- <b> no -- tag -->"]),
        ("a <![CDATA[x < y]]> b", ["<![CDATA[x < y]]>"]),
        ("{% if x > 3 %}a{%- endif -%}", ["{% if x > 3 %}", "{%- endif -%}"]),
        ("{{ user.name | default('x') }} #{user}", ["{{ user.name | default('x') }}", "#{user}"]),
        ("Replace $1 with $2.", ["$1", "$2"]),
        ("It costs $1.50 or $5 or $20.", []),
        ("<b>x</b> <br/> <a href='y'> 3 < 4 > 2", ["<b>", "</b>", "<br/>", "<a href='y'>"]),
        ("$VAR costs $5 &amp; %PATH% a&b", ["$VAR", "&amp;", "%PATH%"]),
        ("{n, plural, one {a {x}} other {b}} {z}", ["{n, plural, one {a {x}} other {b}}", "{z}"]),
        ("a <b and c> d", []),
        ('<a title="{n, plural, other {x}}">y</a>', ['<a title="{n, plural, other {x}}">', "</a>"]),
        ("<x {n, plural, other {y}}> z", ["{n, plural, other {y}}"]),
    ],
)
def test_what_is_a_placeholder(text: str, found: list[str]) -> None:
    assert [one.text for one in placeholders_in(text)] == found
    assert all(text[one.start : one.end] == one.text for one in placeholders_in(text))


def test_those_filled_in_by_their_order_are_known() -> None:
    found = placeholders_in("%s %1$s %(x)s {} {0}")
    assert [one.text for one in found if one.positional] == ["%s", "{}"]
    assert [one.positional for one in placeholders_in("{% if x %} a {{ x }} {% endif %}")] == [True, False, True]


def test_every_repetition_is_bounded() -> None:
    """An open repetition ("%" and many zeros) makes the scan quadratic; patterns of single signs cannot."""
    for pattern in (module._PLACEHOLDER.pattern, module._ICU.pattern):
        assert not re.search(r"(?<!\\)[*+](?!\])", re.sub(r"\[[^\]]*\]", "x", pattern))


def test_the_patterns_before_were_not_bounded() -> None:
    """What the test above would have found."""
    old = r"(?<![\d%])%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?[sdifuxXeEgGc@](?![A-Za-z])"
    assert re.search(r"(?<!\\)[*+](?!\])", re.sub(r"\[[^\]]*\]", "x", old))


def test_a_text_too_long_to_trace_is_refused() -> None:
    """Its steps grow with the square of its length."""
    tokenizer = train_tokenizer("bpe", ["a dog sees a cat"] * 3, vocab_size=280)
    assert tokenizer.trace("dog" * 50).pieces
    with pytest.raises(TokenizerError, match="got 900 letters to trace; allowed are 300"):
        tokenizer.trace("dog" * 300)
