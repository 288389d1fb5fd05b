"""The course: changes of plan never move the position, and records give the same course again."""

from __future__ import annotations

import itertools

import pytest

from glassformer.errors import RunError
from glassformer.training.course import Change, Course


def course(*changes: Change, steps: int = 100) -> Course:
    found = Course(steps=steps, threads=1, changes=changes)
    for change in changes:
        found.take(change)
    return found


def test_without_changes_a_position_is_a_step() -> None:
    assert [course(steps=7).position(step) for step in range(8)] == list(range(8))
    assert course().pace() == 1.0


@pytest.mark.parametrize("steps", [11, 40, 300])
def test_a_change_continues_from_its_position_to_the_same_end(steps: int) -> None:
    changed = course(Change(10, steps, 2))
    positions = [changed.position(step) for step in range(steps + 1)]
    assert positions[:11] == list(range(11))
    assert positions[-1] == 100
    rises = [after - before for before, after in itertools.pairwise(positions[10:])]
    assert rises == pytest.approx([90 / (steps - 10)] * len(rises))
    assert changed.pace() == pytest.approx(90 / (steps - 10))


def test_several_changes_are_continuous_also_at_the_same_step() -> None:
    changed = course(Change(10, 50, 1), Change(20, 200, 2), Change(20, 30, 1), Change(29, 33, 1))
    positions = [changed.position(step) for step in range(34)]
    assert positions == sorted(positions)
    assert positions[-1] == 100
    assert len(set(positions)) == len(positions)


def test_validations_are_counted_in_steps_of_the_first_plan() -> None:
    changed = course(Change(10, 28, 1))  # from here on a step is worth 5
    measured = [0]
    for step in range(1, 28):
        if changed.crosses(measured[-1], step, 20):
            measured.append(step)
    assert measured[1:] == [12, 16, 20, 24]  # positions 20, 40, 60, 80


def test_recorded_changes_wait_for_their_step() -> None:
    changes = [Change(3, 50, 2), Change(3, 60, 1), Change(9, 9, 1)]
    found = Course(steps=100, threads=1, changes=changes)
    taken = []
    for step in range(10):
        while change := found.due(step):
            found.take(change)
            taken.append(step)
    assert taken == [3, 3, 9]
    assert found.has_ended
    assert not found.is_replayed
    assert found.position(9) == 100


@pytest.mark.parametrize(
    "record",
    [{"step": 5, "steps": 3, "threads": 1}, {"step": 5, "steps": 9, "threads": 0}, {"step": 1}, {"other": 2}],
)
def test_a_line_that_is_not_a_change_is_refused(record: dict[str, int]) -> None:
    with pytest.raises(RunError, match=r"plan\.jsonl has a line that is not a change of plan"):
        Change.of(record)
