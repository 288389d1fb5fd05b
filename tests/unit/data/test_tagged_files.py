"""Tagged sentences from CoNLL columns, CoNLL-U and JSON lines: what is read, what is refused, how it is split."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import validate
from glassformer.data.readers.tagged import TaggedSentence, read_tagged_columns
from glassformer.data.readers.tagged_json import labelled_text, read_tagged_json
from glassformer.data.settings import TagDataSettings
from glassformer.data.sources.tagged import Tagged, checked, examine_tagged, read_held_tagged, read_tagged_examples
from glassformer.errors import DataError
from toy_texts import write_tagged


class Listening:
    """Collects messages."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def on_stage(self, text: str) -> None:
        self.said.append(text)

    def on_count(self, done: int, total: int) -> None:
        pass


def columns(tmp_path: Path, text: str, chosen: tuple[str, ...] | None = None, name: str = "a.conll") -> list[Any]:
    path = tmp_path / name
    path.write_text(text)
    return list(read_tagged_columns(path, chosen))


def pairs(sentence: TaggedSentence) -> list[tuple[str, str]]:
    return list(zip(sentence.words, sentence.labels, strict=True))


def settings(**given: Any) -> TagDataSettings:
    return validate(TagDataSettings, given)


def test_a_no_break_space_is_part_of_its_word(tmp_path: Path) -> None:
    (found,) = columns(tmp_path, "10\u00a0000 NUM O\n\u3000Tōkyō\u3000to PROPN B-LOC\n12\u202f%\tNUM\tO\n")
    assert pairs(checked(found)) == [("10\u00a0000", "O"), ("Tōkyō\u3000to", "B-LOC"), ("12\u202f%", "O")]
    good, bad = columns(tmp_path, "a O\n\nin O\nRome\u00a0B-LOC\n")
    assert (good.problem, bad.problem.kind, bad.problem.place.number) == (None, "columns", 4)
    assert bad.problem.detail == (
        "got 1 column, need 2; a no-break space (U+00A0) does not separate columns: 'Rome\\xa0B-LOC'"
    )


@pytest.mark.parametrize("chosen", [None, ("1", "2")])
def test_a_file_with_only_no_break_spaces_between_columns_is_refused(
    tmp_path: Path, chosen: tuple[str, ...] | None
) -> None:
    with pytest.raises(DataError) as error:
        columns(tmp_path, "\nEU\u00a0B-ORG\nrejects\u00a0O\n", chosen)
    assert str(error.value) == (
        f"{tmp_path / 'a.conll'}, line 2: 'EU\\xa0B-ORG' has one column, because a no-break space (U+00A0) does not "
        "separate columns: it is part of the word. Replace these with tabs: perl -CSD -pe 's/\\x{00A0}/\\t/g' "
        f"{tmp_path / 'a.conll'} > NEW_FILE"
    )
    fixed = "\nEU\u00a0B-ORG\nrejects\u00a0O\n".replace("\u00a0", "\t")
    assert pairs(columns(tmp_path, fixed)[0]) == [("EU", "B-ORG"), ("rejects", "O")]


def test_columns_by_spaces_or_tabs_with_documents(tmp_path: Path) -> None:
    text = "-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\nNew\tNNP\tB-LOC\n\n-DOCSTART- -X- O\nYork NNP I-LOC"
    found = columns(tmp_path, text)
    assert [pairs(one) for one in found] == [
        [("EU", "B-ORG"), ("rejects", "O")],
        [("New", "B-LOC")],
        [("York", "I-LOC")],
    ]
    assert [one.document for one in found] == [0, 0, 1]
    assert [one.place.number for one in found] == [3, 7, 10]
    assert pairs(columns(tmp_path, text, ("1", "2"))[0]) == [("EU", "NNP"), ("rejects", "VBZ")]


def test_a_space_inside_a_tabbed_word_and_hash_signs_are_kept(tmp_path: Path) -> None:
    text = "# a comment with many words\n#1 O\n# O\n\nNew York\tB-LOC\n"
    found = columns(tmp_path, text)
    assert pairs(found[0]) == [("#1", "O"), ("#", "O")]
    assert pairs(found[1]) == [("New York", "B-LOC")]


CONLLU = """# newdoc id = a
# sent_id = 1
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t_\t_\t_\t_
2\tle\tle\tDET\t_\t_\t_\t_\t_\t_
2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_
# newdoc id = b
3\tpain\tpain\tNOUN\tNN\t_\t_\t_\t_\t_
"""


def test_universal_columns_without_ranges_and_omitted_words(tmp_path: Path) -> None:
    found = columns(tmp_path, CONLLU, name="a.conllu")
    assert [pairs(one) for one in found] == [[("de", "ADP"), ("le", "DET")], [("pain", "NOUN")]]
    assert [one.document for one in found] == [0, 1]
    assert columns(tmp_path, CONLLU, ("2", "5"), name="b.conllu")[1].labels == ["NN"]


