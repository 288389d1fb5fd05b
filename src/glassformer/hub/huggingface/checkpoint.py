"""The tensors of a Hugging Face folder: model.safetensors, or shards with an index. Pickles are refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import save_file
from torch import Tensor

from glassformer.errors import ImportingError
from glassformer.hub.huggingface.fields import Fields
from glassformer.printable import printable
from glassformer.text.foreign import JSON_BYTES, each_once, parse_json, read_regular, whole_number

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARD_BYTES = 5 * 10**9
PICKLES = ("*.bin", "*.bin.index.json", "*.pt", "*.pth", "*.ckpt", "*.pkl")
DTYPES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # types of weights; integers are buffers
LFS = b"version https://git-lfs"
HEADER_BYTES = 10**8  # the library reads no larger one


class Checkpoint(Mapping[str, Tensor]):
    """The tensors by name; each is read from the disk when it is accessed."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.headers: dict[str, dict[str, Any]] = {}
        self.places: dict[str, Path] = {}
        twice = []
        for file in files:
            for name, header in read_header(file).items():
                if name in self.headers:
                    twice.append(f"{name} is both in {self.places[name].name} and in {file.name}")
                self.headers[name], self.places[name] = header, file
        raise_all(twice, origin="The checkpoint")

    def __getitem__(self, name: str) -> Tensor:
        file = self.places[name]
        try:
            with safetensors.safe_open(file, framework="pt") as opened:
                return opened.get_tensor(name)
        except (safetensors.SafetensorError, OSError) as error:
            raise ImportingError(f"{file}: {name} cannot be read ({error}). Fetch the file again.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.headers)

    def __len__(self) -> int:
        return len(self.headers)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.headers[name]["shape"])

    def holds_weights(self, name: str) -> bool:
        """Whether the tensor has floating-point numbers."""
        return self.headers[name]["dtype"] in DTYPES


def open_checkpoint(folder: Path) -> Checkpoint:
    """The tensors of a folder."""
    if (folder / WEIGHTS).is_file():
        return Checkpoint([folder / WEIGHTS])
    if (folder / INDEX).is_file():
        return open_shards(folder)
    raise ImportingError(describe_none(folder))


def describe_none(folder: Path) -> str:
    """Why there is nothing to read, and what to do."""
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        return (
            f"{folder} has its weights only as a pickle ({pickles[0]}), which can run arbitrary code when it is read. "
            "Use the model.safetensors of the same model, or, if you trust its author, convert it where `transformers` "
            f"is installed: {their_class(folder)}.from_pretrained({str(folder)!r}).save_pretrained('converted'); then "
            "copy the tokenizer's files there."
        )
    shards = sorted(path.name for path in folder.glob("model-*-of-*.safetensors"))
    if shards:
        return f"{folder} has {len(shards)} shards ({shards[0]}, ...) but no {INDEX}. Fetch it too."
    return f"{folder} has no {WEIGHTS} and no {INDEX}. A Hugging Face folder has one of them."


def their_class(folder: Path) -> str:
    """The class that wrote the folder: another class would leave out the head."""
    with suppress(ImportingError):
        names = read_json(folder / "config.json").get("architectures")
        if isinstance(names, list) and names and isinstance(names[0], str):
            return names[0]
    return "AutoModel"


def open_shards(folder: Path) -> Checkpoint:
    """All shards that the index names; index and shards must agree."""
    listed = read_index(folder / INDEX)
    names = sorted(set(listed.values()))
    strange = [name for name in names if Path(name).name != name]
    raise_all([f"{name!r} is not the name of a file beside it" for name in strange], origin=INDEX)
    gone = [f"{name} is missing" for name in names if not (folder / name).is_file()]
    raise_all(gone, origin=f"{folder / INDEX} names {len(names)} shards")
    found = Checkpoint([folder / name for name in names])
    problems = [f"{name} is in the index, not in {file}" for name, file in listed.items() if not _in(found, name, file)]
    problems += [f"{name} is in {found.places[name].name}, not in the index" for name in found if name not in listed]
    raise_all(problems, origin=str(folder / INDEX))
    return found


