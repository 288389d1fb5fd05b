"""Decoding: one loop, choosers and rules, for any model that implements the protocol."""

from glassformer.decode.choosers import Best, BestRefilled, Sample
from glassformer.decode.protocol import Generator, Hypothesis, by_gnmt, by_length
from glassformer.decode.search import Search, search, steps
from glassformer.decode.settings import DecodeSettings

__all__ = [
    "Best",
    "BestRefilled",
    "DecodeSettings",
    "Generator",
    "Hypothesis",
    "Sample",
    "Search",
    "by_gnmt",
    "by_length",
    "search",
    "steps",
]
