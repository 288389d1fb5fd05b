"""Well-known facts, by their numbers, and what the lessons claim."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from glassformer.errors import SettingsError
from glassformer.explain.lessons import (
    average,
    beam,
    cache,
    cat,
    compute,
    cost,
    cross,
    from_scratch,
    gradient,
    grouped,
    heads,
    leak,
    learning,
    longer,
    lookup,
    mask,
    mixing,
    norm,
    positions,
    residuals,
    scaling,
    similarity,
    teacher,
    tiny,
    tokenizers,
    waves,
    words,
)
from glassformer.nn.positions import sinusoidal
from glassformer.text import train_tokenizer
from glassformer.vectors.counting import SparseTable, pmi
from glassformer.vectors.pairs import examples_of

DOUBLE = torch.float64


def rounded(values: Sequence[float], digits: int) -> list[float]:
    return [round(value, digits) for value in values]


# Words and vectors


def test_watched_merges_begin_as_those_of_the_trained_tokenizer() -> None:
    """Later ones may differ: pairs that are equally frequent have no natural order."""
    texts = ["the lower tower", "the lowest tower", "low lower lowest", "slower towers"]
    trained = train_tokenizer("bpe", texts, vocab_size=400)
    watched = tokenizers.watched_merges(texts, most=400)
    assert [left + right for (left, right), _, _ in watched][:3] == [trained.token(i) for i in (260, 261, 262)]
    assert len(watched) == len(trained) - 260
    counts = [count for _, count, _ in watched]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (9, 2)
    remaining = [left for _, _, left in watched]
    assert remaining == sorted(remaining, reverse=True)


def test_a_piece_that_was_just_joined_is_not_joined_again() -> None:
    assert tokenizers.merged(("a", "a", "a"), ("a", "a")) == ("aa", "a")
    assert tokenizers.merged(("b", "a", "a", "a", "a"), ("a", "a")) == ("b", "aa", "aa")


def test_unknown_pieces_by_kind() -> None:
    rows = {
        row[0]: row
        for row in compute("tokenizers", {"texts": ("a cat sat", "a cat sat", "a xyz")}).table("compared").rows
    }
    assert rows["bpe"][2] == 0
    assert rows["word"][2] > 0
    assert rows["char"][2] > 0


def test_the_pairs_of_word2vec() -> None:
    pairs = dict((word, context) for context, word in words.training_pairs(words.TEXTS[0].split(), 4))
    assert pairs["cake"] == ["The", "was", "chocolate", "flavoured"]
    cbow = compute("words").table("cbow")
    assert ("The ____ was chocolate flavoured", "cake") in cbow.rows


def test_words_in_the_same_contexts_get_the_same_counts() -> None:
    texts = [text.split() for text in words.TEXTS]
    vocabulary = words.vocabulary_of(texts)
    counts = words.co_occurrence(texts, vocabulary, 4)
    assert np.array_equal(counts, counts.T)
    assert ("horrible", "terrible", pytest.approx(1)) in words.nearest(vocabulary, counts)
    assert not words.tf_idf(words.bags(texts, vocabulary))[:, vocabulary.index("The")].any()
    assert (words.ppmi(counts) >= 0).all()


def test_the_counts_are_those_of_the_word_vectors() -> None:
    """Lessons cannot import `vectors`; their small counts must say the same."""
    texts = [text.split() for text in words.TEXTS]
    vocabulary = words.vocabulary_of(texts)
    counts = words.co_occurrence(texts, vocabulary, 2)
    rows, columns = counts.nonzero()
    found = pmi(SparseTable(rows, columns, counts[rows, columns], len(vocabulary)))
    ours = words.ppmi(counts)
    assert np.allclose(ours[found.rows, found.columns], found.values)
    assert np.count_nonzero(ours) == len(found.values)
    for (context, word), example in zip(
        words.training_pairs(texts[0], 2), examples_of(texts[0], window=2), strict=True
    ):
        assert (tuple(context), word) == (example.context, example.word)


@pytest.mark.parametrize(
    ("v", "w", "product", "cosine"),
    [
        ((1, 2), (2, 4), 10, 1),
        ((1, 2), (-2, -4), -10, -1),
        ((100, 200), (-1, 3), 500, 0.7071),
        ((1, 2), (-2, 1), 0, 0),
    ],
)
def test_dot_products_and_cosines(v: similarity.Vector, w: similarity.Vector, product: float, cosine: float) -> None:
    assert similarity.dot(v, w) == product
    assert similarity.cosine(v, w) == pytest.approx(cosine, abs=1e-4)


def test_a_zero_vector_has_no_cosine() -> None:
    rows = compute("similarity", {"texts": ("0,0", "1,2")}).table("cosines").rows
    assert rows[0][-2:] == ("none", "none")


def test_the_average_meaning() -> None:
    assert average.mean_vector({"fruit": 9000, "phone": 1000}) == [0.9, 0.1]
    vector, path = average.learned_vector({"fruit": 9000, "phone": 1000}, seed=0)
    assert vector == pytest.approx([0.9, 0.1], abs=0.03)
    assert len(path) == average.UPDATES + 1


# Query, key, value


def test_a_dictionary_finds_equal_keys_and_attention_the_nearest() -> None:
    computed = compute("lookup")
    assert [row[2] for row in computed.table("hard").rows] == ["e1/e2", "g1/g2", "KeyError"]
    sharp = {(row[0], row[1]): row[2] for row in computed.table("sharpness").rows}
    assert sharp["× 100", "order_104"].startswith("1.00 e1/e2")
    assert sharp["× 100", "order_106"].startswith("1.00 g1/g2")
    assert sharp["× 100", "ordr_104"].startswith("1.00 e1/e2")
    weights = computed.table("weights").rows
    assert all(row[-1] == pytest.approx(1) for row in weights)


def test_lookup_with_own_pairs() -> None:
    computed = compute("lookup", {"texts": ("dog=Hund", "cat=Katze"), "queries": ("dogs",)})
    assert computed.table("sharpness").rows[-1][2].startswith("1.00 Hund")
    assert lookup.vectors_of(["dog", "dogs"]).norm(dim=1).tolist() == pytest.approx([1, 1])


# Attention without parameters


def test_banks_mixtures_are_those_that_were_wanted() -> None:
    for mixes in (mixing.BANK_MIXES, mixing.FIRST_MIXES):
        vectors = mixing.chosen_vectors(mixes)
        for names, wanted in zip(mixing.SENTENCES, mixes, strict=True):
            mixed, weights = mixing.mix(names, vectors)
            torch.testing.assert_close(weights[1], torch.tensor(wanted, dtype=DOUBLE))
            torch.testing.assert_close(weights.sum(-1), torch.ones(3, dtype=DOUBLE))
            torch.testing.assert_close(mixed[1], sum(w * vectors[word] for w, word in zip(wanted, names, strict=True)))


def test_bank_becomes_two_vectors() -> None:
    vectors = mixing.chosen_vectors()
    by_money, by_river = (mixing.mix(names, vectors)[0][1] for names in mixing.SENTENCES)
    assert mixing.cosine(by_money, by_river) < 0.95
    assert by_money[0] > by_money[1]
    assert by_river[1] > by_river[0]


def test_a_whole_table_cannot_come_from_a_symmetric_product() -> None:
    """The lesson says so; the reason: around a cycle the logs of the weight ratios of exp(symmetric) cancel."""

    def around(rows: torch.Tensor) -> float:
        return float((rows[0, 1] * rows[1, 2] * rows[2, 0]) / (rows[1, 0] * rows[2, 1] * rows[0, 2]))

    assert abs(around(torch.tensor(mixing.TABLES[0])) - 1) > 0.5
    assert around(mixing.mix(mixing.SENTENCES[0], mixing.chosen_vectors())[1]) == pytest.approx(1)


def test_one_pair_of_weights_gives_all_six_rows() -> None:
    rows = compute("mixing").table("six_rows").rows
    assert len(rows) == 6
    assert max(gap for _, gap in rows) < 1e-10
    assert rows[0][0] == "money = .70 money + .20 bank + .10 grows"


def test_a_word_of_two_own_sentences_gets_two_vectors() -> None:
    computed = compute("mixing", {"texts": ("the bank of the river", "money in the bank")})
    found = {row[0]: row[2] for row in computed.table("contexts").rows}
    assert set(found) == {"the", "bank"}
    assert all(value < 1 for value in found.values())


def test_the_cat_matrix() -> None:
    static = cat.embeddings()
    output, pattern = cat.attention_matrix(static)
    assert pattern.shape == (6, 6)
    torch.testing.assert_close(pattern.sum(-1), torch.ones(6, dtype=DOUBLE))
    assert pattern.argmax(-1).tolist() == list(range(6))
    assert torch.equal(static[1], static[5])
    assert (output[1] - output[5]).norm() > 0.1
    sums = [[float(x) for x in row[1:]] for row in compute("cat").table("sums").rows]
    assert np.allclose(np.add(sums[:4], sums[4:8]), sums[8:])


# Learning


def test_learned_weights_read_the_word_that_decides() -> None:
    computed = compute("learning")
    before, after = computed.table("weights_1").rows
    at = computed.table("weights_1").columns.index("exam")
    assert after[at] > 0.9 > before[at]
    assert computed.table("right").rows == (
        ("sentences it learned from", 64, 32, 64),
        ("new sentences", 16, 8, 16),
    )


def test_no_sentence_to_try_was_learned_from() -> None:
    assert not set(learning.LEARN) & set(learning.TRY)
    assert {noun for group in learning.NOUNS for noun in group} <= {w for text in learning.LEARN for w in text.split()}


# Scaling, heads


def test_variance_grows_with_the_width_and_scaling_restores_it() -> None:
    measured = scaling.measurements()
    for one in measured:
        assert one.variance[0] == pytest.approx(one.width, rel=0.1)
        assert one.variance[1] == pytest.approx(1, rel=0.1)
    assert measured[-1].highest[0] > 0.9 > 3 * measured[-1].highest[1]
    assert measured[-1].gradient[0] < 0.5 * measured[-1].gradient[1]
    by_head, by_model = (row[1] for row in compute("scaling").table("divided").rows)
    assert by_head == pytest.approx(8 * by_model)
    assert by_head == pytest.approx(1, rel=0.1)


def test_many_heads_cost_as_one() -> None:
    costs = {h: heads.cost(heads.seeded_attention(64, heads=h, seed=0), 7) for h in (1, 2, 8)}
    assert len(set(costs.values())) == 1
    assert costs[8] == (4 * 64 * 64, 2 * 4 * 64 * 64 + 4 * 7 * 64)
    readings = compute("heads", {"width": 16}).table("readings").rows
    assert rounded(readings[2][1:], 2) == [0.5, 0.5, 0.0]


def test_fewer_key_heads_need_a_smaller_cache() -> None:
    rows = compute("grouped", {"width": 16, "heads": 4, "length": 5}).table("cache").rows
    assert [row[2] for row in rows] == [4, 2, 1]
    assert rows[0][4] == pytest.approx(4 * rows[2][4])
    assert rows[0][4] * 2**20 == 2 * grouped.BLOCKS * 5 * 16 * 4
    assert compute("grouped", {"width": 16, "heads": 4}).sections[1].shown[0].lines[0].endswith("0e+00")


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(SettingsError, match="not a multiple"):
        compute("heads", {"width": 10, "heads": 4})


# Positions


def test_each_candidate_fails_at_its_property() -> None:
    tables = positions.candidates()
    assert positions.largest(tables["a count"]) == 511
    assert all(positions.largest(tables[name]) <= 1 for name in ("binary digits", "one sine", "sinusoids"))
    assert positions.unevenness(tables["binary digits"]) == pytest.approx(3)
    assert positions.unevenness(tables["sinusoids"]) == pytest.approx(1)
    assert positions.closest(tables["one sine"]) < 1e-4
    assert positions.closest(tables["sinusoids"]) > 1


def test_growing_rules_overflow() -> None:
    ends = {row[0]: row[-1] for row in compute("positions").table("growing").rows}
    assert ends["e^(P(t) Δ)"] == "at 3"
    assert ends["P(t) + Δ"] == "not in 512"


def test_without_positions_order_is_invisible() -> None:
    same, moved = positions.order_gaps(with_positions=False)
    assert same < 1e-12 < 0.1 < moved  # equivariant, not invariant
    assert positions.order_gaps(with_positions=True)[0] > 0.1


def test_the_table_for_width_five() -> None:
    rows = compute("waves").table("table").rows
    assert rounded(rows[0][1:], 3) == [0.000, 0.841, 0.909, 0.141, -0.757]
    assert rounded(rows[1][1:], 3) == [1.000, 0.540, -0.416, -0.990, -0.654]
    assert rounded(rows[2][1:], 3) == [0.000, 0.025, 0.050, 0.075, 0.100]
    assert rounded(rows[3][1:], 3) == [1.000, 1.000, 0.999, 0.997, 0.995]
    assert rounded(rows[4][1:], 3) == [0.000, 0.001, 0.001, 0.002, 0.003]
    assert [row[1] for row in compute("waves", {"width": 6, "length": 2}).table("table").rows] == [0, 1, 0, 1, 0, 1]


def test_a_fixed_rotation_shifts_every_position() -> None:
    for shift in (1, 5, 50):
        assert waves.shift_error(shift) < 1e-10
        turn = waves.shift_matrix(shift, 8)
        torch.testing.assert_close(turn @ turn.T, torch.eye(8, dtype=DOUBLE))
    assert all(row[1] < 1e-12 for row in compute("waves").table("unitary").rows)


def test_a_learned_shift_is_a_rotation_too() -> None:
    for seed in (1, 2):
        m, errors = waves.learned_shift(seed)
        assert errors[-1] < 1e-4 < errors[0]
        assert torch.linalg.eigvals(m).abs().tolist() == pytest.approx([1] * waves.LEARNED, abs=1e-2)


def test_near_positions_are_similar_and_all_have_one_length() -> None:
    assert [round(one) for one in waves.products((0, 1, 2, 5, 10, 50, 100))] == [256, 249, 232, 190, 174, 131, 112]
    assert sinusoidal(50, 512).norm(dim=-1).tolist() == pytest.approx([16.0] * 50)
    assert [round(row[1], 3) for row in compute("waves").table("moved").rows] == [16.0] * 6


def test_learned_positions_refuse_longer_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longer, "UPDATES", 2)
    rows = {row[0]: row[1:] for row in compute("longer").table("right").rows}
    assert rows["learned"][1] == "refused"
    assert all(isinstance(rows[kind][1], float) for kind in ("none", "sinusoidal", "rotary"))


# Masks


def test_a_future_word_changes_nothing_before_it() -> None:
    masked, free = mask.change_per_word(3)
    assert masked[:3].tolist() == [0, 0, 0]
    assert masked[3] > 1
    assert (free[:3] > 0).all()
    masked, _ = mask.change_per_word(1)
    assert masked[0] == 0
    assert (masked[1:] > 0).all()


def test_the_cat_matrix_masked() -> None:
    rows = [rounded(row[1:4], 3) for row in compute("mask").table("cat").rows[:3]]
    assert rows == [[1, 0, 0], [0.308, 0.692, 0], [0.272, 0.244, 0.484]]
    pattern = torch.tensor(mask.CAT_PATTERN, dtype=DOUBLE)
    by_formula = torch.softmax(pattern.log() + mask.mask_named("causal", 6), -1)
    torch.testing.assert_close(mask.renormalised(pattern), by_formula)


@pytest.mark.parametrize(("name", "hidden"), [("none", 0), ("causal", 6), ("window", 9), ("padding", 4)])
def test_masks_hide_what_they_say(name: str, hidden: int) -> None:
    m = mask.mask_named(name, 4)
    assert int((m == -math.inf).sum()) == hidden


def test_a_model_without_a_mask_learns_to_copy() -> None:
    computed = compute("leak")
    rows = {row[0]: row[1:] for row in computed.table("losses").rows}
    assert rows["without a mask"][0] < 0.5 * math.log(4) < 2 * math.log(4) < rows["without a mask"][1]
    assert rows["causal mask"][0] == pytest.approx(rows["causal mask"][1], abs=1e-4)
    masked = computed.table("masked").rows
    assert rounded(masked[1][1:4], 3) == [0.167, 0.833, 0]
    assert leak.MIXTURES[2] == pytest.approx(masked[2][1:4])


def test_cross_attention_has_a_row_for_each_output_word() -> None:
    computed = compute("cross")
    pattern = computed.table("pattern")
    assert (len(pattern.rows), len(pattern.columns) - 2) == (5, 4)
    found = [max(range(4), key=lambda j, row=row: row[1 + j]) for row in pattern.rows]
    assert tuple(found) == cross.ALIGNED


# Norms and residuals


def test_padding_moves_batch_norm_and_leaves_layer_norm() -> None:
    for count in norm.PADDING[1:]:
        x = norm.padded(count)
        assert torch.equal(norm.layer_norm(x)[:5], norm.layer_norm(norm.tokens()))
        assert (norm.batch_norm(x)[:5] - norm.batch_norm(norm.tokens())).abs().max() > 1
    torch.testing.assert_close(norm.batch_norm(norm.tokens()).mean(0), torch.zeros(5, dtype=DOUBLE))
    torch.testing.assert_close(norm.layer_norm(norm.tokens()).mean(1), torch.zeros(5, dtype=DOUBLE))


def test_without_residuals_and_norms_the_gradient_vanishes() -> None:
    both, only, _, neither = (residuals.gradient_share(one, 16, seed=0) for one in residuals.VARIANTS)
    assert neither < 0.01 < 0.1 < both < 10 < only


# Training and decoding


def test_teacher_forcing_equals_step_by_step() -> None:
    model = tiny.tiny_model(["a", "b"], ["x", "y", "z"], seed=3)
    pair = model.pair(["a", "b"], ["x", "y", "z"])
    with torch.inference_mode():
        torch.testing.assert_close(model.model(pair)[0], teacher.step_by_step(model, pair))
    assert pair.target_in[0, 1:].tolist() == pair.target_out[0, :-1].tolist()
    rows = compute("teacher").table("shifted").rows
    assert [row[1:3] for row in rows][:2] == [("<s>", "Ich"), ("Ich", "habe")]
    assert rows[-1][2] == "</s>"


def test_backpropagation_equals_finite_differences() -> None:
    computed = compute("gradient")
    rows = computed.table("checked").rows
    assert len(rows) == len(gradient.CHECKED)
    assert all(abs(row[2]) > 1e-3 for row in rows)
    assert max(row[4] for row in rows) < 1e-6
    values = {row[0]: row[1] for row in computed.table("step").rows}
    assert values["loss after one step"] < values["loss before"]
    assert sum(row[4] for row in computed.table("logits").rows) == pytest.approx(0)


def test_a_beam_finds_what_greedy_misses() -> None:
    every = beam.all_sentences()
    assert sum(every.values()) == pytest.approx(1)
    best = max(every, key=lambda sentence: every[sentence])
    found = {width: [beam.WORDS[i] for i in beam.searched(width)[0][0].ids] for width in (1, 2)}
    assert found[2] == list(best)
    assert every[tuple(found[1])] < every[best]
    everything = len(beam.searched(len(every))[1].nodes[0]) - 1
    assert compute("beam").table("winners").rows[-1][3] == everything == len(beam.beginnings(every)) == 3 + 7 + 12 + 10
    rows = compute("beam").table("steps").rows
    assert (2, "a cat", pytest.approx(0.36), "kept") in rows
    assert (2, "the dog", pytest.approx(0.175), "dropped") in rows


def test_the_cache_saves_work_and_changes_nothing() -> None:
    model = cache.small_gpt(0)
    with torch.inference_mode():
        again, positions_again = cache.written_again(model, 9)
        cached, positions_cached = cache.written_cached(model, 9)
    assert again == cached
    assert (positions_again, positions_cached) == (45, 9)
    assert cache.flops(model, 1, cached=True) == cache.flops(model, 1, cached=False)
    assert cache.flops(model, 9, cached=True) < cache.flops(model, 9, cached=False)


def test_attention_costs_more_than_an_lstm_beyond_twice_its_width() -> None:
    assert cost.attention_cost(16, 8) == cost.recurrent_cost(16, 8)
    assert cost.attention_cost(17, 8) > cost.recurrent_cost(17, 8)
    assert cost.lengths(40) == [16, 32, 40]


# From scratch


def test_ten_pairs_are_learned_by_heart() -> None:
    rows = compute("from-scratch", {"step": 10}).table("translations").rows
    assert [row[2] for row in rows] == ["right"] * 10 + ["new"]


def test_each_step_shows_the_code_that_runs() -> None:
    for number in range(1, len(from_scratch.STEPS) + 1):
        if number in (9, 10):
            continue  # training: the test above
        (section,) = compute("from-scratch", {"step": number}).sections
        code = from_scratch.STEPS[number - 1][2]
        assert section.title.startswith(f"Step {number} of 10")
        if code is not None:
            assert section.shown[0].lines[0].startswith(f"def {code.__name__}")
