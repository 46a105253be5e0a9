"""The eager step of a GPU in the interpreter: sums, formula and derivative in one node."""

import copy
import pickle

import pytest
import torch
from kernel_cases import Case, build
from kernel_device import DEVICE

import sizewise as sw
from sizewise import criterion as criterion_module
from sizewise.stats.formula.write import Writer
from sizewise.stats.kernels import call, launch
from sizewise.stats.prepared import Prepared

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter


@pytest.fixture
def step(monkeypatch):
    """A function that takes a loss and its gradient in one node, also without a GPU."""

    def loss_and_gradient(criterion, logits, target, upstream=1.0):
        with monkeypatch.context() as patch:
            patch.setattr(criterion_module, "steps_on_gpu", lambda logits: True)
            loss = criterion(logits, target)
        assert type(loss.grad_fn).__name__ == "StepBackward"
        (gradient,) = torch.autograd.grad(loss, logits, torch.full_like(loss, upstream))
        return loss.detach(), gradient

    return loss_and_gradient


def example(classes=3):
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(2, classes, 5, 6, generator=random).to(DEVICE).requires_grad_()
    return logits, torch.randint(0, classes, (2, 5, 6), generator=random).to(DEVICE)


@pytest.mark.parametrize("name", ["RCE", "DiceFL", "LogDiceCE", "DBCE", "WCE"])
def test_one_node_gives_the_loss_and_gradient_of_the_single_operations(name, step):
    logits, target = example()
    criterion = sw.loss(name).to(DEVICE)
    loss, gradient = step(criterion, logits, target, upstream=-3.0)
    plain = criterion.total(criterion.terms(logits, target))
    torch.testing.assert_close(loss, plain.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(-3 * plain, logits)[0])


def test_hooks_of_checkpointing_do_not_see_the_inner_graph(step):
    logits, target = example()
    criterion = sw.loss("RCE").to(DEVICE)

    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: seen.append(tensor.shape) or tensor, lambda x: x):
        step(criterion, logits, target)
    # logits, labels and the coefficients of count, pixels, nll and size; nothing of the formula
    assert seen == [logits.shape, (2, 5, 6), (4, 2, 3)]


def test_hooks_may_bring_tensors_back_in_another_layout(step):
    # torch.autograd.graph.save_on_cpu does so: the classes were last in memory, and come back first
    target = example()[1]
    logits = torch.randn(2, 5, 6, 3, device=DEVICE).movedim(-1, 1).requires_grad_()
    criterion = sw.loss("RCE").to(DEVICE)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.contiguous(), lambda tensor: tensor):
        _, gradient = step(criterion, logits, target, upstream=-3.0)
    plain = criterion.total(criterion.terms(logits, target))
    torch.testing.assert_close(gradient, torch.autograd.grad(-3 * plain, logits)[0])


class Marked(torch.Tensor):
    """As MONAI's MetaTensor."""


def test_a_subclass_of_tensor_takes_the_same_step(monkeypatch):
    logits, target = example()
    criterion = sw.loss("RCE").to(DEVICE)
    monkeypatch.setattr(criterion_module, "steps_on_gpu", lambda logits: type(logits) is torch.Tensor)
    loss = criterion(logits.as_subclass(Marked), target.as_subclass(Marked))
    assert type(loss) is torch.Tensor
    assert type(loss.grad_fn).__name__ == "StepBackward"
    torch.testing.assert_close(loss, criterion(logits, target), rtol=0, atol=0)


def test_a_second_derivative_is_refused(monkeypatch):
    logits, target = example()
    monkeypatch.setattr(criterion_module, "steps_on_gpu", lambda logits: True)
    loss = sw.loss("RCE").to(DEVICE)(logits, target)
    (gradient,) = torch.autograd.grad(loss, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="a second one was asked for"):
        gradient.sum().backward()


@pytest.mark.parametrize("target", ["int64", "shares float32"])
@pytest.mark.parametrize("sigmoid", [False, True])
def test_the_factor_from_upstream_multiplies_the_whole_gradient(sigmoid, target):
    arguments = build(Case((2, 3, 5, 7), target=target, sigmoid=sigmoid, mask=True), DEVICE)
    coefficients = torch.randn(12, 2, 3, *((2,) if sigmoid else ()), device=DEVICE)
    plain = launch.region_gradient(coefficients, *arguments)
    scaled = launch.region_gradient(coefficients, *arguments, upstream=torch.tensor(-4.0, device=DEVICE))
    assert plain.any()
    assert torch.equal(scaled, -4 * plain)  # a power of two leaves no rounding


