"""Data folders that nobody wants: each function spoils a small good one, or makes one from nothing."""

import gzip
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
from PIL import Image

Spoil = Callable[[Path], None]


def good_folder(root: Path, *, cases: int = 6) -> Path:
    """images/ and masks/ of 16 x 16 pixels, with classes 0 and 1."""
    random = np.random.default_rng(0)
    for kind in ("images", "masks"):
        (root / kind).mkdir(parents=True)
    for number in range(cases):
        save(root / "images" / f"c{number}.png", random.integers(0, 255, (16, 16, 3)))
        save(root / "masks" / f"c{number}.png", square())
    return root


def good_volumes(root: Path, *, cases: int = 6, layout: str = "nnunet") -> Path:
    """nnU-Net's raw layout, or the decathlon's."""
    for kind in ("imagesTr", "labelsTr"):
        (root / kind).mkdir(parents=True)
    random = np.random.default_rng(0)
    number = "_0000" if layout == "nnunet" else ""
    for case in range(cases):
        volume(root / "imagesTr" / f"c{case}{number}.nii.gz", random.normal(size=(8, 8, 8)).astype(np.float32))
        labels = np.zeros((8, 8, 8), np.uint8)
        labels[2:5, 2:5, 2:5] = 1
        volume(root / "labelsTr" / f"c{case}.nii.gz", labels)
    write_json(root, NNUNET if layout == "nnunet" else decathlon(cases))
    return root


NNUNET = {"channel_names": {"0": "CT"}, "labels": {"background": 0, "t": 1}, "numTraining": 6, "file_ending": ".nii.gz"}


def decathlon(cases: int = 6) -> dict:
    names = [f"c{case}.nii.gz" for case in range(cases)]
    pairs = [{"image": f"./imagesTr/{name}", "label": f"./labelsTr/{name}"} for name in names]
    return {"labels": {"0": "background", "1": "t"}, "modality": {"0": "CT"}, "training": pairs, "test": []}


