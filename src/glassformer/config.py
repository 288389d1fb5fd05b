"""Settings: TOML <-> typed, validated values.

A package declares its settings as a subclass of `Settings`. Each field carries its own help text; the command line, the
printed recipe and the error messages read it from there. This file knows no field by name.
"""

from __future__ import annotations

import difflib
import json
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from glassformer.errors import SettingsError
from glassformer.toml_text import DEEPEST, Tree, toml_literal
from glassformer.usual_names import USUAL_NAMES

PLAIN_WORDS = {  # the checker's names of types, for people
    "model_type": "expected a section with settings",
    "model_attributes_type": "expected a section with settings",
    "dict_type": "expected a section with settings",
    "tuple_type": "expected a list",
    "list_type": "expected a list",
    "string_type": "expected text",
}


class Settings(BaseModel):
    """The base of all settings: immutable, and an unknown name is an error, never silently dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    def decided(self, values: Mapping[str, Any]) -> Self:
        """A copy with `values`, which do not count as set by the user (`model_fields_set`)."""
        copy = self.model_copy(update=values)
        copy.__pydantic_fields_set__.clear()
        copy.__pydantic_fields_set__.update(self.model_fields_set)
        return copy

    def decided_if_open(self, values: Mapping[str, Any]) -> Self:
        """A copy with those of `values` that the user has not set; in a section, those of its settings."""
        new = {name: value for name, value in values.items() if name not in self.model_fields_set}
        for name in values.keys() - new.keys():
            if isinstance(section := getattr(self, name), Settings):
                new[name] = section.decided_if_open(dict(values[name]))
        return self.decided(new)


S = TypeVar("S", bound=Settings)


def parse_value(text: str) -> Any:
    """`text` as a TOML value; what is not one is a plain string, so that `--set text.kind=bpe` needs no quotes."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # not TOML, thousands of digits, or thousands of brackets
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
        if len(keys) > DEEPEST:
            raise SettingsError(f"--set {_short(assignment)}: no setting is nested more than {DEEPEST} deep.")
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


def validate(kind: type[S], tree: Mapping[str, Any], *, origin: str = "settings", section: str = "") -> S:
    """`tree` as checked settings; every problem is reported at once. `section` is what the names are below."""
    problems = list(dict.fromkeys(_truth_values(kind, tree, f"{section}." if section else "")))
    try:
        found = kind.model_validate(tree)
    except ValidationError as error:
        problems += [_explain(kind, problem, section) for problem in error.errors()]
    if problems := list(dict.fromkeys(problems)):
        head = "" if len(problems) == 1 else f"{len(problems)} problems:\n  "
        raise SettingsError(f"{origin}: {head}" + "\n  ".join(problems))
    return found


