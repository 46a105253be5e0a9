"""More commands: odd numbers, odd paths, odd tables and odd probabilities. The words stand for what they do in odd_arguments.

Besides, DANGLING is a link to nothing, NOWHERE is not there, and PROBABILITIES is a folder with one of those files.
"""

import io
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from robustness.odd_arguments import COMPARE, EVALUATE, TINY, TRAIN

PREDICT = "predict RUN --data DATA --device cpu --subset all"
DECIDE = "decide --probabilities PROBABILITIES --out NEW --device cpu"
CASES = [f"c{number}" for number in range(6)]
FIRST = "".join(f"{case},train\n" for case in CASES[:4])

REFUSED = {
    "an overlap of 1": f"{PREDICT} --out NEW --overlap 1",
    "an overlap below 0": f"{PREDICT} --out NEW --overlap -0.5",
    "an overlap of nan": f"{PREDICT} --out NEW --overlap nan",
    "a temperature below 0": f"{PREDICT} --out NEW --decide dice --temperature -1",
    "a temperature of infinity": f"{PREDICT} --out NEW --decide dice --temperature inf",
    "a subset that is empty": "predict RUN --data DATA --device cpu --out NEW --subset unlabelled",
    "one run twice": f"{PREDICT.replace('RUN', 'RUN RUN')} --out NEW",
    "a run that is a study": PREDICT.replace("RUN", "STUDY") + " --out NEW",
    "predicting among the images": f"{PREDICT} --out DATA/images",
    "predicting among the masks": f"{PREDICT} --out DATA/masks",
    "predicting into the run": f"{PREDICT} --out RUN/best.pt",
    "predicting a device": "predict RUN --data /dev/zero --device cpu --out NEW",
    "predicting from what the kernel shows": "predict RUN --data /proc/self --device cpu --out NEW",
    "threads below 0": f"{PREDICT} --out NEW --threads -1",
    "threads without end": f"{TRAIN} --threads 100000000",
    "an export in a format that is none": "export RUN --format tflite",
    "an export to a folder": "export RUN --format onnx --shape 16x16 --out DATA",
    "an export below a file": "export RUN --format onnx --shape 16x16 --out FILE/model.onnx",
    "an export called as another format": "export RUN --format torch-export --shape 16x16 --out NEW.onnx",
    "an export of a size of 0": "export RUN --format onnx --shape 0x0",
    "an export of a volume": "export RUN --format onnx --shape 16x16x16",
    "an export of no run": "export DATA",
    "early stop below 0": f"{TRAIN} --early-stop -1",
    "an average of 1": f"{TRAIN} --ema 1",
    "an average of 2": f"{TRAIN} --ema 2",
    "an average of nan": f"{TRAIN} --ema nan",
    "batches to gather below 1": f"{TRAIN} --accumulate 0",
    "a precision that is none": f"{TRAIN} --precision float8",
    "deep supervision that the network lacks": f"{TRAIN} --deep-supervision",
    "a logger that is none": f"{TRAIN} --logger clearml",
    "a logger that is no class": f"{TRAIN} --logger os:sep",
    "a logger in a module that is not there": f"{TRAIN} --logger nowhere.at.all:Logger",
    "settings that are a folder": f"train --config DATA --out NEW {TINY}",
    "settings that are text": f"train --config FILE --out NEW {TINY}",
    "settings that are not there": f"train --config NEW --out NEW {TINY}",
    "saving every nan seconds": f"{TRAIN} --save-seconds nan",
    "saving every -1 seconds": f"{TRAIN} --save-seconds -1",
    "a share of crops of 2": f"{TRAIN} --oversample 2",
    "a momentum of 1e300": f"{TRAIN} --optimizer sgd --momentum 1e300",
    "a weight decay below 0": f"{TRAIN} --weight-decay -1",
    "a norm below 0": f"{TRAIN} --clip-norm -3",
    "a power of nan": f"{TRAIN} --schedule poly --power nan",
    "a tolerance of training of nan": f"{TRAIN} --nsd-tolerance nan",
    "an ε of infinity": f"{TRAIN} --loss Dice --smooth inf",
    "a background that is none of two": f"{TRAIN} --background 3",
    "a device with a number that is none": f"{TRAIN} --device cuda:99",
    "nodes without torchrun": f"{TRAIN} --nodes 4",
    "an out of nothing": f"train --data DATA --out= {TINY}",
    "an out in the kernel's folder": f"train --data DATA --out /proc/run {TINY}",
    "an out in the devices' null": f"train --data DATA --out /dev/null/run {TINY}",
    "an out that links to nowhere": f"train --data DATA --out DANGLING/run/.. {TINY}",
    "data of nothing": f"train --data= --out NEW {TINY}",
    "a pattern with a hole": f"{TRAIN} --groups (?P<a>",
    "a pattern that matches nothing": f"{TRAIN} --groups z*",
    "one group for all": f"{TRAIN} --groups c",
    "weights of an encoder from text": f"{TRAIN.replace('monai-unet-small', 'unet-resnet18')} --encoder-weights FILE",
    "processes without end": f"{EVALUATE} --jobs 1000000000",
    "classes of nothing": f"{EVALUATE} --classes ,",
    "classes the wrong way round": f"{EVALUATE} --classes 9-1",
    "one class twice in a region": f"{EVALUATE} --regions 1;1,a",
    "a spacing of words": f"{EVALUATE} --spacing a,b",
    "cases that are neither": f"{EVALUATE} --cases some",
    "a background of words": f"{EVALUATE} --background x",
    "predictions that are the targets' parent": f"{EVALUATE.replace('--pred MAPS', '--pred DATA')}",
    "a report with an empty name": "report --pred =MAPS --target MAPS --out NEW",
    "a report with one name twice in one folder": "report --pred a=MAPS --pred a=MAPS --target MAPS --out NEW --reference b",
    "a report with a name of 300 letters": "report --pred LONG=MAPS --target MAPS --out NEW",
    "a report with pictures from nowhere": "report --pred a=MAPS --target MAPS --out NEW --images NOWHERE",
    "a study with a share of seeds": f"{COMPARE.replace('--seeds 1', '--seeds 0.5')}",
    "a study with a seed twice": f"{COMPARE.replace('--seeds 1', '--seeds 1,1')}",
    "a study with SLURM's options and no value": f"{COMPARE} --engine slurm --slurm partition",
    "a study with SLURM's time of 5000 digits": f"{COMPARE} --engine slurm --slurm time={'9' * 5000}",
    "a study with jobs of 5000 digits": f"{COMPARE} --jobs {'9' * 5000}",
    "a study with an address that is none": f"{COMPARE} --engine local --address x",
    "a study with a temperature of 0": f"{COMPARE} --temperatures 0",
    "a study with a decision that is none": f"{COMPARE} --decisions best",
    "an advice for nothing": "advise NOWHERE",
    "a diagnosis of nothing": "diagnose NOWHERE",
    "a diagnosis of data": "diagnose DATA",
    "a bench of nothing": "bench --losses none",
}

