"""The profile of a step as a table."""

from __future__ import annotations

from dataclasses import replace

from glassformer.cli.profiling import profile_lines
from glassformer.training.profile import Profile

FOUND = Profile(
    steps=20, step_seconds=0.1, profiled_seconds=0.11, tokens=4000.0, groups={"small": 0.011, "large": 0.099},
    others=[("aten::odd", 0.002)], product_flops=5e9, product_seconds=0.0625, plain_rate=1e11, threads=2,
)  # fmt: skip


def test_the_largest_part_comes_first_with_its_share_of_the_real_time() -> None:
    lines = list(profile_lines(FOUND))
    assert lines[0] == "A step: 100.0 ms, 4,000 tokens, 40,000 tokens/s (2 threads, mean of 20)"
    assert lines[1].split() == ["large", "█" * 27, "90.0%", "90.00", "ms"]
    assert lines[2].split() == ["small", "█" * 3, "10.0%", "10.00", "ms"]
    assert "aten::odd 2.00 ms" in lines[3]
    assert "5.00 GFLOP per step at 80.0 GFLOP/s." in lines[4]
    assert "reaches 100.0 GFLOP/s here; the whole step does 50.0, 50% of it." in lines[5]
    assert "(+10% time)" in lines[6]
    assert len(lines) == 7


def test_a_busy_machine_is_reported() -> None:
    assert "Measure again" in list(profile_lines(replace(FOUND, step_seconds=0.05)))[-1]
