"""Decoding: greedy and beam search, for any model that speaks the protocol."""

from glassformer.decode.beam import beam_search
from glassformer.decode.greedy import greedy
from glassformer.decode.protocol import Generator, Hypothesis
from glassformer.decode.settings import DecodeSettings

__all__ = ["DecodeSettings", "Generator", "Hypothesis", "beam_search", "greedy"]
