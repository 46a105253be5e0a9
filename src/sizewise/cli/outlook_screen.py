"""What a study can show, on the screen before it starts."""

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
        first, *rest = outlook_sentences(one)
        print(in_flags(first))
        for sentence in rest:
            print(f"  {in_flags(sentence)}", flush=True)
