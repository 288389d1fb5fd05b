"""Text to ids and back: train, encode, decode and trace tokenizers. No torch in here."""

from glassformer.text.graphemes import graphemes
from glassformer.text.pieces import BOS, EOS, MASK, PAD, UNK
from glassformer.text.tokenizer import SPECIAL_TOKENS, Tokenizer
from glassformer.text.trace import Trace, TraceStep
from glassformer.text.training import TOKENIZERS, tokenizer_for, train_tokenizer

__all__ = [
    "BOS",
    "EOS",
    "MASK",
    "PAD",
    "SPECIAL_TOKENS",
    "TOKENIZERS",
    "UNK",
    "Tokenizer",
    "Trace",
    "TraceStep",
    "graphemes",
    "tokenizer_for",
    "train_tokenizer",
]
