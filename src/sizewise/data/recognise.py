"""Open a data set by its path: the layout is recognised, or named."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from sizewise.data.dataset import Dataset
from sizewise.data.dataset_json import refuse_damaged
from sizewise.data.open_options import OpenOptions
from sizewise.data.subject_names import with_subjects
from sizewise.errors import BadInput
from sizewise.files import expanded
from sizewise.outside_names import check_case_names, check_name
from sizewise.wording import few

# Modules, the most telling layout first. `LAYOUTS.insert(0, "my_package.my_layout")` adds one from outside.
LAYOUTS = [
    "sizewise.data.cityscapes",
    "sizewise.data.retinal_lesions",
    "sizewise.data.idrid",
    "sizewise.data.cvc_clinicdb",
    "sizewise.data.amos",
    "sizewise.data.nnunet_raw",
    "sizewise.data.decathlon",
    "sizewise.data.kvasir_seg",
    "sizewise.data.folder",
]
SYNTHETIC = ("synthetic", "synthetic-3d")
BACKGROUNDS = ("0", "none")
GENERAL = ("folder", "nnunet-raw", "decathlon")  # layouts of many data sets, whose names may say more than these read
_LISTED = 12


class LayoutModule(Protocol):
    """What a module of ``LAYOUTS`` has."""

    NAME: str
    LAYOUT: str

    def recognise(self, path: Path) -> bool:
        """Whether a folder has this layout. Never raises, and decodes nothing."""
        ...

    def load(self, path: Path, *, options: OpenOptions) -> Dataset:
        """Open it; raises BadInput with what is wrong."""
        ...


@dataclass(frozen=True)
class Layout:
    """A data set that was recognised and not opened yet.

    Attributes:
        name: of the layout, such as ``kvasir-seg``.
        path: where it begins, which may be inside the folder that was named.
        module: what opens it.
    """

    name: str
    path: Path
    module: LayoutModule

    def load(self, options: OpenOptions) -> Dataset:
        """Open it, and group its cases by subject where the user or their names say how."""
        with _readable():
            dataset = self.module.load(self.path, options=replace(options, groups=""))
            check_case_names((case.name for case in dataset.cases), where=f"'{self.path}'")
            check_name(dataset.name, what=f"'{self.path}': the data set")
            for name in dataset.classes:
                check_name(name, what=f"'{self.path}': the class")
                if dataset.classes.count(name) > 1:
                    raise BadInput(f"'{self.path}': two classes are called {name!r}. Give each a name of its own.")
            dataset = with_subjects(dataset, options.groups, may_guess=self.module.NAME in GENERAL)
        return with_background(dataset, options.background)


def with_background(dataset: Dataset, word: str) -> Dataset:
    """The data set with every class scored (``none``), all but label 0 (``0``), or as it was (empty)."""
    if word not in ("", *BACKGROUNDS):
        raise BadInput(f"`background` must be 0 or none, got {word!r}.{_closest(word, BACKGROUNDS)}")
    if not word or dataset.activation == "sigmoid":
        return dataset
    return replace(dataset, background=word == "0")


def open_dataset(
    path: str | Path,
    *,
    name: str = "",
    merge: bool = False,
    classes_csv: Path | None = None,
    ignore_index: int | None = None,
    seed: int = 0,
    modality: tuple[str, ...] = (),
    background: str = "",
    groups: str = "",
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
        background: ``none`` scores every class, ``0`` all but label 0; empty: as the data set has it.
        groups: which cases belong together, where the layout does not know: a pattern or a CSV, see ``OpenOptions``.

    Raises:
        BadInput: nothing there, no layout fits, or something is wrong with the one that does.
    """
    options = OpenOptions(merge, classes_csv, ignore_index, seed, modality, background, groups)
    return find_layout(path, name=name).load(options)


def find_layout(path: str | Path, *, name: str = "") -> Layout:
    """Recognise the data set at ``path`` without opening it; ``name`` forces a layout."""
    if str(path) in SYNTHETIC or name in SYNTHETIC:
        return Layout(name or str(path), Path(name or path), _module("sizewise.data.synthetic"))
    root = expanded(path)
    if not root.exists():
        meant = _closest(str(path), SYNTHETIC)
        raise BadInput(f"There is no folder '{path}'. Wanted a data set's folder, or synthetic.{meant}")
    if not root.is_dir():
        raise BadInput(f"'{path}' is a file. Wanted the folder of a data set; unpack archives first.")
    modules = [_module(one) for one in LAYOUTS]
    with _readable():
        if name:
            return Layout(name, _inside(root, modules), _named(name, modules))
        for folder in dict.fromkeys((root, _inside(root, modules))):  # archives often unpack to a folder in a folder
            refuse_damaged(folder)
            for module in modules:
                if module.recognise(folder):
                    return Layout(module.NAME, folder, module)
        raise BadInput(_nothing_fits(root, modules))


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise BadInput(f"'{error.filename}' may not be read: permission denied.") from error
    except OSError as error:
        raise BadInput(f"'{error.filename}' cannot be read: {error.strerror or error}.") from error


def _module(name: str) -> LayoutModule:
    return cast(LayoutModule, import_module(name))


def _named(name: str, modules: list[LayoutModule]) -> LayoutModule:
    by_name = {module.NAME: module for module in modules}
    if name not in by_name:
        words = ", ".join((*by_name, *SYNTHETIC))
        raise BadInput(f"No data set is called '{name}'. Known: {words}.{_closest(name, by_name)}")
    return by_name[name]


def _closest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


def _inside(root: Path, modules: list[LayoutModule]) -> Path:
    """The folder itself, or the only one in it when there is nothing else."""
    entries = [entry for entry in root.iterdir() if not entry.name.startswith((".", "__MACOSX"))]
    alone = len(entries) == 1 and entries[0].is_dir() and not any(module.recognise(root) for module in modules)
    return _inside(entries[0], modules) if alone else root


def _nothing_fits(root: Path, modules: list[LayoutModule]) -> str:
    entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    listed = few([f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries], most=_LISTED)
    inner = [
        f"'{entry}' looks like {module.NAME}"
        for entry in entries[:_LISTED]
        if entry.is_dir()
        for module in modules
        if module.recognise(entry)
    ]
    layouts = "\n".join(f"  {module.NAME}: {module.LAYOUT}".rstrip(": ") for module in modules)
    return (
        f"'{root}' is no data set that is known here. It holds: {listed or 'nothing'}.\n"
        + (f"But {inner[0]}: did you mean that one?\n" if inner else "")
        + f"Known layouts:\n{layouts}"
    )
