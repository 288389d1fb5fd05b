"""`translate` answers soon after its start: what it does not need, it does not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# Each of these took 10 to 300 ms of every start, or belongs to what only other commands do.
UNNEEDED = [
    "sacrebleu",
    "rich",
    "lxml",
    "transformers",
    "ctranslate2",
    "sympy",
    "torch._dynamo",
    "torch._inductor",
    "torch.utils.tensorboard",
    "glassformer.explain",
    "glassformer.data.checks",
    "glassformer.data.corpora",
    "glassformer.data.phrasebook",
    "glassformer.hub.huggingface",
    "glassformer.tasks.translation.material",
    "glassformer.tasks.training",
    "glassformer.training.loop",
]

PROGRAM = """
import atexit, sys
from glassformer.cli.main import main
atexit.register(lambda: print(*sorted(sys.modules), sep="\\n", file=sys.stderr))
main()
"""


def test_translate_imports_nothing_that_it_does_not_need(trained: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "translate", str(trained), "the dog eats bread."]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    assert outcome.stdout.strip()
    loaded = set(outcome.stderr.split("\n"))
    assert "glassformer.tasks.translation.translator" in loaded
    assert sorted(loaded.intersection(UNNEEDED)) == []
