"""Images that are in a data set twice: in different groups one may be trained on, and the other scored."""

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np

from sizewise.data.dataset import Case
from sizewise.wording import listed

_NAMED = 6


def digest(pixels: np.ndarray) -> str:
    """A fingerprint of what was decoded: how a file is compressed, or when it was written, does not matter.

    >>> digest(np.zeros((1, 2, 3))) == digest(np.zeros((1, 3, 2)))
    False
    """
    content = hashlib.blake2b(np.ascontiguousarray(pixels).data, digest_size=16)
    content.update(f"{pixels.dtype.str}{pixels.shape}".encode())
    return content.hexdigest()


def same_images(cases: Iterable[tuple[Case, str]]) -> Iterator[str]:
    """A sentence for each image that several groups have.

    Args:
        cases: each with the fingerprint of its image; empty: it could not be read.

    >>> first, second = Case("patient074_frame01", (), group="074"), Case("patient076_frame01", (), group="076")
    >>> next(same_images([(first, "a"), (second, "a"), (Case("b", ()), "b")]))  # doctest: +ELLIPSIS
    'patient074_frame01 and patient076_frame01 are the same image in 2 groups. One may...'
    """
    found: dict[str, list[Case]] = {}
    for case, fingerprint in cases:
        if fingerprint:
            found.setdefault(fingerprint, []).append(case)
    for same in found.values():
        groups = {("group", case.group) if case.group else ("case", case.name) for case in same}
        if len(groups) > 1:
            names = [case.name for case in same]
            where = f" in {len(groups)} groups" if any(case.group for case in same) else ""
            yield (
                f"{listed(names, most=_NAMED)} are the same image{where}. One may be trained on and another scored: "
                "remove all but one, or put them into one group with a CSV for `groups`."
            )
