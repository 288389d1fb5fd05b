"""Claims about the Transformer: positions, longer texts, heads, beam search."""

from __future__ import annotations

from typing import Any

from glassformer.evaluate.metric import Measured
from glassformer.evaluate.translation import BLEU
from glassformer.models.registry import build, values_of
from glassformer.tasks.experiments.claims.bench import SHAPE, SHORT, WIDTH, Bench
from glassformer.tasks.experiments.claims.claim import (
    CONFIRMED,
    DEPENDS,
    NOT_CONFIRMED,
    Finding,
    is_above,
    is_within,
    plain_values,
)
from glassformer.tasks.experiments.pace import training_pace
from glassformer.tasks.experiments.repeated import Repeated, shown
from glassformer.tasks.experiments.translators import Variant

SAME = 2.0  # BLEU: a smaller difference is called none
SINUSOIDAL = Variant("sinusoidal", "sinusoidal positions", SHAPE)
LEARNED = Variant("learned", "learned positions", {**SHAPE, "positions": "learned"})
ROTARY = Variant("rotary", "rotary positions", {**SHAPE, "positions": "rotary"})
HEADS = tuple(
    SINUSOIDAL if count == SHAPE["h"] else Variant(f"heads-{count}", f"{count} heads", {**SHAPE, "h": count})
    for count in (1, 4, 8)
)
LEARNED_LENGTHS, LONGER_LENGTHS = (1, 2), (3, 4, 6)
BEAM = 5
WIDE = 256  # a second width at which heads are timed


def bleu(bench: Bench, variant: Variant, clauses: tuple[int, ...], *, beam: int = 1) -> Repeated:
    """BLEU on unseen texts with these numbers of clauses, for each seed."""
    examples = [(one.phrase.source, one.phrase.references) for one in bench.tests(SHORT, clauses)]
    written = [bench.written(variant, seed, SHORT, clauses=clauses, beam=beam) for seed in bench.numbers]
    return Repeated(tuple(Measured(BLEU, BLEU.counts(one, examples)).total for one in written))


def learned_positions(bench: Bench) -> Finding:
    found = {one.key: bleu(bench, one, LEARNED_LENGTHS) for one in (SINUSOIDAL, LEARNED)}
    apart = found["learned"].minus(found["sinusoidal"])
    if is_within(apart, SAME):
        verdict = CONFIRMED
    else:
        verdict = NOT_CONFIRMED if is_above(apart) or is_above(apart.below(0.0)) else DEPENDS
    rows = (
        ("sinusoidal", shown(found["sinusoidal"]), ""),
        ("learned", shown(found["learned"]), shown(apart)),
    )
    why = f"Learned positions minus sinusoidal ones: {shown(apart)} BLEU; a difference within {SAME:g} is called none."
    return Finding(verdict, why, ("positions", "BLEU", "difference"), rows, plain_values(found))


def longer_texts(bench: Bench) -> Finding:
    """BLEU by clauses; the model has learned from one and two."""
    lengths = [(1,), (2,), *((count,) for count in LONGER_LENGTHS)]
    found = {one.key: [bleu(bench, one, clauses) for clauses in lengths] for one in (SINUSOIDAL, LEARNED, ROTARY)}
    rows = tuple((key, *map(shown, scores)) for key, scores in found.items())
    at_two, at_three = (found["sinusoidal"][i] for i in (1, 2))
    kept = at_three.mean / max(at_two.mean, 1e-9)
    ahead = at_three.minus(found["learned"][2])
    if kept >= 0.9:
        verdict = CONFIRMED
    else:
        verdict = DEPENDS if is_above(ahead) else NOT_CONFIRMED
    why = (
        f"With sinusoidal positions, texts of 3 clauses keep {100 * kept:.0f}% of the BLEU of texts of 2, the longest "
        f"in training. Sinusoidal positions minus learned ones on texts of 3: {shown(ahead)} BLEU."
    )
    values = {
        f"{key} {length[0]}": one for key, scores in found.items() for length, one in zip(lengths, scores, strict=True)
    }
    head = ("positions", *(f"{length[0]} clause{'s' * (length[0] > 1)}" for length in lengths))
    return Finding(verdict, why, head, rows, plain_values(values))


def many_heads(bench: Bench) -> Finding:
    scores = {one.key: bleu(bench, one, LEARNED_LENGTHS) for one in HEADS}
    flops = {one.key: float(bench.facts(one, 1, SHORT).get("flops", 0.0)) for one in HEADS}
    translator, first = bench.translator(SINUSOIDAL, 1, SHORT), HEADS[0].key
    times = {width: step_times(translator, width) for width in (WIDTH, WIDE)}
    cost = {key: flops[key] / max(flops[first], 1.0) for key in flops}
    rows = tuple(
        (
            str(one.model["h"]),
            f"{cost[one.key]:.3f}",
            *(f"{times[width][one.key]:.2f}" for width in times),
            shown(scores[one.key]),
        )
        for one in HEADS
    )
    same_work = all(abs(one - 1) < 0.01 for one in cost.values())
    verdict = (CONFIRMED if max(times[WIDE].values()) < 1.1 else DEPENDS) if same_work else NOT_CONFIRMED
    ahead, last = scores[SINUSOIDAL.key].minus(scores[first]), HEADS[-1].key
    why = (
        f"8 heads need {cost[last]:.3f} times the operations of one head, {times[WIDTH][last]:.2f} times its time at "
        f"width {WIDTH} and {times[WIDE][last]:.2f} times at width {WIDE}. 4 heads minus one: {shown(ahead)} BLEU."
    )
    head = ("heads", "operations", f"time, width {WIDTH}", f"time, width {WIDE}", f"BLEU, width {WIDTH}")
    by_width = {f"time {width}": {key: round(one, 3) for key, one in own.items()} for width, own in times.items()}
    return Finding(verdict, why, head, rows, {**plain_values(scores), "operations": cost, **by_width})


def step_times(translator: Any, width: int) -> dict[str, float]:
    """The time of a training step with each number of heads, relative to one head."""
    pace = {}
    for one in HEADS:
        values = {**values_of(translator.model), "d": width, "d_ff": 2 * width, "h": one.model["h"]}
        model = translator.with_model(build("transformer", values))
        pace[one.key] = training_pace(model, length=16, tokens=1024)
    return {key: pace[HEADS[0].key] / one for key, one in pace.items()}


def beam_search(bench: Bench) -> Finding:
    """Greedy against beam: BLEU, and how often the wider search finds a more probable translation."""
    lengths = (*LEARNED_LENGTHS, *LONGER_LENGTHS[:1])
    rows, ahead = [], dict[int, Repeated]()
    values: dict[str, Repeated] = {}
    for clauses in lengths:
        greedy, beam = (bleu(bench, SINUSOIDAL, (clauses,), beam=width) for width in (1, BEAM))
        ahead[clauses] = beam.minus(greedy)
        rows.append((str(clauses), shown(greedy), shown(beam), shown(ahead[clauses])))
        values |= {f"greedy {clauses}": greedy, f"beam {clauses}": beam}
    better = [is_above(one) for one in ahead.values()]
    verdict = CONFIRMED if all(better) else DEPENDS if any(better) else NOT_CONFIRMED
    why = (
        f"A beam of {BEAM} minus greedy: {shown(ahead[1])} BLEU on texts of one clause, {shown(ahead[2])} on texts of "
        f"two and {shown(ahead[3])} on texts of three, which are longer than those in training."
    )
    return Finding(verdict, why, ("clauses", "greedy", f"beam {BEAM}", "difference"), tuple(rows), plain_values(values))
