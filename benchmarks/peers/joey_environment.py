"""A throw-away environment with JoeyNMT in it. Only Python's own library is used here."""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

JOEYNMT = "joeynmt==2.3.0"
FORGOTTEN = ("importlib_metadata",)  # it imports this without asking for it
TOLD = ("joeynmt", "torch", "numpy", "protobuf", "tensorboard", "sacrebleu", "importlib_metadata")
CHECK = f"""
import json, platform
from importlib.metadata import version
import joeynmt.training
print(json.dumps({{"python": platform.python_version(), **{{name: version(name) for name in {TOLD!r}}}}}))
"""


def joey_python(folder: Path) -> str:
    """The interpreter of the environment in `folder`, which is made if it is not there: about 1 GB, some minutes."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making an environment with {JOEYNMT} in {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        install(python)
    return str(python)


def install(python: Path) -> None:
    """JoeyNMT, with the torch that we have: the same kernels for everyone."""
    torch = f"torch=={version('torch').partition('+')[0]}"  # without the local part pip finds the build it can get
    command = [str(python), "-m", "pip", "install", "--quiet", torch, JOEYNMT, *FORGOTTEN]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"JoeyNMT could not be installed; pip says:\n{done.stderr[-2000:]}")


def joey_versions(python: str) -> str:
    """JSON of what the environment holds; an error where JoeyNMT cannot be imported."""
    done = subprocess.run([python, "-c", CHECK], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"JoeyNMT cannot be imported by {python}:\n{done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1]
