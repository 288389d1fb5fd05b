"""Models with all that belongs to using them, from a folder of ours or of Hugging Face.

A folder of ours holds config.toml (`kind`, [model], [marks], [extras]), model.safetensors under our names,
tokenizer.json where there is text, and manifest.json. Translators are run folders, as training leaves them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from glassformer.config import Tree, tree_to_toml
from glassformer.errors import ImportingError, RunError
from glassformer.hub.huggingface.folders import CONFIG as THEIR_CONFIG
from glassformer.hub.huggingface.folders import read_config
from glassformer.hub.huggingface.layouts import layout_for
from glassformer.hub.huggingface.pretrained import Pretrained, SpecialIds
from glassformer.hub.reading import is_model, read_model
from glassformer.models.registry import MODELS, build_undrawn, values_of
from glassformer.store import files
from glassformer.store.checkpoints import WEIGHTS
from glassformer.store.run import CONFIG, RunFolder
from glassformer.store.weights import load_weights, weights_of
from glassformer.tasks.translation.imported import (
    pretrained_translator,
    translator_files,
    translator_of,
)
from glassformer.tasks.translation.translator import SHARED, TARGET, load
from glassformer.text import Tokenizer
from glassformer.train.machine import choose_device

TRANSLATOR = "transformer"  # the kind whose folders are run folders


def load_pretrained(path: str | Path, *, device: str = "cpu") -> Pretrained:
    """The model of a folder: one that `import` wrote, a run of training, or one made by others as it is."""
    folder = Path(path)
    place = choose_device(device)
    if (folder / CONFIG).is_file():
        kind = kind_of(folder)
        return pretrained_translator(load(folder, device=device)) if kind == TRANSLATOR else read_own(folder, place)
    if is_model(folder):
        found = read_model(folder)
        found.model.to(place)
        return found
    raise ImportingError(describe_missing(folder))


def describe_missing(folder: Path) -> str:
    if not folder.exists():
        name = str(folder)
        hint = f" If it is a name on the Hub, fetch it first: glassformer import {name} --out FOLDER."
        return f"{name}: no such folder.{hint if name.count('/') == 1 and not name.startswith(('.', '/')) else ''}"
    return (
        f"{folder} is no model: it has neither {CONFIG} (a folder of glassformer) nor {THEIR_CONFIG} (one of Hugging "
        "Face)."
    )


def kind_of(folder: Path) -> str:
    """The kind of model in a folder of ours; run folders of translators do not name theirs."""
    kind = read_tree(folder).get("kind", TRANSLATOR)
    if kind not in MODELS:
        raise RunError(f"{folder / CONFIG}: kind = {kind!r}; known are {', '.join(MODELS)}. Update glassformer.")
    return str(kind)


def holds_translator(folder: Path) -> bool:
    """Whether it is a run of training, or a translator made by others. Of a damaged one, loading it tells more."""
    if (folder / CONFIG).is_file():
        try:
            return kind_of(folder) == TRANSLATOR
        except RunError:
            return True
    return (folder / THEIR_CONFIG).is_file() and layout_for(read_config(folder)).kind == TRANSLATOR


def read_tree(folder: Path) -> Tree:
    try:
        return tomllib.loads(RunFolder(folder).config_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{folder / CONFIG}: damaged ({error}). Restore it from a copy.") from None


def read_own(folder: Path, device: Any = "cpu") -> Pretrained:
    """A folder that `save_pretrained` wrote."""
    run, tree = RunFolder(folder), read_tree(folder)
    kind = tree["kind"]
    model = build_undrawn(kind, tree.get("model", {}), origin=str(folder / CONFIG))
    weights, _ = run.weights()
    load_weights(model, weights, origin=str(folder))
    return Pretrained(
        kind,
        model.to(device).eval(),
        tokenizer_in(run, SHARED),
        marks=SpecialIds(**{field.name: tree.get("marks", {}).get(field.name) for field in fields(SpecialIds)}),
        extras=tree.get("extras", {}),
        target=tokenizer_in(run, TARGET),
    )


def tokenizer_in(run: RunFolder, name: str) -> Tokenizer | None:
    if not run.holds(name):
        return None
    return Tokenizer.from_json(run.text(name).decode("utf-8"), origin=str(run.path / name))


def save_pretrained(pretrained: Pretrained, path: str | Path, *, about: Mapping[str, Any] | None = None) -> None:
    """Writes a folder of ours, whole or not at all. `about` is noted in its manifest."""
    folder = Path(path)
    refuse_existing(folder)
    content = content_of(pretrained) if pretrained.kind != TRANSLATOR else translator_files(translator_of(pretrained))
    content[WEIGHTS] = files.pack_tensors(weights_of(pretrained.model))
    files.make_parents(folder)
    files.write_folder(folder, content, about=about or {})


def refuse_existing(folder: Path) -> None:
    if folder.exists():
        raise ImportingError(f"{folder} is there already. Choose another --out, or remove it first.")


def content_of(pretrained: Pretrained) -> dict[str, bytes]:
    marks = {name: number for name, number in asdict(pretrained.marks).items() if number is not None}
    model = values_of(pretrained.kind, pretrained.model)
    tree = {"kind": pretrained.kind, "model": model, "marks": marks, "extras": pretrained.extras}
    content = {CONFIG: tree_to_toml(tree).encode()}
    if pretrained.tokenizer is not None:
        content[SHARED] = pretrained.tokenizer.to_json().encode()
    if pretrained.target is not None:
        content[TARGET] = pretrained.target.to_json().encode()
    return content
