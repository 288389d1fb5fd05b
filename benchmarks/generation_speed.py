"""Speed of text generation: glassformer and `transformers`' generate, the same random weights.

    python benchmarks/generation_speed.py --work FOLDER [--rounds 5] [--models gpt-10M llama-125M ...]

GPT-2 and Llama type, about 10 and 125 million parameters. Prompts of 16 tokens, 64 new ones, greedy, no end
token; one prompt at a time, and 16 together. The engines alternate; ratios are of neighbouring turns, with median and
range. `transformers` also runs with raised allocator thresholds, and its better figure counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import torch
from peers.decoding import Ids
from peers.wire import Competitor

OURS = "ours"
ENGINES = (OURS, "transformers", "transformers, kept memory")
PROMPT, NEW = 16, 64  # tokens
CASES = {1: 2, 16: 16}  # prompts together: prompts of a turn
MODELS: dict[str, dict[str, Any]] = {
    "gpt-10M": {"type": "gpt2", "vocab_size": 8192, "n_embd": 256, "n_layer": 10, "n_head": 8, "n_positions": 1024},
    "gpt-125M": {"type": "gpt2"},  # GPT-2 small
    "llama-10M": {
        "type": "llama", "vocab_size": 8192, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 11,
        "num_attention_heads": 8, "num_key_value_heads": 4, "tie_word_embeddings": True,
    },
    "llama-125M": {
        "type": "llama", "vocab_size": 32000, "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12,
        "num_attention_heads": 12, "num_key_value_heads": 4, "tie_word_embeddings": False,
    },
}  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the models; kept")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def prepared(name: str, work: Path) -> tuple[Path, int]:
    """The folder with random weights, made if it is missing, and its number of parameters."""
    from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

    shape = dict(MODELS[name])
    kind = {"gpt2": GPT2Config, "llama": LlamaConfig}[shape.pop("type")]
    torch.manual_seed(0)
    with torch.device("meta") if (work / name).exists() else torch.device("cpu"):
        # weights large enough that rounding does not decide a greedy choice
        config = kind(**shape, initializer_range=0.06, bos_token_id=0, eos_token_id=1)
        model = AutoModelForCausalLM.from_config(config)
    if not (work / name).exists():
        model.save_pretrained(work / name)
    return work / name, sum(parameter.numel() for parameter in model.parameters())


def prompts(count: int, vocabulary: int) -> Ids:
    made: Ids = torch.randint(2, vocabulary, (count, PROMPT), generator=torch.Generator().manual_seed(1)).tolist()
    return made


def started(engine: str, folder: Path, given: argparse.Namespace) -> Competitor:
    told = {"engine": engine.partition(",")[0], "model": str(folder), "threads": given.threads}
    told["allocator"] = engine == OURS or "kept" in engine
    log = given.work / f"{folder.name}, {engine}.log"
    return Competitor(engine, "peers.generators", told, log=log, threads=given.threads)


def race(competitors: dict[str, Competitor], rows: Ids, *, rounds: int) -> dict[str, dict[str, list[float]]]:
    """New tokens per second of every engine in every round, by case."""
    speeds: dict[str, dict[str, list[float]]] = {}
    for size, count in CASES.items():
        case = speeds.setdefault(f"batch {size}", {name: [] for name in competitors})
        for competitor in competitors.values():
            competitor.ask("generate", rows=rows[:size], size=size, new=8)  # warm
        for _ in range(rounds):
            for name, competitor in competitors.items():
                answer = competitor.ask("generate", rows=rows[:count], size=size, new=NEW)
                case[name].append(answer["tokens_per_second"])
        tell(f"batch {size}", case)
    return speeds


def tell(case: str, speeds: dict[str, list[float]]) -> None:
    print(f"{case}: ours / the other in new tokens per second, median (least to most)")
    print(f"  {'ours':28} {statistics.median(speeds[OURS]):8,.0f} tokens/s")
    for name, values in speeds.items():
        if name != OURS:
            ratios = [own / other for own, other in zip(speeds[OURS], values, strict=True)]
            median, low, high = statistics.median(ratios), min(ratios), max(ratios)
            print(f"  {name:28} {statistics.median(values):8,.0f} tokens/s   {median:5.2f} ({low:.2f} to {high:.2f})")


def same_tokens(competitors: dict[str, Competitor], rows: Ids) -> float:
    """The share of prompts that both continue with the same tokens."""
    ours, theirs = (
        competitors[name].ask("generate", rows=rows, size=len(rows), new=NEW, outputs=True)["found"]
        for name in ENGINES[:2]
    )
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(rows)


def main() -> None:
    given = arguments()
    given.work.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for name in given.models:
        folder, parameters = prepared(name, given.work)
        load = os.getloadavg()[0]
        print(f"\n{name}: {parameters / 1e6:.1f} million parameters, {given.threads} threads, load {load:.2f}")
        with ExitStack() as stack:
            competitors = {one: stack.enter_context(closing(started(one, folder, given))) for one in ENGINES}
            rows = prompts(max(CASES.values()), MODELS[name].get("vocab_size", 50257))
            same = same_tokens(competitors, rows)
            print(f"the same {NEW} tokens from {same:.0%} of {len(rows)} prompts")
            speeds = race(competitors, rows, rounds=given.rounds)
            memory = {one: competitor.ask("memory")["peak"] for one, competitor in competitors.items()}
        results[name] = {"parameters": parameters, "same": same, "speeds": speeds, "memory": memory}
    print(json.dumps({"benchmark": "generation_speed", "models": results}))


if __name__ == "__main__":
    main()
