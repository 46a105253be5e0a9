"""The error for what users give to the program: files, flags, settings. The command line prints its sentence."""

from importlib import import_module
from types import ModuleType


class BadInput(ValueError):
    """A file, a flag or a setting is wrong. The text says what was wanted, what was given and what to do.

    >>> raise BadInput("evaluate: no label map in 'preds'. Wanted PNG, TIFF or NIfTI files.")
    Traceback (most recent call last):
    sizewise.errors.BadInput: evaluate: no label map in 'preds'. Wanted PNG, TIFF or NIfTI files.
    """


class RunFailed(RuntimeError):
    """A run cannot go on, though nothing was wrong with the input; the text says why and what to do."""


class MissingExtra(BadInput, ImportError):
    """An optional library is not installed; the text names the extra that brings it."""


def import_extra(module: str, *, extra: str, reason: str) -> ModuleType:
    """Import an optional library, or say which extra brings it.

    >>> import_extra("json", extra="train", reason="reading settings").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"{reason} needs {module.split('.')[0]}, which is not installed. "
            f"Install it with: pip install 'sizewise[{extra}]'"
        ) from error
