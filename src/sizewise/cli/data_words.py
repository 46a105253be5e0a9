"""What a user says of a data set: it is opened by that, and the commands to run next say it again."""

from dataclasses import asdict, dataclass
from pathlib import Path

from sizewise.data.dataset import Dataset
from sizewise.data.recognise import open_dataset
from sizewise.data.split_options import SplitOptions


@dataclass(frozen=True, kw_only=True)
class DataWords:
    """The options of ``sizewise data`` and ``advise``, which ``train`` and ``compare`` know too. Fields are flags."""

    name: str
    merge: bool
    classes_csv: Path | None
    ignore_index: int | None
    modality: str
    background: str
    groups: str
    split: str
    test_share: float | None
    folds: int

    def open(self, path: str) -> Dataset:
        """The data set at a path, read as these words say."""
        return open_dataset(
            path,
            name=self.name,
            merge=self.merge,
            classes_csv=self.classes_csv,
            ignore_index=self.ignore_index,
            modality=tuple(word.strip() for word in self.modality.split(",") if word.strip()),
            background=self.background,
            groups=self.groups,
        )

    def split_options(self) -> SplitOptions:
        """What is said about the split; raises where two words contradict each other."""
        return SplitOptions(table=self.split, test_share=self.test_share, folds=self.folds)

    def flags(self) -> list[str]:
        """Those that were given, for a command line."""
        flags: list[str] = []
        for name, value in (asdict(self) | {"folds": self.folds or None}).items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                flags.append(flag)
            elif value is not None and value is not False and value != "":  # 0 is a value
                flags += [flag, str(value)]
        return flags
