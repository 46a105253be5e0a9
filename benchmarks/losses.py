"""Speed and memory of our losses against torch, MONAI, nnU-Net and SMP; see --help."""

import argparse
import sys
from pathlib import Path

import sizewise as sw
from sizewise.bench import run_benchmark


def main():
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: a GPU if there is one")
    parser.add_argument(
        "--losses", default="RCE,CE,DiceCE", help="our losses, comma-separated; RCE has to be among them"
    )
    parser.add_argument(
        "--shape", action="append", help="shape of the logits as 8x2x512x512; may be given several times"
    )
    parser.add_argument("--repeats", type=int, default=15, help="timed rounds")
    parser.add_argument("--no-memory", action="store_true", help="leave the memory measurement out")
    parser.add_argument("--out", type=Path, help="CSV file for the rows")
    given = parser.parse_args()
    losses = tuple(given.losses.split(","))
    try:
        shapes = [tuple(int(size) for size in shape.split("x")) for shape in given.shape or ()]
        for name in losses:
            sw.loss(name)
    except ValueError as error:
        parser.error(f"{error} A shape is written as 8x2x512x512.")
    if "RCE" not in losses:
        parser.error("--losses must name RCE, which the others are compared with.")
    if any(len(shape) < 3 or min(shape) < 1 for shape in shapes) or given.repeats < 1:
        parser.error("--shape must be NxKxS with at least three sizes above 0, and --repeats at least 1.")
    run_benchmark(
        given.device,
        shapes=shapes or None,
        losses=losses,
        repeats=given.repeats,
        memory=not given.no_memory,
        out=given.out,
    )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
