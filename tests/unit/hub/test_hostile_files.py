"""Models made by others whose files are damaged or lie: every one is refused in words, soon, and without much memory.

What the fuzzer (tests/fuzz) and people found, as small cases.
"""

from __future__ import annotations

import base64
import json
import lzma
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import import_seeds
from glassformer.errors import GlassformerError, ImportingError, ModelError, TokenizerError
from glassformer.hub.reading import read_model
from glassformer.printable import printable, printable_message
from glassformer.store.bundle import save_bundle
from glassformer.tasks.loading import load
from glassformer.text import Tokenizer
from llama2c_files import model_bytes

Command = Callable[..., Any]
DEEP = "[" * 20_000 + "]" * 20_000
ESCAPE = "\x1b[31mred\nglassformer: all is well"


@pytest.fixture
def seed(tmp_path: Path) -> Callable[[str], Path]:
    def write(name: str) -> Path:
        import_seeds.SEEDS[name](tmp_path / name)
        return tmp_path / name

    return write


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), **values}))


# Sizes in a config that its file does not have


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("gpt2", "n_layer", 10**9),
        ("gpt2", "vocab_size", 10**12),
        ("gpt2", "vocab_size", 10**9),
        ("gpt2", "n_positions", 10**9),
        ("gpt2", "n_inner", 2**64),
        ("llama", "num_hidden_layers", 10**6),
        ("llama", "intermediate_size", 2**31 - 1),
        ("mixtral", "num_local_experts", 10**9),
        ("t5", "num_decoder_layers", 10**9),
        ("t5", "relative_attention_num_buckets", 10**9),
        ("bert-words", "max_position_embeddings", 10**9),
        ("bert-sentence", "type_vocab_size", 10**9),
        ("roberta", "num_hidden_layers", 10**8),
        ("roformer", "embedding_size", 10**9),
        ("vit", "image_size", 10**7),
        ("vit", "image_size", 2**31 - 1),
        ("marian", "decoder_layers", 10**9),
        ("marian", "d_model", 10**9),
    ],
)
def test_sizes_are_compared_with_the_file_before_a_model_is_made(
    name: str, field: str, value: int, seed: Callable[[str], Path]
) -> None:
    folder = seed(name)
    change(folder / "config.json", **{field: value})
    with pytest.raises(GlassformerError) as refused:
        read_model(folder)
    lines = str(refused.value).splitlines()
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize(("field", "value"), [("n_layer", 10**7), ("vocab_size", 10**9), ("block_size", 10**9)])
def test_so_are_those_of_mingpt(field: str, value: int, seed: Callable[[str], Path]) -> None:
    file = seed("mingpt") / "sort-model.json"
    content = json.loads(file.read_text())
    content["config"][field] = value
    file.write_text(json.dumps(content))
    with pytest.raises(GlassformerError, match=r"config asks for 10,000,000 blocks|less than or equal to"):
        read_model(file)


# Tensors of llama2.c and minGPT


def tensor(values: Any, shape: list[int]) -> dict[str, Any]:
    return {"shape": shape, "data": base64.b64encode(np.full(30, values, dtype="<f4").tobytes()).decode()}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (tensor(np.nan, [5, 6]), "lm_head.weight has 30 of 30 values that are NaN or infinite"),
        (tensor(np.inf, [5, 6]), "lm_head.weight has 30 of 30"),
        (tensor(0, [-1, 6]), "lm_head.weight: not a tensor"),
        (tensor(0, [6, 5]), r"lm_head.weight has shape \(6, 5\), expected \(5, 6\)"),
        ({**tensor(0, [5, 6]), "data": "AAAA"}, "lm_head.weight: 3 bytes of data"),
        ({**tensor(0, [5, 6]), "dtype": "torch.int32"}, "lm_head.weight holds no floating-point numbers"),
        ([], "lm_head.weight: not a tensor"),
    ],
)
def test_a_tensor_of_mingpt_that_is_wrong_is_named(entry: Any, message: str, seed: Callable[[str], Path]) -> None:
    file = seed("mingpt") / "sort-model.json"
    change(file, **{"lm_head.weight": entry})
    with pytest.raises(ImportingError, match=message):
        read_model(file)