def save(path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(np.asarray(pixels).astype(np.uint8)).save(path)


def square(size: tuple[int, int] = (16, 16)) -> np.ndarray:
    mask = np.zeros(size, np.uint8)
    mask[4:9, 4:9] = 1
    return mask


def volume(path: Path, values: np.ndarray, affine: np.ndarray | None = None) -> None:
    nib.save(nib.Nifti1Image(values, np.eye(4) if affine is None else affine), path)


def write_json(root: Path, content: object) -> None:
    (root / "dataset.json").write_text(content if isinstance(content, str) else json.dumps(content))


def rename(old: str, new: str) -> Spoil:
    def spoil(root: Path) -> None:
        for kind in ("images", "masks"):
            os.rename(os.fsencode(root / kind / old), os.path.join(os.fsencode(root / kind), os.fsencode(new)))

    return spoil


def mask(pixels: np.ndarray, name: str = "c0.png") -> Spoil:
    return lambda root: save(root / "masks" / name, pixels)


def bytes_of(file: str, change: Callable[[bytes], bytes]) -> Spoil:
    return lambda root: (root / file).write_bytes(change((root / file).read_bytes())) and None


def flipped_gz(root: Path) -> None:
    """One bit of the stored voxels, with the header and the checksum of the whole as they were."""
    path = root / "imagesTr" / "c0_0000.nii.gz"
    whole = bytearray(gzip.decompress(path.read_bytes()))
    good = gzip.compress(bytes(whole))
    whole[400] ^= 64
    path.write_bytes(gzip.compress(bytes(whole))[:-8] + good[-8:])


def header(offset: int, value: bytes, file: str = "imagesTr/c0_0000.nii.gz") -> Spoil:
    """Some bytes of a NIfTI header."""

    def spoil(root: Path) -> None:
        whole = bytearray(gzip.decompress((root / file).read_bytes()))
        whole[offset : offset + len(value)] = value
        (root / file).write_bytes(gzip.compress(bytes(whole)))

    return spoil


def instead(file: str, make: Callable[[Path], object]) -> Spoil:
    """Something else where a file was."""

    def spoil(root: Path) -> None:
        (root / file).unlink(missing_ok=True)
        make(root / file)

    return spoil


def text(file: str, content: str) -> Spoil:
    return instead(file, lambda path: path.write_text(content))


def link_to_itself(root: Path) -> None:
    (root / "images" / "loop.png").symlink_to(root / "images" / "loop.png")


def pictures(*spoils: Spoil) -> Callable[[Path], Path]:
    return lambda root: _spoiled(good_folder(root), spoils)


def volumes(*spoils: Spoil, layout: str = "nnunet") -> Callable[[Path], Path]:
    return lambda root: _spoiled(good_volumes(root, layout=layout), spoils)


def with_json(content: object, layout: str = "nnunet") -> Callable[[Path], Path]:
    return volumes(lambda root: write_json(root, content), layout=layout)


def _spoiled(root: Path, spoils: tuple[Spoil, ...]) -> Path:
    for spoil in spoils:
        spoil(root)
    return root


def nothing(root: Path) -> Path:
    root.mkdir()
    return root


def labels(table: object) -> Callable[[Path], Path]:
    return with_json(NNUNET | {"labels": table})


def listed(**change: object) -> Callable[[Path], Path]:
    return with_json(decathlon() | change, layout="decathlon")


PICTURES: dict[str, Callable[[Path], Path]] = {
    "nothing": nothing,
    "no masks": pictures(lambda root: [one.unlink() for one in (root / "masks").iterdir()] and None),
    "no images": pictures(lambda root: [one.unlink() for one in (root / "images").iterdir()] and None),
    "a name that is not UTF-8": pictures(rename("c0.png", os.fsdecode(b"c\xff0.png"))),
    "a carriage return in a name": pictures(rename("c0.png", "c\r0.png")),
    "a line break in a name": pictures(rename("c0.png", "c\n0.png")),
    "an escape in a name": pictures(rename("c0.png", "c\x1b[31m.png")),
    "a name of 250 letters": pictures(rename("c0.png", "n" * 250 + ".png")),
    "a name of blanks": pictures(rename("c0.png", "  .png")),
    "two images that are one case": pictures(
        lambda root: (
            [
                (
                    (root / kind / "p").mkdir(),
                    save(root / kind / "p" / "f.png", square()),
                    save(root / kind / "p_f.png", square()),
                )
                for kind in ("images", "masks")
            ]
            and None
        )
    ),
    "two endings of one name": pictures(lambda root: save(root / "images" / "c0.bmp", square())),
    "a pipe among the images": pictures(lambda root: os.mkfifo(root / "images" / "c7.png")),
    "a pipe among the masks": pictures(instead("masks/c0.png", os.mkfifo)),
    "a pipe for a class table": pictures(lambda root: os.mkfifo(root / "classes.csv")),
    "a folder called as a picture": pictures(instead("masks/c0.png", Path.mkdir)),
    "a link to itself": pictures(link_to_itself),
    "an empty picture": pictures(bytes_of("images/c0.png", lambda content: b"")),
    "half a picture": pictures(bytes_of("images/c0.png", lambda content: content[: len(content) // 2])),
    "half a mask": pictures(bytes_of("masks/c0.png", lambda content: content[: len(content) // 2])),
    "text called as a picture": pictures(bytes_of("images/c0.png", lambda content: b"hello")),
    "a flipped bit of a picture": pictures(
        bytes_of("images/c0.png", lambda content: content[:60] + bytes([content[60] ^ 1]) + content[61:])
    ),
    "a picture of a billion pixels": pictures(
        bytes_of("images/c0.png", lambda content: content[:16] + struct.pack(">II", 60000, 60000) + content[24:])
    ),
    "a mask that is larger than its image": pictures(mask(square((32, 32)))),
    "a mask that is smaller than its image": pictures(mask(square((10, 10)))),
    "a mask of fractions": pictures(
        lambda root: Image.fromarray(square().astype(np.float32) / 3).save(root / "masks" / "c0.tiff")
    ),
    "a mask with many values": pictures(mask(np.arange(256).reshape(16, 16))),
    "a mask with a value that others lack": pictures(mask(square() * 7)),
    "masks in colours without a table": pictures(
        *(mask(np.stack([square() * 200, square() * 90, square()], -1), f"c{n}.png") for n in range(6))
    ),
    "a class table without columns": pictures(text("classes.csv", "hello\n")),
    "an empty class table": pictures(text("classes.csv", "")),
    "a class table of bytes": pictures(instead("classes.csv", lambda path: path.write_bytes(bytes(range(256))))),
    "a class table with one class twice": pictures(text("classes.csv", "name,value\na,0\nb,0\n")),
    "a class table with a huge value": pictures(text("classes.csv", "name,value\na,0\nb,99999999999\n")),
    "a class table with a quote that never ends": pictures(text("classes.csv", 'name,value\n"a,0\nb,1\n')),
    "a class table with a NUL": pictures(text("classes.csv", "name,value\na\0,0\nb,1\n")),
    "NIfTI and pictures in one folder": pictures(
        lambda root: volume(root / "images" / "v.nii.gz", np.zeros((4, 4, 4), np.uint8))
    ),
    "a dataset.json that was cut short": pictures(lambda root: write_json(root, json.dumps(NNUNET)[:40])),
    "a picture of several pages": pictures(
        lambda root: Image.fromarray(square()).save(
            root / "images" / "c9.tiff", save_all=True, append_images=[Image.fromarray(square())]
        )
    ),
}

VOLUMES: dict[str, Callable[[Path], Path]] = {
    "half a dataset.json": with_json(json.dumps(NNUNET)[:50]),
    "a dataset.json in UTF-16": volumes(
        instead("dataset.json", lambda path: path.write_bytes(json.dumps(NNUNET).encode("utf-16")))
    ),
    "an empty dataset.json": with_json(""),
    "a dataset.json with a list": with_json([1, 2]),
    "a dataset.json with a word": with_json('"hello"'),
    "a dataset.json with NaN": with_json('{"channel_names": NaN, "labels": NaN}'),
    "a dataset.json that is nested deeply": with_json("[" * 100_000 + "]" * 100_000),
    "a dataset.json that is a pipe": volumes(instead("dataset.json", os.mkfifo)),
    "a dataset.json that is a folder": volumes(instead("dataset.json", Path.mkdir)),
    "a dataset.json of random bytes": volumes(
        instead("dataset.json", lambda path: path.write_bytes(bytes(range(256))))
    ),
    "ignore that is a class too": labels({"background": 0, "t": 1, "ignore": 1}),
    "ignore that is the background": labels({"background": 0, "t": 1, "ignore": 0}),
    "ignore as two values": labels({"background": 0, "t": 1, "ignore": [2, 3]}),
    "a label of 2 to the 33": labels({"background": 0, "t": 2**33}),
    "a label of 10 to the 40": labels({"background": 0, "t": 10**40}),
    "a label below 0": labels({"background": 0, "t": -1}),
    "a label that is true": labels({"background": 0, "t": True}),
    "a label that is a fraction": labels({"background": 0, "t": 1.5}),
    "a label that is nothing": labels({"background": 0, "t": None}),
    "labels the other way round": labels({"0": "background", "1": "t"}),
    "labels as a list": labels(["background", "t"]),
    "labels as a number": labels(3),
    "no labels": labels({}),
    "no background": labels({"t": 1, "u": 2}),
    "two labels of one value": labels({"background": 0, "t": 1, "u": 1}),
    "a label with an empty list": labels({"background": 0, "t": []}),
    "regions without an order": labels({"background": 0, "t": [1, 2], "u": 2}),
    "a class with a carriage return": labels({"background": 0, "t\r": 1}),
    "a class without a name": labels({"background": 0, "": 1}),
    "a class with a name of 400 letters": labels({"background": 0, "t" * 400: 1}),
    "another file ending": with_json(NNUNET | {"file_ending": ".mha"}),
    "a file ending that is a number": with_json(NNUNET | {"file_ending": 3}),
    "a file ending with stars": with_json(NNUNET | {"file_ending": "**"}),
    "channel names as a list": with_json(NNUNET | {"channel_names": [1]}),
    "more channels than files": with_json(NNUNET | {"channel_names": {"0": "CT", "1": "CT"}}),
    "cases that are listed as a path": with_json(
        NNUNET | {"dataset": {"../../evil": {"images": ["imagesTr/c0_0000.nii.gz"], "label": "labelsTr/c0.nii.gz"}}}
    ),
    "cases that are listed as an absolute path": with_json(
        NNUNET | {"dataset": {"/tmp/evil": {"images": ["imagesTr/c0_0000.nii.gz"], "label": "labelsTr/c0.nii.gz"}}}
    ),
    "cases that are listed as numbers": with_json(NNUNET | {"dataset": {"a": 3}}),
    "a case without images": with_json(NNUNET | {"dataset": {"a": {"images": [], "label": "labelsTr/c0.nii.gz"}}}),
    "images that are numbers": with_json(NNUNET | {"dataset": {"a": {"images": [1], "label": "labelsTr/c0.nii.gz"}}}),
    "images that are no list": with_json(
        NNUNET | {"dataset": {"a": {"images": "imagesTr/c0_0000.nii.gz", "label": "labelsTr/c0.nii.gz"}}}
    ),
    "an image with an over-long path": with_json(
        NNUNET | {"dataset": {"a": {"images": ["x" * 5000], "label": "y" * 5000}}}
    ),
    "an image with a NUL": with_json(
        NNUNET | {"dataset": {"a": {"images": ["a\0.nii.gz"], "label": "labelsTr/c0.nii.gz"}}}
    ),
    "dataset as a number": with_json(NNUNET | {"dataset": 3}),
    "training as an object": listed(training={"a": 1}),
    "training of numbers": listed(training=[1, 2]),
    "training of nothing": listed(training=[]),
    "training with one image twice": listed(training=decathlon()["training"] * 2),
    "training with a star": listed(training=[{"image": "imagesTr/**", "label": "labelsTr/**"}]),
    "training with a bracket": listed(training=[{"image": "imagesTr/[", "label": "labelsTr/c0.nii.gz"}]),
    "training with an empty name": listed(training=[{"image": "", "label": "labelsTr/c0.nii.gz"}]),
    "training with an over-long name": listed(training=[{"image": "x" * 3000, "label": "labelsTr/c0.nii.gz"}]),
    "training with a NUL": listed(training=[{"image": "imagesTr/\0.nii.gz", "label": "labelsTr/c0.nii.gz"}]),
    "training with half a letter": listed(
        training=[{"image": "imagesTr/\ud800.nii.gz", "label": "labelsTr/c0.nii.gz"}]
    ),
    "training with files that are not there": listed(training=[{"image": "a.nii.gz", "label": "b.nii.gz"}]),
    "decathlon labels that are true": listed(labels={"0": True, "1": False}),
    "decathlon labels that are lists": listed(labels={"0": ["a"], "1": ["b"]}),
    "a decathlon label of 2 to the 33": listed(labels={"0": "background", str(2**33): "t"}),
    "decathlon labels of one value": listed(labels={"0": "background", "1": "t", "01": "u"}),
    "a flipped bit inside a volume": volumes(flipped_gz),
    "half a volume": volumes(bytes_of("imagesTr/c0_0000.nii.gz", lambda content: content[: len(content) // 2])),
    "half a label map": volumes(bytes_of("labelsTr/c0.nii.gz", lambda content: content[: len(content) // 2])),
    "an empty volume": volumes(bytes_of("imagesTr/c0_0000.nii.gz", lambda content: b"")),
    "a volume without its last byte": volumes(bytes_of("imagesTr/c0_0000.nii.gz", lambda content: content[:-1])),
    "a volume that is a pipe": volumes(instead("imagesTr/c0_0000.nii.gz", os.mkfifo)),
    "a header with huge dimensions": volumes(header(40, struct.pack("<8h", 3, 32767, 32767, 32767, 1, 1, 1, 1))),
    "a header with dimensions below 0": volumes(header(40, struct.pack("<8h", 3, -8, 8, 8, 1, 1, 1, 1))),
    "a header with no dimensions": volumes(header(40, struct.pack("<8h", 0, 0, 0, 0, 0, 0, 0, 0))),
    "a header with seven dimensions": volumes(header(40, struct.pack("<8h", 7, 8, 8, 2, 2, 2, 1, 1))),
    "a header of an unknown data type": volumes(header(70, struct.pack("<2h", 999, 16))),
    "a header of complex numbers": volumes(header(70, struct.pack("<2h", 32, 64))),
    "a header that begins elsewhere": volumes(header(108, struct.pack("<f", 1e9))),
    "a header with another magic word": volumes(header(344, b"abcd")),
    "a header with a size of its own": volumes(header(0, struct.pack("<i", 12345))),
    "a label map that lies elsewhere": volumes(
        lambda root: volume(root / "labelsTr" / "c0.nii.gz", np.ones((8, 8, 8), np.uint8), np.diag([3, 3, 3, 1]))
    ),
    "a label map of another size": volumes(
        lambda root: volume(root / "labelsTr" / "c0.nii.gz", np.ones((4, 8, 8), np.uint8))
    ),
    "a label map with unknown values": volumes(
        lambda root: volume(root / "labelsTr" / "c0.nii.gz", np.full((8, 8, 8), 9, np.uint8))
    ),
    "a label map of fractions": volumes(
        lambda root: volume(root / "labelsTr" / "c0.nii.gz", np.full((8, 8, 8), 0.4, np.float32))
    ),
    "a label map of NaN": volumes(
        lambda root: volume(root / "labelsTr" / "c0.nii.gz", np.full((8, 8, 8), np.nan, np.float32))
    ),
    "a volume of NaN": volumes(
        lambda root: volume(root / "imagesTr" / "c0_0000.nii.gz", np.full((8, 8, 8), np.nan, np.float32))
    ),
    "an affine of NaN": volumes(header(280, struct.pack("<12f", *[float("nan")] * 12), "labelsTr/c0.nii.gz")),
    "no imagesTr": volumes(lambda root: shutil.rmtree(root / "imagesTr")),
    "an image without a number": volumes(
        lambda root: os.rename(root / "imagesTr" / "c0_0000.nii.gz", root / "imagesTr" / "c0.nii.gz")
    ),
}
