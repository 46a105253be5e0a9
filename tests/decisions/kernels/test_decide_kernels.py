"""Decisions as kernels, in Triton's interpreter without a GPU: the same labels as the streaming passes."""

import pytest
import torch
from kernel_cases import laid_out
from kernel_device import DEVICE
from sampling import sample

import sizewise as sw
from sizewise.decisions import decide as module

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter


@pytest.fixture
def kernels(monkeypatch):
    """Labels by kernels, also without a GPU, and by plain torch."""

    def both(values, **options):
        options = {name: one.to(DEVICE) if isinstance(one, torch.Tensor) else one for name, one in options.items()}
        with monkeypatch.context() as patch:
            patch.setattr(module, "takes_kernels", lambda values: False)
            wanted = sw.decide(values.to(DEVICE), **options)
            patch.setattr(module, "takes_kernels", lambda values: True)
            return sw.decide(values.to(DEVICE), **options), wanted

    return both


CASES = [
    (classes, size, metric, background, scope, prune)
    for classes, size in (
        (2, (6, 7)),
        (3, (5, 9)),
        (5, (3, 4, 3)),
        (19, (4, 5)),
        (32, (3, 5)),
        (40, (3, 3)),
        (4, (11,)),
    )
    for metric in ("dice", "iou", "size", "argmax")
    for background in (0, 1, None)
    for scope in ("image", "batch")
    for prune in (0.5, 0.0)
]


@pytest.mark.parametrize("case", sample(CASES, 16, seed=2), ids=str)
def test_every_kind_of_decision(case, kernels):
    classes, size, metric, background, scope, prune = case
    logits = 2 * torch.randn(2, classes, *size, generator=torch.Generator().manual_seed(classes))
    found, wanted = kernels(logits, metric=metric, background=background, scope=scope, prune=prune)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("metric", ["dice", "size", "argmax"])
def test_every_kind_of_input(metric, kernels):
    draw = torch.Generator().manual_seed(1)
    logits = 2 * torch.randn(2, 3, 6, 7, generator=draw)
    mask = torch.rand(2, 6, 7, generator=draw) < 0.7
    spoiled = logits.masked_fill(~mask[:, None], float("nan"))
    for values, options in (
        (logits, {"activation": "sigmoid"}),
        (spoiled, {"mask": mask, "temperature": 1.7}),
        (spoiled, {"mask": mask, "activation": "sigmoid", "scope": "batch"}),
        (logits.softmax(1), {"given": "probabilities"}),
        (logits.softmax(1), {"given": "probabilities", "temperature": 0.6}),
        (logits.sigmoid(), {"given": "probabilities", "activation": "sigmoid"}),
        (logits.double(), {}),
        (logits.half(), {}),
        (laid_out(logits, "channels_last"), {}),
        (laid_out(logits, "crop"), {"mask": mask}),
    ):
        found, wanted = kernels(values, metric=metric, **({"mask": None} | options))
        assert found.dtype == wanted.dtype
        assert torch.equal(found, wanted), options


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
@pytest.mark.parametrize("classes", [9, 35])
def test_every_dtype_with_many_classes(dtype, layout, classes, kernels):
    """A thread then holds one to eight neighbours, by dtype and layout."""
    logits = 2 * torch.randn(1, classes, 4, 5, generator=torch.Generator().manual_seed(classes))
    found, wanted = kernels(laid_out(logits.to(dtype), layout))
    assert torch.equal(found, wanted)


@pytest.mark.parametrize(
    ("small", "size", "classes"),
    sample([((3, 4), (12, 16), 3), ((2, 3), (5, 7), 40), ((2, 2, 2), (3, 4, 5), 4), ((4,), (9,), 2)], 3),
)
@pytest.mark.parametrize("metric", sample(["dice", "size", "argmax"], 2))
def test_logits_smaller_than_the_labels(small, size, classes, metric, kernels):
    logits = 2 * torch.randn(2, classes, *small, generator=torch.Generator().manual_seed(classes), dtype=torch.float64)
    mask = torch.rand(2, *size, generator=torch.Generator().manual_seed(1)) < 0.8
    for options in ({"upsample": "linear"}, {"upsample": "linear-corners", "mask": mask, "activation": "sigmoid"}):
        if "activation" in options and classes == 40:
            continue
        found, wanted = kernels(logits, metric=metric, size=size, **options)
        assert found.shape[-len(size) :] == size
        assert torch.equal(found, wanted), options


def test_ties_and_a_single_pixel(kernels):
    for values in (torch.zeros(1, 4, 2, 3), torch.zeros(2, 3, 1), torch.full((1, 40, 2, 2), 3.0)):
        for background in (0, 2, None):
            for metric in ("dice", "argmax"):
                found, wanted = kernels(values, metric=metric, background=background, prune=0.0)
                assert torch.equal(found, wanted)


def test_a_fitted_rule_is_written_by_the_kernel(monkeypatch):
    from sizewise.decisions import decide as read

    logits = 2 * torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(3))
    decision = sw.fit_decision([(logits, logits.argmax(1))], scope="batch").to(DEVICE)
    monkeypatch.setattr(read, "takes_kernels", lambda values: False)
    wanted = decision(logits.to(DEVICE))
    monkeypatch.setattr(read, "takes_kernels", lambda values: True)
    assert torch.equal(decision(logits.to(DEVICE)), wanted)
    again = sw.fit_decision([(logits.to(DEVICE), logits.argmax(1).to(DEVICE))], scope="batch")
    torch.testing.assert_close(again.threshold.cpu(), decision.threshold.cpu(), rtol=1e-5, atol=1e-7)


