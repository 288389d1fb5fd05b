"""Drawn scenes with sentences: shapes, colours, counts and relations. Nothing is downloaded.

    two red circles above a blue square

`grammar.py` says which scenes there are, how they are described, and which combinations are held out; `drawing.py`
draws them.
"""

from glassformer.data.scenes.drawing import SIDE, draw
from glassformer.data.scenes.grammar import Group, Scene, Scenes, captions_of, is_held, scenes

__all__ = ["SIDE", "Group", "Scene", "Scenes", "captions_of", "draw", "is_held", "scenes"]
