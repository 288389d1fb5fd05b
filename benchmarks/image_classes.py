"""Quality and speed of image classification: MNIST, or data with the same file names.

    python benchmarks/image_classes.py --data mnist/ --budget 5m

trains on the training files for the given time and scores the test files once. `learning_speed.py --rows images`
measures the speed. Use a quiet machine.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import glassformer as gf
from glassformer.tasks.evaluating import evaluate_model, open_trained, read_examples
from glassformer.training.watching import Silent


def found_in(folder: Path, part: str) -> list[str]:
    """The files of images and labels of a part, whatever their compression."""
    files = [next(iter(sorted(folder.glob(f"{part}-{what}-idx*"))), None) for what in ("images", "labels")]
    if None in files:
        raise SystemExit(f"{folder}: no {part}-images-idx3-ubyte and {part}-labels-idx1-ubyte files.")
    return [str(file) for file in files]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the four IDX files")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        data = found_in(given.data, "train")
        if not gf.train(task="classify", data=data, out=run, budget=given.budget, train={"seed": given.seed}).stopped:
            raise SystemExit("The training was interrupted: nothing is scored.")
        trained = open_trained(run)
        examples = read_examples(trained, found_in(given.data, "t10k"), Silent())
        found = evaluate_model(trained.task, trained.setup, trained.user, examples)
    for score in found.scores:
        print(score)


if __name__ == "__main__":
    main()
