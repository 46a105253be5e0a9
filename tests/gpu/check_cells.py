"""Terms per component: the kernels for sums per cell against the reference, and whole steps."""

import torch
from kernel_cases import Case
from sampling import EXHAUSTIVE
from stats.kernels.test_cell_kernels import judge

import sizewise as sw
from sizewise.criterion import cell_stats
from sizewise.criterion import step as step_module
from sizewise.stats import cell_operator

# Each compiles two kernels of its own, for some seconds; together they have every dtype, target, layout and option.
CASES = (
    Case((2, 2, 200, 190), "float32", "uint8", False, True, 255, "crop", "dice"),
    Case((2, 3, 40, 36, 30), "bfloat16", "int64", False, False, None, "contiguous", "every"),
    Case((1, 6, 90, 97), "float32", "int64", False, False, 255, "channels_last", "dice"),
    Case((2, 3, 96, 128), "float16", "shares float32", False, True, None, "contiguous", "sizes"),
    Case((2, 2, 100, 90), "float32", "uint8", True, False, 1, "contiguous", "every"),
    Case((1, 5, 600), "bfloat16", "shares float32", True, True, None, "contiguous", "dice"),
)
if EXHAUSTIVE:  # their kernels are unrolled over the classes, and take the compiler a minute and more
    CASES += (Case((1, 19, 90, 97), "float32", "int64", False, False, 255, "channels_last", "dice"),)
STEPS = (((3, 2, 96, 80), "CC-DiceCE"), ((2, 4, 24, 30, 28), "CC-Dice"))


def blobs(shape, cells=30):
    draw = torch.Generator().manual_seed(0)
    labels = torch.zeros(shape[0], *shape[2:], dtype=torch.long)
    for n in range(shape[0]):
        for _ in range(cells):
            corner = [int(torch.randint(0, size, (), generator=draw)) for size in shape[2:]]
            k = int(torch.randint(1, shape[1], (), generator=draw))
            labels[(n, *(slice(at, at + 5) for at in corner))] = k
    return labels


def run(criterion, logits, target, cells):
    leaf = logits.detach().clone().requires_grad_()
    loss = criterion(leaf, target, cells=cells)
    loss.backward()
    return loss.detach(), leaf.grad


def sums_of_cells(part: int, parts: int) -> None:
    """Sums and gradients per cell equal the reference's."""
    for case in CASES[part::parts]:
        judge(case)


def components(part: int, parts: int) -> None:
    """Steps equal those on the CPU, the same bits every time."""
    for shape, name in STEPS[part::parts]:
        target = blobs(shape)
        logits = torch.randn(shape, generator=torch.Generator().manual_seed(1))
        wanted = run(sw.loss(name), logits, target, None)
        criterion = sw.loss(name).cuda()
        cells = sw.components(target, classes=range(1, shape[1])).to("cuda")
        found = [run(criterion, logits.cuda(), target.cuda(), cells) for _ in range(2)]
        found.append(run(criterion, logits.cuda(), target.cuda(), None))
        for loss, gradient in found:
            torch.testing.assert_close(loss.cpu(), wanted[0], rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(gradient.cpu(), wanted[1], rtol=1e-4, atol=1e-6)
        plans = [one for prepared in criterion.snapshot().plans for one in prepared.values()]
        assert plans, "a step with cells is launches alone"
        assert all(one is not None for one in plans)
        assert torch.equal(found[0][0], found[1][0])
        assert torch.equal(found[0][1], found[1][1])
        kept = cell_operator.takes_cell_kernels, cell_stats.takes_cell_kernels
        cell_operator.takes_cell_kernels = cell_stats.takes_cell_kernels = lambda *_: False
        usable, step_module.takes_kernels = step_module.takes_kernels, lambda _: False
        try:  # the reference on the device: integers there too, so the same bits every time
            plain = [run(criterion, logits.cuda(), target.cuda(), cells) for _ in range(2)]
        finally:
            cell_operator.takes_cell_kernels, cell_stats.takes_cell_kernels = kept
            step_module.takes_kernels = usable
        assert torch.equal(plain[0][1], plain[1][1])
        torch.testing.assert_close(plain[0][0].cpu(), wanted[0], rtol=1e-5, atol=1e-6)


def components_captured() -> None:
    """A step with given cells can be captured, and its record follows logits, labels and cells."""
    shape = (3, 2, 96, 80)
    criterion = sw.loss("CC-DiceCE").cuda()
    target = blobs(shape).cuda()
    cells = sw.components(target)
    logits = torch.randn(shape, device="cuda").requires_grad_()

    def step():
        logits.grad = None
        loss = criterion(logits, target, cells=cells)
        loss.backward()
        return loss

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    with torch.no_grad():
        logits.copy_(torch.randn_like(logits))
    graph.replay()
    wanted = run(criterion, logits, target, cells)
    torch.testing.assert_close(loss.detach(), wanted[0])
    torch.testing.assert_close(logits.grad, wanted[1])
