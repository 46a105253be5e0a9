"""The checks that need a GPU, as a plain script: ``PYTHONPATH=src:tests python tests/gpu_check.py [NAME]``.

Compiled kernels against float64 on a sample of all forms, identical bits, CUDA graphs, torch.compile, bad labels,
more than 2^31 elements, and the peak of memory.
"""

import copy
import os
import pickle
import subprocess
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.utils.checkpoint
from gpu_components import components
from gpu_decisions import deciding
from gpu_upsampled import upsampled
from kernel_cases import FIELD_SETS, RCE, Case, build, judge
from sampling import sample

import sizewise as sw
from sizewise.stats.kernels import label_errors, passes

FORMS = [
    Case(shape, dtype, target, sigmoid, mask, ignore_index, layout, fields)
    for shape in ((2, 3, 67, 65), (2, 19, 40, 64), (1, 16, 9, 16, 33), (2, 150, 30, 31))
    for dtype in ("float32", "bfloat16", "float16", "float64")
    for target in ("uint8", "int64", "int16", "shares float32")
    for sigmoid in (False, True)
    for mask in (False, True)
    for ignore_index in (None, 1)
    for layout in ("contiguous", "channels_last", "crop", "shifted")
    for fields in FIELD_SETS
    if not (ignore_index is not None and target.startswith("shares")) and not (sigmoid and shape[1] > 19)
]


def forms(count: int = 20) -> None:
    worst = (0.0, 0.0)
    for case in sample(FORMS, count, seed=3):
        errors = judge(case, passes, "cuda")
        if case.dtype == "float32":
            worst = max(worst[0], errors[0]), max(worst[1], errors[1])
    print(f"  worst float32 error: sums {worst[0]:.1e}, gradient {worst[1]:.1e}")


def by_words() -> None:
    """Every form that the kernels by words take by default, with an end that is no whole tile, and the same bits."""
    for shape, dtype, layout, fields in (
        ((2, 19, 40, 66), "float32", "contiguous", "rce"),
        ((2, 19, 40, 66), "bfloat16", "contiguous", "dice"),
        ((2, 19, 41, 66), "float16", "contiguous", "rce"),
        ((2, 19, 40, 66), "float32", "channels_last", "dice"),
        ((2, 21, 40, 66), "bfloat16", "channels_last", "rce"),
        ((1, 27, 40, 66), "bfloat16", "channels_last", "dice"),
        ((1, 150, 40, 66), "bfloat16", "contiguous", "dice"),
    ):
        case = Case(shape, dtype, "uint8", mask=dtype == "float32", ignore_index=255, layout=layout, fields=fields)
        judge(case, passes, "cuda")
        arguments = build(case, "cuda")
        sums = [passes.region_sums(*arguments) for _ in range(2)]
        gradients = [passes.region_gradient(sums[0], *arguments) for _ in range(2)]
        assert torch.equal(*sums), case
        assert torch.equal(*gradients), case


def same_bits() -> None:
    arguments = build(Case((4, 19, 256, 256), fields="rce"), "cuda")
    sums = [passes.region_sums(*arguments) for _ in range(5)]
    gradients = [passes.region_gradient(sums[0], *arguments) for _ in range(5)]
    assert all(torch.equal(sums[0], one) for one in sums)
    assert all(torch.equal(gradients[0], one) for one in gradients)


def step(criterion, logits, target):
    loss = criterion(logits, target)
    return loss.detach(), torch.autograd.grad(loss, logits)[0]


