"""Imports go only downwards: the table of ARCHITECTURE, enforced by reading every import in the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import glassformer

PACKAGE = Path(glassformer.__file__).parent

# From the bottom to the top. Packages in one row do not import each other.
TABLE = [
    {"errors", "limits", "printable", "user_cache", "usual_names"},
    {"toml_text"},
    {"config"},
    {"text", "nn"},
    {"models", "data"},
    {"store"},
    {"decode"},
    {"evaluate"},
    {"hub", "training", "explain", "vectors"},
    {"tasks"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: floor for floor, rooms in enumerate(TABLE) for room in rooms}
NO_TORCH = {"errors", "limits", "printable", "user_cache", "usual_names", "toml_text", "config", "text"}


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    lazy: bool  # inside a function, or for the type checker only


def imports_of(source: str, module: str) -> Iterator[Import]:
    """Every import in the source of `module` (dotted; a package's own file ends in `.__init__`), wherever it stands."""
    yield from _imports_below(ast.parse(source), module, lazy=False)


def _imports_below(node: ast.AST, module: str, *, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        for name in _names(child, module):
            yield Import(name, child.lineno, lazy)
        yield from _imports_below(child, module, lazy=lazy or _defers(child))


def _defers(node: ast.AST) -> bool:
    for_checker = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    return for_checker or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def _names(node: ast.AST, module: str) -> list[str]:
    """`from a import b` counts as `a.b`: b may be a module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parent = module.split(".")[: -node.level]
            base = ".".join([*parent, *([node.module] if node.module else [])])
        return [f"{base}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
        return [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return []


def room_of(name: str) -> str | None:
    """The room that an import leads to; None for other packages and for what the package itself defines."""
    first, _, rest = name.partition(".")
    if first != "glassformer":
        return None
    part = rest.split(".")[0]
    if part in FLOOR:
        return part
    home = glassformer._HOMES.get(part)
    return home.split(".")[1] if home else part or "glassformer"


def violations(source: str, module: str) -> list[str]:
    """What the imports of one file break, a line each."""
    room = module.split(".")[1]
    found = []
    for item in imports_of(source, module):
        found += [f"{module}:{item.line} imports {item.module}: {reason}" for reason in _broken(room, item)]
    return found


def _broken(room: str, item: Import) -> Iterator[str]:
    target = room_of(item.module)
    if room in NO_TORCH and item.module.split(".")[0] == "torch":
        yield f"{room} has no torch"
    if target is None or target == "__version__":
        return
    if target == "cli" and room not in ("cli", "__main__"):
        yield "nothing imports cli"
    elif room == "__init__":
        if not item.lazy:
            yield "the package imports its rooms only when they are used"
    elif target not in FLOOR:
        yield "not a room"
    elif target != room and FLOOR[target] >= FLOOR[room]:
        yield f"{room} does not stand above {target}"
    elif room == "decode" and target == "models":
        yield "decode speaks to a protocol, never to a named model"


def module_name(path: Path) -> str:
    return ".".join(["glassformer", *path.relative_to(PACKAGE).with_suffix("").parts])


def test_every_import_in_the_package_goes_downwards() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 20
    broken = [line for path in files for line in violations(path.read_text(encoding="utf-8"), module_name(path))]
    assert not broken, "\n".join(broken)


def test_every_room_stands_in_the_table() -> None:
    rooms = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in PACKAGE.rglob("*.py")}
    assert rooms - {"__init__"} <= set(FLOOR)


# The checker itself.

BROKEN = [
    (
        "glassformer.nn.heads",
        "from glassformer.models.transformer import Transformer",
        "nn does not stand above models",
    ),
    ("glassformer.nn.heads", "import glassformer.training", "nn does not stand above training"),
    ("glassformer.nn.heads", "from glassformer import training", "nn does not stand above training"),
    ("glassformer.store.run", "from glassformer import decode", "store does not stand above decode"),
    ("glassformer.text.bpe", "from glassformer.nn import taps", "text does not stand above nn"),
    ("glassformer.nn.taps", "from glassformer.text import Tokenizer", "nn does not stand above text"),
    ("glassformer.models.bert", "import glassformer.data.batches as b", "models does not stand above data"),
    (
        "glassformer.training.loop",
        "def f():\n    from glassformer.explain import view",
        "training does not stand above explain",
    ),
    (
        "glassformer.training.loop",
        "if TYPE_CHECKING:\n    from glassformer.tasks import x",
        "training does not stand above tasks",
    ),
    ("glassformer.training.loop", "class A:\n    def f(self):\n        import glassformer.serve", "above serve"),
    ("glassformer.errors", "from glassformer.config import Settings", "errors does not stand above config"),
    ("glassformer.decode.beam", "from glassformer.models.transformer import X", "decode speaks to a protocol"),
    ("glassformer.decode.beam", "def f():\n    import glassformer.models.gpt", "decode speaks to a protocol"),
    ("glassformer.decode.beam", "from ..models import gpt", "decode speaks to a protocol"),
    ("glassformer.decode.beam", "from .. import tasks", "decode does not stand above tasks"),
    ("glassformer.decode.__init__", "from ..evaluate import bleu", "decode does not stand above evaluate"),
    ("glassformer.serve.api", "from glassformer.cli import main", "nothing imports cli"),
    ("glassformer.__init__", "def f():\n    from glassformer.cli import main", "nothing imports cli"),
    ("glassformer.__init__", "from glassformer.text import Tokenizer", "only when they are used"),
    ("glassformer.text.bpe", "import torch", "text has no torch"),
    ("glassformer.text.bpe", "def f():\n    from torch import Tensor", "text has no torch"),
    (
        "glassformer.nn.x",
        "import importlib\nimportlib.import_module('glassformer.tasks')",
        "nn does not stand above tasks",
    ),
    ("glassformer.nn.x", "from glassformer.somewhere import y", "not a room"),
    ("glassformer.nn.x", "import glassformer as gf", "not a room"),
    ("glassformer.nn.x", "from glassformer import load", "nn does not stand above tasks"),
    ("glassformer.tasks.x", "try:\n    import glassformer.serve\nexcept ImportError:\n    pass", "above serve"),
]


@pytest.mark.parametrize(("module", "source", "reason"), BROKEN)
def test_the_checker_catches_a_wrong_import(module: str, source: str, reason: str) -> None:
    (found,) = violations(source, module)
    assert reason in found


FINE = [
    (
        "glassformer.models.bert",
        "from glassformer.nn.taps import Tap\nfrom glassformer.models.parts import x\nimport torch",
    ),
    (
        "glassformer.decode.beam",
        "from .state import State\nfrom . import greedy\nfrom glassformer.errors import ModelError",
    ),
    ("glassformer.decode.__init__", "from .beam import search\nfrom ..store import run"),
    ("glassformer.cli.main", "from glassformer import load, __version__\nfrom glassformer.cli import train"),
    ("glassformer.__main__", "from glassformer.cli.main import main"),
    ("glassformer.__init__", "if TYPE_CHECKING:\n    from glassformer.tasks.translation import load"),
    ("glassformer.text.bpe", "import torchlike\nimport numpy"),
]


@pytest.mark.parametrize(("module", "source"), FINE)
def test_the_checker_lets_a_right_import_pass(module: str, source: str) -> None:
    assert not violations(source, module)


# And what really happens.


@pytest.mark.parametrize("module", ["glassformer", "glassformer.config", "glassformer.text"])
def test_importing_it_does_not_import_torch(module: str) -> None:
    program = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
