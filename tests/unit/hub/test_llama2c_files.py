"""llama2.c's and minGPT's files: read as they are written, and refused where they are not what they should be."""

from __future__ import annotations

import base64
import json
import lzma
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.errors import ImportingError, TokenizerError
from glassformer.hub.llama2c import is_llama2c, read_llama2c
from glassformer.hub.mingpt import is_mingpt, read_mingpt
from glassformer.tasks.generation import LanguageModel
from llama2c_files import model_bytes, pieces, vocabulary_bytes, write
from llama2c_in_numpy import NumpyLlama, NumpyVocabulary


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_tokens_and_logits_are_those_of_a_plain_reading(shared: bool, packed: bool, tmp_path: Path) -> None:
    content = model_bytes(shared=shared)
    read = read_llama2c(write(tmp_path, content, packed=packed))
    assert read.model.config.tied == shared
    prompt = NumpyVocabulary(vocabulary_bytes(pieces()), len(pieces())).encode("banana")
    expected, logits = NumpyLlama(content).greedy(prompt, 9)
    model = LanguageModel(read)
    found = model.continuations("banana")[0]
    assert list(found.ids)[:9] == expected[: len(found.ids)]
    with torch.no_grad():
        ours = read.model(model.inputs.batch([[*prompt, *expected[:-1]]]))[0, len(prompt) - 1 :]
    np.testing.assert_allclose(ours.numpy(), np.array(logits), atol=1e-4)


@pytest.mark.parametrize(
    "text", ["banana", "a banana ban", "", " ", "nab  can", "Zürich 🙂", "\n\ta", "annann ab", "</s> <s>", "<0x41>"]
)
def test_texts_are_cut_as_llama2c_cuts_them(text: str, tmp_path: Path) -> None:
    model = LanguageModel(read_llama2c(write(tmp_path, model_bytes())))
    expected = NumpyVocabulary(vocabulary_bytes(pieces()), len(pieces())).encode(text)
    assert model.inputs.ids(text) == expected
    assert model.tokenizer.decode(expected) == text


def test_folders_and_files_are_known_by_their_names(tmp_path: Path) -> None:
    assert not is_llama2c(tmp_path)
    write(tmp_path, model_bytes())
    assert is_llama2c(tmp_path)
    assert is_llama2c(tmp_path / "story.bin")
    assert read_llama2c(tmp_path / "story.bin").kind == "llama"
    (tmp_path / "other.bin").write_bytes(b"")
    with pytest.raises(ImportingError, match=r"2 models of llama2.c \(other.bin, story.bin\). Name one"):
        read_llama2c(tmp_path)


BROKEN: list[tuple[bytes, str]] = [
    (b"", "first version"),
    (struct.pack("<I", 0x616B3432) + bytes(300), "first version. Export it with --version 0"),
    (bytes(100), "begins with .* which is not a valid shape"),
    # Heads of width 1 have empty rotary tables, so no byte would back the number of positions.
    (struct.pack("<7i", 1, 1, 1, 1, 1, 1, 2**31 - 1) + bytes(4 * 11), "begins with .* which is not a valid shape"),
    (model_bytes()[:-4], r"has [\d,]+ bytes; a model of its shape has"),
    (model_bytes() + b"0000", "damaged, or not a model"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_what_is_not_a_model_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ImportingError, match=message):
        read_llama2c(write(tmp_path, content) / "story.bin")


def test_a_vocabulary_that_is_missing_damaged_or_anothers_is_refused(tmp_path: Path) -> None:
    write(tmp_path, model_bytes())
    file = tmp_path / f"tok{len(pieces())}.bin"
    whole = file.read_bytes()
    for content, message in ((whole[:-3], "is not a vocabulary"), (whole + b"0", "has more than the")):
        file.write_bytes(content)
        with pytest.raises(ImportingError, match=message):
            read_llama2c(tmp_path)
    file.unlink()
    with pytest.raises(ImportingError, match=r"no vocabulary for story.bin: put tok\d+.bin"):
        read_llama2c(tmp_path)
    with pytest.raises(ImportingError, match="no such file"):
        read_llama2c(tmp_path / "gone.bin")
    (tmp_path / "bad.bin.xz").write_bytes(b"no xz")
    with pytest.raises(ImportingError, match="cannot be unpacked"):
        read_llama2c(tmp_path / "bad.bin.xz")


# minGPT


def packed_tensor(*shape: int) -> dict[str, Any]:
    numbers = np.random.default_rng(sum(shape)).normal(size=shape).astype("<f4")
    return {"shape": list(shape), "dtype": "torch.float32", "data": base64.b64encode(numbers.tobytes()).decode()}


def mingpt_content() -> dict[str, Any]:
    content: dict[str, Any] = {
        "config": {"n_layer": 1, "n_head": 2, "n_embd": 6, "vocab_size": 5, "block_size": 7, "resid_pdrop": 0.1}
    }
    for name, shape in {
        "wte.weight": (5, 6), "wpe.weight": (7, 6), "h.0.ln_1.weight": (6,), "h.0.ln_1.bias": (6,),
        "h.0.attn.bias": (1, 1, 7, 7), "h.0.attn.c_attn.weight": (18, 6), "h.0.attn.c_attn.bias": (18,),
        "h.0.attn.c_proj.weight": (6, 6), "h.0.attn.c_proj.bias": (6,), "h.0.ln_2.weight": (6,), "h.0.ln_2.bias": (6,),
        "h.0.mlp.c_fc.weight": (24, 6), "h.0.mlp.c_fc.bias": (24,), "h.0.mlp.c_proj.weight": (6, 24),
        "h.0.mlp.c_proj.bias": (6,), "ln_f.weight": (6,), "ln_f.bias": (6,),
    }.items():  # fmt: skip
        content[f"transformer.{name}"] = packed_tensor(*shape)
    return {**content, "lm_head.weight": packed_tensor(5, 6)}


@pytest.mark.parametrize("name", ["some-model.json", "some-model.json.xz"])
def test_a_model_of_mingpt_is_read_from_json(name: str, tmp_path: Path) -> None:
    raw = json.dumps(mingpt_content()).encode()
    (tmp_path / name).write_bytes(lzma.compress(raw) if name.endswith(".xz") else raw)
    assert is_mingpt(tmp_path)
    read = read_mingpt(tmp_path)
    qkv = mingpt_content()["transformer.h.0.attn.c_attn.weight"]["data"]
    expected = np.frombuffer(base64.b64decode(qkv), dtype="<f4").reshape(18, 6)
    assert np.array_equal(read.model.blocks[0].attention.qkv.weight.detach().numpy(), expected)
    assert read.tokenizer.encode("4 0 3") == [4, 0, 3]
    with pytest.raises(TokenizerError, match="no token for unknown words"):
        read.tokenizer.encode("4 5")


def test_json_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    cases = {
        "[1, 2]": "not a model of minGPT",
        "{": "not JSON",
        "{}": 'has no "config"',
        json.dumps({**mingpt_content(), "lm_head.weight": {"shape": [5, 6], "data": "?"}}): "not a tensor",
    }
    for content, message in cases.items():
        file.write_text(content)
        with pytest.raises(ImportingError, match=message):
            read_mingpt(file)
    content = mingpt_content()
    content["transformer.h.3.attn.weight"] = content.pop("lm_head.weight")
    file.write_text(json.dumps(content))
    with pytest.raises(ImportingError, match=r"lm_head.weight is missing; transformer.h.3.attn.weight is unexpected"):
        read_mingpt(file)
