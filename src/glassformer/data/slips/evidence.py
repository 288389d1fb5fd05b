"""How much two lines look like translations of each other. This is learnt from the same lines that it judges.

The sketches of both sides are modelled as jointly Gaussian. If a direction of one side and a direction of the other
have correlation rho, the log-likelihood ratio of values (x, y), for translations against unrelated lines, is

    log p(x, y) / p(x) p(y)  =  -log(1 - rho^2) / 2  +  (rho x y - rho^2 (x^2 + y^2) / 2) / (1 - rho^2).

Two sets of directions are used. "Likeness": each feature with its own counterpart (lengths, endings, shared words).
"Lexicon": the canonical directions (Hotelling, 1936) of all features, which act as a small dictionary between the bits
of the two sides and work across scripts. A logistic regression, pairs against unrelated lines nearby, weights the two
and turns them into nats; a set that does not help gets weight 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassformer.data.slips.sketches import ENDINGS, WIDTH, Floats, Side

NEAR = 20  # unrelated lines come from at most this far away: in a sorted file, these are the most similar

_FOLD = 32  # consecutive lines that are judged by the same evidence
_FEWEST = 16  # pairs needed in each kind of fold to learn anything
_PLENTY = 12_000  # pairs: with this many, overfitting is negligible
_MOST = 24_000  # pairs: more do not help
_DIRECTIONS = 64
_RIDGE = 0.5
_PRIOR_TRUST = 0.35
_LARGEST_RHO = 0.95
_FLOOR, _CEILING = -3.0, 4.0  # limits on the nats of a single line: no line is certain


@dataclass(frozen=True)
class Evidence:
    """Nats for "x and y are a pair" against "they are unrelated": a sum over directions of both sides.

    The first WIDTH directions are the features themselves; the columns of u and v are further directions.
    """

    u: Floats  # (WIDTH, K), of the source
    v: Floats  # (WIDTH, K), of the target
    product: Floats  # (WIDTH + K), the coefficients of x y
    square: Floats  # (WIDTH + K), the coefficients of x^2 and y^2
    constant: float

    def of_pairs(self, x: Floats, y: Floats) -> Floats:
        """x and y row by row."""
        left, of_x = self.of_sources(x)
        right, of_y = self.of_targets(y)
        return np.einsum("nd,nd->n", left, right) + of_x + of_y

    def of_sources(self, x: Floats) -> tuple[Floats, Floats]:
        """The factors for the values of the targets, and the terms that depend only on the source lines."""
        values = np.concatenate([x, x @ self.u], axis=1)
        return values * self.product, values**2 @ self.square + np.float32(self.constant)

    def of_targets(self, y: Floats) -> tuple[Floats, Floats]:
        """The values, and the terms that depend only on the target lines."""
        values = np.concatenate([y, y @ self.v], axis=1)
        return values, values**2 @ self.square


def clip(nats: Floats) -> Floats:
    return np.clip(nats, _FLOOR, _CEILING, out=nats)


def _gaussian(u: Floats, v: Floats, rho: Floats) -> Evidence:
    """The evidence of the features (first WIDTH of rho) and of the directions u and v (the rest), of unit variance."""
    rho = np.clip(rho, 0, _LARGEST_RHO)
    rest = 1 - rho**2
    return Evidence(u, v, rho / rest, -(rho**2) / (2 * rest), -float(np.log(rest).sum()) / 2)


def _prior_rho() -> Floats:
    """Correlations assumed at the start: strong for lengths, weaker for endings, weakest for words."""
    rho = np.full(WIDTH, 0.06, np.float32)
    rho[0], rho[1:3], rho[3 : 3 + ENDINGS] = 0.7, 0.2, 0.3
    return rho


def prior() -> tuple[Evidence]:
    """Initial evidence. It is scaled down, since real features are not Gaussian."""
    none = np.zeros((WIDTH, 0), np.float32)
    full = _gaussian(none, none, _prior_rho())
    trust = np.float32(_PRIOR_TRUST)
    return (Evidence(none, none, trust * full.product, trust * full.square, _PRIOR_TRUST * full.constant),)


def learn(
    source: Side, target: Side, lines: NDArray[np.int64], partners: NDArray[np.int64]
) -> tuple[Evidence, ...] | None:
    """Evidence from source lines and their target lines; None if there are too few.

    One for all lines if there are many; if not, one for the even folds and one for the odd folds, each learnt from the
    other folds, so that no line is judged by evidence learnt from it.
    """
    chosen = _thin(lines)
    lines, partners = lines[chosen], partners[chosen]
    odd = in_odd_fold(lines)
    if min(odd.sum(), (~odd).sum()) < _FEWEST:
        return None
    x, y = source.rows(lines), target.rows(partners)
    strangers = target.rows(_strangers(partners, len(target)))
    folds = [odd] if len(lines) > _PLENTY else [~odd, odd]
    return tuple(_learn_fold(x, y, strangers, here) for here in folds)


def in_odd_fold(lines: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (lines // _FOLD) % 2 == 1


def _thin(lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most _MOST of the lines, in whole folds spread over the file."""
    folds = lines // _FOLD
    keep = max(1, -(-len(lines) // _MOST))
    return np.flatnonzero((folds // 2) % keep == 0)


def _strangers(partners: NDArray[np.int64], lines: int) -> NDArray[np.int64]:
    """For each partner, another line near it."""
    random = np.random.default_rng(len(partners))
    away = random.integers(1, NEAR + 1, len(partners)) * random.choice([-1, 1], len(partners))
    return np.where((partners + away >= 0) & (partners + away < lines), partners + away, partners - away) % lines


def _learn_fold(x: Floats, y: Floats, strangers: Floats, here: NDArray[np.bool_]) -> Evidence:
    """Directions are learnt from the other folds, their correlations and weights from the lines here."""
    likeness = _likeness_rho(x[here], y[here])
    u, v, lexicon = _measured(*_canonical(x[~here], y[~here]), x[here], y[here])
    parts = [
        _gaussian(u, v, np.concatenate([likeness, np.zeros_like(lexicon)])),
        _gaussian(u, v, np.concatenate([np.zeros_like(likeness), lexicon])),
    ]
    return _weigh(parts, x[here], y[here], strangers[here])


def _likeness_rho(x: Floats, y: Floats) -> Floats:
    """The correlation of each feature with its counterpart, shrunk towards the prior. All bits share one."""
    believed = 20.0  # the prior counts as much as this many lines
    measured = (x * y).mean(0)
    measured[3 + ENDINGS :] = measured[3 + ENDINGS :].mean()
    rho = (len(x) * measured + believed * _prior_rho()) / (len(x) + believed)
    return np.where(rho < 1 / np.sqrt(len(x)), 0, rho).astype(np.float32)


def _canonical(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Canonical directions, strongest first, (WIDTH, _DIRECTIONS) each."""
    whiten_x, whiten_y = _whitening(x), _whitening(y)
    u, _, vt = np.linalg.svd(whiten_x @ (x.T @ y / np.float32(len(x))) @ whiten_y)
    return whiten_x @ u[:, :_DIRECTIONS], whiten_y @ vt[:_DIRECTIONS].T


def _whitening(x: Floats) -> Floats:
    """The inverse square root of the covariance; the ridge keeps rare features from dominating."""
    covariance = x.T @ x / np.float32(len(x)) + np.float32(_RIDGE) * np.eye(WIDTH, dtype=np.float32)
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(values)) @ vectors.T


def _measured(u: Floats, v: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """The directions that correlate on lines they were not learnt from, with unit variance, and their correlations."""
    p, q = x @ u, y @ v
    spread_p, spread_q = np.sqrt((p**2).mean(0)) + 1e-6, np.sqrt((q**2).mean(0)) + 1e-6
    rho = (p * q).mean(0) / (spread_p * spread_q)
    true = rho > 3 / np.sqrt(len(x))  # three standard errors: the rest may be chance
    return (u / spread_p)[:, true], (v / spread_q)[:, true], rho[true]


def _weigh(parts: list[Evidence], x: Floats, y: Floats, strangers: Floats) -> Evidence:
    """The sum of the parts, with the weights of a logistic regression of pairs against unrelated lines."""
    scores = np.concatenate([_columns(parts, x, y), _columns(parts, x, strangers)])
    is_pair = np.arange(len(scores)) < len(x)
    weights, intercept = _regress(scores, is_pair)
    product = np.stack([part.product for part in parts]).T @ weights
    square = np.stack([part.square for part in parts]).T @ weights
    constant = intercept + float(np.array([part.constant for part in parts]) @ weights)
    return Evidence(parts[0].u, parts[0].v, product.astype(np.float32), square.astype(np.float32), constant)


def _columns(parts: list[Evidence], x: Floats, y: Floats) -> NDArray[np.float64]:
    return np.stack([np.clip(part.of_pairs(x, y), -30, 30) for part in parts], axis=1).astype(np.float64)


def _regress(scores: NDArray[np.float64], is_pair: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float]:
    """Logistic regression by Newton's method, with weak L2 regularisation and non-negative weights."""
    spread = scores.std(0) + 1e-6
    columns = np.column_stack([scores / spread, np.ones(len(scores))])
    used = np.ones(columns.shape[1], bool)
    while True:
        weights = np.zeros(columns.shape[1])
        weights[used] = _newton(columns[:, used], is_pair)
        negative = (weights < 0) & (np.arange(len(weights)) < len(spread))
        if not negative.any():
            return weights[:-1] / spread, float(weights[-1])
        used &= ~negative


def _newton(columns: NDArray[np.float64], is_pair: NDArray[np.bool_]) -> NDArray[np.float64]:
    weights = np.zeros(columns.shape[1])
    for _ in range(12):
        likely = 1 / (1 + np.exp(-np.clip(columns @ weights, -30, 30)))
        slope = columns.T @ (is_pair - likely) - weights
        curve = (columns * (likely * (1 - likely))[:, None]).T @ columns + np.eye(len(weights))
        weights = weights + np.linalg.solve(curve, slope)
    return weights