def _truth_values(kind: type[Settings], tree: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Problems with true and false instead of numbers, which would count as 1 and 0."""
    for name, field in kind.model_fields.items():
        value: Any = tree.get(name)
        kinds = {field.annotation, *get_args(field.annotation)}
        if isinstance(value, bool) and kinds & {int, float} and bool not in kinds:
            yield f"{prefix}{name}: must be {allowed(field)} (got {_short(value)})."
        for one in sections_of(field) if isinstance(value, Mapping) else ():
            yield from _truth_values(one, value, f"{prefix}{name}.")


def _explain(kind: type[Settings], problem: Mapping[str, Any], section: str = "") -> str:
    """One line for a person: where, what was got, what is allowed."""
    where = _place(kind, problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown setting {where}.{_suggest(where, kind)}"
    if problem["type"].startswith("union_tag"):
        return _explain_tag(where, problem.get("ctx", {}), problem["type"])
    whole_section = isinstance(problem["input"], Mapping | Settings)  # the message says what does not fit in it
    got = "" if problem["type"] == "missing" or whole_section else f" (got {_short(problem['input'])})"
    message = PLAIN_WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "missing":
        message = "too few values" if isinstance(problem["loc"][-1], int) else "a value is missing"
    name = ".".join(part for part in (section, where) if part)
    return f"{name or 'recipe'}: {message[:1].lower()}{message[1:]}{got}."


def _explain_tag(where: str, context: Mapping[str, Any], what: str) -> str:
    """A section can be of several classes, and the setting that says which is missing or unknown."""
    name = f"{where}.{str(context.get('discriminator', '')).strip(chr(39))}"
    if what == "union_tag_not_found":
        return f"{name}: a value is missing."
    return f"{name}: input should be one of {context.get('expected_tags')} (got {_short(context.get('tag'))})."


# Arguments from Python, held to the same bounds


def check_arguments(kind: type[Settings], values: Mapping[str, Any]) -> None:
    """Raises SettingsError where an argument is not what the setting of the same name may be.

    Types are strict: True does not count as a number, nor 2.5 and "2" as integers. numpy numbers are accepted.
    """
    try:
        kind.model_validate({name: plain_number(value) for name, value in values.items()}, strict=True)
    except ValidationError as error:
        wrong = list(dict.fromkeys(str(problem["loc"][0]) for problem in error.errors() if problem["loc"]))
        told = (
            f"{name} = {_cut(repr(values[name]))}: it must be {allowed(kind.model_fields[name])}." for name in wrong
        )
        raise SettingsError(" ".join(told) or f"{error.errors()[0]['msg']}.") from None


def plain_number(value: Any) -> Any:
    """A number of numpy, or of a like library, as Python's own. Anything else stays as it is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def allowed(field: FieldInfo) -> str:
    """What a value may be, in words: a whole number from 1 to 1,000."""
    if get_origin(field.annotation) is Literal:
        return f"one of {', '.join(map(str, get_args(field.annotation)))}"
    kind = "a whole number" if int in (field.annotation, *get_args(field.annotation)) else "a number"
    low, high = bounds(field)
    above = next((one.gt for one in field.metadata if getattr(one, "gt", None) is not None), None)
    words = [kind]
    words += [f"above {above:,}"] if above is not None else [f"from {low:,}"] if low is not None else []
    words += [f"to {high:,}"] if high is not None else []
    return " ".join(words)


def bounds(field: FieldInfo) -> tuple[float | None, float | None]:
    """The least and the greatest value of a number, both allowed; None: there is no such bound."""
    low = next((one.ge for one in field.metadata if getattr(one, "ge", None) is not None), None)
    return low, next((one.le for one in field.metadata if getattr(one, "le", None) is not None), None)


# What is wrong, in words


def _place(kind: type[Settings], location: Sequence[str | int]) -> str:
    """The dotted name of a setting, without what the checker adds to it (an index, the class of a union)."""
    names: list[str] = []
    sections = [kind]
    for part in location:
        if not sections:
            break
        if len(sections) > 1:  # a union: this part says which of its classes was tried
            sections = [section for section in sections if _is_tagged(section, part)]
            continue
        names.append(str(part))
        field = sections[0].model_fields.get(names[-1])
        sections = [] if field is None else sections_of(field)
    return ".".join(names)


def _is_tagged(section: type[Settings], tag: str | int) -> bool:
    """Whether the checker means this class of a union: by its name, or by the only value that one of its fields has."""
    constants = (get_args(field.annotation) for field in section.model_fields.values())
    return section.__name__ == tag or (tag,) in constants


def _suggest(name: str, kind: type[Settings]) -> str:
    known = [path for path, _ in walk(kind)]
    section, _, leaf = name.rpartition(".")
    if name in known:  # of another kind of the same section
        return f" This {section}.kind has no such setting; others have it."
    close = [path for path in known if path.rpartition(".")[2] == leaf][:1]  # right name, wrong section
    close = close or [path for path in (USUAL_NAMES.get(leaf.lower().replace("-", "_")),) if path in known]
    close = close or difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f" Did you mean {close[0]}?"
    siblings = [path for path in known if path.rpartition(".")[0] == section]
    siblings = siblings or sorted({path.split(".")[0] for path in known})
    return f" Known here: {', '.join(siblings)}."


def _short(value: Any) -> str:
    """A value as a recipe would have it, cut to a part of a line."""
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**60:
        return f"a number of {value.bit_length():,} bits"
    text = f"[{', '.join(map(_short, value[:9]))}]" if isinstance(value, list | tuple) else repr(value)
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def walk(settings: Settings | type[Settings], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every setting with its dotted name, sections opened.

    An instance gives the settings that it has. A class gives those that it may have: where a section can be of
    several classes, the settings of all of them, each name once.
    """
    kind = settings if isinstance(settings, type) else type(settings)
    for name, field in kind.model_fields.items():
        sections = _sections_at(settings, name, field)
        if not sections:
            yield prefix + name, field
        inside = (item for section in sections for item in walk(section, f"{prefix}{name}."))
        seen: set[str] = set()
        for path, below in inside:
            if path not in seen:
                seen.add(path)
                yield path, below


def _sections_at(
    settings: Settings | type[Settings], name: str, field: FieldInfo
) -> Sequence[Settings | type[Settings]]:
    """What is behind a field: the section itself, or the classes that it can be of; nothing for a single value."""
    if isinstance(settings, type):
        return sections_of(field)
    value = getattr(settings, name)
    return [value] if isinstance(value, Settings) else []


def value_of(settings: Settings, name: str) -> Any:
    """The value of a setting by its dotted name; None where these settings have no such one."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def is_set(settings: Settings, name: str) -> bool:
    """Whether the user gave a value for the setting with this dotted name."""
    section, _, field = name.rpartition(".")
    return field in (value_of(settings, section) if section else settings).model_fields_set


def sections_of(field: FieldInfo) -> list[type[Settings]]:
    """The settings classes that a field can hold; none for a single value, several for a union of sections."""
    annotation = field.annotation
    options = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return [option for option in options if isinstance(option, type) and issubclass(option, Settings)]


Show = Callable[[str, Any, FieldInfo], Iterator[str]]  # dotted name, value, field -> lines


def to_toml(settings: Settings) -> str:
    """The settings as TOML, every value in full."""

    def show(name: str, value: Any, _: FieldInfo) -> Iterator[str]:
        if value is not None:
            yield f"{name.rpartition('.')[2]} = {toml_literal(_plain(value))}"

    return "\n".join(_toml_lines(settings, "", show)).strip() + "\n"


def annotated_toml(settings: Settings, given: Mapping[str, Any]) -> str:
    """A recipe to start from: each setting with its help; those not `given` are commented out."""

    def show(name: str, value: Any, field: FieldInfo) -> Iterator[str]:
        if field.description:
            yield f"# {field.description}"
        mark = "" if _is_given(given, name) else "# "
        yield f"{mark}{name.rpartition('.')[2]} = {'' if value is None else toml_literal(_plain(value))}".rstrip()

    return "\n".join(_toml_lines(settings, "", show)).strip() + "\n"


def _plain(value: Any) -> Any:
    """Settings inside a table of the user's own names as plain values."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return value.model_dump(exclude_none=True) if isinstance(value, Settings) else value


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
