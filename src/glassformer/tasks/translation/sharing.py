"""What the writer tells the other ranks of a training: it alone has read the sentences and decided everything."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import torch

from glassformer.config import to_toml, validate
from glassformer.data.token_cache import CARD, TokenCache, cache_folder, held, read_card, shard_path, write_whole
from glassformer.tasks.translation.material import Held, Material, Pair
from glassformer.tasks.translation.preparing import Prepared
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.translator import marks_of
from glassformer.text import Tokenizer
from glassformer.train.machine import device_of_rank, keep_freed_memory
from glassformer.train.ranks import Ranks

WRITER = "what rank 0 tells"  # in errors


def brief(prepared: Prepared) -> None:
    """The writer's part: tells the others all that they need to train."""
    ranks = prepared.ranks
    if ranks.world == 1:
        return
    source, target = prepared.source, prepared.target
    held = prepared.material.valid
    ranks.told(
        {
            "recipe": to_toml(prepared.recipe),
            "tokenizers": [one.to_json() for one in ([source] if source is target else [source, target])],
            "held": {"sources": held.sources, "references": held.references},
            "fingerprints": prepared.material.fingerprints,
            "cache": prepared.pairs.folder.name,
        }
    )
    share_cache(ranks, prepared.pairs.folder.name)


def briefed(ranks: Ranks) -> Prepared | None:
    """The others' part: the same as the writer has prepared; None where there is nothing to train."""
    told = ranks.told()
    if told is None:
        return None
    recipe = validate(TranslationRecipe, tomllib.loads(told["recipe"]), origin=WRITER)
    keep_freed_memory()
    torch.set_num_threads(recipe.train.threads or 1)
    device = device_of_rank(recipe.train.device, ranks)
    tokenizers = [Tokenizer.from_json(text, origin=WRITER) for text in told["tokenizers"]]
    source, target = tokenizers[0], tokenizers[-1]
    share_cache(ranks, told["cache"])
    folder = cache_folder() / told["cache"]
    marks = [marks_of(tokenizer, recipe.text.start) for tokenizer in (source, target)]
    pairs = TokenCache(folder, source_marks=marks[0], target_marks=marks[1])
    return Prepared(recipe, material_of(told, len(pairs)), source, target, pairs, device, ranks)


def material_of(told: dict[str, Any], pairs: int) -> Material:
    """The held-out sentences; those to learn from are there as ids only."""
    held = Held(told["held"]["sources"], [tuple(options) for options in told["held"]["references"]])
    return Material(no_sentences, pairs, held, told["fingerprints"])


def no_sentences() -> Iterator[Pair]:
    raise NotImplementedError("only rank 0 reads the sentences")


def share_cache(ranks: Ranks, name: str) -> None:
    """Sends the ids to machines that do not have them. A cache is named by its content, so any of this name will do."""
    folder = cache_folder() / name
    if not ranks.any(read_card(folder) is None):
        return
    receives = ranks.local_rank == 0 and read_card(folder) is None  # one process a machine
    card = ranks.told(read_card(folder) if ranks.is_writer else None)
    files = [shard_path(folder, number) for number in range(card["shards"])]
    with held(folder) if receives else nullcontext():
        for path in [*files, folder / CARD]:  # the card last: from there on it is whole
            content = ranks.told_bytes(path.read_bytes() if ranks.is_writer else b"")
            if receives:
                write_whole(path, content)
    ranks.any(False)  # nobody reads before all is written
