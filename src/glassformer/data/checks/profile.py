"""What is usual in a corpus, learnt from its first pairs. The filters compare pairs with it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassformer.data.checks.blocks import Block
from glassformer.text.scripts import expected_scripts, letters_by_script

PAIRS = 20_000  # it learns from this many
FEWEST = 50  # with fewer it learns nothing, and the checks that need it find nothing
SLACK = 10.0  # added to both lengths: the ratio of very short texts means little
SIGMAS = 5.0
LEAST_LIMIT = math.log(3.0)


@dataclass(frozen=True)
class Profile:
    """What is usual on the two sides. If nothing could be learnt, nothing counts as unusual."""

    pairs: int = 0
    length_factor: float = 1.0  # target characters for each source character
    length_limit: float = math.inf  # how far the logarithm of the ratio may be from usual
    scripts: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    words: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())  # typical of one side

    def length_deviation(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """For each pair (n, 2): log of (target length / expected target length); 0 is usual."""
        source, target = lengths[:, 0], lengths[:, 1]
        return np.asarray(np.log((target + SLACK) / (self.length_factor * source + SLACK)))


def learn(block: Block) -> Profile:
    """The profile of the first pairs of a corpus."""
    if len(block) < FEWEST:
        return Profile(len(block))
    factor = float(np.exp(np.median(np.log((block.lengths[:, 1] + 1.0) / (block.lengths[:, 0] + 1.0)))))
    guess = Profile(len(block), length_factor=factor)
    return Profile(
        len(block),
        length_factor=factor,
        length_limit=max(LEAST_LIMIT, SIGMAS * robust_sigma(guess.length_deviation(block.lengths))),
        scripts=(scripts_of(block.texts[0]), scripts_of(block.texts[1])),
        words=typical_words(block),
    )


def robust_sigma(values: NDArray[np.float64]) -> float:
    """The standard deviation of a normal distribution with this median absolute deviation. Robust to outliers."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def scripts_of(texts: Sequence[str]) -> frozenset[str]:
    return expected_scripts(letters_by_script("".join(texts)))


def typical_words(block: Block, *, odds: int = 20) -> tuple[frozenset[str], frozenset[str]]:
    """Words that are frequent on one side and at least `odds` times rarer on the other."""
    counts = [Counter(word for words in side for word in words) for side in block.words]
    least = max(3, len(block) // 2_000)

    def typical(here: Counter[str], there: Counter[str]) -> frozenset[str]:
        return frozenset(w for w, n in here.items() if n >= least and n >= odds * there[w])

    return typical(counts[0], counts[1]), typical(counts[1], counts[0])
