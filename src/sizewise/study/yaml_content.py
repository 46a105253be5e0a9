"""What a YAML file holds, or a sentence: as strict as the reader of JSON, and without what YAML 1.1 makes of 1:30."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from sizewise.errors import BadInput

LARGEST_BYTES = 2**20  # a study is a page of text


class _Loader(yaml.SafeLoader):
    """Refuses a name that is there twice, of which the last would win; minutes and seconds are no number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for place, (key, _) in enumerate(node.value):
            if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in names[:place]:
                raise yaml.constructor.ConstructorError(
                    problem=f"{key.value!r:.80} is there twice", problem_mark=key.start_mark
                )
        return super().construct_mapping(node, deep)


def _number_or_word(kind: str) -> Any:
    def construct(loader: _Loader, node: yaml.ScalarNode) -> Any:
        return node.value if ":" in node.value else getattr(yaml.SafeLoader, f"construct_yaml_{kind}")(loader, node)

    return construct


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _number_or_word(_kind))


def read_yaml_content(path: Path) -> Any:
    r"""What a file holds. It must be a plain one: a pipe would be waited for.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("seeds: 3\nramp: 1:30\n")
    ...     file.flush()
    ...     read_yaml_content(Path(file.name))
    {'seeds': 3, 'ramp': '1:30'}
    """
    if not path.is_file():
        state = "is no plain file" if path.exists() else "does not exist"
        raise BadInput(f"'{path}' can't be read: it {state}. Name a YAML file.")
    if (size := path.stat().st_size) > LARGEST_BYTES:
        raise BadInput(f"'{path}' has {size / 2**20:.0f} MiB, and a study is a page of text. Name its YAML file.")
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise BadInput(f"'{path}' can't be read: {error.strerror or error}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"'{path}' is not valid YAML in UTF-8: {error}") from error
