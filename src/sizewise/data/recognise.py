"""Open a data set by its path: the layout is recognised, or named."""

import difflib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from sizewise.data.dataset import Dataset
from sizewise.data.options import Options
from sizewise.errors import BadInput

# Most telling layout first: each module has NAME, recognise(path) and load(path, options=…).
LAYOUTS = (
    "cityscapes",
    "retinal_lesions",
    "idrid",
    "cvc_clinicdb",
    "amos",
    "nnunet_raw",
    "decathlon",
    "kvasir_seg",
    "folder",
)
SYNTHETIC = ("synthetic", "synthetic-3d")
_LISTED = 12


def open_dataset(
    path: str | Path,
    *,
    name: str = "",
    merge: bool = False,
    classes_csv: Path | None = None,
    ignore_index: int | None = None,
    seed: int = 0,
    modality: tuple[str, ...] = (),
) -> Dataset:
    """Recognise the data set at ``path`` and open it.

    Args:
        path: a folder, or ``synthetic`` / ``synthetic-3d`` for images made on the fly.
        name: force a layout instead of recognising one, such as ``folder``.
        merge: join all foreground classes into one.
        classes_csv: which mask value or colour is which class.
        ignore_index: the mask value of pixels that count for nothing.
        seed: of the synthetic images.
        modality: what the channels are, such as ``("CT",)``, where files do not say.

    Raises:
        BadInput: nothing there, no layout fits, or something is wrong with the one that does.
    """
    options = Options(merge, classes_csv, ignore_index, seed, modality)
    if str(path) in SYNTHETIC or name in SYNTHETIC:
        return import_module("sizewise.data.synthetic").load(Path(name or path), options=options)
    root = Path(path).expanduser()
    if not root.exists():
        meant = _closest(str(path), SYNTHETIC)
        raise BadInput(f"There is no folder '{path}'. Wanted a data set's folder, or synthetic.{meant}")
    if not root.is_dir():
        raise BadInput(f"'{path}' is a file. Wanted the folder of a data set; unpack archives first.")
    try:
        return _open_folder(root, name, options)
    except PermissionError as error:
        raise BadInput(f"'{error.filename}' may not be read: permission denied.") from error


def _open_folder(root: Path, name: str, options: Options) -> Dataset:
    modules = [_layout(module) for module in LAYOUTS]
    if name:
        return _named(name, modules).load(_inside(root), options=options)
    for folder in dict.fromkeys((root, _inside(root))):  # archives often unpack to a folder in a folder
        for module in modules:
            if module.recognise(folder):
                return module.load(folder, options=options)
    raise BadInput(_nothing_fits(root, modules))


def _layout(module: str) -> ModuleType:
    return import_module(f"sizewise.data.{module}")


def _named(name: str, modules: list[ModuleType]) -> ModuleType:
    by_name = {module.NAME: module for module in modules}
    if name not in by_name:
        words = ", ".join((*by_name, *SYNTHETIC))
        raise BadInput(f"No data set is called '{name}'. Known: {words}.{_closest(name, by_name)}")
    return by_name[name]


def _closest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


def _inside(root: Path) -> Path:
    """The folder itself, or the only one in it when there is nothing else."""
    entries = [entry for entry in root.iterdir() if not entry.name.startswith((".", "__MACOSX"))]
    return _inside(entries[0]) if len(entries) == 1 and entries[0].is_dir() and not _telling(root) else root


def _telling(root: Path) -> bool:
    return any(_layout(module).recognise(root) for module in LAYOUTS)


def _nothing_fits(root: Path, modules: list[ModuleType]) -> str:
    entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    listed = ", ".join(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries[:_LISTED])
    more = f" and {len(entries) - _LISTED} more" if len(entries) > _LISTED else ""
    inner = [
        f"'{entry}' looks like {module.NAME}"
        for entry in entries[:_LISTED]
        if entry.is_dir()
        for module in modules
        if module.recognise(entry)
    ]
    layouts = "\n".join(f"  {module.NAME}: {getattr(module, 'LAYOUT', '')}".rstrip(": ") for module in modules)
    return (
        f"'{root}' is no data set that is known here. It holds: {listed or 'nothing'}{more}.\n"
        + (f"But {inner[0]}: did you mean that one?\n" if inner else "")
        + f"Known layouts:\n{layouts}"
    )
