"""Plain PyTorch: mixed precision, gradient accumulation, torch.compile, and DDP or FSDP over several processes.

python examples/plain_pytorch.py
torchrun --nproc-per-node 2 examples/plain_pytorch.py --parallel ddp
torchrun --nproc-per-node 2 examples/plain_pytorch.py --parallel fsdp --compile
"""

import argparse
import os

import torch
import torch.distributed as dist
from discs import discs
from torch import nn

import sizewise as sw

ACCUMULATED = 2  # batches per optimizer step


def network():
    """Three convolutions: enough to have something to train."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 3, 1)
    )


def main():
    """Train a few steps and print the terms of the loss at the first and the last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parallel", choices=("none", "ddp", "fsdp"), default="none")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()

    # One process per device. torchrun sets the rank; without it there is one process.
    cuda = torch.cuda.is_available()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if given.parallel != "none":
        if cuda:
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(0)  # the same weights on every rank

    model = network().to(device)
    if given.parallel == "ddp":
        model = nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if cuda else None)
    elif given.parallel == "fsdp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=init_device_mesh(device.type, (world,)))

    # scope="global" takes the sums of each term over all ranks: the gradient is that of one process with the whole
    # batch, although DDP and FSDP average. The default, "image", takes each image by itself and needs no ranks.
    scope = "image" if given.parallel == "none" else "global"
    criterion = sw.CrossEntropy() + sw.SizeL1(scope=scope)
    criterion.to(device)
    step_loss = torch.compile(criterion) if given.compile else criterion

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    # float16 on a GPU needs a scaler; bfloat16, as here, does not. The loss is float32 in either.
    images, labels = (part.to(device) for part in discs(32, seed=rank))
    for step in range(given.steps):
        optimizer.zero_grad()
        for part in range(ACCUMULATED):
            batch = torch.arange(4 * part, 4 * part + 4) + 8 * (step % 4)
            with torch.autocast(device.type, torch.bfloat16):
                logits = model(images[batch])
            loss = step_loss(logits, labels[batch])
            (loss / ACCUMULATED).backward()  # the mean over the accumulated batches
        optimizer.step()
        if step in (0, given.steps - 1):
            # Each term, unweighted. Under "global" every rank has to call it, whether it prints or not.
            terms = criterion.terms(logits.detach(), labels[batch])
            if rank == 0:
                print(f"step {step + 1}: " + ", ".join(f"{name} {float(value):.3f}" for name, value in terms.items()))

    if given.parallel != "none":
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
