"""Which true label map belongs to which prediction, by their names."""

from collections.abc import Iterable
from pathlib import Path

from sizewise.data.pairs import pair_names, read_folder_name


def pair_targets(predicted: Iterable[str], targets: Iterable[str], folder: Path) -> dict[str, str]:
    """The target of each prediction that has one, by file stems.

    A prediction is named after its case: after its image, whose mask may be called ``x_mask``; and where a data set has
    one name in several subsets, with the subset before it. Then ``test_x`` is the prediction for ``test/masks/x``.

    Args:
        predicted: stems of the predictions.
        targets: stems of the true label maps.
        folder: where these lie.

    >>> pair_targets(["test_7", "a"], ["7", "a_mask"], Path("data/test/masks"))
    {'a': 'a_mask', 'test_7': '7'}
    """
    names, wanted = list(predicted), list(targets)
    partners = pair_names(names, wanted)
    for place in (folder, folder.resolve().parent):
        found = read_folder_name(place.name)
        if found is None or not found.subset:
            continue
        start = f"{found.subset}_"
        bare = {name.removeprefix(start): name for name in names if name not in partners and name.startswith(start)}
        left = [name for name in wanted if name not in partners.values()]
        partners |= {bare[name]: target for name, target in pair_names(bare, left).items()}
    return partners
