"""Options that take their help text from a setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperOption

if TYPE_CHECKING:
    from glassformer.config import Settings


def command_with_help_of(settings: Callable[[], type[Settings]]) -> type[TyperCommand]:
    """A command whose options without help text take the help of the setting with the same name.

    The settings are imported only when help is shown: the import takes longer than the rest of `glassformer --help`.
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