def test_a_line_with_other_columns_makes_its_sentence_unusable(tmp_path: Path) -> None:
    found = columns(tmp_path, "a O\nb O extra\nc O\n\nd O\n")
    assert str(found[0].problem) == f"{tmp_path}/a.conll, line 2, byte 4: got 3 columns, need 2: 'b O extra'"
    assert found[1].problem is None


@pytest.mark.parametrize(
    ("text", "chosen", "words"),
    [
        ("a\nb\n", None, "this file has one column"),
        ("EU,B-ORG\nrejects,O\n", None, "Commas do not separate columns here: use tabs or spaces"),
        ("a O\n", ("1", "3"), "--columns names the column '3'; this file has no header and 2 columns"),
        ("a O\n", ("word", "tag"), "give numbers from 1 to 2"),
    ],
)
def test_columns_that_are_not_there_are_refused(
    tmp_path: Path, text: str, chosen: tuple[str, ...] | None, words: str
) -> None:
    with pytest.raises(DataError, match=words):
        columns(tmp_path, text, chosen)


def objects(tmp_path: Path, *values: Any, chosen: tuple[str, ...] | None = None) -> list[TaggedSentence]:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return list(read_tagged_json(path, chosen))


def test_json_lines_with_words_and_with_spans(tmp_path: Path) -> None:
    found = objects(tmp_path, {"tokens": ["In", "Rome"], "tags": ["O", "B-LOC"], "document": "x"})
    assert pairs(found[0]) == [("In", "O"), ("Rome", "B-LOC")]
    assert found[0].document == 0
    span = {"start": 3, "end": 11, "label": "LOC"}
    for entities in ([[3, 11, "LOC"]], [span]):
        found = objects(tmp_path, {"text": "In New York, Ann.", "entities": entities})
        assert pairs(found[0])[:3] == [("In", "O"), ("New", "B-LOC"), ("York", "I-LOC")]
        assert set(found[0].labels[3:]) == {"O"}
    found = objects(tmp_path, {"w": ["a"], "t": [7]}, chosen=("w", "t"))
    assert pairs(found[0]) == [("a", "7")]


def test_an_entity_inside_a_word_is_widened_and_noted(tmp_path: Path) -> None:
    found = objects(tmp_path, {"text": "Paris-based firms", "entities": [[0, 5, "LOC"]]})
    assert pairs(found[0])[0] == ("Paris-based", "B-LOC")
    assert "'Paris' is part of a word" in found[0].notes[0].detail
    assert labelled_text("a b", [(0, 3, "X")]) == (["a", "b"], ["B-X", "I-X"], [])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"tokens": ["a"], "tags": []}, "1 words, but 0 labels"),
        ({"tokens": ["a"], "tags": [True]}, "neither a text nor a whole number"),
        ({"tokens": "a", "tags": [[0, 9, "X"]]}, r"\[0, 9\] is not inside the text of 1 characters"),
        ({"tokens": "a b", "tags": [[0, 1, "X"], [0, 3, "Y"]]}, "overlaps another one"),
        ({"tokens": "a  b", "tags": [[1, 2, "X"]]}, "holds no word"),
        ({"tokens": [1], "tags": ["O"]}, "not a text"),
        ({"tokens": ["a"]}, "no 'tags' in it"),
        ({"tokens": ["a"], "tags": None}, "'tags' is not an array"),
        ({"tokens": ["a"], "tags": 5}, "'tags' is not an array"),
        ({"tokens": ["a", "b"], "tags": "OO"}, "'tags' is not an array"),
    ],
)
def test_unusable_objects_say_why(tmp_path: Path, value: Any, words: str) -> None:
    found = objects(tmp_path, {"tokens": ["a"], "tags": ["O"]}, value)
    assert found[0].problem is None
    with pytest.raises(AssertionError, match=words):
        assert found[1].problem is None, str(found[1].problem)


def test_documents_are_known_by_name(tmp_path: Path) -> None:
    found = objects(tmp_path, *({"tokens": ["a"], "tags": ["O"], "doc": name} for name in ("x", "y", "x", 3, "y")))
    assert [one.document for one in found] == [0, 1, 0, 2, 1]


