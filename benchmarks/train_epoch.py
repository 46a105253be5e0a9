"""Training throughput: whole epochs of R50-FPN on Kvasir-SEG against the bare step, in one run, on one GPU.

The bare step is forward, CE, backward and fused Adam in bfloat16, channels_last, captured in one CUDA graph, on random
tensors: no data, no augmentation, no logging. Run it with

    python benchmarks/train_epoch.py PATH_OF_KVASIR_SEG [--epochs 8] [--out DIR]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from device_time import captured, stream_us
from torch import Tensor
from torch.nn import functional

from sizewise.models.build import build_model
from sizewise.train.config import Runtime
from sizewise.train.history import read_history
from sizewise.train.resolve import resolve
from sizewise.train.run import run_training

SIZE, BATCH = 352, 8


def plain_loss(model: torch.nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """Forward in bfloat16 and cross-entropy."""

    def loss_of(images: Tensor, target: Tensor) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(images)
        return functional.cross_entropy(logits.float(), target)

    return loss_of


def bare_step(make_loss: Callable = plain_loss) -> Callable[[], None]:
    """The bare step, eager; ``make_loss`` gives the function of images and target that is stepped on."""
    torch.manual_seed(0)
    model = build_model("fpn-resnet50", spatial_dims=2, in_channels=3, out_channels=2).cuda()
    model = model.to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True, capturable=True)
    images = torch.randn(BATCH, 3, SIZE, SIZE, device="cuda").to(memory_format=torch.channels_last)
    target = torch.randint(0, 2, (BATCH, SIZE, SIZE), device="cuda")
    loss_of = make_loss(model)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss_of(images, target).backward()
        optimizer.step()

    return step


def bare_step_ms(rounds: int = 5, steps: int = 50) -> float:
    """Median milliseconds of the bare step, captured."""
    replay = captured(bare_step())
    return statistics.median([stream_us(replay, steps) / 1e3 for _ in range(rounds + 1)][1:])


def main() -> None:
    """Measure, print, and write a row where --out is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--graphs", default="auto")
    parser.add_argument("--compile", default="off")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    bare = bare_step_ms()
    settings = {"data": options.data, "recipe": "polyp", "encoder_weights": "none", "epochs": options.epochs}
    run = resolve(settings)
    runtime = Runtime(deterministic=options.deterministic, graphs=options.graphs, compile=options.compile)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run_training(run, folder=Path(folder) / "run", runtime=runtime)
        total = time.perf_counter() - start
        rows = read_history(Path(folder) / "run" / "history.csv")
    steps = 800 // BATCH
    first = rows[0]["train_seconds"]
    ours = statistics.median(row["train_seconds"] for row in rows[1:]) / steps * 1e3
    whole = statistics.median(row["seconds"] for row in rows[1:])
    lines = [
        f"gpu,{torch.cuda.get_device_name()}",
        f"torch,{torch.__version__}",
        f"deterministic,{options.deterministic}",
        f"graphs,{options.graphs}",
        f"compile,{options.compile}",
        f"bare_step_ms,{bare:.3f}",
        f"our_step_ms,{ours:.3f}",
        f"rate_over_bare,{bare / ours:.3f}",
        f"first_epoch_s,{first:.2f}",
        f"epoch_with_validation_s,{whole:.3f}",
        f"whole_run_s,{total:.1f}",
        f"epochs,{options.epochs}",
    ]
    print("\n".join(lines))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        name = (
            "train_epoch"
            + ("-deterministic" if options.deterministic else "")
            + ("-compiled" if options.compile == "on" else "")
        )
        (options.out / f"{name}.csv").write_text("measure,value\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
