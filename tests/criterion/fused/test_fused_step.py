"""The step of a GPU in the interpreter: sums, formula and derivative as kernels behind one node."""

import copy
import pickle

import pytest
import torch
from kernel_cases import Case, build
from kernel_device import DEVICE

import sizewise as sw
from sizewise.criterion import step as step_module
from sizewise.criterion.fused import kernel as kernel_module
from sizewise.criterion.fused import step as fused_step_module
from sizewise.criterion.fused.step import FusedStep
from sizewise.stats.kernels import call, passes
from sizewise.stats.kernels.field_order import every_plane

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter


@pytest.fixture
def kernels(monkeypatch):
    """Kernels also without a GPU."""
    monkeypatch.setattr(step_module, "takes_kernels", lambda logits: True)


def example(classes=3, size=(5, 6)):
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(2, classes, *size, generator=random).to(DEVICE).requires_grad_()
    return logits, torch.randint(0, classes, (2, *size), generator=random).to(DEVICE)


def plans(criterion):
    return [one for prepared in criterion.snapshot().plans for one in prepared.values() if one is not None]


def close(found, wanted):
    assert (found - wanted).norm() <= 2e-6 * wanted.norm()


def same_as_operations(criterion, logits, target, loss):
    """Value and gradient equal those of the operator and the formula, differentiated by autograd."""
    wanted = criterion.from_stats(criterion.stats(logits, target))
    close(loss.detach(), wanted.detach())
    close(*(torch.autograd.grad(-3 * one, logits)[0] for one in (loss, wanted)))


@pytest.mark.parametrize("name", ["RCE", "DiceFL", "LogDiceCE", "DBCE", "WCE"])
def test_one_node_gives_the_loss_and_gradient_of_the_single_operations(name, kernels):
    logits, target = example()
    criterion = sw.loss(name).to(DEVICE)
    loss = criterion(logits, target)
    assert type(loss.grad_fn).__name__ == "StepBackward"
    assert len(plans(criterion)) == 1
    same_as_operations(criterion, logits, target, loss)


