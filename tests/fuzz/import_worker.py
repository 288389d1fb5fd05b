"""A process that imports damaged models and uses them. It reads case numbers from stdin and answers in JSON lines.

    python import_worker.py SEEDS SCRATCH SEED

Its memory is limited, so a file that asks for too much fails here instead of filling the machine.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from random import Random
from typing import Any

MEMORY = 1 << 30  # bytes that a case may take beyond what the process has when it starts
SECONDS = 10  # for one case; then the place where it hangs is printed, and the parent ends the process


def outcome_of(number: int, seeds: Path, scratch: Path, seed: int) -> dict[str, Any]:
    """Makes case `number`, imports it, uses it."""
    from import_mutations import mutate

    from glassformer.errors import GlassformerError

    names = sorted(path.name for path in seeds.iterdir())
    random, name = Random(f"{seed}:{number}"), names[number % len(names)]
    folder = scratch / name
    shutil.copytree(seeds / name, folder)
    done = mutate_safely(mutate, folder, random)
    result: dict[str, Any] = {"number": number, "seed": name, "done": done}
    try:
        use(folder, scratch / "imported")
    except GlassformerError as error:
        return {**result, "outcome": "refused", "error": f"{type(error).__name__}: {error}"}
    except BaseException as error:  # also the panics of pyo3
        where = traceback.format_exception(error)
        return {**result, "outcome": "traceback", "error": "".join(where)[-3000:]}
    return {**result, "outcome": "imported"}


def mutate_safely(mutate: Any, folder: Path, random: Random) -> list[str]:
    """A second mutation may find a file that the first has made unreadable: the first is enough then."""
    try:
        return mutate(folder, random)
    except (ValueError, RecursionError, IndexError, OSError) as error:
        return [f"(stopped: {type(error).__name__})"]


def use(folder: Path, out: Path) -> None:
    """What a user does: import, open again, ask for one thing."""
    from glassformer.hub.reading import read_model
    from glassformer.store.bundle import save_bundle
    from glassformer.tasks.loading import load

    found = read_model(folder)
    save_bundle(found, out, about={"imported": {"from": str(folder), "model_type": found.extras["model_type"]}})
    ask(load(out))


def ask(model: Any) -> None:
    import numpy as np

    from glassformer.tasks.embedding import TextEncoder
    from glassformer.tasks.generation import LanguageModel
    from glassformer.tasks.vision import ImageModel

    if isinstance(model, TextEncoder):
        model.embed(["the river bank flows", "unbelievable dogs. Ünïcode 🙂"])
        head = getattr(model.model.config, "head", None)
        if head in ("words", "pretraining"):
            model.fill(f"the {model.mask_text} flows")
        if head == "sentence":
            model.classify(["the river bank flows"])
    elif isinstance(model, LanguageModel):
        text = "1 2 0" if model.tokenizer.kind == "word" else "the cat sat"
        model.generate(text, max_new=4)
        model.generate(text, max_new=3, beam=2)
    elif isinstance(model, ImageModel):
        image = np.arange(100, dtype=np.uint8).reshape(10, 10)
        model.caption(image) if model.bundle.kind == "captioner" else model.classify(image)
    else:
        model.translate(["the cat sat on the mat."])


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    seeds, scratch, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    import torch

    torch.set_num_threads(1)
    for name in ("gpt2", "bert-words", "marian"):  # loads what is loaded lazily, compiles what is compiled
        with tempfile.TemporaryDirectory(dir=scratch) as place:
            use(seeds / name, Path(place) / "imported")
    limit_memory()
    print("ready", flush=True)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory(dir=scratch) as place:
            faulthandler.dump_traceback_later(SECONDS - 1, exit=False)
            result = outcome_of(int(line), seeds, Path(place), seed)
            faulthandler.cancel_dump_traceback_later()
        result["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
