"""Several ends: some models may end a text with any of several tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassformer.hub.huggingface.layout import Theirs
from glassformer.hub.huggingface.marks import GENERATION, optional_json


def read_ends(folder: Path, theirs: Theirs) -> dict[str, Any]:
    """For `Pretrained.extras`: "ends", all tokens that end a text, where there are more than one."""
    files = (theirs, optional_json(folder / GENERATION))
    values = [content.get("eos_token_id") for content in files]
    lists = [value if isinstance(value, list) else [value] for value in values if value is not None]
    ends = list(dict.fromkeys(end for found in lists for end in found if isinstance(end, int) and end >= 0))
    return {"ends": ends} if len(ends) > 1 else {}