WORKS = {
    "a spacing with one number": f"{EVALUATE} --spacing 1",
    "workers without end": f"{TRAIN} --workers 100000000",
    "batches to gather without end": f"{TRAIN} --accumulate 100000000000",
    "resuming nothing": f"{TRAIN} --resume",
}

SPLIT_TABLES = {
    "a split that names a stranger": f"case,subset\n{FIRST}c4,test\nc5,test\nz,test\n",
    "a split that forgets a case": f"case,subset\n{FIRST}c4,test\n",
    "a split without a test": f"case,subset\n{FIRST}c4,train\nc5,train\n",
    "a split with a case twice": f"case,subset\n{FIRST}c4,test\nc5,test\nc0,test\n",
    "a split with three cells": "case,subset,why\nc0,train,x\n",
    "a split with a subset that is none": f"case,subset\n{FIRST}c4,exam\nc5,test\n",
    "a split in UTF-16": f"case,subset\n{FIRST}c4,test\nc5,test\n".encode("utf-16"),
    "a split of nothing": "",
    "a split with a NUL": f"case,subset\n{FIRST}c4,te\0st\nc5,test\n",
    "a split with a quote that never ends": f'case,subset\n{FIRST}"c4,test\nc5,test\n',
}
GROUPS_TABLES = {
    "groups without a case": "case,group\nc0,a\n",
    "groups with a case in two": "case,group\n" + "".join(f"{case},{case}\n" for case in CASES) + "c0,other\n",
    "groups of one": "case,group\n" + "".join(f"{case},a\n" for case in CASES),
    "groups with an empty cell": "case,group\n" + "".join(f"{case},\n" for case in CASES),
    "groups in Latin-1": ("case,group\n" + "".join(f"{case},ü\n" for case in CASES)).encode("latin-1"),
}

