"""Settings: TOML <-> typed, validated values.

A room declares its settings as a subclass of `Settings`; each field carries its own help text, and the command
line, the printed recipe and the error messages all read it from there. This file knows no field by name.
"""

from __future__ import annotations

import difflib
import json
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from glassformer.errors import SettingsError

Tree = dict[str, Any]


class Settings(BaseModel):
    """The base of all settings: immutable, and an unknown name is an error, never silently dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    def decided(self, values: Mapping[str, Any]) -> Self:
        """A copy with `values`, which do not count as set by the user (`model_fields_set`)."""
        copy = self.model_copy(update=values)
        copy.__pydantic_fields_set__.clear()
        copy.__pydantic_fields_set__.update(self.model_fields_set)
        return copy


S = TypeVar("S", bound=Settings)


def read_toml(path: Path) -> Tree:
    """The recipe at `path` as a tree of plain values."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        raise SettingsError(f"{path}: no such recipe. `glassformer recipe > {path}` writes one.") from None
    except IsADirectoryError:
        raise SettingsError(f"{path} is a folder; a recipe is a TOML file.") from None
    except PermissionError:
        raise SettingsError(f"{path}: not readable. Check its permissions.") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 text (byte {error.start}). A recipe is a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}.") from None


def parse_value(text: str) -> Any:
    """`text` as a TOML value; what is not one is a plain string, so that `--set text.kind=bpe` needs no quotes."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    dated = isinstance(parsed["value"], date | time)  # no setting is a date, but a folder may be called 2026-01-31
    return text if dated or len(parsed) > 1 else parsed["value"]


def apply_assignments(tree: Tree, assignments: Sequence[str]) -> Tree:
    """A copy of `tree` with each `a.b=value` put in its place."""
    result: Tree = json.loads(json.dumps(tree, default=str))
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        keys = [key.strip() for key in name.split(".")]
        if not equals or not all(keys):
            raise SettingsError(f"--set {assignment}: got no name=value. Write it like --set train.lr=3e-4.")
        put(result, keys, parse_value(text.strip()), label=assignment)
    return result


def put(tree: Tree, keys: Sequence[str], value: Any, *, label: str) -> None:
    """Sets the nested `value`, making the tables on the way."""
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
        if not isinstance(tree, dict):
            raise SettingsError(f"--set {label}: {key} is a single value, not a section.")
    tree[keys[-1]] = value


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Tree:
    """`base` with the values of `over` laid over it, section by section."""
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merge(result[key], value) if both else value
    return result


def validate(kind: type[S], tree: Mapping[str, Any], *, origin: str = "settings") -> S:
    """`tree` as checked settings; every problem is reported at once."""
    try:
        return kind.model_validate(tree)
    except ValidationError as error:
        problems = [_explain(kind, problem) for problem in error.errors()]
        head = "" if len(problems) == 1 else f"{len(problems)} problems:\n  "
        raise SettingsError(f"{origin}: {head}" + "\n  ".join(problems)) from None


def _explain(kind: type[Settings], problem: Mapping[str, Any]) -> str:
    """One line for a person: where, what was got, what is allowed."""
    where = _place(kind, problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown setting {where}.{_suggest(where, kind)}"
    got = "" if problem["type"] == "missing" else f" (got {_short(problem['input'])})"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where or 'recipe'}: {message[:1].lower()}{message[1:]}{got}."


def _place(kind: type[Settings], location: Sequence[str | int]) -> str:
    """The dotted name of a setting, without what the checker adds below it (an index, a kind of a union)."""
    names: list[str] = []
    section: type[Settings] | None = kind
    for part in location:
        if section is None:
            break
        names.append(str(part))
        field = section.model_fields.get(names[-1])
        section = None if field is None else section_of(field)
    return ".".join(names)


def _suggest(name: str, kind: type[Settings]) -> str:
    known = [path for path, _ in walk(kind)]
    section, _, leaf = name.rpartition(".")
    close = [path for path in known if path.rpartition(".")[2] == leaf][:1]  # right name, wrong section
    close = close or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f" Did you mean {close[0]}?"
    siblings = [path for path in known if path.rpartition(".")[0] == section]
    siblings = siblings or sorted({path.split(".")[0] for path in known})
    return f" Known here: {', '.join(siblings)}."


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def walk(kind: type[Settings], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every setting of `kind` with its dotted name, sections opened."""
    for name, field in kind.model_fields.items():
        section = section_of(field)
        if section is None:
            yield prefix + name, field
        else:
            yield from walk(section, f"{prefix}{name}.")


def value_of(settings: Settings, name: str) -> Any:
    """The value of a setting by its dotted name."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def section_of(field: FieldInfo) -> type[Settings] | None:
    """The settings class behind a field that is a section; None for a single value."""
    annotation = field.annotation
    options = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    for option in options:
        if isinstance(option, type) and issubclass(option, Settings):
            return option
    return None


Show = Callable[[str, Any, FieldInfo], Iterator[str]]  # dotted name, value, field -> lines


def to_toml(settings: Settings) -> str:
    """The settings as TOML, every value in full."""

    def show(name: str, value: Any, _: FieldInfo) -> Iterator[str]:
        if value is not None:
            yield f"{name.rpartition('.')[2]} = {toml_literal(value)}"

    return "\n".join(_toml_lines(settings, "", show)).strip() + "\n"


def annotated_toml(settings: Settings, given: Mapping[str, Any]) -> str:
    """A recipe to start from: each setting with its help; what is not `given` stands commented out at its default."""

    def show(name: str, value: Any, field: FieldInfo) -> Iterator[str]:
        if field.description:
            yield f"# {field.description}"
        mark = "" if _is_given(given, name) else "# "
        yield f"{mark}{name.rpartition('.')[2]} = {'' if value is None else toml_literal(value)}".rstrip()

    return "\n".join(_toml_lines(settings, "", show)).strip() + "\n"


def _is_given(tree: Any, name: str) -> bool:
    for part in name.split("."):
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]
    return True


def _toml_lines(settings: Settings, prefix: str, show: Show) -> Iterator[str]:
    values = [(name, getattr(settings, name), field) for name, field in type(settings).model_fields.items()]
    for name, value, field in values:
        if not isinstance(value, Settings):
            yield from show(prefix + name, value, field)
    for name, value, _ in values:
        if isinstance(value, Settings):
            yield f"\n[{prefix}{name}]"
            yield from _toml_lines(value, f"{prefix}{name}.", show)


def toml_literal(value: Any) -> str:
    """One value as TOML text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_literal(item) for item in value) + "]"
    if any("\ud800" <= sign <= "\udfff" for sign in str(value)):
        raise SettingsError(f"{value!r} is not text, since its bytes are not UTF-8: rename the file.")
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007F")


def tree_to_toml(tree: Mapping[str, Any]) -> str:
    """A tree of plain values as TOML: single values before sections, None left out."""
    return "\n".join(_tree_lines(tree, ())).strip() + "\n"


def _tree_lines(tree: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
    for name, value in tree.items():
        if value is not None and not isinstance(value, Mapping):
            yield f"{toml_key(name)} = {toml_literal(value)}"
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield f"\n[{'.'.join(toml_key(part) for part in (*place, name))}]"
            yield from _tree_lines(value, (*place, name))


def toml_key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else toml_literal(name)
