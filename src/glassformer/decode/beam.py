"""Beam search: the k most likely beginnings are kept at each step.

The beam of a sentence shrinks by one whenever one of its hypotheses ends: k hypotheses in all are followed to
their end, so a beam of width 1 is greedy decoding, and a beam as wide as all outputs is exhaustive search.
Shapes: B sentences still open, k beam width, V vocabulary; row b*k+j is beam j of sentence b.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from glassformer.decode.protocol import Generator, Hypothesis, make_hypothesis, normalised

DEAD = float("-inf")


@dataclass
class Beams:
    """The open hypotheses of the open sentences."""

    sentence: Tensor  # (B,) which sentence of the batch
    left: Tensor  # (B,) how many hypotheses are still to be followed to their end
    scores: Tensor  # (B, k) log-probability so far; -inf: no hypothesis here
    tokens: Tensor  # (B, k, t)
    log_probs: Tensor  # (B, k, t) of each token


@dataclass
class Pool:
    """The ended hypotheses of one sentence."""

    ended: list[Hypothesis] = field(default_factory=list)

    def best(self, n: int) -> list[Hypothesis]:
        """Finished ones first, each group by score."""
        return sorted(self.ended, key=lambda h: (not h.finished, -h.score))[:n]

    def settled(self, n: int, attainable: float) -> bool:
        """Whether no open hypothesis can still enter the n best: none reaches the n-th best ended score."""
        ended = sorted((h.score for h in self.ended if h.finished), reverse=True)
        return len(ended) >= n and ended[n - 1] >= attainable


@torch.inference_mode()
def beam_search(
    model: Generator,
    batch: Any,
    *,
    width: int,
    bos: int,
    eos: int,
    limits: Tensor,
    alpha: float = 1.0,
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """The n best hypotheses per sentence, best first. limits (B,): how many tokens each sentence may have."""
    pools = [Pool() for _ in range(limits.numel())]
    beams = _begin(width, limits)
    state = model.select(model.start(batch), beams.sentence.repeat_interleave(width))
    last = torch.full((limits.numel() * width,), bos, device=limits.device)
    while True:
        open_ = _still_open(beams, pools, limits=limits, alpha=alpha, n_best=n_best)  # (B,)
        if not bool(open_.any()):
            return [pool.best(n_best) for pool in pools]
        if not bool(open_.all()):
            rows = open_.repeat_interleave(width)
            state, last, beams = model.select(state, rows.nonzero()[:, 0]), last[rows], _keep(beams, open_)
        logits, state, _ = model.step(last, state)
        beams, parents = _extend(beams, logits)
        state = model.select(state, parents)
        _collect_ended(beams, pools, eos=eos, alpha=alpha)
        last = beams.tokens[:, :, -1].flatten()


def _begin(width: int, limits: Tensor) -> Beams:
    """Every sentence starts with one hypothesis, the empty one."""
    count, device = limits.numel(), limits.device
    scores = torch.full((count, width), DEAD, device=device)
    scores[:, 0] = 0.0
    empty = torch.empty(count, width, 0, device=device)
    left = torch.full((count,), width, device=device)
    return Beams(torch.arange(count, device=device), left, scores, empty.long(), empty)


def _extend(beams: Beams, logits: Tensor) -> tuple[Beams, Tensor]:
    """The best continuations of each sentence, as many as are left to follow, and the row that each continues."""
    count, width = beams.scores.shape
    step = logits.log_softmax(dim=-1)  # (B*k, V)
    best, token = step.topk(min(width, step.size(-1)), dim=-1)  # (B*k, k')
    total = beams.scores.unsqueeze(-1) + best.view(count, width, -1)  # (B, k, k')
    scores, choice = total.flatten(1).topk(width, dim=1)  # (B, k); k*k' >= k
    beam = choice // best.size(-1)  # (B, k) the parent of each
    token, best = (x.reshape(count, -1).gather(1, choice) for x in (token, best))
    spent = torch.arange(width, device=scores.device) >= beams.left.unsqueeze(1)  # (B, k)
    grown = Beams(
        sentence=beams.sentence,
        left=beams.left,
        scores=scores.masked_fill(spent, DEAD),
        tokens=torch.cat([_take(beams.tokens, beam), token.unsqueeze(-1)], dim=-1),
        log_probs=torch.cat([_take(beams.log_probs, beam), best.unsqueeze(-1)], dim=-1),
    )
    base = torch.arange(count, device=beam.device).unsqueeze(1) * width
    return grown, (base + beam).flatten()


def _take(history: Tensor, beam: Tensor) -> Tensor:
    """history (B, k, t) reordered by parents (B, k)."""
    return history.gather(1, beam.unsqueeze(-1).expand(-1, -1, history.size(-1)))


def _collect_ended(beams: Beams, pools: list[Pool], *, eos: int, alpha: float) -> None:
    """Hypotheses that just ended move to their pool, and their sentence has one less to follow."""
    ended = (beams.tokens[:, :, -1] == eos) & (beams.scores > DEAD)  # (B, k)
    for b, j in ended.nonzero().tolist():
        _pool(beams, pools, b, j, alpha=alpha, finished=True)
    beams.left = beams.left - ended.sum(dim=1)
    beams.scores = beams.scores.masked_fill(ended, DEAD)


def _pool(beams: Beams, pools: list[Pool], b: int, j: int, *, alpha: float, finished: bool) -> None:
    ids, log_probs = beams.tokens[b, j].tolist(), beams.log_probs[b, j].tolist()
    hypothesis = make_hypothesis(ids[:-1] if finished else ids, log_probs, alpha=alpha, finished=finished)
    pools[int(beams.sentence[b])].ended.append(hypothesis)


def _still_open(beams: Beams, pools: list[Pool], *, limits: Tensor, alpha: float, n_best: int) -> Tensor:
    """(B,) whether a sentence goes on. One at its length limit gives up its open hypotheses as they are."""
    length = beams.tokens.size(-1)
    verdicts = []
    for b, sentence in enumerate(beams.sentence.tolist()):
        limit, best = int(limits[sentence]), float(beams.scores[b].max())
        alive = best > DEAD
        if alive and length >= limit:
            for j in (beams.scores[b] > DEAD).nonzero()[:, 0].tolist():
                _pool(beams, pools, b, j, alpha=alpha, finished=False)
            alive = False
        # log P only falls with length, so the best that a hypothesis can reach is its present log P at full length.
        verdicts.append(alive and not pools[sentence].settled(n_best, normalised(best, limit, alpha)))
    return torch.tensor(verdicts, device=limits.device)


def _keep(beams: Beams, open_: Tensor) -> Beams:
    return Beams(*(getattr(beams, name)[open_] for name in ("sentence", "left", "scores", "tokens", "log_probs")))