@pytest.mark.parametrize("upsample", ["linear", "linear-corners"])
def test_logits_smaller_than_the_target_take_the_same_node(upsample, kernels):
    logits, _ = example(size=(3, 4))
    target = torch.randint(0, 3, (2, 7, 16), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    criterion = sw.loss("RCE", upsample=upsample).to(DEVICE)
    loss = criterion(logits, target)
    assert len(plans(criterion)) == 1
    same_as_operations(criterion, logits, target, loss)


def test_small_logits_of_one_form_are_prepared_once(kernels, monkeypatch):
    """As in training under autocast: bfloat16, channels_last, a new tensor in every step."""
    made = []
    inner = fused_step_module.make_step
    monkeypatch.setattr(fused_step_module, "make_step", lambda *given: made.append(1) or inner(*given))
    target = torch.randint(0, 3, (2, 7, 16), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    criterion = sw.loss("RCE", upsample="linear-corners").to(DEVICE)
    for _ in range(3):
        logits = example(size=(3, 4))[0].detach().bfloat16().contiguous(memory_format=torch.channels_last)
        criterion(logits.requires_grad_(), target).backward()
    assert len(made) == len(plans(criterion)) == 1


def test_terms_and_total_are_the_same_node(kernels):
    logits, target = example()
    criterion = sw.loss("DiceCE", weight=0.5).to(DEVICE)
    terms = criterion.terms(logits, target)
    total = criterion.total(terms)
    assert total.grad_fn is terms["Dice"].grad_fn is terms["CrossEntropy"].grad_fn
    same_as_operations(criterion, logits, target, criterion.total(terms))
    # a weight that changed in between counts
    terms = criterion.terms(logits, target)
    criterion.weights["Dice"] = 2.0
    same_as_operations(criterion, logits, target, criterion.total(terms))
    # and so does a value that was replaced
    terms = criterion.terms(logits, target)
    terms["Dice"] = torch.zeros_like(terms["Dice"])
    torch.testing.assert_close(criterion.total(terms), terms["CrossEntropy"])


def test_every_value_has_a_gradient_of_its_own(kernels):
    logits, target = example()
    criterion = (sw.CrossEntropy() + 0.5 * sw.Dice() + 0.25 * sw.LogDice(scope="batch")).to(DEVICE)  # two on one field
    terms = criterion.terms(logits, target)
    stats = criterion.terms_from_stats(criterion.stats(logits, target))
    for weigh in (
        lambda values: 2 * values["CrossEntropy"] - values["LogDice"],
        lambda values: values["Dice"],
        lambda values: criterion.total(values) * 3 + values["Dice"] ** 2,
    ):
        found, wanted = (torch.autograd.grad(weigh(one), logits, retain_graph=True)[0] for one in (terms, stats))
        close(found, wanted)


def test_deep_supervision_takes_the_node_at_every_level(kernels):
    logits, target = example(size=(8, 8))
    outputs = [logits, logits[..., ::2, ::2], logits[..., ::4, ::4]]
    criterion = sw.DeepSupervision(sw.loss("RCE").to(DEVICE), weights=[4, 2, 1])
    loss = criterion(outputs, target)
    assert len(plans(criterion.criterion)) == 3
    terms = criterion.terms(outputs, target)
    torch.testing.assert_close(criterion.criterion.total(terms), loss)
    stats, wanted = None, 0
    for weight, output in zip((4 / 7, 2 / 7, 1 / 7), outputs, strict=True):
        level = criterion.criterion.stats(output, sw.deep_supervision.nearest(target, output.shape[2:]))
        stats = level.detach() if stats is None else stats
        wanted = wanted + weight * criterion.criterion.from_stats(level.with_size_truth(stats))
    torch.testing.assert_close(loss, wanted)
    close(*(torch.autograd.grad(one, logits)[0] for one in (loss, wanted)))


def test_watching_sees_every_call_and_changes_no_bit(kernels):
    logits, target = example()
    criterion, seen = sw.loss("RCE").to(DEVICE), []
    before = criterion(logits, target)
    with criterion.watch(lambda stats, terms: seen.append((stats, terms)), fields=("overlap", "size")):
        loss = criterion(logits, target)
        criterion.total(criterion.terms(logits, target))
        sw.DeepSupervision(criterion)([logits], target)
    criterion(logits, target)
    assert len(seen) == 3
    assert torch.equal(loss, before)
    assert torch.equal(*(torch.autograd.grad(one, logits)[0] for one in (loss, before)))
    for stats, terms in seen:
        assert not stats.sums.requires_grad
        assert not terms["SizeL1"].requires_grad
        torch.testing.assert_close(stats.size, sw.region_stats(logits.detach(), target).size)
        torch.testing.assert_close(terms["CrossEntropy"] + terms["SizeL1"], loss.detach())


def test_hooks_of_checkpointing_do_not_see_the_inner_graph(kernels):
    logits, target = example()
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: seen.append(tensor.shape) or tensor, lambda x: x):
        sw.loss("RCE").to(DEVICE)(logits, target)
    assert seen == [logits.shape, target.shape]  # nothing of the formula


def test_hooks_may_bring_tensors_back_in_another_layout(kernels):
    # torch.autograd.graph.save_on_cpu does so: the classes were last in memory, and come back first
    target = example()[1]
    logits = torch.randn(2, 5, 6, 3, device=DEVICE).movedim(-1, 1).requires_grad_()
    criterion = sw.loss("RCE").to(DEVICE)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.contiguous(), lambda tensor: tensor):
        loss = criterion(logits, target)
        same_as_operations(criterion, logits, target, loss)


class Marked(torch.Tensor):
    """As MONAI's MetaTensor."""


def test_a_subclass_of_tensor_takes_the_same_step(kernels):
    logits, target = example()
    criterion = sw.loss("RCE").to(DEVICE)
    loss = criterion(logits.as_subclass(Marked), target.as_subclass(Marked))
    assert type(loss) is torch.Tensor
    assert type(loss.grad_fn).__name__ == "StepBackward"
    torch.testing.assert_close(loss, criterion(logits, target), rtol=0, atol=0)


