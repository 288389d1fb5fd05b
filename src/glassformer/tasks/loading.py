"""Loads the model of any folder: `load` returns an object with methods, `load_bundle` its parts.

A folder is a training run (config.toml with its recipe), an imported model (config.toml that `save_bundle` wrote), or
a model made by others (a Hugging Face folder, or a file of llama2.c or minGPT).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from glassformer.errors import DataError, ModelError, RunError
from glassformer.hub.exported import refuse_exported
from glassformer.store.bundle import Bundle, kind_in, read_bundle, read_settings
from glassformer.store.run import CONFIG
from glassformer.tasks.folders import describe_missing, task_in
from glassformer.tasks.forking import check_process
from glassformer.tasks.model import LoadedModel, described
from glassformer.training.machine import choose_device

if TYPE_CHECKING:
    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.generation import LanguageModel
    from glassformer.tasks.translation.translator import Translator
    from glassformer.tasks.vision import ImageModel

    Loaded: TypeAlias = Translator | TextEncoder | LanguageModel | ImageModel

KINDS = "gf.Translator, gf.LanguageModel, gf.TextEncoder and gf.ImageModel"
M = TypeVar("M", bound=LoadedModel)

# Modules are imported when they are needed, so that a translation does not wait for image code.
TEXTS, WRITERS = "glassformer.tasks.embedding:TextEncoder", "glassformer.tasks.generation:LanguageModel"
REWRITERS = "glassformer.tasks.rewriting:Rewriter"
IMAGES, TRANSLATORS = "glassformer.tasks.vision:ImageModel", "glassformer.tasks.translation.translator:Translator"
USERS: dict[str, str] = {  # kind of model: the class that `load` returns by default
    "transformer": TRANSLATORS,
    "lstm": TRANSLATORS,
    "rnn_attention": TRANSLATORS,
    "lstm_lm": WRITERS,
    "bilstm": TEXTS,
    "bert": TEXTS,
    "roformer": TEXTS,
    "gpt": WRITERS,
    "llama": WRITERS,
    "t5": WRITERS,
    "vit": IMAGES,
    "captioner": IMAGES,
}
FAMILIES: dict[str, str] = {"bart": REWRITERS}  # imported models: by where they come from, before their kind
TASK_LOADERS: dict[str, str] = {  # task: its own function to load a run; other tasks use `load_run`
    "translate": "glassformer.tasks.translation.loading:load",
}


@overload
def load(path: str | Path, *, device: str = ...) -> Loaded: ...
@overload
def load(path: str | Path, *, kind: type[M], device: str = ...) -> M: ...
@overload
def load(path: str | Path, *, kind: type[M] | None, device: str = ...) -> Any: ...
def load(path: str | Path, *, kind: type[LoadedModel] | None = None, device: str = "cpu") -> Any:
    """The model of a folder, ready to use: a training run, an imported model, or a Hugging Face folder.

    A translator gives a `Translator` (translate, explain, evaluate), a BERT a `TextEncoder` (embed, fill, classify), a
    GPT, Llama or T5 a `LanguageModel` (generate, score), a ViT or captioner an `ImageModel` (classify, caption). With
    `kind`, the model is used as that class: a GPT as a `TextEncoder` returns vectors of texts. It is an error if the
    model cannot be used that way. Type checkers know the result's class.
    """
    if not isinstance(path, str | Path):
        raise DataError(f"Got {described(path)}; expected the path of a model's folder (str or Path).")
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, LoadedModel)):
        raise ModelError(f"kind = {described(kind)}: allowed are {KINDS}.")
    check_process()
    opened = open_folder(Path(path), device=device)
    found = opened if isinstance(opened, kind or LoadedModel) else used_as(bundle_in(opened), kind)
    found.folder = str(path)
    return found


def load_bundle(path: str | Path, *, device: str = "cpu") -> Bundle:
    """The model of any folder with its tokenizer and special ids; for exports and views."""
    return bundle_in(open_folder(Path(path), device=device))


def bundle_in(opened: LoadedModel | Bundle) -> Bundle:
    return opened.bundle if isinstance(opened, LoadedModel) else opened


def task_of(folder: Path) -> str | None:
    """What the run in this folder was trained for; None for any other folder."""
    return task_in(read_settings(folder)) if (folder / CONFIG).is_file() else None


def kind_of(folder: Path) -> str | None:
    """The kind of model in a folder that is not a run, without reading its weights; None if there is no model."""
    refuse_exported(folder)
    if (folder / CONFIG).is_file():
        return kind_in(read_settings(folder), origin=str(folder / CONFIG))

    from glassformer.hub.huggingface.folders import CONFIG as THEIRS
    from glassformer.hub.huggingface.folders import layout_for, read_config

    return layout_for(read_config(folder)).kind if (folder / THEIRS).is_file() else None


def translates(folder: Path) -> bool:
    """Whether a folder that is not a run has a translator, without reading its weights."""
    kind = kind_of(folder)
    if kind is None:
        return False
    if (folder / CONFIG).is_file():
        family = read_settings(folder).get("extras", {}).get("model_type", "")
    else:
        from glassformer.hub.huggingface.folders import read_config

        family = read_config(folder)["model_type"]
    return user_for(kind, family) == TRANSLATORS


def open_folder(folder: Path, *, device: str) -> LoadedModel | Bundle:
    """A training run as its task uses it; any other model as a bundle."""
    refuse_exported(folder)
    if (folder / CONFIG).is_file():
        task = task_in(read_settings(folder))
        if task is None:
            return read_bundle(folder, device=choose_device(device))
        return open_run(task, folder, device=device)

    from glassformer.hub.reading import is_model, read_model  # slow to import, and runs do not need it

    if not is_model(folder):
        raise RunError(describe_missing(folder))
    bundle = read_model(folder)
    bundle.model.to(choose_device(device))
    return bundle


def open_run(task: str, folder: Path, *, device: str) -> LoadedModel:
    """A training run as its task uses it."""
    if task in TASK_LOADERS:
        made: LoadedModel = named(TASK_LOADERS[task])(folder, device=device)
        return made
    from glassformer.tasks.registry import TASKS, task_named
    from glassformer.tasks.runs import load_run

    if task not in TASKS:
        raise RunError(f"{folder / CONFIG}: task = {task!r}. Known: {', '.join(TASKS)}. Update glassformer.")
    found: LoadedModel = load_run(task_named(task), folder, device=device)
    return found


def used_as(bundle: Bundle, kind: type[LoadedModel] | None) -> LoadedModel:
    """A bundle as an object with methods: of this class, or of the default class for its architecture."""
    users: type[LoadedModel] = named(usual_user(bundle)) if kind is None or kind is LoadedModel else kind
    return users.of(bundle)


def usual_user(bundle: Bundle) -> str:
    return user_for(bundle.kind, bundle.extras.get("model_type", ""))


def user_for(kind: str, model_type: str) -> str:
    return FAMILIES.get(model_type, USERS[kind])


def named(place: str) -> Any:
    """The object that "module:name" refers to."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
