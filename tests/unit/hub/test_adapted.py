"""Adapters of `peft` on a base model: scales, prefixes, heads, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.adapted import fits, read_adapted
from glassformer.hub.huggingface.folders import write_folder
from glassformer.hub.reading import is_model, read_model
from glassformer.models.registry import build
from glassformer.store.bundle import Bundle, SpecialIds, save_bundle

SHAPE = {"N": 1, "d": 6, "h": 2, "d_ff": 10, "vocabulary": 11, "max_length": 13}
QUERY = "encoder.layer.0.attention.self.query"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A BERT without a head; the names of its tensors begin with `bert.`, or without it where `bare` removes it."""
    torch.manual_seed(3)
    folder = tmp_path / "base"
    folder.mkdir()
    model = build("bert", SHAPE)
    write_folder(Bundle("bert", model, None, SpecialIds(), {"model_type": "bert"}), folder)
    return folder


def write_adapter(folder: Path, tensors: dict[str, Tensor], **settings: Any) -> Path:
    folder.mkdir(exist_ok=True)
    usual = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "none", "task_type": None}
    (folder / "adapter_config.json").write_text(json.dumps({**usual, **settings}))
    save_file(
        {f"base_model.model.{name}": value for name, value in tensors.items()}, folder / "adapter_model.safetensors"
    )
    return folder


def pair(module: str, *, rank: int = 2, out: int = 6) -> dict[str, Tensor]:
    return {f"{module}.lora_A.weight": torch.randn(rank, 6), f"{module}.lora_B.weight": torch.randn(out, rank)}


def query_of(bundle: Bundle) -> Tensor:
    return bundle.model.state_dict()["blocks.0.self_attention.qkv.weight"][:6]


def added(tensors: dict[str, Tensor], scale: float) -> Tensor:
    a, b = (value for _, value in sorted(tensors.items()))
    return scale * (b @ a)


@pytest.mark.parametrize("prefix", ["", "bert."])
@pytest.mark.parametrize("stored", ["", "bert."])
def test_the_product_is_added_whatever_prefix_the_names_have(
    base: Path, tmp_path: Path, prefix: str, stored: str
) -> None:
    tensors = load_file(base / "model.safetensors")
    renamed = {stored + name.removeprefix("bert."): value for name, value in tensors.items()}
    save_file(renamed, base / "model.safetensors", metadata={"format": "pt"})
    own = pair(prefix + QUERY)
    adapter = write_adapter(tmp_path / "adapter", own)
    before, after = query_of(read_model(base)), query_of(read_adapted(adapter, base))
    torch.testing.assert_close(after - before, added(own, 3.0), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({"lora_alpha": 5}, 2.5),
        ({"use_rslora": True}, 6 / math.sqrt(2)),
        ({"alpha_pattern": {"self.query": 1}}, 0.5),
        ({"alpha_pattern": {r"layer\.\d+\.attention\.self\.query": 4}}, 2.0),
        ({"alpha_pattern": {"output.dense": 1}}, 3.0),
    ],
)
def test_the_scale(base: Path, tmp_path: Path, settings: dict[str, Any], scale: float) -> None:
    own = pair(QUERY)
    found = read_adapted(write_adapter(tmp_path / "adapter", own, **settings), base)
    torch.testing.assert_close(query_of(found) - query_of(read_model(base)), added(own, scale), rtol=0, atol=1e-6)


@pytest.mark.parametrize("flag", [True, False])
def test_the_layers_say_which_matrices_are_transposed(base: Path, tmp_path: Path, flag: bool) -> None:
    """Not the flag: `peft` saves it as it was for the last layer, and a square matrix fits either way."""
    gpt = tmp_path / "gpt"
    gpt.mkdir()
    shape = {"N": 1, "d": 6, "h": 2, "d_ff": 10, "vocabulary": 11, "max_length": 13, "tied": False}
    write_folder(Bundle("gpt", build("gpt", shape), None, SpecialIds(), {"model_type": "gpt2"}), gpt)
    (tmp_path / "one").mkdir()
    own = pair("transformer.h.0.attn.c_proj") | pair("lm_head", out=11)
    found = read_adapted(write_adapter(tmp_path / "one" / "gpt", own, fan_in_fan_out=flag), gpt)
    before, after = read_model(gpt).model.state_dict(), found.model.state_dict()
    for name, module in (("blocks.0.attention.out.linear", "transformer.h.0.attn.c_proj"), ("head", "lm_head")):
        product = added({name: value for name, value in own.items() if name.startswith(module)}, 3.0)
        change = after[f"{name}.weight"] - before[f"{name}.weight"]
        torch.testing.assert_close(change, product, rtol=0, atol=1e-6, msg=name)
    own = pair(QUERY)
    bert = read_adapted(write_adapter(tmp_path / "one" / "bert", own, fan_in_fan_out=flag), base)
    torch.testing.assert_close(query_of(bert) - query_of(read_model(base)), added(own, 3.0), rtol=0, atol=1e-6)


