"""Several end tokens: some models may end a text with any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassformer.hub.huggingface.fields import is_whole
from glassformer.hub.huggingface.layout import Theirs
from glassformer.hub.huggingface.marks import GENERATION, optional_json


def read_ends(folder: Path, theirs: Theirs) -> dict[str, Any]:
    """For `Bundle.extras`: "ends", all tokens that end a text, if there are several."""
    files = (theirs, optional_json(folder / GENERATION))
    values = [content.get("eos_token_id") for content in files]
    lists = [value if isinstance(value, list) else [value] for value in values if value is not None]
    ends = list(dict.fromkeys(end for found in lists for end in found if is_whole(end, least=0)))
    return {"ends": ends} if len(ends) > 1 else {}
