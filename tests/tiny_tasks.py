"""Every task that can be trained, as small as it gets: what the tests of the engine run for each of them.

To include a task, write a function that makes its material in a folder and returns its recipe, and add it to `TINY`.
The recipe should take about 0.2 s for its 9 steps, with dropout on (and random masks or augmentation if the task has
them), so that the tests see whether random numbers continue exactly after a stop. `plain` turns dropout off, for two
ranks against one process; a task with other random parts per batch turns them off in `WITHOUT_CHANCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toy_corpus import write_toy
from toy_images import MODEL as IMAGE_MODEL
from toy_images import caption_sections, class_sections, write_captions, write_idx
from toy_texts import settings, write_labelled, write_questions, write_running, write_scored, write_tagged
from toy_written import write_last_words, write_written

Recipe = dict[str, Any]
TRAIN = {"steps": 9, "valid_every": 3, "batch_tokens": 150, "valid_sentences": 4}


def translate(folder: Path) -> Recipe:
    return {"task": "translate", **write_toy(folder).recipe(train=TRAIN)}


def generate(folder: Path) -> Recipe:
    data = {"files": str(write_running(folder / "train.txt")), "max_tokens": 24}
    return {"task": "generate", "data": data, **settings({"kind": "llama"}, TRAIN)}


def fill(folder: Path) -> Recipe:
    data = {"files": str(write_running(folder / "train.txt")), "max_tokens": 24}
    return {"task": "fill", "data": data, **settings({"kind": "bert"}, TRAIN)}


def classify(folder: Path) -> Recipe:
    data = {"files": str(write_labelled(folder / "train.tsv"))}
    return {"task": "classify", "data": data, **settings({"kind": "bert", "word_odds": 64}, TRAIN)}


def tag(folder: Path) -> Recipe:
    """Documents of several sentences, so that windows hold more than one."""
    data = {"files": str(write_tagged(folder / "train.conll")), "max_tokens": 16}
    return {"task": "tag", "data": data, **settings({"kind": "bert", "casing": True}, TRAIN)}


def similar(folder: Path) -> Recipe:
    data = {"files": str(write_scored(folder / "train.tsv"))}
    return {"task": "similar", "data": data, **settings({"kind": "bert"}, TRAIN)}


def rewrite(folder: Path) -> Recipe:
    """Two tasks; an epoch uses those of one twice and half of the other."""
    tasks = {
        "say": {"files": str(write_last_words(folder / "say.tsv")), "weight": 3},
        "translate": {"files": str(write_written(folder / "pairs.jsonl")), "metric": "bleu"},
    }
    return {"task": "rewrite", "data": {"tasks": tasks, "max_target": 12}, **settings({"kind": "t5", "d_kv": 8}, TRAIN)}


def summarise(folder: Path) -> Recipe:
    data = {"files": str(write_written(folder / "pairs.jsonl")), "max_tokens": 6, "max_target": 12}
    return {"task": "summarise", "data": data, **settings({"kind": "transformer"}, TRAIN)}


def infill(folder: Path) -> Recipe:
    data = {"files": str(write_running(folder / "train.txt")), "max_tokens": 24}
    recipe = {"task": "infill", "data": data, **settings({"kind": "t5", "d_kv": 8}, TRAIN)}
    return changed(recipe, {"text": {"vocab_size": 140}})  # a hundred of them for removed spans


def answer(folder: Path) -> Recipe:
    data = {"files": str(write_questions(folder / "train.jsonl")), "max_tokens": 24, "max_question": 6, "overlap": 4}
    return {"task": "answer", "data": data, **settings({"kind": "bert"}, TRAIN)}


def classify_images(folder: Path) -> Recipe:
    """With random changes of the images, which depend only on the number of the batch."""
    return {"task": "classify-images", "data": {"files": write_idx(folder)}, **class_sections(TRAIN)}


def caption(folder: Path) -> Recipe:
    data = {"files": str(write_captions(folder)), "augment": "shift"}
    return {"task": "caption", "data": data, **caption_sections(TRAIN)}


TINY: dict[str, Callable[[Path], Recipe]] = {
    "translate": translate,
    "generate": generate,
    "fill": fill,
    "classify": classify,
    "similar": similar,
    "tag": tag,
    "answer": answer,
    "rewrite": rewrite,
    "summarise": summarise,
    "infill": infill,
    "classify-images": classify_images,
    "caption": caption,
}
LSTM = {"size": "nano", "N": 2, "d": 16, "dropout": 0.1}
ATTENTION = {"size": "nano", "d": 16, "n": 12, "l": 16, "dropout": 0.1}
RECURRENT: dict[str, Callable[[Path], Recipe]] = {  # other kinds of models of these tasks
    "translate by lstm": lambda folder: of_kind(translate(folder), "lstm", LSTM),
    "translate by rnn_attention": lambda folder: of_kind(translate(folder), "rnn_attention", ATTENTION),
    "generate by lstm_lm": lambda folder: of_kind(generate(folder), "lstm_lm", LSTM),
    "classify by lstm_lm": lambda folder: of_kind(classify(folder), "lstm_lm", LSTM),
    "classify by bilstm": lambda folder: of_kind(classify(folder), "bilstm", {**LSTM, "pooling": "attention"}),
    "tag by bilstm": lambda folder: of_kind(tag(folder), "bilstm", {**LSTM, "casing": True}),
}
WITHOUT_CHANCE: dict[str, Mapping[str, Mapping[str, Any]]] = {  # sections of a recipe that turn random parts off
    "tag": {"data": {"hidden_words": 0.0}},
    "caption": {"model": {"encoder": {**IMAGE_MODEL, "dropout": 0.0}}},
}


def plain(name: str, folder: Path) -> Recipe:
    """The recipe without dropout and other chance, so that several ranks can equal one process."""
    recipe = (TINY | RECURRENT)[name](folder)
    return changed(changed(recipe, {"model": {"dropout": 0.0}}), WITHOUT_CHANCE.get(name.split(" by ")[0], {}))


def of_kind(recipe: Recipe, kind: str, shape: Mapping[str, Any]) -> Recipe:
    """The recipe with a model of another kind."""
    return recipe | {"model": {"kind": kind, **shape}}


def changed(recipe: Recipe, sections: Mapping[str, Mapping[str, Any]]) -> Recipe:
    """The recipe with other settings in some sections."""
    return recipe | {name: {**recipe.get(name, {}), **section} for name, section in sections.items()}