def graph() -> None:
    criterion = sw.loss("RCE").cuda()
    logits = torch.randn(4, 5, 64, 64, device="cuda", requires_grad=True)
    target = torch.randint(0, 5, (4, 64, 64), device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(criterion, logits, target)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss, gradient = step(criterion, logits, target)
    with torch.no_grad():
        logits.copy_(torch.randn_like(logits))
    captured.replay()
    torch.cuda.synchronize()
    assert torch.equal(gradient, step(criterion, logits, target)[1])
    target[0, 0, 0] = 77
    captured.replay()
    torch.cuda.synchronize()
    assert loss.isnan()
    expect_error("label 77")


def plain(criterion, logits, target, scale=1.0):
    """Loss and gradient from the operator and the formula as single operations."""
    leaf = logits.clone().requires_grad_()
    loss = criterion.from_stats(criterion.stats(leaf, target))
    loss.backward(torch.tensor(scale, device="cuda"))
    return loss.detach(), leaf.grad


def fast(criterion, logits, target, scale=1.0):
    """The same in one node."""
    leaf = logits.clone().requires_grad_()
    loss = criterion(leaf, target)
    loss.backward(torch.tensor(scale, device="cuda"))
    return loss.detach(), leaf.grad


def close(results, others):
    for got, wanted in zip(results, others, strict=True):
        assert (got - wanted).norm() <= 2e-6 * wanted.norm(), float((got - wanted).norm() / wanted.norm())


def batches(shape=(4, 5, 64, 64), count=4):
    torch.manual_seed(0)
    labels = (shape[0], *shape[2:])
    return [(torch.randn(shape).cuda(), torch.randint(0, shape[1], labels).cuda()) for _ in range(count)]


def fused(criterion) -> int:
    """How many forms of input have kernels."""
    return sum(one is not None for plans in criterion.snapshot().plans for one in plans.values())


def one_node() -> None:
    """Steps with the formula as one kernel give what the plain operations give, and follow every change."""
    inputs = batches()

    def same(criterion, wanted_plans):
        for logits, target in inputs:
            close(fast(criterion, logits, target), plain(criterion, logits, target))
        assert fused(criterion) == wanted_plans, (repr(criterion), criterion.snapshot().plans)

    for name in sw.loss_names():
        if not sw.loss(name).cell_fields:  # these have a check of their own
            same(sw.loss(name).cuda(), 1)
    for shape in ((16, 1000, 8, 8), (4, 256, 32, 32), (300, 3, 8, 8), (1, 5, 64, 64)):
        many, (one,) = sw.loss("RCE").cuda(), batches(shape, 1)
        close(fast(many, *one), plain(many, *one))
        assert fused(many) == 1
    on_cpu = sw.loss("RCE")  # its weights are mirrored on the device
    same(on_cpu, 1)
    on_cpu.weights["SizeL1"] = 0.5
    same(on_cpu, 1)
    same(sw.SizeBounds(0.1, 0.5, class_weight=[1, 2, 3, 4, 5]), 0)  # weights to copy in every step
    same(sw.SizeBounds(0.1, 0.5).cuda(), 1)
    same(sw.loss("RCE", scope="global").cuda(), 0)
    criterion = sw.Loss(sw.loss("RCE") + 0.1 * sw.Dice(class_weight=[1, 2, 3, 4, 5]) + 0.3 * sw.Tversky()).cuda()
    same(criterion, 1)
    criterion.weights["SizeL1"] = 0.25  # seen by the kernel
    same(criterion, 1)
    criterion.parts["Dice"].smooth = 7.0  # a new kernel
    same(criterion, 1)
    criterion.parts["Dice"].choice.class_weight.mul_(2)
    criterion.eval()
    same(criterion, 1)
    criterion.cpu().cuda()  # the buffers have moved
    same(criterion, 1)
    criterion.parts["Dice"] = sw.Dice(smooth=0.5).cuda()
    same(criterion, 1)
    same(copy.deepcopy(criterion), 1)
    same(pickle.loads(pickle.dumps(criterion)), 1)
    criterion = sw.loss("RCE").cuda()
    scaled = [fast(criterion, *inputs[0], 3.0)[1] for _ in range(4)]
    assert all(torch.equal(one, scaled[0]) for one in scaled)


def around_a_node() -> None:
    """Accumulation, streams, checkpointing, autocast, no_grad and a second derivative."""
    inputs, criterion = batches(), sw.loss("RCE").cuda()
    # Two losses before either backward, changed in place: each keeps its own coefficients.
    leaves = [logits.clone().requires_grad_() for logits, _ in inputs[:2]]
    losses = [criterion(leaf, target) / 2 for leaf, (_, target) in zip(leaves, inputs, strict=False)]
    for loss in losses:
        loss.backward()
    for leaf, (logits, target) in zip(leaves, inputs, strict=False):
        torch.testing.assert_close(leaf.grad, plain(criterion, logits, target, 0.5)[1])
    # Other streams, at the same time.
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for _ in range(4):
        for stream, (logits, target) in zip(streams, inputs, strict=False):
            with torch.cuda.stream(stream):
                results.append((fast(criterion, logits, target), (logits, target)))
    torch.cuda.synchronize()
    for got, given in results:
        close(got, plain(criterion, *given))
    logits = inputs[0][0].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(criterion(logits, inputs[0][1]), logits, create_graph=True)
    expect_error("second one was asked for", gradient.sum().backward, RuntimeError)
    for _ in range(3):
        new = sw.loss("DiceCE").cuda()
        logits.grad = None
        torch.utils.checkpoint.checkpoint(new, logits, inputs[0][1], use_reentrant=False).backward()
        close([logits.grad], plain(new, *inputs[0])[1:])
    logits.grad = None
    value = plain(criterion, *inputs[0])[0]
    with torch.no_grad():
        close([criterion(logits, inputs[0][1])], [value])
    with torch.inference_mode():
        close([criterion(logits, inputs[0][1])], [value])
    with torch.autocast("cuda", torch.bfloat16):
        close(fast(criterion, *inputs[0]), plain(criterion, *inputs[0]))


def everyone() -> None:
    """terms() and total(), deep supervision, tiles, single values and terms of a user's own take the same node."""
    ((logits, target),) = batches(count=1)
    for name in ("RCE", "LogDiceFL"):
        criterion, leaf = sw.loss(name).cuda(), logits.clone().requires_grad_()
        terms = criterion.terms(leaf, target)
        loss = criterion.total(terms)
        assert loss.grad_fn is next(iter(terms.values())).grad_fn
        close([loss.detach(), torch.autograd.grad(loss, leaf)[0]], plain(criterion, logits, target))
        stats = criterion.terms_from_stats(criterion.stats(leaf, target))
        weigh = [2 * sum(one.values()) - next(iter(one.values())) for one in (criterion.terms(leaf, target), stats)]
        close(*([one.detach(), torch.autograd.grad(one, leaf)[0]] for one in weigh))
        levels = [leaf, leaf[..., ::2, ::2], leaf[..., ::4, ::4]]
        deep = sw.DeepSupervision(criterion)
        found = deep(levels, target)
        assert fused(criterion) == 3
        wanted, truth = 0, None
        for weight, level in zip((4 / 7, 2 / 7, 1 / 7), levels, strict=True):
            sums = criterion.stats(level, sw.deep_supervision.nearest(target, level.shape[2:]))
            truth = sums.detach() if truth is None else truth
            wanted = wanted + weight * criterion.from_stats(sums.with_size_truth(truth))
        close(*([one.detach(), torch.autograd.grad(one, leaf)[0]] for one in (found, wanted)))
        network = torch.nn.Conv2d(5, 5, 1).cuda()
        halves = [(logits[:, :, part], target[:, part]) for part in (slice(0, 20), slice(20, 64))]
        loss = sw.tiled_backward(criterion, network, halves)
        found, network.weight.grad = network.weight.grad, None
        whole = criterion(network(logits), target)
        whole.backward()
        close([loss, found], [whole.detach(), network.weight.grad])

    class Squared(sw.Dice):
        def value(self, stats):
            return super().value(stats) ** 2

    class Learned(sw.Dice):
        def __init__(self):
            super().__init__()
            self.exponent = torch.nn.Parameter(torch.tensor(2.0))

        def value(self, stats):
            return super().value(stats) ** self.exponent

    own, learned = sw.Loss(sw.CrossEntropy() + Squared()).cuda(), sw.Loss(sw.CrossEntropy() + Learned()).cuda()
    close(fast(own, logits, target), plain(own, logits, target))
    assert fused(own) == 1
    close(fast(learned, logits, target), plain(own, logits, target))
    assert learned.parts["Learned"].exponent.grad != 0


def watching() -> None:
    """Callbacks see every eager step, change no bit, and say once that a captured step has none; Lightning's logger."""
    ((logits, target),) = batches(count=1)
    criterion, seen = sw.loss("RCE").cuda(), []
    before = fast(criterion, logits, target)
    with criterion.watch(lambda stats, terms: seen.append((stats, terms)), fields=("nll", "overlap", "size")):
        during = fast(criterion, logits, target)
        criterion.total(criterion.terms(logits, target))
        assert len(seen) == 2
        assert all(torch.equal(*pair) for pair in zip(before, during, strict=True))
        torch.testing.assert_close(seen[0][0].size, sw.region_stats(logits, target).size)
        leaf = logits.clone().requires_grad_()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    step(criterion, leaf, target)
        assert sum("callbacks of watch()" in str(one.message) for one in said) == 1
        assert len(seen) == 2
    lightning_logger()


def lightning_logger() -> None:
    """SizeLogger in a real run on the GPU."""
    try:
        import lightning.pytorch as pl
    except ImportError:
        print("  Lightning is not installed: its logger was not tried")
        return
    from lightning.pytorch.loggers.logger import DummyLogger
    from torch.utils.data import DataLoader, TensorDataset

    from sizewise.integrations.lightning import SizeLogger

    rows = []

    class Kept(DummyLogger):
        def log_metrics(self, metrics, step=None):
            rows.append(metrics)

    class Segmenter(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.criterion = torch.nn.Conv2d(1, 3, 1), sw.loss("RCE")

        def training_step(self, batch, _):
            return self.criterion(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = TensorDataset(torch.randn(4, 1, 8, 8), torch.randint(0, 3, (4, 8, 8)))
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = pl.Trainer(
        max_epochs=1,
        accelerator="cuda",
        devices=1,
        logger=Kept(),
        log_every_n_steps=1,
        callbacks=[SizeLogger()],
        **quiet,
    )
    trainer.fit(Segmenter(), DataLoader(data, batch_size=2))
    found = {name for row in rows for name in row if name.startswith("train/")}
    assert {"train/term/SizeL1", "train/size_error/2", "train/ce_bias/0"} <= found, found


def compiled() -> None:
    criterion = sw.loss("RCE").cuda()
    logits = torch.randn(4, 5, 64, 64, device="cuda", requires_grad=True)
    target = torch.randint(0, 5, (4, 64, 64), device="cuda")
    fast = torch.compile(criterion, fullgraph=True, mode="max-autotune")
    for _ in range(3):
        gradient = step(fast, logits, target)[1].clone()
    torch.testing.assert_close(gradient, step(criterion, logits, target)[1])


def expect_error(text: str, run=label_errors.check, kind=ValueError) -> None:
    message = "no error was raised"
    try:
        run()
    except kind as error:
        message = str(error)
    assert text in message, message


def bad_labels() -> None:
    criterion = sw.loss("RCE").cuda()
    logits = torch.randn(4, 5, 64, 64, device="cuda", requires_grad=True)
    target = torch.randint(0, 5, (4, 64, 64), device="cuda")
    target[2, 3, 4] = 255
    loss = criterion(logits, target)
    loss.backward()
    assert loss.isnan()
    torch.cuda.synchronize()
    target[2, 3, 4] = 0
    expect_error("label 255", lambda: criterion(logits, target))
    assert criterion(logits, target).isfinite()
    target[2, 3, 4] = -1 << 40
    criterion(logits, target)
    expect_error(str(-1 << 40))
    for name in ("WCE", "LogDice", "RFL", "DBCE"):
        assert sw.loss(name).cuda()(logits, torch.full_like(target, 9)).isnan(), name
        expect_error("label 9")


def many_elements() -> None:
    """Sums of 2.4e9 elements equal those of its halves, and so do gradients; the last pixel is reached."""
    logits = torch.randn(1, 3, 28_300, 28_300, device="cuda", dtype=torch.bfloat16)
    target = torch.randint(0, 3, (1, 1, 28_300, 28_300), device="cuda", dtype=torch.uint8)
    kinds, parameters = [int(kind) for kind, _ in RCE], [parameter for _, parameter in RCE]
    options = (None, None, False, kinds, parameters)
    whole = passes.region_sums(logits, target, *options)
    halves = [
        passes.region_sums(one, labels, *options)
        for one, labels in zip(logits.chunk(2, 2), target.chunk(2, 2), strict=True)
    ]
    torch.testing.assert_close(whole, halves[0] + halves[1], rtol=1e-6, atol=0)
    gradient = passes.region_gradient(whole, logits, target, *options)
    for piece in (slice(0, 10), slice(-10, None)):
        part = passes.region_gradient(whole, logits[:, :, piece], target[:, :, piece], *options)
        torch.testing.assert_close(gradient[:, :, piece], part)


def memory() -> None:
    for shape, dtype in (((8, 19, 512, 1024), torch.float32), ((8, 2, 512, 512), torch.float32)):
        logits = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
        target = torch.randint(0, shape[1], (shape[0], *shape[2:]), device="cuda")
        criterion = sw.loss("RCE").cuda()
        step(criterion, logits, target)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step(criterion, logits, target)
        extra = (torch.cuda.max_memory_allocated() - before) / (logits.numel() * logits.element_size())
        print(f"  peak extra memory of {shape}: {extra:.4f} of the logits")
        assert extra <= 1.02


CHECKS = (
    forms, by_words, deciding, upsampled, components, compiled, everyone, around_a_node, one_node, same_bits, watching, graph,
    bad_labels, many_elements, memory,
)  # fmt: skip


def run(check) -> bool:
    """Say what became of one check."""
    start = time.perf_counter()
    try:
        check()
        torch.cuda.synchronize()
        result = "ok"
    except Exception:
        traceback.print_exc()
        result = "FAILED"
    print(f"{check.__name__}: {result} in {time.perf_counter() - start:.0f} s", flush=True)
    return result == "ok"


def run_apart(check) -> bool:
    """The same in a process of its own; what it said comes out in one piece."""
    done = subprocess.run([sys.executable, __file__, check.__name__], capture_output=True, text=True)
    print(done.stdout + (done.stderr if done.returncode else ""), end="", flush=True)
    return done.returncode == 0


def main() -> int:
    """The checks that are named, or all of them side by side: most of the time goes to compilers on one core each."""
    named = [one for one in CHECKS if one.__name__ in sys.argv[1:]]
    if len(sys.argv) > 1:
        return sum([not run(check) for check in named])
    with ThreadPoolExecutor(max(2, (os.cpu_count() or 2) // 2)) as pool:
        failed = [check.__name__ for check, well in zip(CHECKS, pool.map(run_apart, CHECKS), strict=True) if not well]
    print("failed:", ", ".join(failed) or "none")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
