"""What `glassformer.load` gives back: the model of any folder, as what it is good for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from glassformer.hub.huggingface.pretrained import Pretrained
from glassformer.hub.reading import is_model
from glassformer.store.run import CONFIG
from glassformer.tasks import translation
from glassformer.tasks.embedding import TextEncoder
from glassformer.tasks.generation import LanguageModel
from glassformer.tasks.pretrained import holds_translator, load_pretrained
from glassformer.tasks.vision import ImageModel

USERS: dict[str, Callable[[Pretrained], Any]] = {  # kind: who uses such models; translators are runs
    "bert": TextEncoder,
    "roformer": TextEncoder,
    "gpt": LanguageModel,
    "llama": LanguageModel,
    "t5": LanguageModel,
    "vit": ImageModel,
    "captioner": ImageModel,
}


def load(path: str | Path, *, device: str = "cpu") -> Any:
    """The model of a folder, ready to use: a run of training, an imported model, or a Hugging Face folder as it is.

    A translator gives a `Translator` (translate, explain, evaluate), a BERT a `TextEncoder` (embed, fill), a GPT, Llama
    or T5 a `LanguageModel` (generate, score), a ViT or captioner an `ImageModel` (classify, caption).
    """
    folder = Path(path)
    known = (folder / CONFIG).is_file() or is_model(folder)
    if not known or (folder.is_dir() and holds_translator(folder)):
        return translation.load(folder, device=device)  # of what is no model it tells how to make one
    found = load_pretrained(folder, device=device)
    return USERS[found.kind](found)