def _in(found: Checkpoint, name: str, file: str) -> bool:
    return name in found.places and found.places[name].name == file


def read_index(path: Path) -> dict[str, str]:
    content = read_json(path)
    listed = content.get("weight_map")
    if not isinstance(listed, dict) or not listed or not all(isinstance(name, str) for name in listed.values()):
        raise ImportingError(f"{path}: it has no weight_map of tensors and their shards. Fetch the file again.")
    return listed


def read_json(path: Path) -> Fields:
    """A JSON file of the folder that holds an object."""
    content = read_json_value(path)
    if not isinstance(content, dict):
        raise ImportingError(f"{path}: expected an object in braces, got {type(content).__name__}.")
    return Fields(content, origin=path)


def read_json_value(path: Path) -> Any:
    return parse_json(read_regular(path, limit=JSON_BYTES, error=ImportingError), origin=path, error=ImportingError)


def read_header(path: Path) -> dict[str, dict[str, Any]]:
    """Names, types and shapes of a safetensors file. The library would not notice a name that occurs twice."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
            size = int.from_bytes(start, "little")
            if start == LFS[:8]:
                raise ImportingError(f"{path} is a Git LFS pointer, not the weights: fetch them with `git lfs pull`.")
            text = file.read(size) if size < HEADER_BYTES else b""
        with safetensors.safe_open(path, framework="pt"):  # checks the header against the length of the file
            pass
        found: dict[str, Any] = json.loads(text, object_pairs_hook=each_once, parse_int=whole_number)
        "".join(found).encode("utf-8")
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise ImportingError(
            f"{path}: not a complete safetensors file ({error}); {path.stat().st_size:,} bytes. Fetch it again."
        ) from None
    except OSError as error:
        raise ImportingError(f"{path}: cannot be read ({error.strerror or error}).") from None
    found.pop("__metadata__", None)
    return found


def finite(name: str, tensor: Tensor) -> list[str]:
    """A problem if some of a tensor's values are NaN or infinite."""
    wrong = int((~torch.isfinite(tensor)).sum()) if tensor.is_floating_point() else 0
    return [f"{name} has {wrong:,} of {tensor.numel():,} values that are NaN or infinite"] if wrong else []


def raise_all(problems: list[str], *, origin: str) -> None:
    """One error for all problems: the first few named, the others counted."""
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise ImportingError(f"{origin}: {'; '.join(map(printable, problems[:5]))}{more}.")


# Writing


def write_checkpoint(tensors: Iterable[tuple[str, Tensor]], folder: Path, *, shard_bytes: int = SHARD_BYTES) -> None:
    """Writes model.safetensors, or shards of about `shard_bytes` bytes and their index."""
    parts = shards_of({name: tensor.detach().cpu().contiguous() for name, tensor in tensors}, shard_bytes)
    if len(parts) == 1:
        save_file(parts[0], folder / WEIGHTS, metadata={"format": "pt"})
        return
    listed: dict[str, str] = {}
    for i, part in enumerate(parts):
        file = f"model-{i + 1:05}-of-{len(parts):05}.safetensors"
        save_file(part, folder / file, metadata={"format": "pt"})
        listed |= dict.fromkeys(part, file)
    total = sum(tensor.nbytes for part in parts for tensor in part.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(listed.items()))}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def shards_of(tensors: Mapping[str, Tensor], shard_bytes: int) -> list[dict[str, Tensor]]:
    """The tensors of each shard, in order; a new shard begins when the next tensor would not fit."""
    parts: list[dict[str, Tensor]] = [{}]
    for name, tensor in tensors.items():
        if parts[-1] and sum(one.nbytes for one in parts[-1].values()) + tensor.nbytes > shard_bytes:
            parts.append({})
        parts[-1][name] = tensor
    return parts