def test_a_second_derivative_is_refused(kernels):
    logits, target = example()
    loss = sw.loss("RCE").to(DEVICE)(logits, target)
    (gradient,) = torch.autograd.grad(loss, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="a second one was asked for"):
        gradient.sum().backward()


@pytest.mark.parametrize("target", ["int64", "shares float32"])
@pytest.mark.parametrize("sigmoid", [False, True])
def test_factors_of_terms_and_of_the_loss_multiply_the_gradient(sigmoid, target):
    logits, labels, mask, *options = build(Case((2, 3, 5, 7), target=target, sigmoid=sigmoid, mask=True), DEVICE)
    fields = tuple(zip(*options[2:4], strict=True))
    coefficients = torch.randn(12, 2, 3, *((2,) if sigmoid else ()), device=DEVICE)
    plain = passes.region_gradient(coefficients, logits, labels, mask, *options)
    # the same planes as two terms, of which the second counts twice: a power of two leaves no rounding
    planes = [*every_plane(fields), *((1, place) for _, place in every_plane(fields))]
    gradient = torch.empty_like(logits)
    called = passes.backward_call(logits, labels, mask, gradient, *options[:2], fields, planes)
    factors, upstream = torch.tensor([2.0, 2.0], device=DEVICE), torch.tensor(-1.0, device=DEVICE)
    kept = torch.cat((coefficients.flatten(), coefficients.flatten(), factors))
    called(kept, upstream, logits, labels, mask, gradient)
    assert plain.any()
    assert torch.equal(gradient, -4 * plain)


