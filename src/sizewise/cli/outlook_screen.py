"""What a study can show, on the screen before it starts."""

from collections.abc import Iterable

from sizewise.cli.flags import in_flags
from sizewise.study.outlook import Outlook
from sizewise.study.outlook_sentences import outlook_sentences


def show_outlook(found: Iterable[Outlook]) -> None:
    """A line for each data set and network, and below it what it can show."""
    for one in found:
        first, *rest = outlook_sentences(one)
        print(in_flags(first))
        for sentence in rest:
            print(f"  {in_flags(sentence)}", flush=True)
