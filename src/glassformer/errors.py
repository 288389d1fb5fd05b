"""The exceptions of Glassformer. Every message says what it got, what is allowed and what to do.

    GlassformerError
    ├── SettingsError      a recipe, a setting or an argument is wrong
    ├── DataError          data cannot be read or used as asked
    ├── TokenizerError     a tokenizer cannot be trained, read or used as asked
    ├── RunError           a run folder is missing, damaged, in use or does not fit
    ├── ModelError         a model cannot do what is asked (for instance: sentence too long)
    ├── RankError          processes that train together lost contact or do not fit
    ├── ImportingError     an external model cannot be read
    └── ExportError        a model cannot be exported, or an export is wrong

Code looks at the class, people read the message. The command line turns each error into one line on stderr and exit
code 2.
"""

from __future__ import annotations


class GlassformerError(Exception):
    """The base of all errors that a user can cause and fix."""


class SettingsError(GlassformerError):
    """A recipe, a setting or an argument is wrong."""


class DataError(GlassformerError):
    """Data cannot be read or used as asked."""


class TokenizerError(GlassformerError):
    """A tokenizer cannot be trained, read or used as asked."""


class RunError(GlassformerError):
    """A run folder is missing, damaged, in use, or does not fit what is asked."""


class ModelError(GlassformerError):
    """A model cannot do what is asked."""


class RankError(GlassformerError):
    """Processes that train together lost contact or do not fit. Empty if another process has reported the reason."""


class ImportingError(GlassformerError):
    """An external model cannot be read: a file, a setting or a tensor is missing, wrong or unknown."""


class ExportError(GlassformerError):
    """A model cannot be exported, or an export is wrong."""
