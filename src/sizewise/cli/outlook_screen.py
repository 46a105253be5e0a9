"""What a study can show, on the screen before it starts."""

import re
from collections.abc import Iterable

from sizewise.cli.flags import in_flags
from sizewise.study.outlook import Outlook
from sizewise.study.outlook_sentences import outlook_sentences


def show_outlook(found: Iterable[Outlook]) -> None:
    """The notes of each data set, a line for it with its network, and below it what the study can show."""
    told: set[str] = set()
    for one in found:
        for note in (note for note in one.notes if note not in told):
            print(f"note: {in_flags(note)}")
        told.update(one.notes)
        first, *rest = (_as_typed(sentence) for sentence in outlook_sentences(one))
        print(first)
        for sentence in rest:
            print(f"  {sentence}", flush=True)


def _as_typed(sentence: str) -> str:
    """With the flags of this command, and those of compare, which has the seeds."""
    return re.sub(r"`(seeds)=(\d+)`", r"--\1 \2", in_flags(sentence))
