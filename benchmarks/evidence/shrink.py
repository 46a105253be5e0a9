"""A copy of IDRiD at a fraction of its size: surfaces and components of 12 million pixels cost more than training.

    python benchmarks/evidence/shrink.py idrid idrid-quarter --by 4

A pixel of the copy is the mean of a block of the photograph; it belongs to a region if at least half of its block does.
"""

import argparse
from pathlib import Path

from PIL import Image


def main() -> None:
    """Read the arguments and copy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--by", type=int, default=4)
    options = parser.parse_args()
    shrink(options.source, options.out, options.by)


def shrink(source: Path, out: Path, by: int) -> None:
    """Every picture below ``source``, as PNG below ``out``; folders whose name begins with masks hold regions."""
    unfinished = out.with_name(out.name + ".part")
    for path in sorted(source.rglob("*")):
        if path.suffix.lower() not in (".jpg", ".png", ".tif"):
            continue
        target = unfinished / path.relative_to(source).with_suffix(".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as picture:
            smaller(picture, by, is_mask=path.parent.name.startswith("masks")).save(target)
    unfinished.rename(out)  # whole, or not there


def smaller(picture: Image.Image, by: int, *, is_mask: bool) -> Image.Image:
    """The mean of each block of ``by`` × ``by`` pixels; of a mask whether it is at least a half.

    >>> mask = Image.new("1", (4, 2))
    >>> mask.putdata([1, 0, 1, 0, 1, 0, 0, 0])
    >>> list(smaller(mask, 2, is_mask=True).tobytes())
    [255, 0]
    """
    if not is_mask:
        return picture.convert("RGB").reduce(by)
    inside = picture.convert("L").point(lambda value: 255 if value else 0)
    return inside.reduce(by).point(lambda value: 255 if value >= 127 else 0)  # half of 255, rounded either way


if __name__ == "__main__":
    main()
