"""What a reader calls one character: extended grapheme clusters (Unicode Standard Annex 29).

A family emoji is seven code points, a Devanagari syllable four; a cut inside either shows garbage to a reader. The
pattern below is written for the `tokenizers` library's own regex engine, so that a saved tokenizer.json needs
nothing from us to split text in the same way.

The engine's `\\X` knows all rules except GB9c (Unicode 15.1): a consonant, a virama and a consonant stay together,
as in क्षि. That one rule is spelled out here for the six scripts to which Unicode 15.1 applies it.
"""

from __future__ import annotations

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

# Indic_Conjunct_Break=Consonant: Devanagari, Bengali, Gujarati, Oriya, Telugu, Malayalam.
_CONSONANT = (
    "[\u0915-\u0939\u0958-\u095f\u0978-\u097f"
    "\u0995-\u09a8\u09aa-\u09b0\u09b2\u09b6-\u09b9\u09dc\u09dd\u09df\u09f0\u09f1"
    "\u0a95-\u0aa8\u0aaa-\u0ab0\u0ab2\u0ab3\u0ab5-\u0ab9\u0af9"
    "\u0b15-\u0b28\u0b2a-\u0b30\u0b32\u0b33\u0b35-\u0b39\u0b5c\u0b5d\u0b5f\u0b71"
    "\u0c15-\u0c28\u0c2a-\u0c39\u0c58-\u0c5a"
    "\u0d15-\u0d3a]"
)
_LINKER = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"  # the viramas of the same scripts
_EXTEND = "\\p{Grapheme_Extend}\u200d\U0001f3fb-\U0001f3ff"  # marks, the zero width joiner, skin tones
_NO_EXTEND = "\u200c"  # the zero width non-joiner is there to break a conjunct
_PREPEND = "[\\p{Prepended_Concatenation_Mark}\u0d4e\U000111c2\U000111c3]"

_CONJUNCT = (
    f"{_CONSONANT}[{_EXTEND}&&[^{_LINKER}{_NO_EXTEND}]]*[{_LINKER}][{_EXTEND}&&[^{_NO_EXTEND}]]*(?={_CONSONANT})"
)

GRAPHEME = f"{_PREPEND}*(?:{_CONJUNCT})+\\X|\\X"
"""One grapheme cluster, as a pattern for the library's regex engine."""


def grapheme_splitter() -> Split:
    """The pre-tokenizer that makes each grapheme cluster a piece of its own."""
    return Split(Regex(GRAPHEME), "isolated")


def graphemes(text: str) -> list[str]:
    """The grapheme clusters of a text, in order; joined, they give the text again."""
    return [cluster for cluster, _ in grapheme_splitter().pre_tokenize_str(text)]
