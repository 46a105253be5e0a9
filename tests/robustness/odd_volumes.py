"""More folders of volumes: odd headers, odd values, odd lists. Those of WORKS are unusual, and read as they are meant."""

import gzip
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
from robustness.odd_folders import NNUNET, Spoil, decathlon, header, instead, labels, listed, volume, volumes, with_json

CUBE = np.zeros((8, 8, 8), np.uint8)
CUBE[2:5, 2:5, 2:5] = 1
NOISE = np.random.default_rng(2).normal(size=(8, 8, 8)).astype(np.float32)
IMAGE, LABEL = "imagesTr/c0_0000.nii.gz", "labelsTr/c0.nii.gz"
BOMB = 1 << 30  # bytes that a few unpack to


def label(values: np.ndarray, affine: np.ndarray | None = None) -> Spoil:
    return lambda root: volume(root / LABEL, values, affine)


def image(values: np.ndarray, affine: np.ndarray | None = None) -> Spoil:
    return lambda root: volume(root / IMAGE, values, affine)


def both(*spoils: Callable[[str], Spoil]) -> Callable[[Path], Path]:
    return volumes(*(spoil(file) for spoil in spoils for file in (IMAGE, LABEL)))


def affine_of(*numbers: float) -> Callable[[Path], Path]:
    """One affine for an image and its label map, as the twelve numbers of the header."""
    return both(lambda file: header(280, struct.pack("<12f", *numbers), file))


def repacked(change: Callable[[bytes], bytes], file: str = IMAGE) -> Spoil:
    """Other bytes in the compressed file."""
    return lambda root: (root / file).write_bytes(change((root / file).read_bytes())) and None


def swapped(root: Path) -> None:
    """Bytes in the other order, which NIfTI allows."""
    for file, values in ((IMAGE, NOISE), (LABEL, CUBE.astype(np.int16))):
        head = nib.Nifti1Header(endianness=">")
        nib.save(nib.Nifti1Image(values.astype(values.dtype.newbyteorder(">")), np.eye(4), head), root / file)


def second_version(root: Path) -> None:
    nib.save(nib.Nifti2Image(NOISE, np.eye(4)), root / IMAGE)


def bomb(root: Path) -> None:
    """A small volume, after which come gigabytes of nothing, well packed."""
    whole = gzip.decompress((root / IMAGE).read_bytes())
    with gzip.open(root / IMAGE, "wb", compresslevel=1) as file:
        file.write(whole)
        for _ in range(BOMB >> 24):
            file.write(bytes(1 << 24))


def hole(root: Path) -> None:
    """A volume that is not packed, of a header and a hole of 200 GB that fits it."""
    for kind, name in (("imagesTr", "c0_0000.nii"), ("labelsTr", "c0.nii")):
        (root / kind / f"{name}.gz").unlink()
        head = nib.Nifti1Header()
        head.set_data_shape((6000, 6000, 6000))
        head.set_data_dtype(np.uint8)
        head["magic"], head["vox_offset"] = b"n+1", 352
        (root / kind / name).write_bytes(head.binaryblock + b"\0\0\0\0")
        os.truncate(root / kind / name, 352 + 6000**3)
        for path in sorted((root / kind).glob("*.gz")):
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()
    (root / "dataset.json").write_text(json.dumps(NNUNET | {"file_ending": ".nii"}))


def unpacked(root: Path) -> None:
    """NIfTI that is not compressed, called as if it were."""
    (root / IMAGE).write_bytes(gzip.decompress((root / IMAGE).read_bytes()))


def raw_json(content: str | bytes) -> Callable[[Path], Path]:
    data = content if isinstance(content, bytes) else content.encode()
    return volumes(instead("dataset.json", lambda path: path.write_bytes(data)))


def entries(**change: str) -> Callable[[Path], Path]:
    """A decathlon whose first entry is another."""
    pairs = decathlon()["training"]
    return listed(training=[pairs[0] | change, *pairs[1:]])