CHANGES = {
    "an option": lambda criterion: setattr(criterion.parts["Dice"], "smooth", 3.0),
    "the classes": lambda criterion: setattr(criterion.parts["Dice"].choice, "classes", "foreground"),
    "a term": lambda criterion: criterion.parts.update({"Dice": sw.Dice(smooth=2.0)}),
    "a buffer": lambda criterion: setattr(criterion.parts["Dice"].choice, "class_weight", torch.ones(3)),
    "the ignored label": lambda criterion: setattr(criterion, "ignore_index", 255),
    "a callback": lambda criterion: criterion.watch(print),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_prepared_is_given_up_after_a_change(change):
    criterion = sw.CrossEntropy() + 0.1 * sw.Dice(class_weight=[1, 2, 3])
    snapshot = criterion.snapshot()
    criterion.train(not criterion.training)
    assert criterion.snapshot() is snapshot
    CHANGES[change](criterion)
    assert criterion.snapshot() is not snapshot


def test_copies_prepare_for_themselves():
    criterion = sw.loss("RCE")
    criterion.watch(lambda stats, terms: None)
    snapshot = criterion.snapshot()
    for copied in (copy.deepcopy(criterion), pickle.loads(pickle.dumps(criterion))):
        assert copied.snapshot() is not snapshot
        assert copied.watches == ()
    assert criterion._replicate_for_data_parallel().snapshot() is not snapshot
    assert criterion.snapshot() is snapshot


def test_a_weight_that_stayed_on_the_cpu_needs_no_new_kernel(kernels, monkeypatch):
    monkeypatch.setattr(kernel_module, "is_elsewhere", lambda tensor, device: tensor.dim() == 0)
    logits, target = example()
    criterion = sw.CrossEntropy() + 0.1 * sw.Dice()
    criterion(logits, target)
    snapshot, (plan,) = criterion.snapshot(), plans(criterion)
    assert len(plan.formula.mirrors) == 2
    criterion.weights["Dice"] = 0.5
    loss = criterion(logits, target)
    assert criterion.snapshot() is snapshot
    assert plans(criterion) == [plan]
    same_as_operations(criterion, logits, target, loss)


def test_what_is_learned_gets_its_gradient(kernels):
    logits, target = example()
    criterion = sw.loss("RCE").to(DEVICE)
    criterion(logits, target)
    weight = criterion.weights["SizeL1"].requires_grad_()
    criterion(logits, target).backward()
    torch.testing.assert_close(weight.grad.float(), criterion.terms(logits, target)["SizeL1"].detach())
    dice = sw.Dice(class_weight=[1, 2, 3]).to(DEVICE)
    dice(logits, target)
    dice.choice.class_weight = torch.nn.Parameter(dice.choice.class_weight)
    dice(logits, target).backward()
    assert dice.choice.class_weight.grad.any()


def test_weights_made_in_inference_mode_serve_to_evaluate(kernels):
    logits, target = example()
    with torch.inference_mode():
        criterion = sw.loss("RCE").to(DEVICE)
        inside = criterion(logits, target)
    assert len(plans(criterion)) == 1
    with torch.no_grad():
        outside = criterion(logits, target)
    wanted = sw.loss("RCE").to(DEVICE)(logits, target).detach()
    assert torch.equal(inside, wanted)
    assert torch.equal(outside, wanted)


def test_what_programs_found_wrong_is_joined_for_any_number_of_them(monkeypatch):
    # one program, 3 fields and 3 classes leave an odd number of float32 in the workspace
    monkeypatch.setattr(call, "MOST_STRAYS", 0)
    monkeypatch.setattr(passes, "_calls", {})
    arguments = (None, None, False, [0, 1, 4], [0.0, 0.0, 1.0])
    logits, target = torch.zeros(1, 3, 2, 2, device=DEVICE), torch.zeros(1, 1, 2, 2, dtype=torch.int64, device=DEVICE)
    counts = passes.region_sums(logits, target, *arguments)[0]
    assert counts.tolist() == [[4, 0, 0]]


class Steeper(sw.Dice):
    """A user's term, with an option of its own."""

    steepness = 2.0

    def value(self, stats):
        return super().value(stats) ** self.steepness


class WithModule(sw.Dice):
    """A user's term whose behaviour a module of torch's own may change unseen."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Identity()


def test_a_users_term_takes_the_same_path_and_its_options_are_seen(kernels):
    logits, target = example()
    criterion = sw.Loss(sw.CrossEntropy() + Steeper()).to(DEVICE)
    for steepness in (2.0, 3.0, 0.7):
        criterion.parts["Steeper"].steepness = steepness
        same_as_operations(criterion, logits, target, criterion(logits, target))
        assert isinstance(plans(criterion)[0], FusedStep)


def test_which_formulas_may_become_kernels():
    device = torch.device("meta")
    assert sw.loss("RCE").snapshot().fusible
    assert sw.Loss(sw.CrossEntropy() + Steeper()).snapshot().fusible
    assert not sw.loss("RCE", scope="global").snapshot().fusible
    assert not sw.Loss(sw.CrossEntropy() + WithModule()).snapshot().fusible
    assert not sw.loss("RCE")._replicate_for_data_parallel().snapshot().fusible
    assert sw.loss("RCE").snapshot().fits(device)  # λ as numbers
    assert sw.loss("RCE").to("meta").snapshot().fits(device)
    assert not sw.loss("RCE", class_weight=[1, 2]).snapshot().fits(device)  # weights to copy in every step
    assert sw.loss("RCE", class_weight=[1, 2]).to("meta").snapshot().fits(device)


def test_a_kernel_that_differs_from_its_torch_code_is_not_used(kernels, monkeypatch):
    source = kernel_module.Writer.source
    monkeypatch.setattr(kernel_module.Writer, "source", lambda self: source(self).replace("tl.log", "tl.exp"))
    logits, target = example()
    criterion = sw.loss("LogDice").to(DEVICE)
    with pytest.warns(RuntimeWarning, match=r"LogDice runs as single torch operations.*Please report"):
        loss = criterion(logits, target)
    assert plans(criterion) == []
    same_as_operations(criterion, logits, target, loss)


def test_a_formula_that_no_kernel_takes_still_gives_its_loss(kernels):
    logits, target = example()
    per_image = sw.SizeL1(target=torch.full((2, 3), 1 / 3)).to(DEVICE)
    loss = per_image(logits, target)
    assert plans(per_image) == []
    assert type(loss.grad_fn).__name__ == "StepBackward"
    same_as_operations(per_image, logits, target, loss)
