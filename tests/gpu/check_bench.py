"""The benchmark on a GPU: a row for every loss, the device's own time and that in a CUDA graph where it has one."""

import torch

from sizewise.bench import run_benchmark
from sizewise.bench.candidates import CAPTURED
from sizewise.bench.captured import captured
from sizewise.bench.measure import make_input
from sizewise.bench.options import BenchInput


def benchmark() -> None:
    inputs = [BenchInput((2, 3, 64, 64)), BenchInput((2, 3, 64, 64), "bfloat16", "channels_last")]
    rows = run_benchmark("cuda", inputs=inputs, losses=("RCE", "DiceCE"), rounds=2)
    assert {(row["logits"], row["layout"]) for row in rows} == {(one.dtype, one.layout) for one in inputs}
    for row in rows:
        assert row["device_ms"] > 0, row
        assert (row["graph_ms"] is not None) == (row["library"] in CAPTURED), row
    a_graph_is_the_whole_step()


def a_graph_is_the_whole_step() -> None:
    """Value and gradient are computed anew at every replay."""
    logits, target = make_input(BenchInput((2, 3, 64, 64)), "cuda")
    seen = []

    def loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        value = torch.nn.functional.cross_entropy(logits, target)
        seen.append(value)
        return value

    replay = captured(loss, logits, target)
    with torch.no_grad():
        logits.mul_(0)
    replay()
    torch.cuda.synchronize()
    assert abs(float(seen[-1].detach()) - torch.log(torch.tensor(3.0)).item()) < 1e-5, seen[-1]
