"""More folders of pictures: odd files, odd names, odd tables. Those of WORKS are unusual, and read as they are meant."""

import os
import struct
import unicodedata
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from robustness.odd_folders import Spoil, good_folder, instead, mask, pictures, rename, save, square, text

COLOURS = np.random.default_rng(1).integers(0, 255, (16, 16, 3)).astype(np.uint8)


def picture(mode: str, file: str = "images/c0.png", **options: object) -> Spoil:
    """A picture of another mode, where a usual one was."""
    return instead(file, lambda path: Image.fromarray(COLOURS).convert(mode).save(path, **options))


def every_mask(make: Callable[[Path], object], ending: str = ".png") -> Spoil:
    """Each mask written anew."""

    def spoil(root: Path) -> None:
        for path in sorted((root / "masks").iterdir()):
            path.unlink()
            make(path.with_suffix(ending))

    return spoil


def as_mode(mode: str, scale: int = 1) -> Callable[[Path], object]:
    return lambda path: Image.fromarray(square() * scale).convert(mode).save(path)


def palette_mask(path: Path) -> None:
    image = Image.fromarray(square())
    image.putpalette([0, 0, 0, 200, 30, 60, 9, 9, 9])
    image.save(path, transparency=0)


def sparse(file: str, size: int) -> Spoil:
    """A file of nothing but a hole."""

    def make(path: Path) -> None:
        path.write_bytes(b"")
        os.truncate(path, size)

    return instead(file, make)


def bomb_in_text(root: Path) -> None:
    """A PNG whose comment unpacks to 200 MB."""
    whole = (root / "images" / "c0.png").read_bytes()
    packed = zlib.compress(b"a" * 200_000_000)
    chunk = b"zTXt" + b"Comment\0\0" + packed
    said = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    (root / "images" / "c0.png").write_bytes(whole[:33] + said + whole[33:])


def folder_loop(root: Path) -> None:
    """Folders that hold themselves: each picture is found again below."""
    for kind in ("images", "masks"):
        (root / kind / "again").symlink_to(root / kind, target_is_directory=True)


def linked_folders(root: Path) -> None:
    for kind in ("images", "masks"):
        os.rename(root / kind, root.parent / f"{kind} elsewhere")
        (root / kind).symlink_to(root.parent / f"{kind} elsewhere", target_is_directory=True)


def linked_files(root: Path) -> None:
    for path in sorted((root / "images").iterdir()):
        os.rename(path, path.with_suffix(".bin"))
        path.symlink_to(path.with_suffix(".bin"))


def twins(first: str, second: str) -> Spoil:
    """Two cases whose names look alike."""

    def spoil(root: Path) -> None:
        for name in (first, second):
            save(root / "images" / f"{name}.png", COLOURS)
            save(root / "masks" / f"{name}.png", square())

    return spoil


def rename_one(kind: str, old: str, new: str) -> Spoil:
    return lambda root: os.rename(root / kind / old, root / kind / new)


def deeper(levels: int) -> Spoil:
    """Everything some folders further down."""

    def spoil(root: Path) -> None:
        for kind in ("images", "masks"):
            place = (root / kind).joinpath(*(f"level{level}" for level in range(levels)))
            files = sorted((root / kind).iterdir())
            place.mkdir(parents=True)
            for file in files:
                os.rename(file, place / file.name)

    return spoil


def masks_of(values: np.ndarray) -> Spoil:
    return every_mask(lambda path: save(path, values))


def junk(root: Path) -> None:
    """What file managers leave."""
    for kind in ("images", "masks"):
        for name in (".DS_Store", "Thumbs.db", "desktop.ini", "._c0.png", ".hidden.png"):
            (root / kind / name).write_bytes(b"\0\1")
    (root / "__MACOSX").mkdir()


def float_masks(values: np.ndarray) -> Spoil:
    return every_mask(lambda path: Image.fromarray(values.astype(np.float32)).save(path), ".tiff")


def sized(height: int, width: int) -> Callable[[Path], Path]:
    """Every picture of this size."""

    def make(root: Path) -> Path:
        good_folder(root)
        for path in sorted(root.rglob("*.png")):
            save(path, np.zeros((height, width, 3)) if "images" in path.parts else np.eye(height, width))
        return root

    return make


def table(content: str | bytes) -> Callable[[Path], Path]:
    data = content.encode() if isinstance(content, str) else content
    return pictures(instead("classes.csv", lambda path: path.write_bytes(data)))


