"""Data sets that several runs read: each is opened once."""

from pathlib import Path
from typing import Any

from sizewise.data.dataset import Dataset
from sizewise.data.open_options import OpenOptions
from sizewise.data.recognise import SYNTHETIC, Layout, find_layout
from sizewise.data.split import Split
from sizewise.data.split_options import SplitOptions, drawn, make_split
from sizewise.data.strata import strata_of
from sizewise.files import expanded
from sizewise.train.config import RunConfig


class OpenDatasets:
    """What was recognised and opened so far, by the settings that decide how."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[str, str], Layout] = {}
        self._datasets: dict[tuple[Any, ...], Dataset] = {}
        self._splits: dict[tuple[int, SplitOptions], Split] = {}
        self._strata: dict[int, dict[str, str]] = {}

    def layout(self, data: str, name: str) -> Layout:
        """Which layout the data has; nothing is opened."""
        if (data, name) not in self._layouts:
            self._layouts[data, name] = find_layout(data, name=name)
        return self._layouts[data, name]

    def open(self, config: RunConfig) -> Dataset:
        """The data set that the settings name, read as they say."""
        options = OpenOptions(
            merge=config.merge,
            classes_csv=Path(config.classes_csv) if config.classes_csv else None,
            ignore_index=config.ignore_index,
            seed=config.split_seed,
            modality=config.modality,
            background="" if config.background == "auto" else config.background,
            groups=config.groups,
        )
        key = (config.data, config.data_name, options)
        if key not in self._datasets:
            self._datasets[key] = self.layout(config.data, config.data_name).load(options)
        return self._datasets[key]

    def split(self, dataset: Dataset, config: RunConfig) -> Split:
        """The split that the settings ask for. Drawing one may read every mask, which happens once."""
        options = SplitOptions(config.split_seed, config.split, config.test_share, config.folds, config.fold)
        key = id(dataset), options  # data sets that were opened here stay open
        if key not in self._splits:
            if drawn(dataset, options) and id(dataset) not in self._strata:
                self._strata[id(dataset)] = strata_of(dataset)
            self._splits[key] = make_split(dataset, options, strata=self._strata.get(id(dataset)))
        return self._splits[key]


def full_file(word: str) -> str:
    """One name for a table from wherever the command was run; a pattern stays what it is.

    >>> full_file("patient[0-9]+")
    'patient[0-9]+'
    """
    path = expanded(word)
    return str(path.resolve()) if word and path.is_file() else word


def full_path(data: str) -> str:
    """The same data has one name, from wherever the command was run; names of built-in data stay.

    >>> full_path("synthetic")
    'synthetic'
    """
    path = expanded(data)
    return data if data in SYNTHETIC or not path.exists() else str(path.resolve())
