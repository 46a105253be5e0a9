"""The verdict as the report shows it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class VerdictGroup:
    """The verdict on one data set and model, or over all.

    Attributes:
        title: which; empty where there is one.
        lead: the main sentence.
        claims: what is shown, with its intervals.
        sentences: what is not shown, or notes.
        details: what the sentences are.
    """

    title: str
    lead: str
    claims: Sequence[str] = ()
    sentences: Sequence[str] = ()
    details: str = "Notes"


def capital(sentence: str) -> str:
    """The sentence with a capital at its start.

    >>> capital("no difference")
    'No difference'
    """
    return sentence[:1].upper() + sentence[1:]
