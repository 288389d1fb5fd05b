"""A page of `explain --html` against Python: ids, answers and beam searches of many texts, by the page's own engine.

    python benchmarks/glass_pages.py runs/demo sentences.txt --count 200

Needs Node, and once `npm ci` in glass/. Prints the page's size, how many texts have equal ids, answers and hypotheses
(in the same order), the largest difference of a score, and the page's time for a beam search.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import glassformer as gf
from glassformer.tasks.glass.subjects import subject_of
from glassformer.tasks.glass.traces import inputs_of
from glassformer.tasks.glass.writing import search_record

GLASS = Path(__file__).parents[1] / "glass"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("texts", type=Path, help="one text per line; of a line with tabs, the first column")
    parser.add_argument("--count", type=int, default=200)
    asked = parser.parse_args()
    if shutil.which("node") is None:
        sys.exit("(not run: node is missing)")
    lines = asked.texts.read_text(encoding="utf-8").splitlines()
    texts = list(dict.fromkeys(line.split("\t")[0] for line in lines if line.strip()))[: asked.count]
    with tempfile.TemporaryDirectory() as folder:
        page, expected = Path(folder) / "glass.html", Path(folder) / "expected.json"
        model: Any = gf.load(asked.model)
        model.explain(texts[0]).save(page)
        expected.write_text(json.dumps([python_on(model, text) for text in texts]))
        print(f"{asked.model}: {page.stat().st_size / 1e6:.2f} MB")
        done = subprocess.run(
            ["node", "measure.mjs", "answers", str(page), str(expected)], cwd=GLASS, check=True, capture_output=True
        )
        report(json.loads(done.stdout.decode().splitlines()[-1]))


def python_on(model: Any, text: str) -> dict[str, Any]:
    """What Python computes for a text."""
    found, search = model.explain(text), search_record(model, text)
    assert search is not None, "this model does not write"
    program = subject_of(model).program
    read = next(name for name, what in program.sequences.items() if what == "ids")
    answer = found.answer or model.generate(text, max_new=20)
    return {
        "text": text,
        "ids": {read: inputs_of(program, found.batch)[read].tolist()},
        "answer": answer,
        "beam": search["width"],
        "hypotheses": [{"ids": one["ids"], "score": one["score"]} for one in search["hypotheses"]],
    }


def report(found: dict[str, Any]) -> None:
    for what in ("ids", "answers", "hypotheses"):
        print(f"  equal {what:<11} {found[what]} of {found['texts']}")
    print(
        f"  largest difference of a score {found['worst']:.1e}; beam search and its pass {found['milliseconds']:.0f} ms"
    )
    for text in found["different"]:
        print(f"  different: {text!r}")


if __name__ == "__main__":
    main()
