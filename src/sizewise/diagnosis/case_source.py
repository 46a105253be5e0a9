"""Where the cases of a diagnosis come from, and what is known of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from sizewise.diagnosis.case_measure import CaseMeasure, Problem

NO_PROBABILITIES = (
    "there are no probabilities. `sizewise predict` has the option save-probabilities, `nnUNetv2_predict` the option "
    "save_probabilities; give the folder that they write as `probabilities`."
)


@dataclass(frozen=True)
class CaseSource:
    """Cases that are measured one after another, so that memory does not grow with their number.

    Attributes:
        title: what is diagnosed, in words.
        measures: the cases, as they come; gone through once.
        problem: what their labels mean.
        count: how many cases there are.
        probabilities: whether they have probabilities.
        temperature: what was fitted; None where nothing was.
        fitted: how it was fitted, or why it was not, as a sentence.
        notes: what the reader has to know.
    """

    title: str
    measures: Iterable[CaseMeasure]
    problem: Problem
    count: int
    probabilities: bool
    temperature: float | None
    fitted: str
    notes: tuple[str, ...] = ()
