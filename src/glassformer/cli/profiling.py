"""`glassformer train --profile`: how the time of a step is spent, on stdout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from glassformer.training.profile import Profile
    from glassformer.training.recipe import Recipe

BAR = 30
UNEVEN = 0.2  # a larger slowdown cannot come from the profiler alone


def show_profile(recipe: Recipe, *, as_json: bool) -> None:
    """Measures some real steps. Trains nothing and writes no files."""
    from glassformer.cli.display import TrainingDisplay
    from glassformer.tasks.training import profile_training

    with TrainingDisplay("") as display:
        found = profile_training(recipe, watcher=display)
    if as_json:
        rates = {"tokens_per_second": found.tokens_per_second, "step_rate": found.step_rate}
        typer.echo(json.dumps({**asdict(found), "shares": found.shares, "product_rate": found.product_rate, **rates}))
        return
    for line in profile_lines(found):
        typer.echo(line)


def profile_lines(found: Profile) -> Iterator[str]:
    """The table, largest part first, and the totals."""
    step = 1000 * found.step_seconds
    yield (
        f"A step: {step:.1f} ms, {found.tokens:,.0f} tokens, {found.tokens_per_second:,.0f} tokens/s "
        f"({found.threads} thread{'' if found.threads == 1 else 's'}, mean of {found.steps})"
    )
    width = max(len(name) for name in found.groups)
    for name, share in sorted(found.shares.items(), key=lambda item: -item[1]):
        yield f"  {name:<{width}}  {'█' * round(BAR * share):<{BAR}}  {100 * share:5.1f}%  {share * step:8.2f} ms"
    if found.others:
        named = ", ".join(f"{name} {1000 * seconds:.2f} ms" for name, seconds in found.others)
        yield f"  (everything else is mostly: {named})"
    yield (
        f"Matrix products, including attention and output layer: {found.product_flops / 1e9:.2f} GFLOP per step "
        f"at {found.product_rate / 1e9:.1f} GFLOP/s."
    )
    yield (
        f"A plain product of 1,024 x 1,024 reaches {found.plain_rate / 1e9:.1f} GFLOP/s here; the whole step does "
        f"{found.step_rate / 1e9:.1f}, {100 * found.step_rate / found.plain_rate:.0f}% of it."
    )
    slower = found.profiled_seconds / found.step_seconds - 1
    yield f"Shares are measured with torch's profiler ({100 * slower:+.0f}% time); the milliseconds are without it."
    if abs(slower) > UNEVEN:
        yield "That is a lot: other programs keep this machine busy. Measure again when it is idle."
