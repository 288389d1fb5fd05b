"""What the report of a question answering run adds: scores by kind of question, and the most wrong answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from glassformer.data.sources.answers import Question
from glassformer.evaluate.answers import best_of, is_exact, overlap_f1
from glassformer.explain.report import ShownTable

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.evaluating import Evaluation

WORDS = ("what", "who", "when", "where", "which", "why", "how", "whose", "whom")
NUMBERS = ("many", "much", "long", "old", "far", "often")  # after "how": questions for a quantity
LENGTHS = (300, 600, 1000, 2000)  # characters of passages
MOST_WRONG, AROUND = 15, 120  # rows; characters shown before and after an answer
MARKS = (("[", "]"), ("⟦", "⟧"))  # around the right answer, and around the predicted one


def answer_tables(user: TextEncoder, found: Evaluation) -> list[ShownTable]:
    questions: Sequence[Question] = found.examples
    predicted: Sequence[str] = found.predictions
    tables = [
        table("by-word", "Scores by question word", question_word, "Question", questions, predicted),
        table("by-length", "Scores by length of the passage", passage_length, "Characters", questions, predicted),
    ]
    if any(not one.answers for one in questions):
        tables.append(table("by-kind", "Questions with and without answer", kind, "Passage", questions, predicted))
    return [*tables, *wrong_table(user, questions, predicted)]


def question_word(question: Question) -> str:
    """The first question word; for how, whether a quantity is asked for."""
    words = question.question.lower().replace("?", " ").split()
    for at, word in enumerate(words):
        if word == "how" and words[at + 1 : at + 2] and words[at + 1] in NUMBERS:
            return "how many, how long, ..."
        if word in WORDS:
            return word
    return "none of these"


def passage_length(question: Question) -> str:
    above = next((limit for limit in LENGTHS if len(question.passage) < limit), None)
    if above is None:
        return f"{LENGTHS[-1]:,} or more"
    at = LENGTHS.index(above)
    return f"{LENGTHS[at - 1] if at else 0:,} to {above - 1:,}"


def kind(question: Question) -> str:
    return "has the answer" if question.answers else "does not have it"


def table(
    key: str,
    title: str,
    group: Callable[[Question], str],
    name: str,
    questions: Sequence[Question],
    predicted: Sequence[str],
) -> ShownTable:
    """F1 and exact match of each group, the largest group first."""
    groups: dict[str, list[tuple[float, float]]] = {}
    for question, text in zip(questions, predicted, strict=True):
        groups.setdefault(group(question), []).append(scores_of(question, text))
    rows = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    cells: tuple[tuple[str | int | float, ...], ...] = tuple(
        (label, len(found), *map(percent, zip(*found, strict=True))) for label, found in rows
    )
    return ShownTable(key, title, "", (name, "Questions", "F1", "Exact match"), cells)


def scores_of(question: Question, predicted: str) -> tuple[float, float]:
    return best_of(overlap_f1, predicted, question.answers), best_of(is_exact, predicted, question.answers)


def percent(values: Iterable[float]) -> str:
    """The mean in percent."""
    found = list(values)
    return f"{100 * sum(found) / len(found):.1f}%"


def wrong_table(user: TextEncoder, questions: Sequence[Question], predicted: Sequence[str]) -> list[ShownTable]:
    """The answers with the lowest F1; of equal ones, those that the model was most certain of."""
    wrong = [
        (scores_of(one, text)[0], one)
        for one, text in zip(questions, predicted, strict=True)
        if not scores_of(one, text)[1]
    ]
    wrong = sorted(wrong, key=lambda row: row[0])[: 4 * MOST_WRONG]
    if not wrong:
        return []
    answers = user.answer([one.question for _, one in wrong], [one.passage for _, one in wrong])
    rows = sorted(zip(wrong, answers, strict=True), key=lambda row: (row[0][0], -row[1].probability))[:MOST_WRONG]
    cells = tuple(wrong_row(score, one, answer) for (score, one), answer in rows)
    note = (
        "The lowest F1 first, then the most certain. In the passage, [brackets] are around the right answer and "
        "⟦double ones⟧ around the predicted one."
    )
    head = ("Question", "Right", "Predicted", "Probability", "F1", "Passage")
    return [ShownTable("wrong", "The clearest mistakes", note, head, cells)]


def wrong_row(score: float, one: Question, answer: Any) -> tuple[str, ...]:
    right = " / ".join(dict.fromkeys(one.answers)) or "no answer"
    spans = [(one.starts[0], one.starts[0] + len(one.answers[0]), MARKS[0])] if one.answers else []
    if answer.found:
        spans.append((answer.start, answer.end, MARKS[1]))
    shown = excerpt(one.passage, spans)
    return (one.question, right, answer.text or "no answer", f"{answer.probability:.3f}", f"{100 * score:.0f}%", shown)


def excerpt(passage: str, spans: Sequence[tuple[int, int, tuple[str, str]]]) -> str:
    """The parts of a passage around some spans, with marks around each span. Spans may overlap."""
    if not spans:
        return passage[: 2 * AROUND] + ("…" if len(passage) > 2 * AROUND else "")
    signs: dict[int, str] = {}
    for start, end, (left, right) in spans:
        signs[start] = signs.get(start, "") + left
        signs[end] = right + signs.get(end, "")
    kept = [False] * len(passage)
    for start, end, _ in spans:
        low, high = max(0, start - AROUND), min(len(passage), end + AROUND)
        kept[low:high] = [True] * (high - low)
    found = ["" if kept[0] else "… "]
    for at, character in enumerate(passage):
        if kept[at]:
            found.append(signs.get(at, "") + character)
        elif at and kept[at - 1]:
            found.append(" … ")
    return ("".join(found) + signs.get(len(passage), "")).rstrip()
