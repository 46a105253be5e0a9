"""What a user names by where it lies, ``package.module:name``: a loss or a network of his own."""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def is_user_code(text: Any) -> bool:
    """Whether a text is ``package.module:name``.

    >>> is_user_code("my_package.losses:Mine"), is_user_code("RCE")
    (True, False)
    """
    return isinstance(text, str) and _PLACE.fullmatch(text.strip()) is not None


def import_named(place: str) -> Any:
    """What ``package.module:name`` names. Modules beside the user, in the working directory, are found too.

    Raises:
        ValueError: there is no such module, or no such name in it.

    >>> import_named("math:tau")
    6.283185307179586
    """
    module, _, name = place.strip().partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and lacks one that it imports
        raise ValueError(
            f"{place!r}: there is no module {error.name}. It must be installed, or lie in the working directory, "
            f"{here}."
        ) from error
    except AttributeError as error:
        raise ValueError(f"{place!r}: the module {module} has no {name}.") from error
