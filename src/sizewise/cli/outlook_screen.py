"""What a study can show, on the screen before it starts."""

import re
from collections.abc import Iterable

from sizewise.cli.flags import in_flags
from sizewise.cli.show import show_sentences
from sizewise.study.outlook import Outlook
from sizewise.study.outlook_sentences import outlook_sentences


def show_outlook(found: Iterable[Outlook]) -> None:
    """The notes of each data set, a line for it with its network, and below it what the study can show."""
    told: set[str] = set()
    for one in found:
        for note in (note for note in one.notes if note not in told):
            show_sentences(f"note: {in_flags(note)}")
        told.update(one.notes)
        first, *rest = (_as_typed(sentence) for sentence in outlook_sentences(one))
        show_sentences(first)
        for sentence in rest:
            show_sentences(f"  {sentence}")


def _as_typed(sentence: str) -> str:
    """With the flags of this command, and those of compare, which has the seeds."""
    return re.sub(r"`(seeds)=(\d+)`", r"--\1 \2", in_flags(sentence))
