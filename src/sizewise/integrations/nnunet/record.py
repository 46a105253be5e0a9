"""``sizewise.json`` in a trained model's folder: what it was trained with."""

import json
import os
from pathlib import Path
from typing import Any

FILE = "sizewise.json"
IDENTITY = ("trainer", "loss", "settings")


def keep_record(folder: Path, record: dict[str, Any]) -> None:
    """Write the record, unless the folder already holds a model that was trained with other settings.

    The folder's name tells settings apart; this also notices defaults that changed between two versions.

    Raises:
        RuntimeError: the folder belongs to other settings.
    """
    path = folder / FILE
    if path.exists():
        try:
            old = json.loads(path.read_text())
            differing = [key for key in IDENTITY if old[key] != record[key]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RuntimeError(
                f"{path}: cannot be read ({error}), so this run cannot tell whether the folder's models had the same "
                "settings. Move the folder away, or delete the file if you know that they had."
            ) from error
        if differing:
            changes = "; ".join(f"{key} was {old[key]}, is now {record[key]}" for key in differing)
            raise RuntimeError(
                f"{folder}: the models here were trained with other settings: {changes}. Move the folder away, or "
                f"train with the sizewise version that wrote it ({old.get('versions', {}).get('sizewise', 'unknown')})."
            )
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{FILE}.{os.getpid()}")
    draft.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    draft.replace(path)  # folds may start at the same moment
