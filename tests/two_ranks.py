"""Two ranks on this machine, as torchrun would start them, each a forked process."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forking import Forked

PROGRAM = Path(__file__).parent / "integration" / "rank_work.py"
PATIENCE = 900  # seconds; only a hang takes so long


@dataclass(frozen=True)
class Ended:
    """How the ranks of one training ended."""

    codes: list[int]
    out: list[str]
    err: list[str]

    def said(self, rank: int) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.out[rank].splitlines()[-1])
        return result


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(folder: Path, rank: int, port: int, *, apart: bool) -> dict[str, str]:
    """What torchrun would set. Ranks that are `apart` have caches of their own, as on two machines."""
    given = {"RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    given |= {"LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1} if apart else {"LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2}
    given["GLASSFORMER_CACHE"] = folder / (f"cache-{rank}" if apart else "cache")
    return os.environ | {name: str(value) for name, value in given.items()}


def run_ranks(work: str, spec: dict[str, Any], folder: Path, *, apart: bool = False) -> Ended:
    """Two ranks on this machine, to their end."""
    (folder / "spec.json").write_text(json.dumps(spec))
    port = free_port()
    processes = [
        Forked([PROGRAM, work, folder / "spec.json"], environment(folder, rank, port, apart=apart)) for rank in (0, 1)
    ]
    try:
        ends = [process.communicate(timeout=PATIENCE) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return Ended([process.wait(0) for process in processes], *(list(side) for side in zip(*ends, strict=True)))


def spec_of(recipe: dict[str, Any], folder: Path, **more: Any) -> dict[str, Any]:
    return {"recipe": recipe, "out": str(folder / "run"), "other_out": str(folder / "other"), **more}
