"""The best span of a passage, from the scores of its windows."""

from __future__ import annotations

import numpy as np
import pytest

import encoder_models
from glassformer.data.answer_windows import Layout, pieces_of
from glassformer.tasks.answering import Options, best_answer, span_scores
from glassformer.text.framing import Frame


def test_spans_are_scored_by_begin_and_end() -> None:
    random = np.random.default_rng(3)
    begins, ends = random.normal(size=7), random.normal(size=7)
    found = span_scores(begins, ends, 4)
    for first in range(7):
        for more in range(4):
            value = begins[first] + ends[first + more] if first + more < 7 else -np.inf
            assert found[first, more] == value


@pytest.mark.parametrize("no_answer", [True, False])
def test_a_passage_without_tokens_has_no_answer(no_answer: bool) -> None:
    layout = Layout(Frame((2,), (3,), (3,)), longest=16, overlap=4, max_question=4)
    passage = pieces_of(["\u0001"], encoder_models.wordpiece())["\u0001"]
    assert passage.ids == []
    windows = layout.windows([7, 8], passage.ids)
    options = Options(layout, max_answer=4, no_answer=no_answer, threshold=0.0, top=3)
    found = best_answer("who ?", "\u0001", passage, [(one, np.ones((len(one.ids), 2))) for one in windows], options)
    assert (found.text, found.spans, found.found, found.no_answer) == ("", (), False, float(no_answer))
