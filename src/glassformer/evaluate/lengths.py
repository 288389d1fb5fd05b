"""How long the training sentences were. This decides where texts are split, and which translations look wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORTEST_LIMIT = 32  # tokens: shorter texts are not split, however short the training sentences were
ENOUGH = 200  # with fewer pairs, ratios are not estimated
LONG_ENOUGH = 20  # source tokens; the ratios of shorter pairs are ignored
MARGIN = 2  # beyond what was seen in training

Lengths_ = NDArray[np.int64]


@dataclass(frozen=True)
class Lengths:
    """The lengths of the training pairs, in tokens without end marks.

    The defaults are for runs that did not record them.
    """

    usual: int = 64  # texts with more tokens are split
    longest: int = 0  # source; 0: not known
    least_ratio: float = 0.2  # target tokens to source tokens; a translation beyond looks wrong
    most_ratio: float = 5.0

    @classmethod
    def of(cls, sources: Lengths_, targets: Lengths_) -> Lengths:
        """`usual` is the 99% quantile of the sources; the ratios are the 0.1% and 99.9% quantiles, widened twofold."""
        if not len(sources):
            return cls()
        usual = max(SHORTEST_LIMIT, int(np.quantile(sources, 0.99)))
        found = cls(usual=usual, longest=int(sources.max()))
        long_sources = sources >= LONG_ENOUGH
        if long_sources.sum() < ENOUGH:
            return found
        ratios = targets[long_sources] / sources[long_sources]
        least, most = float(np.quantile(ratios, 0.001)) / MARGIN, float(np.quantile(ratios, 0.999)) * MARGIN
        return cls(usual, found.longest, round(min(least, 1 / MARGIN), 3), round(max(most, MARGIN), 3))

    @classmethod
    def read(cls, recorded: Any) -> Lengths:
        """Reads what `to_dict` returned; the defaults if nothing valid was recorded."""
        if not isinstance(recorded, Mapping) or set(recorded) != set(asdict(cls())):
            return cls()
        kinds = {"usual": int, "longest": int, "least_ratio": int | float, "most_ratio": int | float}
        sensible = all(isinstance(recorded[name], kind) and recorded[name] >= 0 for name, kind in kinds.items())
        return cls(**recorded) if sensible and recorded["usual"] >= SHORTEST_LIMIT else cls()

    def to_dict(self) -> dict[str, int | float]:
        return asdict(self)