def test_white_space_around_words_and_labels_is_dropped_everywhere(tmp_path: Path) -> None:
    rows = [{"tokens": [f"Rome{i} ", " is"], "tags": [" B-LOC ", "O "]} for i in range(20)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_tagged_examples(settings(files=str(path)), seed=1, listener=Listening())
    assert found.facts["scheme"] == "bio"
    assert {one.labels for one in (*found.train(), *found.valid)} == {("B-LOC", "O")}
    assert {one.words[1] for one in (*found.train(), *found.valid)} == {"is"}


def test_documents_are_held_out_as_a_whole(tmp_path: Path) -> None:
    path = write_tagged(tmp_path / "a.conll", count=90)
    found = read_tagged_examples(settings(files=str(path), valid="20%"), seed=1, listener=Listening())
    train = list(found.train())
    assert not {one.document for one in train} & {one.document for one in found.valid}
    assert len(found.valid) == 18
    assert len(train) == found.count == 72
    alone = settings(files=str(path), valid="20%", group="sentence")
    mixed = read_tagged_examples(alone, seed=1, listener=Listening())
    assert {one.document for one in mixed.train()} & {one.document for one in mixed.valid}


@pytest.mark.parametrize(("documents", "held", "said"), [(1, 10, "1 document"), (3, 30, "3 documents"), (5, 100, "")])
def test_sentences_are_held_out_where_documents_are_few(tmp_path: Path, documents: int, held: int, said: str) -> None:
    path, listener = tmp_path / "a.conll", Listening()
    rows = [f"{'-DOCSTART- O' if i % 100 == 0 else ''}\n\nword{i} B-X\nends O\n" for i in range(100 * documents)]
    path.write_text("".join(rows))
    found = read_tagged_examples(settings(files=str(path)), seed=1, listener=listener)
    assert len(found.valid) == held
    lines = [line for line in listener.said if line.startswith("Held out")]
    assert lines == ([f"Held out: sentences, because the files mark only {said}"] if said else [])


def test_one_document_that_is_held_out_by_request_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("-DOCSTART- O\n\na B-X\nb O\n\nc O\n")
    with pytest.raises(DataError, match=r"nothing is left to train on.*data\.group = 'sentence'"):
        read_tagged_examples(settings(files=str(path), group="document"), seed=1, listener=Listening())


def test_equal_sentences_stay_together_without_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("".join(f"word{i % 7} B-X\nends O\n\n" for i in range(70)))
    found = read_tagged_examples(settings(files=str(path), valid="20%"), seed=1, listener=Listening())
    held = {one.words for one in found.valid}
    assert held
    assert not held & {one.words for one in found.train()}


def test_all_schemes_become_the_same_examples(tmp_path: Path) -> None:
    written = {
        "a.conll": "Ann I-PER\nLee I-PER\nin O\nRome I-LOC\n\nBo I-PER\nBonn I-LOC\n",
        "b.conll.gz": "Ann B-PER\nLee L-PER\nin O\nRome U-LOC\n\nBo U-PER\nBonn U-LOC\n",
        "c.conll": "Ann B-PER\nLee I-PER\nin O\nRome B-LOC\n\nBo B-PER\nBonn B-LOC\n",
    }
    read = []
    for name, text in written.items():
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        found = read_held_tagged([str(path)], None, "bio", Listening())
        assert found is not None
        read.append(found[0])
    assert read[0] == read[1] == read[2]
    assert read[0][0] == Tagged(-1, ("Ann", "Lee", "in", "Rome"), ("B-PER", "I-PER", "O", "B-LOC"))


def test_invalid_sequences_and_leaks_are_found_with_their_lines(tmp_path: Path) -> None:
    train, test = tmp_path / "train.conll", tmp_path / "test.conll"
    train.write_text("Ann B-PER\n\nin O\nRome I-LOC\n\nthe O\ncat O\nsat O\nin O\nBonn B-LOC\n\nx O\ny\tO\tz\n")
    test.write_text("The O\ncat O\nsat O\nin O\nBonn B-LOC\n")
    found = examine_tagged([str(train)], held={"test": [str(test)]}, listener=Listening())
    kinds = {one.kind: one for one in found.ordered()}
    assert kinds["invalid"].examples[0].problem.place.number == 4
    assert kinds["in test"].severity == "stop"
    assert kinds["in test"].examples[0].problem.place.number == 6
    assert str(found.held[0]).startswith("test: 1 of 1 sentences of 5 or more words is also in the training data")
    assert kinds["columns"].examples[0].problem.place.number == 13
    assert found.to_dict()["entities"] == {"LOC": 2, "PER": 1}
    assert found.to_dict()["held"] == [{"name": "test", "examples": 1, "texts_in_train": 1}]
    assert (found.units, found.used) == (4, 3)  # training does not know the test data


@pytest.mark.parametrize(
    ("text", "words"),
    [("a O\nb O\n", "all with the label 'O'"), ("\n\n", "no usable sentences"), ("", "no usable sentences")],
)
def test_files_that_teach_nothing_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.conll"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_tagged_examples(settings(files=str(path)), seed=1, listener=Listening())
