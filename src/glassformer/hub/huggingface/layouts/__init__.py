"""Every layout by the `model_type` of its config.json; each is imported when it is needed.

To add one: a file here with a `LAYOUT`, and its line below.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.fields import shown
from glassformer.hub.huggingface.layout import Layout

LAYOUTS: dict[str, str] = {  # model_type: file in this folder
    "marian": "marian",
    "pegasus": "pegasus",
    "bart": "bart",
    "bert": "bert",
    "roberta": "roberta",
    "distilbert": "distilbert",
    "roformer": "roformer",
    "gpt2": "gpt2",
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "llama",
    "mixtral": "mixtral",
    "t5": "t5",
    "mt5": "t5",
    "vit": "vit",
    "vision-encoder-decoder": "vision_encoder_decoder",
}


def layout_for(theirs: dict[str, Any]) -> Layout:
    """The layout of a config.json."""
    model_type = theirs.get("model_type")
    if not isinstance(model_type, str) or model_type not in LAYOUTS:
        raise ImportingError(
            f"config.json: model_type = {shown(model_type)} is not supported. Known: {', '.join(LAYOUTS)}."
        )
    return _layout(LAYOUTS[model_type])


def layouts_of(kind: str, *, first: str | None = None) -> Iterator[Layout]:
    """The layouts in which a kind of model may be written; the one of the model_type `first` comes first."""
    names = dict.fromkeys(([LAYOUTS[first]] if first in LAYOUTS else []) + list(LAYOUTS.values()))
    for name in names:
        layout = _layout(name)
        if layout.kind == kind:
            yield layout


def _layout(name: str) -> Layout:
    return cast(Layout, import_module(f"glassformer.hub.huggingface.layouts.{name}").LAYOUT)
