"""What a user may say about a data set when opening it; every layout module gets the same options."""

from dataclasses import dataclass, fields
from pathlib import Path

from sizewise.errors import BadInput

LARGEST_IGNORED = 32767  # label maps are read as 16 bits


@dataclass(frozen=True)
class OpenOptions:
    """How to read a data set, where its layout leaves a choice.

    Attributes:
        merge: join all foreground classes into one.
        classes_csv: the table of class names with their mask values or colours, where the data set has none of its own.
        ignore_index: the mask value of pixels that count for nothing.
        seed: of whatever is drawn at random (synthetic images).
        modality: what the channels are, such as ``("CT",)``, where the data set's own files do not say.
        background: ``"none"`` scores every class, ``"0"`` all but label 0; empty: as the data set has it.
        groups: which cases belong together: a regular expression whose match in a case's name is the group, or the path
            of a CSV with the columns case and group. Layouts never see it: it is applied to whatever they open.

    >>> OpenOptions(merge=True).ignore_index is None
    True
    """

    merge: bool = False
    classes_csv: Path | None = None
    ignore_index: int | None = None
    seed: int = 0
    modality: tuple[str, ...] = ()
    background: str = ""
    groups: str = ""

    def __post_init__(self) -> None:
        if self.ignore_index is not None and not abs(self.ignore_index) <= LARGEST_IGNORED:
            raise BadInput(
                f"`ignore_index` must lie between {-LARGEST_IGNORED} and {LARGEST_IGNORED}, got {self.ignore_index}."
            )


def refuse_unused(options: OpenOptions, *, where: str, used: tuple[str, ...]) -> None:
    """Say so when an option is given that the layout has no use for, instead of going on without it.

    The seed is never refused: every run has one. Nor is the background: it is no matter of reading.

    >>> refuse_unused(OpenOptions(merge=True), where="kvasir-seg", used=("merge",))
    >>> refuse_unused(OpenOptions(ignore_index=255), where="kvasir-seg", used=("merge",))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sizewise.errors.BadInput: kvasir-seg: `ignore_index` has no use here; leave it out, or read the masks as they come \
with `name=folder`.
    """
    for field in fields(OpenOptions):
        given = getattr(options, field.name) != field.default
        if given and field.name not in (*used, "seed", "background"):
            raise BadInput(
                f"{where}: `{field.name}` has no use here; leave it out, or read the masks as they come with "
                "`name=folder`."
            )