def test_a_tensor_of_mingpt_given_twice_is_an_error(seed: Callable[[str], Path]) -> None:
    file = seed("mingpt") / "sort-model.json"
    file.write_text(file.read_text()[:-1] + ', "lm_head.weight": ' + json.dumps(tensor(0, [5, 6])) + "}")
    with pytest.raises(ImportingError, match=r"it has 'lm_head.weight' twice"):
        read_model(file)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (28, np.nan, "embedding has 1 of"),
        (-4, np.inf, "(sines|head) has 1 of"),
        (None, 0.0, "cosines is not the expected table of rotary angles"),
    ],
)
def test_numbers_of_a_llama2c_file_are_checked(
    at: int | None, value: float, message: str, shared: bool, seed: Callable[[str], Path]
) -> None:
    folder = seed("llama2c")
    content = bytearray(model_bytes(shared=shared))
    d, _, _, heads, _, vocabulary, longest = struct.unpack_from("<7i", content)
    table = 4 * longest * (d // heads)
    if at is None:
        end = len(content) - (0 if shared else 4 * abs(vocabulary) * d)
        content[end - table : end] = bytes(table)
    else:
        at %= len(content)
        content[at : at + 4] = struct.pack("<f", value)
    (folder / "story.bin").write_bytes(bytes(content))
    with pytest.raises(ImportingError, match=message):
        read_model(folder)


# Files that are no files, or bombs


@pytest.mark.parametrize("name", ["a-model.json.xz", "story.bin.xz"])
def test_a_bomb_is_not_unpacked(name: str, tmp_path: Path) -> None:
    packer = lzma.LZMACompressor()
    zeros = bytes(1 << 20)
    (tmp_path / name).write_bytes(b"".join([*(packer.compress(zeros) for _ in range(80)), packer.flush()]))
    with pytest.raises(ImportingError, match=r"unpack to more than .*texts and weights do not compress"):
        read_model(tmp_path / name)


@pytest.mark.parametrize("what", ["pipe", "device", "loop", "folder"])
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("gpt2", "config.json"),
        ("gpt2", "model.safetensors"),
        ("gpt2-sharded", "model-00001-of-*.safetensors"),
        ("mingpt", "sort-model.json"),
        ("llama2c", "story.bin"),
        ("marian", "vocab.json"),
        ("marian", "target.spm"),
    ],
)
def test_only_regular_files_are_read(name: str, file: str, what: str, seed: Callable[[str], Path]) -> None:
    folder = seed(name)
    path = next(folder.glob(file))
    path.unlink()
    {"pipe": os.mkfifo, "folder": os.mkdir, "device": lambda p: os.symlink("/dev/zero", p),
     "loop": lambda p: os.symlink(p, p)}[what](path)  # fmt: skip
    with pytest.raises(GlassformerError):
        read_model(folder)


# Fields of the wrong type