def test_a_new_head_comes_with_its_classes(base: Path, tmp_path: Path) -> None:
    head = {"classifier.weight": torch.randn(5, 6), "classifier.bias": torch.randn(5)}
    found = read_adapted(write_adapter(tmp_path / "adapter", {**pair(QUERY), **head}, task_type="SEQ_CLS"), base)
    assert (found.model.config.head, found.model.config.classes) == ("sentence", 5)
    assert len(found.extras["labels"]) == 5
    torch.testing.assert_close(found.model.state_dict()["head.linear.weight"], head["classifier.weight"])


def test_a_head_for_tokens(base: Path, tmp_path: Path) -> None:
    head = {"classifier.weight": torch.randn(3, 6), "classifier.bias": torch.randn(3)}
    found = read_adapted(write_adapter(tmp_path / "adapter", head, task_type="TOKEN_CLS"), base)
    assert (found.model.config.head, found.model.config.classes) == ("tokens", 3)


def test_the_base_that_the_adapters_name_is_used(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter", pair(QUERY), base_model_name_or_path=str(base))
    assert is_model(adapter)
    assert read_model(adapter).kind == "bert"


REFUSED = [
    ({"peft_type": "LOHA"}, {}, "LORA"),
    ({"use_dora": True}, {}, "DoRA"),
    ({"bias": "all"}, {}, "bias = 'all'"),
    ({"layer_replication": [[0, 1], [0, 1]]}, {}, "repeated layers"),
    ({"alora_invocation_tokens": [5]}, {}, "certain tokens"),
    ({"init_lora_weights": "pissa_niter_4"}, {}, "changing the base"),
    ({"init_lora_weights": "corda"}, {}, "changing the base"),
    ({"trainable_token_indices": [3]}, {}, "vectors of single tokens"),
    ({"field_of_next_year": 3}, {}, "field_of_next_year = 3: this field is not known"),
    ({"lora_alpha": None}, {}, "lora_alpha"),
    ({"alpha_pattern": 3}, {}, "alpha_pattern"),
    ({}, pair("encoder.layer.7.attention.self.query"), "does not have"),
    ({}, pair(QUERY, out=7), "the product of its adapters"),
    ({}, {f"{QUERY}.lora_A.weight": torch.zeros(2, 6)}, "without"),
    ({}, {f"{QUERY}.lora_B.weight": torch.zeros(6, 2)}, "without its lora_A"),
    ({}, pair(QUERY) | {f"{QUERY}.lora_A.weight": torch.full((2, 6), math.nan)}, "adapter_model.*NaN"),
    ({}, {f"{QUERY}.lora_A.weight": torch.zeros(6), f"{QUERY}.lora_B.weight": torch.zeros(6, 2)}, "of shape"),
    ({}, {f"{QUERY}.lora_A.weight": torch.zeros(0, 6), f"{QUERY}.lora_B.weight": torch.zeros(6, 0)}, "of shape"),
    ({}, {"embeddings.word_embeddings.lora_embedding_A": torch.zeros(2, 11)}, "adapters of embeddings"),
    ({}, {"pooler.other": torch.zeros(2)}, "The adapters .*unexpected"),
    ({"base_model_name_or_path": "nobody/nothing"}, {}, "nobody/nothing"),
]


@pytest.mark.parametrize(("settings", "tensors", "words"), REFUSED)
def test_what_cannot_be_read_is_refused(
    base: Path, tmp_path: Path, settings: dict[str, Any], tensors: dict[str, Tensor], words: str
) -> None:
    adapter = write_adapter(tmp_path / "adapter", tensors or pair(QUERY), **settings)
    with pytest.raises(ImportingError, match=words):
        read_adapted(adapter, None if "base_model_name_or_path" in settings else base)


def test_what_changes_no_numbers_is_read(base: Path, tmp_path: Path) -> None:
    """What peft and sentence-transformers write by default."""
    settings = {"task_type": "FEATURE_EXTRACTION", "peft_version": "1.0", "megatron_core": "megatron.core"}
    settings |= {"init_lora_weights": "gaussian", "loftq_config": {}, "r": 2, "exclude_modules": ["pooler"]}
    assert read_adapted(write_adapter(tmp_path / "adapter", pair(QUERY), **settings), base).kind == "bert"


@pytest.mark.parametrize("is_named", [True, False])
def test_a_base_folder_of_glassformer_is_named(base: Path, tmp_path: Path, is_named: bool) -> None:
    own = tmp_path / "imported"
    save_bundle(read_model(base), own, about={})
    settings = {"base_model_name_or_path": str(own)} if is_named else {}
    adapter = write_adapter(tmp_path / "adapter", pair(QUERY), **settings)
    with pytest.raises(ImportingError, match=r"imported is a folder of glassformer. Give the Hugging Face folder"):
        read_adapted(adapter, None if is_named else own)


def test_a_pickle_is_not_read(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter", pair(QUERY))
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    with pytest.raises(ImportingError, match="pickle"):
        read_adapted(adapter, base)


def test_a_base_without_adapters_is_refused(base: Path) -> None:
    with pytest.raises(ImportingError, match="--base is for a folder of adapters"):
        read_model(base, base=base)


def test_patterns_are_names_or_expressions() -> None:
    assert fits("query", "a.b.query")
    assert not fits("query", "a.subquery")
    assert fits("[", "a.[")
