"""Image files to arrays, and arrays to what a model reads."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.data.images import Preparation, batches_of, middle, recoloured
from glassformer.data.readers.images import read_pictures
from glassformer.errors import DataError

RANDOM = np.random.default_rng(3)
GREY = RANDOM.integers(0, 256, (3, 5, 1), dtype=np.uint8)
COLOUR = RANDOM.integers(0, 256, (3, 5, 3), dtype=np.uint8)


def only(path: Path | str) -> np.ndarray:
    (found,) = read_pictures(str(path))
    return found.pixels


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape) + array.tobytes()


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (GREY[:, :, 0], GREY),
        (GREY, GREY),
        (COLOUR, COLOUR),
        (COLOUR.astype(np.int64), COLOUR),
        (COLOUR / 255, COLOUR),
        ((COLOUR / 255).astype(np.float32), COLOUR),
    ],
)
def test_numpy_arrays(array: np.ndarray, expected: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", array)
    assert np.array_equal(only(tmp_path / "image.npy"), expected)


@pytest.mark.parametrize("array", [GREY[:, :, 0], GREY[None, :, :, 0], GREY])
def test_one_image_in_an_archive_has_the_name_of_the_file(array: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", array)
    (found,) = read_pictures(str(tmp_path / "one.npz"))
    assert found.name == str(tmp_path / "one.npz")
    assert np.array_equal(found.pixels, GREY)


def pnm(kind: int, array: np.ndarray, *, largest: int = 255) -> bytes:
    """As netpbm writes it, with a comment in its head."""
    head = f"P{kind}\n# made by a test\n{array.shape[1]} {array.shape[0]}\n"
    head += "" if kind in (1, 4) else f"{largest}\n"
    if kind == 4:
        return head.encode() + np.packbits(array[:, :, 0], axis=1).tobytes()
    if kind > 4:
        return head.encode() + array.astype(">u1" if largest < 256 else ">u2").tobytes()
    return head.encode() + b"\n".join(b" ".join(str(n).encode() for n in row.ravel()) for row in array)


@pytest.mark.parametrize("kind", [2, 3, 5, 6])
def test_pnm_images(kind: int, tmp_path: Path) -> None:
    pixels = COLOUR if kind in (3, 6) else GREY
    (tmp_path / "image.pnm").write_bytes(pnm(kind, pixels))
    assert np.array_equal(only(tmp_path / "image.pnm"), pixels)


@pytest.mark.parametrize("kind", [1, 4])
def test_in_a_bitmap_one_is_black(kind: int, tmp_path: Path) -> None:
    bits = RANDOM.integers(0, 2, (3, 11, 1))
    (tmp_path / "image.pbm").write_bytes(pnm(kind, bits))
    assert np.array_equal(only(tmp_path / "image.pbm"), 255 * (1 - bits))


@pytest.mark.parametrize("largest", [15, 1000])
def test_pnm_values_are_scaled_to_bytes(largest: int, tmp_path: Path) -> None:
    values = RANDOM.integers(0, largest + 1, (3, 5, 1))
    for kind in (2, 5):
        (tmp_path / "image.pgm").write_bytes(pnm(kind, values, largest=largest))
        assert np.array_equal(only(tmp_path / "image.pgm"), np.rint(values * 255 / largest))


def test_digits_after_a_bitmaps_head_are_pixels(tmp_path: Path) -> None:
    (tmp_path / "image.pbm").write_bytes(b"P1 3 2\n101010")
    assert only(tmp_path / "image.pbm")[:, :, 0].tolist() == [[0, 255, 0], [255, 0, 255]]


def test_files_of_many_images_packed_or_not(tmp_path: Path) -> None:
    many = RANDOM.integers(0, 256, (7, 3, 5), dtype=np.uint8)
    plain, packed, stack = tmp_path / "digits.idx", tmp_path / "digits.idx.gz", tmp_path / "stack.npy"
    plain.write_bytes(idx(many))
    packed.write_bytes(gzip.compress(idx(many)))
    np.save(stack, many[..., None])
    np.save(tmp_path / "grey.npy", many)
    np.savez(tmp_path / "named.npz", labels=np.arange(7), images=many)
    np.savez_compressed(tmp_path / "unnamed.npz", arr_0=many / 255)
    np.savez(tmp_path / "own.NPZ", own=many, numbers=np.arange(7))  # only one of them can hold images
    (tmp_path / "own.NPZ.npz").rename(tmp_path / "own.NPZ")
    arrays = [tmp_path / name for name in ("grey.npy", "named.npz", "unnamed.npz", "own.NPZ")]
    for file in (plain, packed, stack, *arrays):
        found = list(read_pictures(str(file)))
        assert [one.name for one in found] == [f"{file}:{i}" for i in range(7)]
        assert all(np.array_equal(one.pixels[:, :, 0], image) for one, image in zip(found, many, strict=True))
    assert np.array_equal(only(f"{packed}:4")[:, :, 0], many[4])
    assert [one.name for one in read_pictures(f"{plain}:2-4")] == [f"{plain}:{i}" for i in (2, 3, 4)]


def test_a_file_whose_name_looks_like_a_choice(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", GREY)
    (tmp_path / "a.npy").rename(tmp_path / "a:1")
    assert np.array_equal(only(tmp_path / "a:1"), GREY)


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def with_bad_data(archive: bytes) -> bytes:
    """The directory of the archive is right; the compressed array is not."""
    start = archive.index(b".npy") + 24
    return archive[:start] + bytes(8) + archive[start + 8 :]


NPY = b"\x93NUMPY\x01\x00"
BROKEN = {
    "shape.npy": (np.zeros((2, 3, 4, 5, 6)), "shape \\(2, 3, 4, 5, 6\\)"),
    "channels.npy": (np.zeros((3, 5, 2)), "with 1, 3 or 4 channels"),
    "none.npy": (np.zeros((0, 3, 5)), "shape \\(0, 3, 5\\)"),
    "large.npy": (np.full((3, 5), 256), "from 0 to 255"),
    "float.npy": (np.full((3, 5), 1.5), "values from 1.5 to 1.5. .* from 0.0 to 1.0"),
    "nan.npy": (np.full((3, 5), np.nan), "from 0.0 to 1.0"),
    "words.npy": (np.array([["a", "b"]]), "an array of <U1"),
    "cut.npy": (NPY + b"v\x00{'descr'", "not a readable array"),
    "labels.npy": (np.arange(5), "shape \\(5,\\)"),
    "two.npz": (npz(left=GREY, right=GREY), "arrays are left .*, right .* Save the images as the array `images`"),
    "labels.npz": (npz(labels=np.arange(5)), "its arrays are labels \\(5,\\)"),
    "shape.npz": (npz(images=np.zeros((3, 5, 7, 2))), "shape \\(3, 5, 7, 2\\)"),
    "cut.npz": (npz(images=GREY)[:50], "not a readable .npz file"),
    "bad.npz": (with_bad_data(npz(images=GREY)), "not a readable .npz file"),
    "labels.idx": (idx(np.zeros(4, np.uint8)), "labels, not images"),
    "short.idx": (idx(np.zeros((4, 3, 5), np.uint8))[:-1], "59 pixels, but its header says 60"),
    "head.idx": (b"\x00\x00\x08\x03\x00", "IDX file"),
    "none.idx": (idx(np.zeros((0, 3, 5), np.uint8)), "0 pixels"),
    "short.pgm": (pnm(5, GREY)[:-1], "14 valid pixels of 15"),
    "over.pgm": (b"P2 1 1 9 10", "0 valid pixels|valid pixels"),
    "head.pgm": (b"P5 3\n", "do not follow"),
    "zero.pgm": (b"P5 3 0 255\n", "do not follow"),
    "empty": (b"", "Pillow|not a(n| readable) image"),
    "text.txt": ("Grüße\n".encode(), "text, not an image"),  # with and without Pillow
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_not_an_image_is_reported_in_one_line(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        np.save(tmp_path / name, content)
    with pytest.raises(DataError, match=message) as error:
        list(read_pictures(str(tmp_path / name)))
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.npy", "no such file"),
        (".", "is a folder"),
        ("one.npy:1", "has 1 image,"),
        ("one.npy:3-1", "in reverse order"),
    ],
)
def test_names_that_lead_nowhere(name: str, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", GREY)
    with pytest.raises(DataError, match=message):
        list(read_pictures(str(tmp_path / name)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scenes:1-0", r"in reverse order\. Write 0-1\."),
        ("scenes", "scenes:7 or scenes:0-9, with numbers up to 9999"),
        ("scenes:99999", "scenes:7 or scenes:0-9, with numbers up to 9999"),
    ],
)
def test_scenes_that_do_not_exist(name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_pictures(name))


def test_without_pillow_its_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0 and so on")
    with pytest.raises(DataError, match=r"photo.jpg: .*pip install 'glassformer\[images\]'"):
        list(read_pictures(str(tmp_path / "photo.jpg")))


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "1", "P"])
def test_pillows_files(mode: str, tmp_path: Path) -> None:
    from PIL import Image

    image = Image.fromarray(COLOUR).convert(mode)
    image.save(tmp_path / "image.png")
    kept = {"L": "L", "1": "L", "LA": "RGBA", "RGBA": "RGBA"}.get(mode, "RGB")
    expected = np.asarray(image.convert(kept))
    assert np.array_equal(only(tmp_path / "image.png"), expected if expected.ndim == 3 else expected[:, :, None])
    (tmp_path / "cut.png").write_bytes((tmp_path / "image.png").read_bytes()[:40])
    with pytest.raises(DataError, match=r"cut\.png"):
        only(tmp_path / "cut.png")


def test_grey_images_of_16_bits_are_scaled(tmp_path: Path) -> None:
    from PIL import Image

    values = np.array([[0, 257, 300], [32_768, 65_000, 65_535]], dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    assert only(tmp_path / "deep.png")[:, :, 0].tolist() == [[0, 1, 1], [128, 253, 255]]
    Image.fromarray(values.astype(np.float32)).save(tmp_path / "real.tiff")
    with pytest.raises(DataError, match=r"real\.tiff: its values are not whole numbers"):
        only(tmp_path / "real.tiff")
    Image.fromarray(values.astype(np.int32) // 100).save(tmp_path / "wide.tiff")
    with pytest.raises(DataError, match=r"wide\.tiff: its pixels have 32 bits, values from 0 to 655, and nothing says"):
        only(tmp_path / "wide.tiff")


@pytest.mark.parametrize("mode", ["P", "L", "RGB"])
def test_a_transparent_colour_becomes_an_alpha_channel(mode: str, tmp_path: Path) -> None:
    from PIL import Image

    image = Image.new(mode, (3, 2), color=7 if mode != "RGB" else (7, 7, 7))
    if mode == "P":
        image.putpalette([number // 3 for number in range(768)])
    image.save(tmp_path / "image.png", transparency=7 if mode != "RGB" else (7, 7, 7))
    pixels = only(tmp_path / "image.png")
    assert pixels.shape == (2, 3, 4)
    assert not pixels[:, :, 3].any()
    assert (recoloured(pixels, 3) == 255).all()


# Preparation


def test_colours() -> None:
    assert np.array_equal(recoloured(GREY, 3), np.repeat(GREY, 3, axis=2))
    with_alpha = np.concatenate([COLOUR, GREY], axis=2)
    share = GREY / 255
    assert np.array_equal(recoloured(with_alpha, 3), np.rint(COLOUR * share + 255 * (1 - share)))  # on white
    assert recoloured(with_alpha, 4) is with_alpha
    grey = recoloured(COLOUR, 1)
    exact = COLOUR @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grey[:, :, 0] - exact).max() <= 0.5
    assert np.array_equal(recoloured(np.repeat(GREY, 3, axis=2), 1), GREY)
    with pytest.raises(DataError, match="1 channels; this model reads 2"):
        recoloured(GREY, 2)


def test_values_are_rescaled_and_normalised_by_channel() -> None:
    prepare = Preparation(3, rescale=1 / 255, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
    got = prepare(COLOUR)
    expected = (COLOUR / 255 - np.array([0.1, 0.2, 0.3])) / np.array([0.5, 0.6, 0.7])
    torch.testing.assert_close(got, torch.as_tensor(expected.transpose(2, 0, 1)).float(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("resample", ["nearest", "bilinear", "bicubic"])
def test_a_smooth_image_stays_itself_in_another_size(resample: str) -> None:
    ramp = np.broadcast_to(np.linspace(0, 255, 64), (32, 64)).astype(np.uint8)[:, :, None]
    got = Preparation(1, size=(16, 16), resample=resample)(ramp)
    assert got.shape == (1, 16, 16)
    expected = torch.as_tensor(ramp[0, :, 0]).float().view(16, 4).mean(1)
    torch.testing.assert_close(got[0, 5], expected, rtol=0, atol=5)


def test_shrinking_takes_the_mean_not_single_pixels() -> None:
    checks = np.indices((32, 32)).sum(0) % 2 * 255
    got = Preparation(1, size=(4, 4))(checks.astype(np.uint8)[:, :, None])
    assert 110 < float(got.min()) <= float(got.max()) < 145


@pytest.mark.parametrize(("shape", "expected"), [((10, 20), (5, 10)), ((21, 10), (10, 5)), ((7, 7), (5, 5))])
def test_the_shorter_side_decides(shape: tuple[int, int], expected: tuple[int, int]) -> None:
    got = Preparation(1, shortest=5)(np.zeros((*shape, 1), np.uint8))
    assert got.shape[1:] == expected


def test_the_middle_is_kept_and_black_fills_up() -> None:
    image = torch.arange(1, 16).view(1, 3, 5)
    assert middle(image, (1, 3)).tolist() == [[[7, 8, 9]]]
    assert middle(image, (5, 1))[0, :, 0].tolist() == [0, 3, 8, 13, 0]
    assert middle(image, (3, 8)).shape == (1, 3, 8)
    assert middle(image, (3, 8)).sum() == image.sum()


def test_preparation_from_the_folder() -> None:
    told = {"shortest": 7, "crop_height": 5, "crop_width": 3, "resample": "bicubic", "rescale": 0.5, "mean": [0.5]}
    prepare = Preparation.of(told, size=(9, 9), channels=1)
    assert prepare == Preparation(1, None, 7, "bicubic", (5, 3), 0.5, (0.5,), (1.0,))
    assert prepare(GREY).shape == (1, 5, 3)
    usual = Preparation.of(None, size=(9, 7), channels=3)(np.full((3, 5, 3), 255, np.uint8))
    assert torch.equal(usual, torch.ones(3, 9, 7))


def test_numbers_of_other_channels_are_refused() -> None:
    with pytest.raises(DataError, match="for 3 channels; this model reads 1"):
        Preparation(1, mean=(0.1, 0.2, 0.3))(GREY)


def test_images_of_one_size_go_together() -> None:
    images = [torch.full((1, *size), float(i)) for i, size in enumerate([(2, 3), (3, 2), (2, 3), (2, 3)])]
    found = [(places, tuple(batch.shape), batch[:, 0, 0, 0].tolist()) for places, batch in batches_of(images, 2)]
    assert found == [([0, 2], (2, 1, 2, 3), [0, 2]), ([3], (1, 1, 2, 3), [3]), ([1], (1, 1, 3, 2), [1])]