@pytest.mark.parametrize(
    ("name", "file", "values", "message"),
    [
        ("bert-words", "config.json", {"model_type": ["bert"]}, "model_type = "),
        ("bert-words", "config.json", {"layer_norm_eps": 10**400}, "layer_norm_eps = a number of over 40 digits"),
        ("bert-words", "config.json", {"architectures": {"a": 1}}, "architectures = "),
        ("bert-sentence", "config.json", {"id2label": {"x": "y"}}, "id2label"),
        ("bert-sentence", "config.json", {"id2label": ["a", "b", "c"]}, "id2label"),
        ("bert-sentence", "config.json", {"id2label": {"0": None, "1": "b", "2": "c"}}, "id2label"),
        ("bert-vocab", "tokenizer_config.json", {"strip_accents": "yes"}, "strip_accents = 'yes': expected true or"),
        ("bert-vocab", "tokenizer_config.json", {"do_lower_case": 1}, "do_lower_case = 1"),
        ("t5-spm", "tokenizer_config.json", {"extra_ids": "100"}, "extra_ids = '100'"),
        ("t5-spm", "tokenizer_config.json", {"extra_ids": [1]}, "extra_ids"),
        ("t5-spm", "tokenizer_config.json", {"extra_ids": 10**8}, "extra_ids = 100000000"),
        ("t5", "config.json", {"decoder_start_token_id": 10**6}, "decoder_start_token_id = 1000000: expected an id"),
        ("gpt2-vocab-merges", "added_tokens.json", {"a": 1, "b": "2"}, "expected tokens and their ids"),
        ("llama", "config.json", {"rope_parameters": {"rope_type": ["linear"]}}, "rope_type"),
        ("llama", "config.json", {"rope_parameters": {"rope_type": "linear", "factor": "x"}}, "factor"),
        ("marian", "generation_config.json", {"bad_words_ids": [["a"]]}, "bad_words_ids"),
        ("marian", "generation_config.json", {"num_beams": 10**9}, "num_beams"),
        ("marian", "vocab.json", {"x": 10**8}, "has the id 100,000,000"),
        ("marian", "vocab.json", {"x": 0}, "two tokens have the same id"),
        ("vit", "preprocessor_config.json", {"size": True}, "size"),
        ("vit", "preprocessor_config.json", {"size": {"height": 10**9, "width": 3}}, "size"),
        ("vit", "preprocessor_config.json", {"image_mean": [10**400]}, "image_mean"),
        ("vit", "preprocessor_config.json", {"image_std": [0]}, "image_std"),
        ("sentence-transformers", "config_sentence_transformers.json", {"prompts": []}, "prompts"),
        ("sentence-transformers", "sentence_bert_config.json", {"do_lower_case": "yes"}, "do_lower_case"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(
    name: str, file: str, values: dict[str, Any], message: str, seed: Callable[[str], Path]
) -> None:
    folder = seed(name)
    change(folder / file, **values)
    with pytest.raises((ImportingError, TokenizerError), match=message):
        read_model(folder)


@pytest.mark.parametrize("text", [f'{{"a": {DEEP}}}', '{"a": 1, "a": 2}', '{"a": "\\ud800"}', f'{{"a": {"9" * 5000}}}'])
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("gpt2", "config.json"),
        ("gpt2", "tokenizer.json"),
        ("gpt2", "generation_config.json"),
        ("gpt2-vocab-merges", "vocab.json"),
        ("gpt2-sharded", "model.safetensors.index.json"),
        ("bert-vocab", "tokenizer_config.json"),
        ("sentence-transformers", "modules.json"),
        ("mingpt", "sort-model.json"),
    ],
)
def test_json_that_is_deep_double_or_no_text(name: str, file: str, text: str, seed: Callable[[str], Path]) -> None:
    folder = seed(name)
    (folder / file).write_text(text)
    with pytest.raises(GlassformerError, match=r"is not JSON") as caught:
        read_model(folder)
    assert "set_int_max_str_digits" not in str(caught.value)


def test_classes_may_have_the_same_name(seed: Callable[[str], Path]) -> None:
    folder = seed("bert-sentence")
    change(folder / "config.json", id2label={"0": "crane", "2": "crane", "1": "b"})
    assert read_model(folder).extras["labels"] == ["crane", "b", "crane"]


def test_steps_of_sentence_vectors_lead_nowhere_else(seed: Callable[[str], Path]) -> None:
    folder = seed("sentence-transformers")
    content = json.loads((folder / "modules.json").read_text())
    content[1]["path"] = "../../elsewhere"
    (folder / "modules.json").write_text(json.dumps(content))
    with pytest.raises(ImportingError, match="a folder beside this file"):
        read_model(folder)


# Tokenizers


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "/////w=="}),
        ("model", {"type": "BPE", "vocab": {"a": 0, "b": 2**32 - 1}, "merges": []}),
        ("model", {"type": "BPE", "vocab": {"a": 0, "b": 2 * 10**8}, "merges": []}),
        ("added_tokens", [{"id": 2 * 10**8, "content": "x", "single_word": False, "lstrip": False, "rstrip": False,
                           "normalized": False, "special": True}]),
        ("model", {"type": "BPE", "vocab": [], "merges": []}),
        ("post_processor", {"type": "BertProcessing", "sep": ["x", 10**9], "cls": ["y", 10**9]}),
    ],
)  # fmt: skip
def test_a_tokenizer_json_that_its_library_fails_at(
    part: str, value: Any, seed: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = seed("gpt2")
    change(folder / "tokenizer.json", **{part: value})
    with pytest.raises(GlassformerError):
        import_and_generate(folder, tmp_path / "out")


def import_and_generate(folder: Path, out: Path) -> None:
    save_bundle(read_model(folder), out)
    load(out).generate("the cat", max_new=2)


def test_a_tokenizer_with_ids_beyond_the_vocabulary(seed: Callable[[str], Path]) -> None:
    folder = seed("bert-words")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["bank"] = 99
    (folder / "tokenizer.json").write_text(json.dumps(content))
    encoder = load(folder)
    assert encoder.embed(["the river"]).shape == (1, 12)
    with pytest.raises(ModelError, match=r"token 99; this model has 30 tokens"):
        encoder.embed(["the river", "the bank"])


def test_a_pattern_that_takes_for_ever_is_an_error(seed: Callable[[str], Path]) -> None:
    folder = seed("gpt2")
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    change(folder / "tokenizer.json", pre_tokenizer=pattern)
    with pytest.raises(TokenizerError):
        Tokenizer.load(folder / "tokenizer.json").encode("a" * 40 + "b")


@pytest.mark.parametrize("field", [1, 2, 3])
def test_a_sentencepiece_field_of_another_type(field: int, seed: Callable[[str], Path]) -> None:
    path = seed("t5-spm") / "spiece.model"
    path.write_bytes(path.read_bytes() + bytes([field << 3, 5]))
    with pytest.raises(TokenizerError, match="is not a SentencePiece model"):
        read_model(path.parent)


def test_a_sentencepiece_number_has_ten_bytes_at_most(seed: Callable[[str], Path]) -> None:
    path = seed("t5-spm") / "spiece.model"
    path.write_bytes(path.read_bytes() + b"\xff" * 3_000_000)
    with pytest.raises(TokenizerError, match="more than ten bytes"):
        read_model(path.parent)


# What is printed


def test_names_of_others_cannot_steer_the_terminal(
    seed: Callable[[str], Path], tmp_path: Path, command: Command
) -> None:
    folder = seed("gpt2")
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, ESCAPE: tensors["transformer.wte.weight"].clone()}, folder / "model.safetensors")
    told = command("import", folder, "--out", tmp_path / "out")
    assert told.code == 2
    assert "\x1b" not in told.err
    assert told.err.count("\n") == 1
    assert r"\x1b[31mred\x0aglassformer: all is well is unexpected" in told.err


def test_messages_keep_only_their_own_lines() -> None:
    assert printable("a\u202eb\tc") == r"a\u202eb\x09c"
    assert printable("Zürich 🙂 中文") == "Zürich 🙂 中文"
    assert printable_message("two:\n  one\n  two\x1b[0m\nglassformer: fine") == (
        "two:\n  one\n  two\\x1b[0m\\x0aglassformer: fine"
    )


@pytest.mark.parametrize("table", ["/////w==", "AAAA", "?", "CAAAAAAAAAA="])
def test_the_size_in_a_table_of_characters_is_not_trusted(table: str, seed: Callable[[str], Path]) -> None:
    folder = seed("gpt2")
    inner = {"type": "Precompiled", "precompiled_charsmap": table}
    change(folder / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [inner]})
    with pytest.raises(TokenizerError, match="a character table"):
        read_model(folder)


def test_a_frame_that_names_an_unknown_token(seed: Callable[[str], Path]) -> None:
    folder = seed("bert-words")
    content = json.loads((folder / "tokenizer.json").read_text())
    special = content["post_processor"]["special_tokens"]
    special["other"] = special.pop("[CLS]")
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(TokenizerError, match=r"names '\[CLS\]'"):
        load(folder)
