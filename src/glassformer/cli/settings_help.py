"""Options whose help is the help of a setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperOption

if TYPE_CHECKING:
    from glassformer.config import Settings


def command_with_help_of(settings: Callable[[], type[Settings]]) -> type[TyperCommand]:
    """A command that takes the help of its options from the settings of the same name, when it is asked for help.

    Not before: the settings' library takes longer to import than all the rest of `glassformer --help`.
    """

    class Command(TyperCommand):
        def format_help(self, *context: Any) -> None:
            from glassformer.config import walk

            texts = {name: field.description for name, field in walk(settings())}
            for option in self.params:
                if isinstance(option, TyperOption) and option.help is None:
                    option.help = texts[option.name or ""]
            super().format_help(*context)

    return Command
