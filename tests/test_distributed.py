"""Two real processes: scope="global" equals one process with the whole batch, in value and in gradient under DDP."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

import sizewise as sw

RANK = textwrap.dedent(
    """
    import sys
    import torch
    import torch.distributed as dist
    import sizewise as sw
    from torch.nn.parallel import DistributedDataParallel
    from tests.test_distributed import CRITERIA, batch, halves, network

    rank, folder = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    results = {}
    for name, make in CRITERIA.items():
        net = DistributedDataParallel(network())
        images, target, prior = halves(*batch())[rank]
        loss = make(prior)(net(images), target)
        loss.backward()
        results[name] = (loss.detach(), net.module.weight.grad)
    compiled = torch.compile(CRITERIA["RCE"](prior), fullgraph=True, backend="aot_eager")
    results["compiled"] = compiled(network()(images), target).detach()
    stats = sw.region_stats(network()(images), target, ignore_index=255)
    results["sums"] = stats.pooled().all_reduce(dist.new_group([0, 1])).sums.detach()
    torch.save(results, f"{folder}/rank{rank}.pt")
    dist.destroy_process_group()
    """
)

CRITERIA = {
    "RCE": lambda _: sw.loss("RCE", scope="global", ignore_index=255),
    "LogDiceFL": lambda _: sw.loss("LogDiceFL", scope="global", ignore_index=255),
    "DBCE": lambda _: sw.loss("DBCE", scope="global", ignore_index=255, absent="skip"),
    "WCE": lambda _: sw.loss("WCE", scope="global", ignore_index=255),
    "prior per image": lambda prior: sw.Loss(sw.SizeKL(target=prior, scope="global"), ignore_index=255),
    "generalized": lambda _: sw.Loss(sw.GeneralizedDice(scope="global"), ignore_index=255),
}


def network():
    torch.manual_seed(3)
    return nn.Conv2d(1, 3, 1).double()


def batch():
    """Three images with very different numbers of valid pixels; class 2 is on the second rank alone."""
    torch.manual_seed(5)
    images = torch.randn(3, 1, 6, 6, dtype=torch.float64)
    target = torch.randint(0, 2, (3, 6, 6))
    target[2] = torch.randint(0, 3, (6, 6))
    target[0, :5] = 255
    target[1, ::2] = 255
    prior = torch.softmax(torch.randn(3, 3, dtype=torch.float64), 1)
    return images, target, prior


def halves(images, target, prior):
    return [(images[:1], target[:1], prior[:1]), (images[1:], target[1:], prior[1:])]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    root = Path(__file__).parent.parent
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", RANK]
    started = [
        subprocess.Popen([*command, str(rank), str(folder)], env=environment, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    for process in started:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(2)]


@pytest.mark.parametrize("name", CRITERIA)
def test_two_ranks_equal_one_process(ranks, name):
    images, target, prior = batch()
    net = network()
    loss = CRITERIA[name](prior)(net(images), target)
    loss.backward()
    for results in ranks:
        value, gradient = results[name]
        torch.testing.assert_close(value, loss.detach())
        torch.testing.assert_close(gradient, net.weight.grad)


def test_a_batch_scope_would_not_have_been_equal(ranks):
    """The guard of the test above: with unequal numbers of valid pixels, local means differ."""
    images, target, _ = halves(*batch())[0]
    local = sw.loss("RCE", scope="batch", ignore_index=255)(network()(images), target)
    assert abs(float(local.detach()) - float(ranks[0]["RCE"][0])) > 1e-3


def test_global_scope_compiles_and_statistics_sum_over_a_group(ranks):
    images, target, _ = batch()
    whole = sw.region_stats(network()(images), target, ignore_index=255).pooled()
    for results in ranks:
        torch.testing.assert_close(results["compiled"], results["RCE"][0])
        torch.testing.assert_close(results["sums"], whole.sums.detach())


def test_without_a_process_group_global_is_batch():
    images, target, _ = batch()
    logits = network()(images)
    for name in ("RCE", "Dice"):
        torch.testing.assert_close(
            sw.loss(name, scope="global", ignore_index=255)(logits, target),
            sw.loss(name, scope="batch", ignore_index=255)(logits, target),
        )