DECOMPOSED = unicodedata.normalize("NFD", "é")
WORKS: dict[str, Callable[[Path], Path]] = {
    "a palette picture": pictures(picture("P")),
    "a picture in CMYK": pictures(
        instead("images/c0.png", lambda path: Image.fromarray(COLOURS).convert("CMYK").save(path.with_suffix(".jpg")))
    ),
    "a picture in LAB": pictures(
        instead("images/c0.png", lambda path: Image.fromarray(COLOURS).convert("LAB").save(path.with_suffix(".tif")))
    ),
    "a picture of one bit": pictures(picture("1")),
    "a grey picture with transparency": pictures(picture("LA")),
    "a colour picture with transparency": pictures(picture("RGBA")),
    "a picture of 16 bits": pictures(
        instead("images/c0.png", lambda path: Image.fromarray(COLOURS[..., 0].astype(np.uint16) * 200).save(path))
    ),
    "masks of one bit": pictures(every_mask(as_mode("1", 255))),
    "masks with a palette": pictures(every_mask(palette_mask)),
    "masks with transparency": pictures(every_mask(as_mode("LA"))),
    "masks as colour that is grey": pictures(every_mask(as_mode("RGBA"))),
    "masks of 16 bits": pictures(
        every_mask(lambda path: Image.fromarray(square().astype(np.uint16)).save(path)),
    ),
    "masks as whole floats": pictures(float_masks(square())),
    "masks as compressed TIFF": pictures(
        every_mask(lambda path: Image.fromarray(square()).save(path, compression="tiff_lzw"), ".tif")
    ),
    "what file managers leave": pictures(junk),
    "folders that are links": pictures(linked_folders),
    "files that are links": pictures(linked_files),
    "names that differ in case": pictures(twins("Twin", "twin")),
    "names that differ in their Unicode form": pictures(twins("é", DECOMPOSED)),
    "names that read from right to left": pictures(twins("\u202edrawkcab", "\u05d0\u05d1")),
    "names of emoji": pictures(twins("🫁", "🧠 👩‍⚕️")),
    "names of old devices": pictures(twins("CON", "nul")),
    "names with markup": pictures(twins("[red]", "[bold]b[ ]")),
    "names with dots": pictures(twins("a.b.c", "trailing.")),
    "pictures two folders down": pictures(deeper(2)),
    "endings in capitals": pictures(
        *(rename_one("images", f"c{number}.png", f"c{number}.PNG") for number in range(6)),
    ),
    "pictures of one column": sized(300, 1),
    "a class table with a BOM and CRLF": table("\ufeffname,value\r\nbackground,0\r\npolyp,1\r\n"),
    "a class table in capitals": table("NAME , VALUE\nbackground,0\npolyp,1\n"),
    "a class with markup": table("name,value\nbackground,0\n[/b]polyp[link=x],1\n"),
    "a class that is a formula": table('name,value\nbackground,0\n"=HYPERLINK(1)",1\n'),
    "a class that is a path": table("name,value\nbackground,0\n../../etc,1\n"),
    "black and white masks of which one is black": pictures(masks_of(square() * 255), mask(square() * 0)),
}
REFUSED: dict[str, Callable[[Path], Path]] = {
    "a comment of 200 MB": pictures(bomb_in_text),
    "an empty mask": pictures(instead("masks/c0.png", Path.touch)),
    "a picture that is a hole of a terabyte": pictures(sparse("images/c0.png", 10**12)),
    "a mask that is a hole of a terabyte": pictures(sparse("masks/c0.png", 10**12)),
    "a class table that is a hole of a terabyte": pictures(sparse("classes.csv", 10**12)),
    "a folder that holds itself": pictures(folder_loop),
    "a picture that moves": pictures(
        instead(
            "images/c0.png",
            lambda path: Image.fromarray(COLOURS).save(
                path, save_all=True, append_images=[Image.fromarray(255 - COLOURS)]
            ),
        )
    ),
    "masks with values below 0": pictures(
        every_mask(lambda path: Image.fromarray(-square().astype(np.int32)).save(path), ".tiff")
    ),
    "masks of fractions": pictures(float_masks(square() / 2)),
    "masks of infinity": pictures(float_masks(np.where(square(), np.inf, 0))),
    "masks of nothing": pictures(masks_of(square() * 0)),
    "masks that are animations": pictures(
        every_mask(
            lambda path: Image.fromarray(square()).save(
                path, save_all=True, append_images=[Image.fromarray(1 - square())]
            )
        )
    ),
    "pictures that are GIF": pictures(
        lambda root: (
            [
                (Image.fromarray(COLOURS).save(path.with_suffix(".gif")), path.unlink())
                for path in sorted((root / "images").iterdir())
            ]
            and None
        )
    ),
    "a mask named in other letters": lambda root: _named_apart(root, "C{}.png"),
    "masks named in another Unicode form": lambda root: _named_apart(root, DECOMPOSED + "{}.png", "é{}.png"),
    "pictures nine folders down": pictures(deeper(9)),
    "images that are a file": pictures(
        lambda root: [path.unlink() for path in (root / "images").iterdir()] and (root / "images").rmdir(),
        text("images", "hello"),
    ),
    "a class table in UTF-16": table("name,value\nbackground,0\npolyp,1\n".encode("utf-16")),
    "a class table with semicolons": table("name;value\nbackground;0\npolyp;1\n"),
    "a class table with a value of 5000 digits": table(f"name,value\nbackground,0\npolyp,{'9' * 5000}\n"),
    "a class table with a value below 0": table("name,value\nbackground,0\npolyp,-1\n"),
    "a class table with a value with a comma": table("name,value\nbackground,0\npolyp,1.0\n"),
    "a class table of a class alone": table("name,value\nbackground,0\nvoid,1\n"),
    "a class table of 300 classes": table("name,value\n" + "".join(f"c{n},{n}\n" for n in range(300))),
    "a class table with a name of blanks": table("name,value\nbackground,0\n   ,1\n"),
    "a class table with a bell": table("name,value\nbackground,0\npo\x07lyp,1\n"),
    "a class table with one column twice": table("name,value,value\nbackground,0,0\npolyp,1,2\n"),
    "a class table with a cell of a megabyte": table(f"name,value\nbackground,0\n{'p' * 1_000_000},1\n"),
    "a class table without the masks' value": table("name,value\nbackground,0\npolyp,7\n"),
    "a class table of colours that are too bright": table("name,r,g,b\nbackground,0,0,0\npolyp,256,0,0\n"),
    "a name with a line separator": pictures(rename("c0.png", "c\u20280.png")),
}


def _named_apart(root: Path, masks: str, images: str = "c{}.png") -> Path:
    good_folder(root)
    for number in range(6):
        os.rename(root / "images" / f"c{number}.png", root / "images" / images.format(number))
        os.rename(root / "masks" / f"c{number}.png", root / "masks" / masks.format(number))
    return root
