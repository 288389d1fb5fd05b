"""`glassformer classify` and `caption` on tiny models, with files as people have them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.errors import DataError, ModelError
from glassformer.models.captioner import Captioner, CaptionerConfig
from glassformer.models.t5 import T5, T5Config
from glassformer.models.vit import Vit, VitConfig
from glassformer.store.bundle import Bundle, SpecialIds, save_bundle
from glassformer.tasks.generation import GenerateOptions, LanguageModel
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.vision import ImageBatch, ImageModel
from glassformer.text import train_tokenizer

IMAGES = np.random.default_rng(5).integers(0, 256, (40, 4, 4), dtype=np.uint8).repeat(7, 1).repeat(7, 2)
SENTENCE = "a dog runs over the green grass while two cats sleep on the old red car"


def grown(model: torch.nn.Module) -> torch.nn.Module:
    """Weights so large that images differ."""
    torch.manual_seed(4)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith(("gain", "bias")):
                parameter.normal_(std=1.0 if "patches" in name else 0.3)
    return model.eval()


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "digits"
    model = grown(Vit(VitConfig(size="nano", N=2, classes=10)))
    extras = {"labels": [f"the digit {i}" for i in range(10)], "image": {"rescale": 1 / 255}}
    save_bundle(Bundle("vit", model, extras=extras), folder)
    return folder


@pytest.fixture(scope="module")
def captioner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "captioner"
    tokenizer = train_tokenizer("word", [SENTENCE], vocab_size=50)
    model = grown(Captioner(CaptionerConfig(size="tiny", vocabulary=len(tokenizer), max_length=12)))
    with torch.no_grad():
        model.head.weight[tokenizer.eos_id] = 0  # it does not end at once
    marks = SpecialIds(bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id, start=tokenizer.bos_id)
    save_bundle(Bundle("captioner", model, tokenizer, marks), folder)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    head = bytes([0, 0, 8, 3]) + b"".join(size.to_bytes(4, "big") for size in IMAGES.shape)
    made = {name: tmp_path / name for name in ("digits.idx.gz", "one.npy", "large.npy", "colour.ppm")}
    made["digits.idx.gz"].write_bytes(gzip.compress(head + IMAGES.tobytes()))
    np.save(made["one.npy"], IMAGES[3])
    np.save(made["large.npy"], np.repeat(np.repeat(IMAGES[3], 3, 0), 2, 1))
    made["colour.ppm"].write_bytes(b"P6 28 28 255\n" + np.repeat(IMAGES[3][:, :, None], 3, 2).tobytes())
    return made


def test_classes_of_images_however_they_are_written(digits: Path, files: dict[str, Path], command: Callable) -> None:
    one = command("classify", digits, files["one.npy"], "--top", "2", "--json")
    assert one.code == 0, one.err
    found = json.loads(one.out)
    assert found["image"] == str(files["one.npy"])
    assert len(found["classes"]) == 2
    for name in (f"{files['digits.idx.gz']}:3", files["colour.ppm"]):
        again = json.loads(command("classify", digits, name, "--top", "2", "--json").out)
        assert again["classes"] == found["classes"]


def test_classes_are_the_models_own(digits: Path) -> None:
    seeing = ImageModel(load_bundle(digits))
    with torch.no_grad():
        expected = seeing.model(ImageBatch(torch.as_tensor(IMAGES)[:, None] / 255)).softmax(-1)
    for row, guesses in zip(expected, seeing.classify(list(IMAGES), top=10), strict=True):
        assert [guess.number for guess in guesses] == row.argsort(descending=True).tolist()
        assert [guess.probability for guess in guesses] == pytest.approx(
            row.sort(descending=True).values.tolist(), rel=1e-4
        )
        assert all(guess.label == f"the digit {guess.number}" for guess in guesses)
    assert len({guesses[0].number for guesses in seeing.classify(list(IMAGES))}) > 1, "images must differ"


def test_every_image_of_a_file_has_its_line(digits: Path, files: dict[str, Path], command: Callable) -> None:
    found = command("classify", digits, files["digits.idx.gz"], files["one.npy"], "--top", "1")
    lines = found.out.splitlines()
    assert len(lines) == 41
    assert lines[7].startswith(f"{files['digits.idx.gz']}:7\tthe digit ")
    assert lines[40].partition("\t")[2] == lines[3].partition("\t")[2]


def test_a_broken_file_does_not_cost_the_results_of_the_others(
    digits: Path, files: dict[str, Path], command: Callable
) -> None:
    broken = files["one.npy"].with_name("broken.pgm")
    broken.write_bytes(b"P5 8 8 255\n")
    found = command("classify", digits, files["one.npy"], broken, files["one.npy"], "--json")
    assert (found.code, len(found.out.splitlines()), len(found.err.splitlines())) == (2, 2, 1)
    assert "broken.pgm" in found.err


def test_images_of_another_size_are_read_as_they_are_or_resized(digits: Path, files: dict[str, Path]) -> None:
    as_it_is, own = load_bundle(digits), ImageModel(load_bundle(digits)).model
    resized = ImageModel(Bundle("vit", own))
    for seeing, size in ((ImageModel(as_it_is), (84, 56)), (resized, (28, 28))):
        pictures = list(seeing.named([files["large.npy"], files["one.npy"]]))
        assert seeing.prepared(pictures)[0].shape[1:] == size
        assert len(seeing.classified(pictures)) == 2


def test_captions(captioner: Path, files: dict[str, Path], command: Callable) -> None:
    greedy = command("caption", captioner, f"{files['digits.idx.gz']}:0-4", "--beam", "1")
    assert greedy.code == 0, greedy.err
    lines = greedy.out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == [f"{files['digits.idx.gz']}:{i}" for i in range(5)]
    said = [line.partition("\t")[2] for line in lines]
    assert len(set(said)) > 1
    assert set(" ".join(said).split()) <= set(SENTENCE.split())
    several = command("caption", captioner, files["one.npy"], "--top", "3", "--json")
    ranked = [json.loads(line) for line in several.out.splitlines()]
    assert [one["rank"] for one in ranked] == [1, 2, 3]
    assert ranked[0]["score"] >= ranked[1]["score"] >= ranked[2]["score"]
    assert all(len(one["tokens"]) <= 12 for one in ranked)


def test_a_caption_does_not_depend_on_the_images_beside_it(captioner: Path) -> None:
    seeing = ImageModel(load_bundle(captioner))
    together = seeing.captions(list(IMAGES[:20]), GenerateOptions(max_new=9, beam=3))
    for i in (0, 7, 19):
        alone = [seeing.captions(IMAGES[i], GenerateOptions(max_new=9, beam=3))]
        assert alone[0][0].ids == together[i][0].ids
    assert len({one[0].ids for one in together}) > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("classify", "{captioner}", "{one.npy}"), "has no classes: it is a captioner"),
        (("caption", "{digits}", "{one.npy}"), "A vit model cannot write captions"),
        (("classify", "{digits}", "gone.jpg"), "gone.jpg: no such file"),
        (("classify", "nowhere", "{one.npy}"), "nowhere: no such folder"),
        (("classify", "{digits}", "{digits.idx.gz}:40"), "has 40 images, numbered from 0"),
        (("caption", "{captioner}", "{one.npy}", "--top", "3", "--beam", "2"), "3 texts need a beam"),
    ],
)
def test_impossible_requests_are_errors_of_one_line(
    arguments: tuple[str, ...],
    message: str,
    digits: Path,
    captioner: Path,
    files: dict[str, Path],
    command: Callable,
) -> None:
    names = {f"{{{name}}}": path for name, path in files.items()} | {"{digits}": digits, "{captioner}": captioner}
    filled = list(arguments)
    for key, path in names.items():
        filled = [argument.replace(key, str(path)) for argument in filled]
    outcome = command(*filled)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_other_models_do_not_see_and_captioners_do_not_read(captioner: Path) -> None:
    with pytest.raises(ModelError, match="A t5 model cannot read images"):
        ImageModel(Bundle("t5", T5(T5Config(vocabulary=7))))
    with pytest.raises(ModelError, match="reads images, not texts"):
        LanguageModel(load_bundle(captioner))
    with pytest.raises(ModelError, match="without a classification head"):
        ImageModel(Bundle("vit", Vit(VitConfig(size="nano")))).classify(IMAGES[0])


@pytest.mark.parametrize("array", [np.zeros((3, 5)), np.zeros((2, 3, 5, 1), np.uint8), np.zeros(4, np.uint8)])
def test_arrays_that_are_no_images(array: np.ndarray, digits: Path) -> None:
    with pytest.raises(DataError, match="Image 2 is an array"):
        ImageModel(load_bundle(digits)).classify([IMAGES[0], array])
