"""The facts of the lecture notes, by their numbers; and every lesson fits an 80-column terminal."""

from __future__ import annotations

import io

import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

from glassformer.explain.lessons import LESSONS, cat, lesson_view, mask, mixing, norm, positions, scaling, similarity
from glassformer.explain.lessons.lesson import number
from glassformer.nn.positions import sinusoidal


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    texts = {}
    for name, lesson in LESSONS.items():
        console = Console(file=io.StringIO(), width=80, color_system=None)
        with console.capture() as captured:
            console.print(lesson_view(lesson))
        texts[name] = captured.get()
    return texts


def test_the_lessons_are_named_and_fit_the_terminal(shown: dict[str, str]) -> None:
    assert list(LESSONS) == ["similarity", "mixing", "cat", "mask", "scaling", "norm", "positions"]
    for name, lesson in LESSONS.items():
        assert lesson.name == name
        assert "\n" not in lesson.summary
        assert max(map(cell_len, shown[name].splitlines())) <= 80, name


def test_dot_products_and_cosines_are_those_of_the_notes(shown: dict[str, str]) -> None:
    pairs = [similarity.vectors(*pair) for pair in similarity.PAIRS]
    assert [similarity.dot(*pair) for pair in pairs] == [10, -10, 500]
    assert [similarity.cosine(*pair) for pair in pairs] == pytest.approx([1, -1, 0.5**0.5])
    assert [similarity.cosine(*similarity.vectors(a, b)) for _, a, b in similarity.DIRECTIONS] == pytest.approx(
        [1, 0, -1]
    )
    assert "500" in shown["similarity"]


def test_banks_mixtures_are_those_of_the_notes(shown: dict[str, str]) -> None:
    vectors = mixing.chosen_vectors()
    for words, wanted in zip(mixing.SENTENCES, mixing.BANK_MIXES, strict=True):
        mixed, weights = mixing.mix(words, vectors)
        torch.testing.assert_close(weights[1], torch.tensor(wanted, dtype=torch.float64))
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, dtype=torch.float64))
        by_hand = sum(w * vectors[word] for w, word in zip(wanted, words, strict=True))
        torch.testing.assert_close(mixed[1], by_hand)
    assert "bank = .25 money + .70 bank + .05 grows" in shown["mixing"]


def test_bank_becomes_two_vectors() -> None:
    vectors = mixing.chosen_vectors()
    by_money, by_river = (mixing.mix(words, vectors)[0][1] for words in mixing.SENTENCES)
    assert mixing.cosine(by_money, by_river) < 0.95
    assert by_money[0] > by_money[1]
    assert by_river[1] > by_river[0]


def test_the_notes_whole_table_cannot_come_from_a_symmetric_product() -> None:
    """The lesson says so; the reason: around a cycle the logs of the weight ratios of exp(symmetric) cancel."""
    rows = torch.tensor([[0.7, 0.2, 0.1], [0.25, 0.7, 0.05], [0.1, 0.2, 0.7]])
    around = (rows[0, 1] * rows[1, 2] * rows[2, 0]) / (rows[1, 0] * rows[2, 1] * rows[0, 2])
    assert abs(float(around) - 1) > 0.5
    weights = mixing.mix(mixing.SENTENCES[0], mixing.chosen_vectors())[1]
    ours = (weights[0, 1] * weights[1, 2] * weights[2, 0]) / (weights[1, 0] * weights[2, 1] * weights[0, 2])
    assert float(ours) == pytest.approx(1)


def test_the_cat_matrix() -> None:
    output, pattern = cat.attention_matrix()
    assert pattern.shape == (6, 6)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(6, dtype=torch.float64))
    assert pattern.argmax(-1).tolist() == list(range(6))
    static = cat.embeddings()
    assert static.shape == (6, 512)
    assert torch.equal(static[1], static[5])
    assert (output[1] - output[5]).norm() > 0.1
    assert not torch.equal(cat.with_positions(static)[1], cat.with_positions(static)[5])


def test_a_future_word_changes_nothing_before_it() -> None:
    masked, free = mask.change_per_word(3)
    assert masked[:3].tolist() == [0, 0, 0]
    assert masked[3] > 1
    assert (free[:3] > 0).all()
    masked, _ = mask.change_per_word(1)
    assert masked[0] == 0
    assert (masked[1:] > 0).all()


def test_variance_grows_with_the_width_and_scaling_restores_it() -> None:
    measured = scaling.measurements()
    for one in measured:
        assert one.variance[0] == pytest.approx(one.width, rel=0.1)
        assert one.variance[1] == pytest.approx(1, rel=0.1)
    assert measured[-1].highest[0] > 0.9 > 3 * measured[-1].highest[1]
    assert measured[-1].gradient[0] < 0.5 * measured[-1].gradient[1]
    scaled = [one.gradient[1] for one in measured]
    assert max(scaled) - min(scaled) < 0.05


def test_padding_moves_batch_norm_and_leaves_layer_norm() -> None:
    for count in norm.PADDING[1:]:
        x = norm.padded(count)
        assert torch.equal(norm.layer_norm(x)[:5], norm.layer_norm(norm.tokens()))
        assert (norm.batch_norm(x)[:5] - norm.batch_norm(norm.tokens())).abs().max() > 1
    torch.testing.assert_close(norm.batch_norm(norm.tokens()).mean(0), torch.zeros(5, dtype=torch.float64))
    torch.testing.assert_close(norm.layer_norm(norm.tokens()).mean(1), torch.zeros(5, dtype=torch.float64))


def test_each_candidate_fails_at_its_property() -> None:
    tables = positions.candidates()
    assert positions.largest(tables["a count"]) == 511
    assert all(positions.largest(tables[name]) <= 1 for name in ("binary digits", "one sine", "sinusoids"))
    assert positions.unevenness(tables["binary digits"]) == pytest.approx(3)
    assert positions.unevenness(tables["sinusoids"]) == pytest.approx(1)
    assert positions.closest(tables["one sine"]) < 1e-4
    assert positions.closest(tables["sinusoids"]) > 1


def test_a_fixed_rotation_shifts_every_position() -> None:
    for shift in (1, 5, 50):
        assert positions.shift_error(shift) < 1e-10
        turn = positions.shift_matrix(shift, 8)
        torch.testing.assert_close(turn @ turn.T, torch.eye(8, dtype=torch.float64))


def test_without_positions_order_is_invisible() -> None:
    assert positions.order_gap(with_positions=False) < 1e-12
    assert positions.order_gap(with_positions=True) > 0.1


def test_the_table_for_width_five_is_shown_as_in_the_notes(shown: dict[str, str]) -> None:
    wanted = ["0.000 0.841 0.909 0.141 -0.757", "1.000 0.540 -0.416 -0.990 -0.654", "0.000 0.025 0.050 0.075 0.100"]
    squeezed = " ".join(shown["positions"].split())
    assert all(row in squeezed for row in wanted)
    assert sinusoidal(1, 5).tolist() == [[0, 1, 0, 1, 0]]


def test_numbers_are_written_for_people() -> None:
    assert number(float("-inf")) == "−∞"
    assert number(-0.00001) == "0.000"
    assert number(-0.25, 2) == "-0.25"
