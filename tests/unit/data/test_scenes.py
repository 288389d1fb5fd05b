"""Drawn scenes: the captions are true, the held-out combinations are held out, the drawings are what is said."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.data.scenes import captions_of, draw, is_held, scenes
from glassformer.data.scenes.drawing import PALETTE
from glassformer.data.scenes.grammar import COMBINATIONS, PARTS, Combination, Scene

MADE = scenes(300, held=60, seed=3)


def combinations(part: list[Scene]) -> set[Combination]:
    return {group.combination for scene in part for group in scene.groups}


def test_training_never_shows_a_held_out_combination() -> None:
    assert {COMBINATIONS[one] for one in combinations(MADE.train)} == {"train"}
    for part in ("valid", "test"):
        for scene in vars(MADE)[part]:
            found = {COMBINATIONS[group.combination] for group in scene.groups}
            assert part in found
            assert found <= {part, "train"}


def test_every_word_is_seen_in_training() -> None:
    words = {word for scene in MADE.train for caption in captions_of(scene) for word in caption.split()}
    held = {word for scene in (*MADE.valid, *MADE.test) for caption in captions_of(scene) for word in caption.split()}
    assert held <= words


def test_both_directions_are_right() -> None:
    scene = next(one for one in MADE.train if len(one.groups) == 2 and one.groups[0].place == "above")
    first, second = captions_of(scene)
    above, below = first.split(" above ")
    assert second == f"{below} below {above}"


def test_the_relation_is_true() -> None:
    for scene in MADE.train[:100]:
        middles = {group.place: group.centres.mean(axis=0) for group in scene.groups}
        if "above" in middles:
            assert middles["above"][0] < middles["below"][0]
        if "left" in middles:
            assert middles["left"][1] < middles["right"][1]


def test_no_other_relation_is_true() -> None:
    """What is above is not also beside: the groups are further apart along their relation than across it."""
    for scene in (one for one in MADE.train if len(one.groups) == 2):
        first, second = (group.centres.mean(axis=0) for group in scene.groups)
        down, across = np.abs(first - second)
        along, other = (down, across) if scene.groups[0].place in ("above", "below") else (across, down)
        assert along > other + 0.1


def test_counts_and_colours_are_drawn() -> None:
    """Pixels near a colour of the palette: as many connected parts as the caption says."""
    for scene, image in zip(MADE.test[:30], draw(MADE.test[:30], 64), strict=True):
        for group in scene.groups:
            assert len(group.sizes) == ("a", "two", "three").index(group.number) + 1
            for y, x in group.centres:
                pixel = image[int(y * 64), int(x * 64)].astype(int)
                distances = {name: np.abs(pixel - np.array(colour)).sum() for name, colour in PALETTE.items()}
                assert min(distances, key=distances.__getitem__) == group.colour


def test_shapes_of_a_group_do_not_touch() -> None:
    for scene in MADE.train[:100]:
        centres = np.concatenate([group.centres for group in scene.groups])
        sizes = np.concatenate([group.sizes for group in scene.groups])
        gaps = np.linalg.norm(centres[:, None] - centres[None], axis=-1) - sizes[:, None] - sizes[None]
        assert (gaps[np.triu_indices(len(sizes), 1)] > 0).all()


def test_they_are_a_function_of_the_seed() -> None:
    again = scenes(10, held=60, seed=3)
    assert [captions_of(one) for one in again.test] == [captions_of(one) for one in MADE.test]
    np.testing.assert_array_equal(draw(again.test[:5]), draw(MADE.test[:5]))
    assert [captions_of(one) for one in scenes(10, held=5, seed=4).test] != [captions_of(one) for one in again.test[:5]]


@pytest.mark.parametrize("part", PARTS)
def test_a_scene_belongs_to_one_part(part: str) -> None:
    for scene in vars(MADE)[part][:20]:
        assert [name for name in PARTS if is_held(scene, name)] == [part]


def test_articles_and_plurals() -> None:
    words = {caption for scene in (*MADE.train, *MADE.test) for caption in captions_of(scene)}
    assert not any("a orange" in caption or "crosss" in caption for caption in words)
    assert any("an orange" in caption for caption in words)
    assert any("crosses" in caption for caption in words)
