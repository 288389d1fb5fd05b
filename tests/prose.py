"""Finds the prose in the project's files, and words in it that docs/style.md forbids."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SPAN = re.compile(r"``.+?``|`[^`]*`", re.DOTALL)  # names, code and quoted output are not prose
PLACE_OF_CODE = "…"  # put where code was, so that the words around it are not joined


@dataclass(frozen=True)
class Rule:
    """Something not to write, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


@dataclass(frozen=True)
class Passage:
    """A piece of prose and the line on which it begins."""

    line: int
    text: str


# The rules


def rules_of(page: str) -> list[Rule]:
    """The rows of the table under "Do not write"."""
    table = page.partition("## Do not write")[2].partition("\n## ")[0]
    rows = [line.strip().strip("|") for line in table.splitlines() if line.startswith("| `")]
    rules = []
    for row in rows:
        entries, instead = row.rsplit(" | ", 1)
        rules += [Rule(pattern_of(entry), instead.strip()) for entry in re.findall(r"`([^`]+)`", entries)]
    return rules


def pattern_of(entry: str) -> re.Pattern[str]:
    if entry.startswith("/"):
        return re.compile(entry.strip("/"), re.MULTILINE)
    words = r"\s+".join(re.escape(word).replace(r"\*", r"\w*") for word in entry.split())
    if entry[0].isupper():
        return re.compile(rf"(?:^|[.:!?] ){words}(?![\w-])", re.MULTILINE)
    return re.compile(rf"(?<![\w-]){words}(?![\w-])", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """A forbidden phrase in its context."""

    line: int
    phrase: str
    context: str
    instead: str


def findings(passages: Iterable[Passage], rules: Iterable[Rule]) -> Iterator[Finding]:
    known = list(rules)
    for passage in passages:
        text = re.sub(r"\s+", " ", SPAN.sub(PLACE_OF_CODE, passage.text)).strip()
        for rule in known:
            for match in rule.pattern.finditer(text):
                context = text[max(0, match.start() - 30) : match.end() + 30]
                yield Finding(passage.line, match[0].strip(" .:!?"), context, rule.instead)


def problems(passages: Iterable[Passage], rules: Iterable[Rule], where: str) -> list[str]:
    """One line for every forbidden phrase: where it is, what it is, what to write."""
    return [
        f"{where}:{one.line}: {one.phrase!r} in {one.context!r}: write {one.instead}"
        for one in findings(passages, rules)
    ]


# The prose of each kind of file


def markdown_prose(text: str) -> Iterator[Passage]:
    """Paragraphs, headings, list items and table cells; of code only the comments."""
    fence: str | None = None
    paragraph: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        fenced = line.lstrip().startswith("```")
        indented = line.startswith("    ") and not paragraph
        ends = fenced or fence is not None or indented or not line.strip() or re.match(r"\s*([-*|#]|\d+\.) ?", line)
        if ends and paragraph:
            yield Passage(start, "\n".join(paragraph))
            paragraph = []
        if fenced:
            fence = line.strip("` ") if fence is None else None
        elif fence is not None or indented:
            shown = fence == "console" and not line.startswith("$ ")  # what a program printed
            if not shown and (comment := re.search(r"(?:^|\s)# (.*)", line)):
                yield Passage(number, comment[1])
        elif line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", SPAN.sub(PLACE_OF_CODE, line)):
                yield Passage(number, cell.strip())
        elif line.strip():
            start = start if paragraph else number
            paragraph.append(prose_line(line))


def prose_line(line: str) -> str:
    """Without marks of lists and headings, addresses of links, and formulas."""
    line = re.sub(r"^\s*([-*]|#+|\d+\.) ", "", line)
    line = re.sub(r"\]\([^)]*\)", "]", line)
    return re.sub(r"\$[^$]+\$", PLACE_OF_CODE, line)


def python_prose(source: str) -> Iterator[Passage]:
    """Docstrings, comments and strings that hold more than one word."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"# ?(type:|noqa|fmt:)", token.string):
            yield Passage(token.start[0], token.string.lstrip("#: "))
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield from sentences(node.lineno, "".join(literal(part) for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield from sentences(node.lineno, node.value)


def literal(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else PLACE_OF_CODE


def sentences(line: int, text: str) -> Iterator[Passage]:
    """A string, if it is more than a name. Lines that show code are left out."""
    if len(text.split()) > 1:
        yield Passage(line, "\n".join(one for one in text.splitlines() if not one.lstrip().startswith((">>>", "..."))))


def c_like_prose(source: str) -> Iterator[Passage]:
    """Comments and strings of C and JavaScript."""
    parts = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL)
    for match in parts.finditer(source):
        text = match[0].strip("`\"'/*")
        if len(text.split()) > 1:
            yield Passage(source.count("\n", 0, match.start()) + 1, re.sub(r"\$\{[^}]*\}", PLACE_OF_CODE, text))


def line_comments(source: str) -> Iterator[Passage]:
    """Comments of TOML and Makefiles."""
    for number, line in enumerate(source.splitlines(), start=1):
        if comment := re.search(r"(?:^|\s)#+ (.*)", line):
            yield Passage(number, comment[1])


def html_prose(source: str) -> Iterator[Passage]:
    """The text between tags."""
    for match in re.finditer(r">([^<]+)<", re.sub(r"<(script|style).*?</\1>", "", source, flags=re.DOTALL)):
        yield Passage(source.count("\n", 0, source.find(match[1])) + 1, match[1])


READERS = {
    ".md": markdown_prose,
    ".py": python_prose,
    ".c": c_like_prose,
    ".h": c_like_prose,
    ".js": c_like_prose,
    ".css": c_like_prose,
    ".html": html_prose,
    ".toml": line_comments,
    "": line_comments,
}


def problems_of_file(path: Path, rules: Iterable[Rule], where: str) -> list[str]:
    return problems(READERS[path.suffix](path.read_text(encoding="utf-8")), rules, where)
