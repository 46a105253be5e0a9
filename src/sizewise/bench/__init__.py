"""Speed and memory of the losses against installed peers, on this machine."""

from sizewise.bench.run import run_benchmark

__all__ = ["run_benchmark"]
