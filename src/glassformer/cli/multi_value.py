"""Options that take several values in a row: `--valid val.en val.de`."""

from __future__ import annotations

from typer.core import TyperCommand


def several_values(names: set[str], base: type[TyperCommand] = TyperCommand) -> type[TyperCommand]:
    """A command whose options `names` take all values up to the next option; they may also be repeated for each value.

    (typer supports only a fixed number of values. A recipe, which ends in .toml, does not count as a value.)
    """

    class Command(base):  # type: ignore[valid-type, misc]
        def parse_args(self, context, arguments):  # type: ignore[no-untyped-def]
            return super().parse_args(context, spread(arguments, names))

    return Command


def spread(arguments: list[str], names: set[str]) -> list[str]:
    """Turns `--valid a b` into `--valid a --valid b`."""
    result: list[str] = []
    current = None
    for position, argument in enumerate(arguments):
        if argument == "--":
            return result + arguments[position:]
        if argument.startswith("-") and argument != "-":
            current = argument if argument in names else None
            if current is None:
                result.append(argument)
            elif position + 1 == len(arguments) or arguments[position + 1].startswith("--"):
                result.append(argument)  # no value: the parser reports it
        elif current is None or argument.endswith(".toml"):
            result.append(argument)
            current = None
        else:
            result += [current, argument]
    return result