def test_a_new_size_of_image_is_no_new_kernel():
    """All that the compiler knows of two sizes is the same, so that it is not called again."""
    from sizewise.decisions.kernels.aims import DICE
    from sizewise.decisions.kernels.launches import KernelDecision
    from sizewise.decisions.kernels.turns import SIZES, decide_tiles
    from sizewise.decisions.streaming import Given

    known = []
    for images, height, width in ((2, 64, 64), (3, 128, 192), (1, 512, 16)):
        logits = torch.zeros(images, 3, height, width)
        options = {"sigmoid": False, "probabilities": False, "temperature": 1.0, "background": 0}
        labels = torch.zeros(images, 1, height, width, dtype=torch.int64)
        launch = KernelDecision(Given(logits, None, **options), labels)._launch(DICE, False, True, True, 0, 1)
        names = [name for name in decide_tiles.arg_names if name not in launch.constants]
        others = dict(zip(names[-len(launch.numbers) :], launch.numbers, strict=True))
        known.append((launch.constants, {name: one for name, one in others.items() if name not in SIZES}))
    assert known[0] == known[1] == known[2]
    assert set(known[0][1]) == {"z_inner", "m_inner", "s_inner"}


def test_sums_as_integers_are_those_of_the_streaming_passes(monkeypatch):
    from sizewise.decisions.rule import Rule, argmax_rule

    logits = 2 * torch.randn(2, 3, 30, 40, generator=torch.Generator().manual_seed(3)).to(DEVICE)
    gain = torch.tensor([[0.0, 1.2, 0.7]], dtype=torch.float64, device=DEVICE).repeat(2, 1)
    bound = torch.tensor([[False, False, True]], device=DEVICE).repeat(2, 1)
    shift = torch.tensor([[0.0, 0.4, -0.3]], dtype=torch.float64, device=DEVICE).repeat(2, 1)
    rules = (
        argmax_rule(2, 3, logits.device),
        Rule(gain, 0.3 * torch.ones_like(gain), bound=bound),
        Rule(gain, torch.zeros_like(gain), shift=shift),
    )
    for rule in rules:
        found = []
        for usable in (True, False):
            monkeypatch.setattr(module, "takes_kernels", lambda _, usable=usable: usable)
            read = {"activation": "softmax", "given": "logits", "background": 0, "temperature": 1.0}
            found.append(module.read_input("here", logits, None, **read).take(rule))
        assert torch.equal(found[0].chosen, found[1].chosen)
        fields = ("inside", "expected") if rule.is_argmax else ("inside",) if rule.shift is None else ()
        for field in fields:
            torch.testing.assert_close(getattr(found[0], field), getattr(found[1], field), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("classes", [3, 11])
def test_where_programs_cannot_all_run_at_once_each_turn_is_a_launch(classes, kernels, monkeypatch):
    from sizewise.decisions.kernels import launches

    logits = 2 * torch.randn(2, classes, 6, 7, generator=torch.Generator().manual_seed(5))
    asked = []

    def refuse(self, *tensors, stream=None):
        if self.constants["WAITS"]:
            asked.append(self.options)
            raise RuntimeError("Triton Error [CUDA]: too many blocks in cooperative launch")
        return launch(self, *tensors, stream=stream)

    launch = launches.Launch.__call__
    monkeypatch.setattr(launches.Launch, "__call__", refuse)
    monkeypatch.setattr(launches.KernelDecision, "_programs_together", lambda self: 1)
    monkeypatch.setattr(launches, "prepared", lambda key, make: together(make()))
    found, wanted = kernels(logits)
    assert torch.equal(found, wanted)
    assert asked[0]["launch_cooperative_grid"]


@pytest.mark.parametrize(("classes", "begins"), [(8, [0]), (9, [0, 1]), (35, [0])])
@pytest.mark.parametrize("metric", ["dice", "size"])
def test_all_turns_are_one_launch_or_two(classes, begins, metric, kernels, monkeypatch):
    """With many unrolled classes turn 0 has a launch of its own; the next one finds what it left, and waits for none."""
    from sizewise.decisions.kernels import launches

    launched = []

    def launch(self, *tensors, stream=None):
        launched.append((self.numbers[-2], self.constants["WAITS"], self.constants["PHASES"]))
        self.options.pop("launch_cooperative_grid", None)  # one program a row, in the interpreter
        return original(self, *tensors, stream=stream)

    original = launches.Launch.__call__
    monkeypatch.setattr(launches.Launch, "__call__", launch)
    monkeypatch.setattr(launches, "prepared", lambda key, make: together(make()))
    logits = 2 * torch.randn(2, classes, 6, 7, generator=torch.Generator().manual_seed(6))
    found, wanted = kernels(logits, metric=metric)
    assert torch.equal(found, wanted)
    assert [begin for begin, _, _ in launched] == begins
    assert [waits for _, waits, _ in launched] == [False] * (len(begins) - 1) + [True]
    assert [phases for _, _, phases in launched] == ([1, 2] if len(begins) == 2 else [0])


def together(decision):
    decision.together = 1
    return decision


def test_another_error_of_a_launch_is_passed_on(kernels, monkeypatch):
    from sizewise.decisions.kernels import launches

    def fail(self, *tensors, stream=None):
        raise RuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(launches.Launch, "__call__", fail)
    monkeypatch.setattr(launches, "prepared", lambda key, make: together(make()))
    with pytest.raises(RuntimeError, match="illegal memory access"):
        kernels(torch.zeros(1, 3, 4, 4))
