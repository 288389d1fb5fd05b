"""The slips of two sides that are given as lines."""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.data.slips.slip import Slip, SlipFeatures


def find_slips(source: Sequence[str], target: Sequence[str]) -> list[Slip]:
    """Where the two sides go out of step; [] if they do not."""
    features = SlipFeatures()
    features.add(source, target)
    return features.slips()
