"""The architecture as a tree: published numbers of parameters, and FLOPs that torch's own counter finds too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from glassformer.errors import SettingsError
from glassformer.explain.architecture import Part, architecture_of, architecture_view, short
from glassformer.models.registry import MODELS, build, sizes
from glassformer.nn.taps import listen
from glassformer.tasks.showing import empty, show

PUBLISHED = {
    "gpt:small": 124_439_808,
    "gpt:medium": 354_823_168,
    "gpt:xl": 1_557_611_200,
    "bert:base": 109_482_240,
    "bert:large": 335_141_888,
    "t5:small": 60_506_624,
    "t5:base": 222_903_552,
    "t5:1.1-small": 76_961_152,
    "llama:7b": 6_738_415_616,
    "llama:70b": 68_976_648_192,
    "llama:3-8b": 8_030_261_248,
    "llama:mixtral-8x7b": 46_702_792_704,
    "vit:base-16": 86_567_656,
    "vit:large-16": 304_326_632,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes_have_the_published_number_of_parameters(name: str) -> None:
    found = show(name)
    assert found.parameters == PUBLISHED[name]
    assert found.bytes == 4 * found.parameters
    assert sum(part.parameters for part in found.parts) == found.parameters


@pytest.mark.parametrize("kind", MODELS)
def test_every_size_of_every_kind_is_shown_without_its_weights(kind: str) -> None:
    for size in sizes(kind):
        found = show(f"{kind}:{size}")
        assert sum(part.parameters for part in found.parts) == found.parameters > 0
        assert found.flops > 0


def every_part(parts: tuple[Part, ...]) -> list[Part]:
    return [one for part in parts for one in (part, *every_part(part.parts))]


@pytest.mark.parametrize("name", ["gpt:nano", "transformer:nano", "llama:mixtral-8x7B", "captioner:tiny", "t5:tiny"])
def test_what_is_inside_adds_up(name: str) -> None:
    for part in every_part(show(name).parts):
        if part.parts and not part.shape:
            assert part.times * sum(one.parameters for one in part.parts) == part.parameters
        assert part.parameters >= 0
    assert show("captioner:tiny").parts[0].name == "encoder"


def test_tied_weights_are_counted_where_they_come_first() -> None:
    tied, apart = show("gpt:nano"), show("gpt:nano", assignments=["tied=false"])
    head = tied.parts[-1]
    assert (head.name, head.tied, head.parameters) == ("head", "inputs.embedding.weight", 0)
    assert apart.parameters == tied.parameters + 50257 * 48
    assert apart.flops == tied.flops, "it is multiplied with all the same"


TEXTS = SimpleNamespace(ids=torch.randint(1, 23, (1, 11)), lengths=torch.tensor([11]), segments=None)
PAIRS = SimpleNamespace(
    source=torch.randint(1, 23, (1, 11)), source_lengths=torch.tensor([11]), target_in=torch.randint(1, 23, (1, 11))
)
SHAPE: dict[str, Any] = {"N": 2, "d": 12, "h": 3, "d_ff": 7}
COUNTED: list[tuple[str, dict[str, Any], Any]] = [
    ("gpt", {**SHAPE, "vocabulary": 23, "max_length": 13}, TEXTS),
    ("llama", {**SHAPE, "vocabulary": 23, "kv_heads": 1, "tied": False}, TEXTS),
    ("bert", {**SHAPE, "vocabulary": 23, "max_length": 13, "head": "words"}, TEXTS),
    ("t5", {**SHAPE, "vocabulary": 23, "d_kv": 5, "N_decoder": 3}, PAIRS),
    ("transformer", {**SHAPE, "source_vocabulary": 23, "target_vocabulary": 23, "N_decoder": 1}, PAIRS),
]


@pytest.mark.parametrize(("kind", "values", "batch"), COUNTED)
def test_flops_are_those_that_torch_counts(kind: str, values: dict, batch: Any) -> None:
    """As many tokens as are seen, all at once; someone listens, so that attention is made of products that count."""
    model = build(kind, values).eval()
    expected = 11 * architecture_of(model, kind=kind, context=11).flops
    with listen(model, lambda name: name.endswith("core.pattern")), FlopCounterMode(display=False) as counter:
        model(batch)
    assert counter.get_total_flops() == expected


def test_experts_count_only_where_a_token_is_sent() -> None:
    def flops(experts: int, per_token: int) -> int:
        changes = [f"experts={experts}", f"experts_per_token={per_token}"]
        return show("llama:nano", context=1, assignments=changes).flops

    assert flops(8, 2) - flops(8, 1) == 2 * 2 * 3 * 64 * 160, "blocks, FLOPs, matrices, width, inner width"
    assert flops(8, 2) - flops(4, 2) == 2 * 2 * 64 * 4, "only the router has more to do"


def test_the_context_counts_in_attention_and_a_window_bounds_it() -> None:
    long, short_one = (show("gpt:nano", context=context).flops for context in (200, 100))
    assert long - short_one == 3 * 4 * 100 * 48
    cut = [show("llama:nano", context=context, assignments=["window=64"]).flops for context in (64, 500)]
    assert cut[0] == cut[1]


def test_what_happens_once_a_text_is_not_a_tokens() -> None:
    with_pooler, without = show("bert:tiny"), show("bert:tiny", assignments=["pooler=false"])
    assert with_pooler.parameters > without.parameters
    assert with_pooler.flops == without.flops
    assert with_pooler.parts[-1].once


def test_the_tree_in_lines() -> None:
    found = show("gpt:nano", context=100)
    lines = list(architecture_view(found))
    text = "\n".join(lines)
    assert "├─ 3 × block " in text
    assert "50,257 × 48 = inputs.embedding.weight" in text
    assert "with 100 tokens seen" in text
    assert lines[0].startswith("vocabulary 50,257, N 3, d 48")
    assert len(list(architecture_view(found, depth=1))) < len(list(architecture_view(found, depth=2))) < len(lines)
    assert all("│" not in line for line in architecture_view(found, depth=1))


def test_settings_of_experts_are_shown_only_if_there_are_experts() -> None:
    plain, mixed = (show("llama:tiny", assignments=[f"experts={n}"]) for n in (0, 4))
    assert "experts" not in next(architecture_view(plain))
    assert "experts 4, experts_per_token 2" in next(architecture_view(mixed))


def test_numbers_in_short() -> None:
    assert [short(n) for n in (7, 999, 1_000, 123_456, 1_234_567, 27 * 10**9)] == [
        "7 ",
        "999 ",
        "1 k",
        "123 k",
        "1.23 M",
        "27 G",
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gpt", r"no such folder, and no named size. Sizes are written as gpt:small"),
        ("gtp:small", "kinds: transformer, bert"),
        ("gpt:huge", "gpt has no size 'huge'. It has: nano"),
        ("", "no named size"),
    ],
)
def test_a_missing_part_is_reported(name: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        show(name or "nowhere/at/all")


def test_a_change_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"gpt:small: d = 7 is not a multiple|gpt:small: recipe: d = 7"):
        show("gpt:small", assignments=["d=7"])
    with pytest.raises(SettingsError, match="unknown setting width"):
        show("gpt:small", assignments=["width=7"])


def test_an_empty_model_holds_no_numbers() -> None:
    assert all(parameter.is_meta for parameter in empty("gpt", {"size": "xl", "vocabulary": 5}, origin="").parameters())