TEXT = json.dumps(NNUNET)
NAN, INF = float("nan"), float("inf")
WORKS: dict[str, Callable[[Path], Path]] = {
    "bytes in the other order": volumes(swapped),
    "a volume of NIfTI's second version": volumes(second_version),
    "a label map with a fourth axis of 1": volumes(label(CUBE[..., None])),
    "a label map of floats": volumes(label(CUBE.astype(np.float64))),
    "a label map of 64 bits": volumes(label(CUBE.astype(np.int16) * 1)),
    "a label map of almost whole numbers": volumes(label(CUBE + np.float32(1e-5))),
    "a volume of one value": volumes(image(np.full((8, 8, 8), 3, np.float32))),
    "a volume packed in two parts": volumes(
        repacked(
            lambda packed: (lambda whole: gzip.compress(whole[:700]) + gzip.compress(whole[700:]))(
                gzip.decompress(packed)
            )
        )
    ),
    "a volume with zeros after its end": volumes(repacked(lambda packed: packed + bytes(512))),
    "a volume that unpacks to gigabytes": volumes(bomb),
    "volumes that lie mirrored": affine_of(-1, 0, 0, 5, 0, 1, 0, 0, 0, 0, 1, 0),
    "volumes that lie turned": affine_of(0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0),
    "a header without a scale": volumes(header(112, struct.pack("<2f", 0, 0))),
    "a header with a scale of NaN": volumes(header(112, struct.pack("<2f", NAN, NAN))),
    "a volume scaled by infinity": volumes(header(112, struct.pack("<2f", INF, 0))),
    "affines of 0": affine_of(*[0] * 12),
    "a header with a spacing of 0": both(lambda file: header(80, struct.pack("<3f", 0, 0, 0), file)),
    "a dataset.json with a BOM": raw_json(b"\xef\xbb\xbf" + TEXT.encode()),
    "a dataset.json with markup": with_json(NNUNET | {"reference": "[/b] [link=x]", "licence": "[red"}),
    "a class with markup": labels({"background": 0, "[/b]": 1}),
    "a class that is a formula": labels({"background": 0, "=1+1": 1}),
    "a class that is a path": labels({"background": 0, "../../t": 1}),
    "another number of cases than was promised": with_json(NNUNET | {"numTraining": "six"}),
    "a label of 65535": labels({"background": 0, "t": 1, "u": 65535}),
    "cases in folders of their own": with_json(
        NNUNET
        | {
            "dataset": {
                f"n{n}": {"images": [f"./imagesTr/../imagesTr/c{n}_0000.nii.gz"], "label": f"labelsTr/c{n}.nii.gz"}
                for n in range(6)
            }
        }
    ),
}
REFUSED: dict[str, Callable[[Path], Path]] = {
    "a label map below 0": volumes(label(-CUBE.astype(np.int16))),
    "a label map of halves": volumes(label(CUBE * np.float32(0.5))),
    "a label map of 2 to the 40": volumes(
        lambda root: nib.save(nib.Nifti1Image(CUBE.astype(np.int64) << 40, np.eye(4), dtype=np.int64), root / LABEL)
    ),
    "a label map of 1e30": volumes(label(CUBE * np.float32(1e30))),
    "a label map of infinity": volumes(label(np.where(CUBE, np.float32(INF), 0).astype(np.float32))),
    "a label map of two maps": volumes(label(np.stack([CUBE, CUBE], -1))),
    "a label map that is scaled": volumes(header(112, struct.pack("<2f", 2, 0), LABEL)),
    "a label map in colours": volumes(header(70, struct.pack("<2h", 128, 24), LABEL)),
    "a volume of infinity": volumes(image(np.full((8, 8, 8), INF, np.float32))),
    "a volume with one NaN": volumes(image(np.where(np.arange(512).reshape(8, 8, 8) == 7, np.float32(NAN), NOISE))),
    "a volume with two channels among others": volumes(image(np.stack([NOISE, NOISE], -1))),
    "a volume that goes on with other things": volumes(repacked(lambda packed: packed + b"and so on")),
    "a volume that is a hole of 200 GB": volumes(hole),
    "a volume that is not packed": volumes(unpacked),
    "a volume packed twice": volumes(repacked(gzip.compress)),
    "affines of NaN": affine_of(*[NAN] * 12),
    "affines of infinity": affine_of(*[INF] * 12),
    "a header that begins inside itself": volumes(header(108, struct.pack("<f", 16))),
    "a header with a spacing of 1e30": volumes(header(80, struct.pack("<3f", 1e30, 1, 1))),
    "keys that are there twice": raw_json(TEXT.replace('"t": 1', '"t": 2, "t": 1')),
    "labels that are text": labels({"background": "0", "t": "1"}),
    "a label that is infinite": raw_json(TEXT.replace('"t": 1', '"t": Infinity')),
    "a label of 5000 digits": raw_json(TEXT.replace('"t": 1', f'"t": {"9" * 5000}')),
    "a channel with a number that is none": with_json(NNUNET | {"channel_names": {"²": "CT", "①": "MR"}}),
    "a decathlon's label with a number that is none": listed(labels={"0": "background", "²": "t"}),
    "a decathlon's label of 5000 digits": listed(labels={"0": "background", "9" * 5000: "t"}),
    "a decathlon's modality of text": listed(modality="CT", labels={"0": "background"}),
    "two documents in a dataset.json": raw_json(TEXT + TEXT),
    "a dataset.json with a comment": raw_json("// ours\n" + TEXT),
    "a dataset.json in Latin-1": raw_json(TEXT.replace('"t"', '"tümör"').encode("latin-1")),
    "a dataset.json that is a hole": volumes(
        instead("dataset.json", lambda path: (path.touch(), os.truncate(path, 10**12)))
    ),
    "paths of another system": entries(image="imagesTr\\c0.nii.gz", label="labelsTr\\c0.nii.gz"),
    "paths of another disk": entries(image="C:\\data\\c0.nii.gz"),
    "a picture for a volume": entries(image="imagesTr/c0.png"),
    "a folder for a volume": entries(image="imagesTr"),
    "a volume as its own label map": entries(label="imagesTr/c0.nii.gz"),
    "names that differ in nothing but their folder": listed(
        training=[{"image": f"imagesTr/{n}/c0.nii.gz", "label": "labelsTr/c0.nii.gz"} for n in "ab"]
    ),
    "regions with one value twice": with_json(
        NNUNET | {"labels": {"background": 0, "a": [1, 2], "b": [1, 2]}, "regions_class_order": [1, True]}
    ),
    "two files of one channel": volumes(
        lambda root: os.rename(root / "imagesTr" / "c1_0000.nii.gz", root / "imagesTr" / "c0_0001.nii.gz")
    ),
}
