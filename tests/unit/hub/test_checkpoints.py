"""Checkpoints of others: whole and in shards; errors say what is wrong."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.checkpoint import open_checkpoint, write_checkpoint

TENSORS = {"a": torch.randn(3, 5), "b": torch.randn(7), "c": torch.randn(2, 2), "d": torch.arange(3)}


@pytest.mark.parametrize(("shard_bytes", "files"), [(10**9, 1), (60, 3), (1, 4)])
def test_what_is_written_is_read(tmp_path: Path, shard_bytes: int, files: int) -> None:
    write_checkpoint(TENSORS.items(), tmp_path, shard_bytes=shard_bytes)
    assert len(list(tmp_path.glob("*.safetensors"))) == files
    assert (tmp_path / "model.safetensors.index.json").exists() == (files > 1)
    found = open_checkpoint(tmp_path)
    assert sorted(found) == list("abcd")
    assert all(torch.equal(found[name], TENSORS[name]) for name in TENSORS)
    assert found.shape("a") == (3, 5)
    assert not found.holds_weights("d")


def sharded(folder: Path) -> Path:
    write_checkpoint(TENSORS.items(), folder, shard_bytes=60)
    return folder / "model.safetensors.index.json"


def change_index(path: Path, **changes: str | None) -> None:
    index = json.loads(path.read_text())
    index["weight_map"] |= changes
    index["weight_map"] = {name: file for name, file in index["weight_map"].items() if file}
    path.write_text(json.dumps(index))


def test_an_index_that_names_what_no_shard_has(tmp_path: Path) -> None:
    change_index(sharded(tmp_path), z="model-00001-of-00003.safetensors")
    with pytest.raises(ImportingError, match=r"z is in the index, not in model-00001-of-00003"):
        open_checkpoint(tmp_path)


def test_a_tensor_that_the_index_does_not_name(tmp_path: Path) -> None:
    change_index(sharded(tmp_path), b=None)
    with pytest.raises(ImportingError, match=r"b is in model-00002-of-00003.safetensors, not in the index"):
        open_checkpoint(tmp_path)


def test_a_tensor_in_another_shard_than_the_index_says(tmp_path: Path) -> None:
    change_index(sharded(tmp_path), b="model-00001-of-00003.safetensors")
    with pytest.raises(ImportingError, match=r"b is in the index, not in model-00001"):
        open_checkpoint(tmp_path)


def test_a_shard_that_is_missing(tmp_path: Path) -> None:
    sharded(tmp_path)
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(ImportingError, match=r"names 3 shards: model-00002-of-00003.safetensors is missing"):
        open_checkpoint(tmp_path)


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    sharded(tmp_path)
    save_file({"a": TENSORS["a"], "c": TENSORS["c"], "d": TENSORS["d"]}, tmp_path / "model-00003-of-00003.safetensors")
    with pytest.raises(ImportingError, match=r"a is both in model-00001-of-00003.safetensors and in model-00003"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["../model.safetensors", "/etc/passwd"])
def test_an_index_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    change_index(sharded(tmp_path), a=name)
    with pytest.raises(ImportingError, match="is not the name of a file beside it"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"weight_map": {"a": 3}}'])
def test_an_index_that_is_none(tmp_path: Path, text: str) -> None:
    sharded(tmp_path).write_text(text)
    with pytest.raises(ImportingError, match=r"index.json"):
        open_checkpoint(tmp_path)


def test_shards_without_an_index(tmp_path: Path) -> None:
    sharded(tmp_path).unlink()
    with pytest.raises(ImportingError, match=r"has 3 shards .* but no model.safetensors.index.json"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("size", [0, 5, 60, 200])
def test_a_file_that_was_cut(tmp_path: Path, size: int) -> None:
    write_checkpoint(TENSORS.items(), tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ImportingError, match=r"not a complete safetensors file.* Fetch it again"):
        open_checkpoint(tmp_path)


def test_a_name_twice_in_one_file(tmp_path: Path) -> None:
    entry = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    header = ("{" + entry + "," + entry + "}").encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(ImportingError, match="twice"):
        open_checkpoint(tmp_path)


def test_a_pointer_instead_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    with pytest.raises(ImportingError, match="git lfs pull"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "consolidated.00.pth"])
def test_a_pickle_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ImportingError, match=r"only as a pickle .* AutoModel.from_pretrained.*save_pretrained"):
        open_checkpoint(tmp_path)
    (tmp_path / "config.json").write_text('{"architectures": ["BertForMaskedLM"]}')
    with pytest.raises(ImportingError, match=r" BertForMaskedLM.from_pretrained"):
        open_checkpoint(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ImportingError, match=r"no model.safetensors"):
        open_checkpoint(tmp_path)