CHANGES = {
    "an option": lambda criterion: setattr(criterion.parts["Dice"], "smooth", 3.0),
    "the classes": lambda criterion: setattr(criterion.parts["Dice"].choice, "classes", "foreground"),
    "a term": lambda criterion: criterion.parts.update({"Dice": sw.Dice(smooth=2.0)}),
    "a buffer": lambda criterion: setattr(criterion.parts["Dice"].choice, "class_weight", torch.ones(3)),
    "the ignored label": lambda criterion: setattr(criterion, "ignore_index", 255),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_prepared_is_given_up_after_a_change(change):
    criterion = sw.CrossEntropy() + 0.1 * sw.Dice(class_weight=[1, 2, 3])
    prepared = criterion._prepared()
    criterion.train(not criterion.training)
    assert criterion._prepared() is prepared
    CHANGES[change](criterion)
    assert criterion._prepared() is not prepared


def test_copies_prepare_for_themselves():
    criterion = sw.loss("RCE")
    prepared = criterion._prepared()
    for copied in (
        copy.deepcopy(criterion),
        pickle.loads(pickle.dumps(criterion)),
        criterion._replicate_for_data_parallel(),
    ):
        assert copied._prepared() is not prepared
    assert criterion._prepared() is prepared


def test_a_weight_that_stayed_on_the_cpu_needs_no_new_kernel(step, monkeypatch):
    monkeypatch.setattr(Writer, "is_elsewhere", lambda self, tensor: tensor.dim() == 0)
    logits, target = example()
    criterion = sw.CrossEntropy() + 0.1 * sw.Dice()
    step(criterion, logits, target)
    prepared = criterion._prepared()
    (plan,) = prepared.plans.values()
    criterion.weights["Dice"] = 0.5
    loss, _ = step(criterion, logits, target)
    assert criterion._prepared() is prepared
    assert list(prepared.plans.values()) == [plan]
    torch.testing.assert_close(loss, criterion.total(criterion.terms(logits, target)).detach())


def test_weights_that_become_learned_get_their_gradient(monkeypatch):
    logits, target = example()
    monkeypatch.setattr(criterion_module, "steps_on_gpu", lambda logits: True)
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


def test_weights_made_in_inference_mode_serve_to_evaluate(monkeypatch):
    logits, target = example()
    monkeypatch.setattr(criterion_module, "steps_on_gpu", lambda logits: True)
    with torch.inference_mode():
        criterion = sw.loss("RCE").to(DEVICE)
    with torch.no_grad():
        torch.testing.assert_close(criterion(logits, target), sw.loss("RCE").to(DEVICE)(logits, target))


def test_what_programs_found_wrong_is_joined_for_any_number_of_them(monkeypatch):
    # one program, 3 fields and 3 classes leave an odd number of float32 in the workspace
    monkeypatch.setattr(call, "MOST_STRAYS", 0)
    monkeypatch.setattr(launch, "_forward_calls", {})
    arguments = (None, None, False, [0, 1, 4], [0.0, 0.0, 1.0])
    logits, target = torch.zeros(1, 3, 2, 2, device=DEVICE), torch.zeros(1, 1, 2, 2, dtype=torch.int64, device=DEVICE)
    counts = launch.region_sums(logits, target, *arguments)[0]
    assert counts.tolist() == [[4, 0, 0]]


class Restless(sw.Dice):
    """A term of someone else's, whose value may depend on anything."""


def test_only_known_formulas_on_the_logits_device_become_kernels():
    logits = torch.zeros(1, 2, 4, 4, device="meta")
    assert Prepared(sw.loss("RCE")).takes(logits)  # λ as numbers
    assert Prepared(sw.loss("RCE").to("meta")).takes(logits)
    assert not Prepared(sw.loss("RCE", class_weight=[1, 2])).takes(logits)  # weights to copy in every step
    assert Prepared(sw.loss("RCE", class_weight=[1, 2]).to("meta")).takes(logits)
    assert not Prepared(sw.loss("RCE", scope="global")).takes(logits)
    assert not Prepared(sw.Loss(sw.CrossEntropy() + Restless())).takes(logits)
    assert not Prepared(sw.loss("RCE")._replicate_for_data_parallel()).takes(logits)
    learned = sw.loss("RCE")
    learned.weights["SizeL1"].requires_grad_()
    assert not Prepared(learned).takes(logits)
