"""The page as one HTML file. It loads nothing, and only the script and the style that it was written with can run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from glassformer.errors import DataError
from glassformer.explain.glass.contents import Contents
from glassformer.printable import DIRECTIONS, embedded, with_visible_directions
from glassformer.store.files import make_parents, write_atomically
from glassformer.text.pieces import MARK

MADE_HERE = b'<meta name="generator" content="Glassformer glass">'
HEAD = 2048  # bytes at the beginning of a page, which say who made it
SHOWN = 5  # candidates of each prediction in the summary
_PLACE = re.compile(r"\{\{(policy|title|style|summary|header|chunks|script)\}\}")


def render(contents: Contents) -> str:
    """The whole page as one string; write it as UTF-8."""
    header = contents.header
    script, style = inline(_asset("page.js"), "script"), inline(_asset("page.css"), "style")
    parts = {
        "policy": policy(script, style),
        "title": shown(header["title"]),
        "style": style,
        "summary": "\n".join(summary(header)),
        "header": DIRECTIONS.sub(lambda found: f"\\u{ord(found[0]):04x}", embedded(header)),
        "chunks": "\n".join(
            f'<script type="text/plain" data-chunk="{number}">{text}</script>'
            for number, text in enumerate(contents.chunks)
        ),
        "script": script,
    }
    # One pass over the template, so that text in the data that looks like a {{name}} is never replaced.
    return _PLACE.sub(lambda place: parts[place[1]], _asset("page.html"))


def policy(script: str, style: str) -> str:
    """What the page may do: run this script and the code that it compiles for products, and nothing else."""
    return (
        f"default-src 'none'; script-src '{digest(script)}' 'wasm-unsafe-eval'; style-src '{digest(style)}'; "
        "img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def inline(text: str, element: str) -> str:
    """A script or style as it can be inside its element: nothing in it ends the element, and no line ends change."""
    safe = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(f"</(?={element})", r"<\\/", safe, flags=re.IGNORECASE)


def shared_size() -> int:
    """The bytes that every page has: script, style and frame."""
    return sum(len(_asset(name).encode("utf-8")) for name in ("page.js", "page.css", "page.html"))


# The summary, for readers without JavaScript and for paper


def shown(text: str) -> str:
    # A lone surrogate (broken input text) cannot be written as UTF-8.
    return escape(with_visible_directions(text).encode("utf-8", "backslashreplace").decode("utf-8"))


def piece_shown(piece: str) -> str:
    """With a light sign for a space: the usual mark is as heavy as a letter."""
    return shown(piece).replace(MARK, "␣")


def summary(header: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h1>{shown(header['title'])}</h1>"
    for trace in header["traces"]:
        yield f"<h2>{shown(trace['text'])}</h2>"
        if trace["answer"]:
            yield f"<p><strong>{shown(trace['answer'])}</strong></p>"
        for name, pieces in trace["pieces"].items():
            yield f"<p>{shown(name)}: {' '.join(f'<code>{piece_shown(piece)}</code>' for piece in pieces)}</p>"
        yield from prediction_table(trace["predictions"])
    if header["left_out"]:
        yield f"<p>Left out: {shown('; '.join(header['left_out']))}.</p>"
    yield f"<p>{shown('; '.join(f'{name}: {value}' for name, value in header['provenance'].items()))}</p>"


def prediction_table(predictions: list[Mapping[str, Any]]) -> Iterator[str]:
    """What the model predicts at each place: the most likely candidates."""
    if not predictions:
        return
    yield '<table><thead><tr><th scope="col">place</th><th scope="col">most likely</th></tr></thead><tbody>'
    for one in predictions:
        best = (f"<code>{piece_shown(top['piece'])}</code> {top['probability']:.3f}" for top in one["top"][:SHOWN])
        yield f'<tr><th scope="row">{shown(one["at"])}</th><td>{", ".join(best)}</td></tr>'
    yield "</tbody></table>"


# Files


def check_target(path: Path, *, force: bool = False) -> None:
    """An error if a page cannot be written here: only a page made here is replaced, anything else if forced."""
    if path.is_dir():
        raise DataError(f"{path} is a folder. Give the name of a file, such as {path / 'glass.html'}.")
    if path.exists() and not path.is_file():  # a device or a pipe: reading it may wait, writing would replace it
        raise DataError(f"{path} is no regular file. Choose another name.")
    if path.exists() and not force and not is_page(path):
        raise DataError(
            f"{path} exists and is no page of `explain --html` or `lesson --html`. Choose another name, or add --force."
        )


def save(page: str, path: Path, *, force: bool = False) -> None:
    """Writes a page, complete or not at all."""
    check_target(path, force=force)
    make_parents(path)
    write_atomically(path, page.encode("utf-8"))


def is_page(path: Path) -> bool:
    """Whether this file is a page made here."""
    try:
        with path.open("rb") as file:
            return MADE_HERE in file.read(HEAD)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Choose another name.") from None


def framed(page: str, *, height: int = 800) -> str:
    """The page for a notebook: in a frame that cannot reach the notebook, and from which tables can be saved."""
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" width="100%" height="{height}" title="Glassformer" '
        f'srcdoc="{escape(page)}"></iframe>'
    )


def _asset(name: str) -> str:
    return files("glassformer.explain.glass").joinpath(name).read_text(encoding="utf-8")
