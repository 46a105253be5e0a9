"""The true size of every region beside the error of its predicted one."""

from dataclasses import dataclass

import numpy as np

from sizewise.report.scores import Part, Scores

MISSING = "the table has no true sizes. Earlier versions did not write them: score the cases again."


@dataclass(frozen=True)
class TrueSizes:
    """Rows whose true size is known.

    Attributes:
        part: the rows; their value is the size error, p − t.
        true: t, the proportion of the image that is the region.
        missing: size errors whose true size is not in the table, as of runs that an earlier version scored.
    """

    part: Part
    true: np.ndarray
    missing: int = 0

    @property
    def note(self) -> str:
        """What a caption says of those that are missing."""
        return (
            f" {self.missing:,} values of earlier versions, without true sizes, are left out." if self.missing else ""
        )

    def of(self, setting: int, class_id: int) -> np.ndarray:
        """Which rows are of this class there."""
        return (self.part.setting == setting) & (self.part.class_id == class_id)

    @property
    def regions(self) -> list[tuple[int, int]]:
        """The pairs of setting and class."""
        found = np.unique(np.stack([self.part.setting, self.part.class_id]), axis=1).T
        return [(int(setting), int(class_id)) for setting, class_id in found]


def true_sizes(scores: Scores) -> TrueSizes:
    """Both sizes of each case and class, as far as the table has them."""
    error = scores.of("size_error")
    true = scores.beside(error, "true_proportion")
    known = np.isfinite(error.value) & np.isfinite(true)
    return TrueSizes(error.where(known), true[known], int(np.isfinite(error.value).sum() - known.sum()))


def region_name(scores: Scores, setting: int, class_id: int) -> str:
    """A class of a setting, in words."""
    return f"{scores.settings[setting]}: {scores.class_name(setting, class_id)}"