SURE = np.stack([np.full((16, 16), 0.25), np.full((16, 16), 0.75)]).astype(np.float32)


def packed(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def array(values: np.ndarray, *, pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=pickle)
    return file.getvalue()


def promising(shape: str) -> bytes:
    """An array whose header promises more than there is."""
    said = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(said)) + said + bytes(64)


PROBABILITIES: dict[str, Callable[[], tuple[str, bytes]]] = {
    "an array that is a program": lambda: ("c0.npy", array(np.array([print, len], dtype=object), pickle=True)),
    "an archive that is a program": lambda: ("c0.npz", packed(probabilities=np.array([{1}], dtype=object))),
    "an array that promises a terabyte": lambda: ("c0.npy", promising("(2, 400000, 400000)")),
    "an array that promises less than nothing": lambda: ("c0.npy", promising("(-2, 4, 4)")),
    "an array that promises 10 to the 30": lambda: ("c0.npy", promising(f"({10**30}, 4, 4)")),
    "an array that promises words": lambda: ("c0.npy", promising("('a', 4, 4)")),
    "an archive without probabilities": lambda: ("c0.npz", packed(softmax=SURE)),
    "an archive of nothing": lambda: ("c0.npz", packed()),
    "an archive that is cut": lambda: ("c0.npz", packed(probabilities=SURE)[:-40]),
    "an archive that is text": lambda: ("c0.npz", b"hello"),
    "an empty array": lambda: ("c0.npy", b""),
    "probabilities of NaN": lambda: ("c0.npy", array(SURE * np.float32("nan"))),
    "probabilities below 0": lambda: ("c0.npy", array(-SURE)),
    "probabilities that are scores": lambda: ("c0.npy", array(SURE * 20)),
    "probabilities of whole numbers": lambda: ("c0.npy", array(SURE.astype(np.int64))),
    "probabilities that are complex": lambda: ("c0.npy", array(SURE.astype(np.complex64))),
    "probabilities with the classes last": lambda: ("c0.npy", array(np.moveaxis(SURE, 0, -1))),
    "probabilities of one axis": lambda: ("c0.npy", array(SURE[:, 0, 0])),
    "probabilities of one class": lambda: ("c0.npy", array(SURE[:1])),
    "probabilities of no pixel": lambda: ("c0.npy", array(SURE[:, :0])),
    "probabilities that are text": lambda: ("c0.npy", array(np.array([["a"]]))),
}
PROBABILITIES_THAT_WORK: dict[str, Callable[[], tuple[str, bytes]]] = {
    "probabilities in the other byte order": lambda: ("c0.npy", array(SURE.astype(">f4"))),
    "probabilities in columns": lambda: ("c0.npy", array(np.asfortranarray(SURE))),
    "probabilities of 16 bits": lambda: ("c0.npy", array(SURE.astype(np.float16))),
    "probabilities of 64 bits": lambda: ("c0.npy", array(SURE.astype(np.float64))),
    "a name with markup": lambda: ("[bold]x.npy", array(SURE)),
}


def place(folder: Path, name: str, content: bytes) -> None:
    """One file in a folder of its own."""
    folder.mkdir()
    (folder / name).write_bytes(content)


def dangling(root: Path) -> None:
    """A link to what is not there."""
    os.symlink(root / "nothing here", root / "DANGLING")
