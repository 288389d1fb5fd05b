"""Labelled images from folders, IDX files, arrays and tables; hostile files give a line, not a traceback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glassformer.data.sources.image_files import are_images, image_files
from glassformer.data.sources.images import examine_images, files_changed, read_labelled_images
from glassformer.data.sources.settings import ImageClassDataSettings
from glassformer.errors import DataError
from glassformer.training.watching import Silent
from toy_images import NAMES, bars, pgm, write_folder, write_idx


class Lines(Silent):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_stage(self, text: str) -> None:
        self.lines.append(text)


def read(files: list[str] | str, **settings):
    data = ImageClassDataSettings.model_validate({"files": files, **settings})
    listener = Lines()
    return read_labelled_images(data, model=None, seed=1, listener=listener), listener.lines


def test_idx_files(tmp_path: Path) -> None:
    found, lines = read(write_idx(tmp_path))
    images, classes = bars(120)
    assert found.facts["labels"] == ("0", "1")
    assert found.facts["shape"].size == (8, 8)
    everything = [*found.train(), *found.valid]
    by_name = {one.name.rpartition(":")[2]: one for one in everything}
    for i in range(120):
        np.testing.assert_array_equal(by_name[str(i)].pixels, images[i])
        assert by_name[str(i)].label == str(classes[i])
    assert any("120 images with 2 labels" in line for line in lines)


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "train")
    (folder / NAMES[0] / "notes.txt").write_text("no image")
    (folder / NAMES[0] / "broken.png").write_bytes(b"\x89PNG broken")
    found, lines = read(str(folder))
    assert found.facts["labels"] == NAMES
    assert found.count + len(found.valid) == 40
    assert any("cannot be read" in line and "broken.png" in line for line in lines)
    assert found.facts["findings"].ignored[0].endswith("notes.txt")


def test_arrays_and_tables_hold_the_same(tmp_path: Path) -> None:
    images, classes = bars(40)
    np.savez(tmp_path / "all.npz", images=images, labels=classes)
    np.save(tmp_path / "x.npy", images[..., 0])
    np.save(tmp_path / "y.npy", classes)
    rows = ["path,label"]
    for number, image in enumerate(images):
        (tmp_path / f"{number}.pgm").write_bytes(pgm(image))
        rows.append(f"{number}.pgm,{classes[number]}")
    (tmp_path / "table.csv").write_text("\n".join(rows))
    sources = [["all.npz"], ["x.npy", "y.npy"], ["table.csv"]]
    prints = []
    for names in sources:
        found, _ = read([str(tmp_path / name) for name in names])
        prints.append((found.count, found.fingerprints["valid"], found.facts["pixels"]))
    assert prints[0] == prints[1] == prints[2]


def test_mean_and_deviation(tmp_path: Path) -> None:
    found, _ = read(write_idx(tmp_path))
    stack = np.stack([one.pixels for one in found.train()]) / 255
    assert found.facts["pixels"]["mean"][0] == pytest.approx(stack.mean(), abs=1e-6)
    assert found.facts["pixels"]["std"][0] == pytest.approx(stack.std(), abs=1e-6)


def test_equal_images_stay_in_one_part_and_leaks_are_left_out(tmp_path: Path) -> None:
    images, classes = bars(40)
    np.savez(tmp_path / "train.npz", images=np.concatenate([images] * 3), labels=np.concatenate([classes] * 3))
    np.savez(tmp_path / "valid.npz", images=images[:10], labels=classes[:10])
    found, _ = read(str(tmp_path / "train.npz"), valid="20%")
    train, valid = ({one.pixels.tobytes() for one in part} for part in (found.train(), found.valid))
    assert not train & valid
    found, lines = read(str(tmp_path / "train.npz"), valid=str(tmp_path / "valid.npz"))
    assert found.count == 90
    assert any("30 images: the same image is also held out" in line for line in lines)


def test_a_moved_image_has_another_label(tmp_path: Path) -> None:
    """The bytes of the files and their order stay the same."""
    folder = write_folder(tmp_path / "train")
    last = max((folder / NAMES[0]).iterdir())
    before, _ = read(str(folder))
    last.rename(folder / NAMES[1] / "!.pgm")  # sorted first
    after, _ = read(str(folder))
    assert after.fingerprints["train"] != before.fingerprints["train"]
    data = ImageClassDataSettings.model_validate({"files": str(folder)})
    assert files_changed(data, before.fingerprints)
    assert not files_changed(data, after.fingerprints)


def test_what_the_doctor_finds(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "train", count=20)
    flat = np.full((8, 8, 1), 7, dtype=np.uint8)
    for name in NAMES:
        (folder / name / "flat.pgm").write_bytes(pgm(flat))
    (folder / NAMES[0] / "again.pgm").write_bytes(pgm(flat))
    (folder / NAMES[0] / "cut.pgm").write_bytes(b"P5 8 8 255\n" + bytes(5))
    test = write_folder(tmp_path / "test", count=20)
    (folder / NAMES[1] / "night.pgm").write_bytes(pgm(np.arange(64, dtype=np.uint8).reshape(8, 8, 1) // 4))
    (folder / "owl").mkdir()
    found = examine_images([str(folder)], columns=None, held={"test": [str(test)]}, listener=Silent())
    assert found.counts == {"constant": 3, "duplicate": 1, "conflict": 1, "unreadable": 1, "dark": 1}
    assert found.examples["dark"] == [f"{folder / NAMES[1] / 'night.pgm'}: 16 of 256 levels"]
    assert found.empty == (str(folder / "owl"),)
    assert found.missing == {}
    assert found.lines()[0] == (
        f"Warning: the folder {folder / 'owl'} has no images, so this class does not exist for the model"
    )
    assert found.held[0].met == found.held[0].images == 20
    said, first, *_ = found.held[0].lines()
    assert said.startswith("test: 20 of 20 images are also in the training data (the same pixels after resizing). ")
    assert said.endswith("remove them from the training data")
    name = Path(found.held[0].examples[0]).relative_to(test)
    assert first == f"  {test / name} is {folder / name}"
    assert found.to_dict()["dropped"] == {"unreadable": 1}
    assert sum(found.balance().values()) == 24


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "labels",
            b"\x00\x00\x08\x01" + (3).to_bytes(4, "big") + bytes(3),
            "holds labels, but no file with the images",
        ),
        ("x.npz", b"PK broken", "not a readable .npz file"),
        ("x.npy", b"\x93NUMPY broken", "not a readable array"),
        ("x.bin", b"\x01\x02\x03", "not labelled images"),
    ],
)
def test_hostile_files_are_an_error_in_words(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words):
        image_files([str(tmp_path / name)])


def test_other_mistakes(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no images found"):
        image_files([str(tmp_path / "empty")])
    (tmp_path / "one" / "cat").mkdir(parents=True)
    for number, image in enumerate(bars(12)[0]):
        (tmp_path / "one" / "cat" / f"{number}.pgm").write_bytes(pgm(image))
    with pytest.raises(DataError, match="same label"):
        read(str(tmp_path / "one"))
    images, _ = write_idx(tmp_path)
    with pytest.raises(DataError, match=r"has 120 images, but .* has 60 labels"):
        image_files([images, write_idx(tmp_path, count=60, name="other")[1]])
    with pytest.raises(DataError, match="no file with the labels"):
        image_files([images])


def test_images_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("good\tyes\n")
    assert are_images(write_idx(tmp_path))
    assert are_images([str(write_folder(tmp_path / "train"))])
    assert not are_images([str(tmp_path / "a.tsv")])
    assert not are_images([str(tmp_path / "absent")])


def test_larger_images_of_several_sizes_are_resized(tmp_path: Path) -> None:
    for number, side in enumerate((70, 90) * 6):
        place = tmp_path / "all" / NAMES[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (side, side + 3, 3)).astype(np.uint8)
        (place / f"{number}.ppm").write_bytes(f"P6 {side + 3} {side} 255\n".encode() + pixels.tobytes())
    found, lines = read(str(tmp_path / "all"), valid="30%")
    assert next(found.train()).pixels.shape == (64, 64, 3)
    assert any("2 sizes, from 70 x 73 to 90 x 93 pixels, resized to 64 x 64" in line for line in lines)


def test_if_no_image_can_be_read_the_first_reason_is_given(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "broken.png").write_bytes(b"\x89PNG broken")
    with pytest.raises(DataError, match=r"None of the images can be read\. The first one: .*broken\.png"):
        read(str(tmp_path))
