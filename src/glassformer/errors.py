"""The exceptions of Glassformer. Every message says what was got, what is allowed and what to do.

    GlassformerError
    ├── SettingsError      a recipe, a setting or an argument is wrong
    ├── DataError          a file of sentences cannot be read as asked
    ├── TokenizerError     a tokenizer cannot be trained, read or used as asked
    ├── RunError           a run folder is missing, damaged, in use or does not fit
    ├── ModelError         a model cannot do what is asked of it (for instance: sentence too long)
    ├── RankError          processes that train together have lost each other or do not fit
    ├── ImportingError     a model made by others cannot be read
    └── ExportError        a model cannot be exported, or an export is not what it should be

The class tells code what happened, the message tells a person. The command line turns each of them into one
line on stderr and exit code 2.
"""

from __future__ import annotations


class GlassformerError(Exception):
    """The root of all errors that a user can cause and mend."""


class SettingsError(GlassformerError):
    """A recipe, a setting or an argument is wrong."""


class DataError(GlassformerError):
    """A file of sentences cannot be read as asked."""


class TokenizerError(GlassformerError):
    """A tokenizer cannot be trained, read or used as asked."""


class RunError(GlassformerError):
    """A run folder is missing, damaged, in use, or does not fit what is asked."""


class ModelError(GlassformerError):
    """A model cannot do what is asked of it."""


class RankError(GlassformerError):
    """Processes that train together have lost each other or do not fit. Empty where another of them has told why."""


class ImportingError(GlassformerError):
    """A model made by others that cannot be read: a file, a setting or a tensor is missing, wrong or unknown."""


class ExportError(GlassformerError):
    """A model that cannot be exported, or an export that is not what it should be."""
