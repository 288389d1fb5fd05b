"""What rank 0 sends to the other ranks: only rank 0 has read the data and decided everything."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch

from glassformer.config import to_toml, validate
from glassformer.data.mixing import mixed, unmixed
from glassformer.data.shards import write_whole
from glassformer.data.token_cache import CARD, TokenCache, cache_folder, damaged_files, held, read_card, shard_path
from glassformer.text import Tokenizer
from glassformer.training.machine import device_of_rank, keep_freed_memory
from glassformer.training.prepare import Prepared
from glassformer.training.ranks import Ranks
from glassformer.training.task import Example, Material, Setup, Task
from glassformer.training.timekeeper import TimeLimit

WRITER = "what rank 0 sends"  # in errors


def send_prepared(prepared: Prepared) -> None:
    """On rank 0: sends the other ranks everything that they need to train."""
    ranks = prepared.ranks
    if ranks.world == 1:
        return
    caches, shares = unmixed(prepared.examples)
    ranks.from_writer(
        {
            "recipe": to_toml(prepared.recipe),
            "tokenizers": {name: one.to_json() for name, one in prepared.tokenizers.items()},
            "held": [prepared.task.to_json(one) for one in prepared.material.valid],
            "fingerprints": prepared.material.fingerprints,
            "caches": [cache.folder.name for cache in caches],
            "shares": shares,
            "seconds": prepared.limit.seconds if prepared.limit else 0.0,
            "baseline": prepared.baseline,
        }
    )
    for cache in caches:
        share_cache(ranks, cache.folder.name)


def received(task: Task, ranks: Ranks) -> Prepared | None:
    """On the other ranks: what rank 0 has prepared; None if there is nothing to train."""
    sent = ranks.from_writer()
    if sent is None:
        return None
    recipe = validate(task.recipe, tomllib.loads(sent["recipe"]), origin=WRITER)
    keep_freed_memory()
    torch.set_num_threads(recipe.train.threads or 1)
    device = device_of_rank(recipe.train.device, ranks)
    tokenizers = {name: Tokenizer.from_json(text, origin=WRITER) for name, text in sent["tokenizers"].items()}
    for name in sent["caches"]:
        share_cache(ranks, name)
    pool_of = partial(task.pool, Setup(recipe, tokenizers))
    caches = [TokenCache(cache_folder() / name, pool_of) for name in sent["caches"]]
    examples = mixed(caches, sent["shares"])
    # The writer's clock decides for all ranks; the values here are not used.
    limit = TimeLimit(sent["seconds"], lambda: 0.0, 1.0, 1.0, 1.0) if sent["seconds"] else None
    material = Material(no_examples, len(examples), [task.from_json(one) for one in sent["held"]], sent["fingerprints"])
    return Prepared(task, recipe, material, tokenizers, examples, device, ranks, limit=limit, baseline=sent["baseline"])


def no_examples() -> Iterator[Example]:
    raise NotImplementedError("only rank 0 reads the data")


def share_cache(ranks: Ranks, name: str) -> None:
    """Sends the cache to machines where it is missing or damaged. A cache is named by its content."""
    folder = cache_folder() / name
    checks = ranks.local_rank == 0 and not ranks.is_writer  # one process per machine; the writer has checked its own
    lacking = read_card(folder) is None or (checks and bool(damaged_files(folder)))
    if not ranks.any(lacking):
        return
    receives = ranks.local_rank == 0 and lacking
    card: dict[str, Any] = ranks.from_writer(read_card(folder) if ranks.is_writer else None)
    files = [shard_path(folder, number) for number in range(card["shards"])]
    with held(folder) if receives else nullcontext():
        for path in [*files, folder / CARD]:  # the card comes last: a cache with a card is complete
            content = ranks.bytes_from_writer(path.read_bytes() if ranks.is_writer else b"")
            if receives:
                write_whole(path, content)
    ranks.any(False)  # waits for all ranks: no rank reads before everything is written
