"""The analytic backward: against finite differences in float64, and against limits where those cannot reach."""

import math

import pytest
import torch
from cases import ACTIVATIONS, GRIDS, KINDS, SHAPES, all_cases, batch, build, resolve, seed_of
from sampling import sample
from torch.autograd import gradcheck

import sizewise as sw

EVERY_FIELD = ("count", "nll", "focal", "overlap", "size", "tempered_size", "kept_size")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_sum_with_several_gammas_and_temperatures_at_once(activation, kind, shape):
    one = batch(activation, kind, shape, scale=0.4)
    logits, target, mask = one.tensors()
    # Two images of four pixels hold every path; the full Jacobian of more would take long.
    axes = logits.dim() - 2
    logits, target, mask = (
        None if tensor is None else tensor.flatten(-axes)[:2, ..., :4] for tensor in (logits, target, mask)
    )

    def sums(logits):
        options = {"ignore_index": one.ignore_index, "activation": activation, "fields": EVERY_FIELD}
        return sw.region_stats(logits, target, mask, gamma=(0.5, 2), temperature=(3, 10), **options).sums

    assert gradcheck(sums, (logits.clone().requires_grad_(),), atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("term", GRIDS)
def test_terms_with_their_options(term, activation, kind):
    torch.manual_seed(0)  # the fast mode of gradcheck draws a direction
    for shape, words in sample(all_cases(term), 2, seed_of(term, activation, kind)):
        one = batch(activation, kind, shape, scale=0.4)
        options = resolve(words, one)
        logits, target, mask = one.tensors()
        criterion = build(term, options, one)

        def value(logits, criterion=criterion, target=target, mask=mask):
            return criterion(logits, target, mask)

        passed = gradcheck(
            value, (logits.requires_grad_(),), atol=1e-7, rtol=1e-5, fast_mode=True, raise_exception=False
        )
        assert passed, f"{shape} {options}"


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", sw.loss_names())
def test_named_losses_scale_with_the_upstream_gradient(name, activation):
    one = batch(activation, "ignored and masked labels", "3d")
    logits, target, mask = one.tensors()
    criterion = sw.loss(name, ignore_index=one.ignore_index, activation=activation)
    plain, scaled = (logits.clone().requires_grad_() for _ in range(2))
    criterion(plain, target, mask).backward()
    (-3 * criterion(scaled, target, mask)).backward()
    assert plain.grad.abs().max() > 0
    torch.testing.assert_close(scaled.grad, -3 * plain.grad, rtol=1e-12, atol=0)


@pytest.mark.parametrize("far", [200.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("channels", [2, 3, 9])
@pytest.mark.parametrize("form", ["labels", "one-hot"])
def test_saturated_logits_reach_the_limit(form, channels, dtype, far):
    # Two pixels of class 0: one is right beyond doubt, p = 1; one is wrong beyond doubt, p = 0 and class 1 has it all.
    logits = torch.zeros(1, channels, 2, dtype=dtype)
    far = torch.tensor(far, dtype=dtype).item()  # 9984 in bfloat16
    logits[0, 0, 0] = far
    logits[0, 1, 1] = far
    target = torch.zeros(1, 2, dtype=torch.long)
    if form == "one-hot":
        target = torch.nn.functional.one_hot(target, channels).movedim(-1, 1).to(dtype)
    # CE: (p − y) / 2. Focal: (1 − p)^γ [1 + γ p (−log p) / (1 − p)] goes to 1 as p → 0, and to 0 as p → 1, for γ
    # below 1 as well. The others see p through p (1 − p), which is 0 at both ends.
    wanted = torch.zeros(1, channels, 2, dtype=dtype)
    wanted[0, 0, 1], wanted[0, 1, 1] = -0.5, 0.5
    zero = torch.zeros_like(wanted)
    cases = [
        (sw.CrossEntropy(), far / 2, wanted),
        (sw.BalancedCrossEntropy(), far / 2, wanted),
        (sw.Focal(gamma=2), far / 2, wanted),
        (sw.Focal(gamma=0.5), far / 2, wanted),
        # class 0: I = 1, P = 1, T = 2; class 1: P = 1; every other class: 1 − ε/ε = 0
        (sw.Dice(), (1 - 3 / 4 + 1 - 1 / 2) / channels, zero),
        (sw.LogDice(), (math.log(4 / 3) + math.log(2)) / channels, zero),
        (sw.SizeL1(), (0.5 + 0.5) / channels, zero),
        (sw.SizeKL(), math.log(2), zero),
    ]
    for term, value, gradient in cases:
        leaf = logits.clone().requires_grad_()
        loss = term(leaf, target)
        loss.backward()
        assert loss.item() == pytest.approx(value, rel=1e-6), term
        rounding = torch.finfo(loss.dtype).eps  # pulls of size one cancel to it
        torch.testing.assert_close(leaf.grad, gradient, rtol=0, atol=rounding, msg=f"{term}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("missed", [0, 1])
@pytest.mark.parametrize("activation", ["softmax of 2", "softmax of 3", "sigmoid"])
def test_kl_pulls_a_missed_class_back_however_small_it_is(activation, missed, dtype):
    # One class has the share s = e^−50 / (1 + e^−50) of every pixel (τ = 10, 5 apart), and should have t = 1/2.
    # ∂/∂z of it: −t/s · τ s (1 − s) / M + (1 − t)/(1 − s) · τ s (1 − s) / M → −t τ / M = −10/8 as s → 0.
    regions = 3 if activation == "softmax of 3" else 2
    logits = torch.zeros(1, regions, 4, dtype=dtype)
    logits[:, missed] = -5
    logits[:, 2:] = -50
    target = torch.tensor([[0, 0, 1, 1]])
    loss = sw.Loss(sw.SizeKL(temperature=10))
    sign = 1
    if activation == "sigmoid":
        logits, target, sign = logits[:, 1:] - logits[:, :1], target[:, None], (-1, 1)[missed]
        loss = sw.Loss(sw.SizeKL(temperature=10), activation="sigmoid")
    logits.requires_grad_()
    loss(logits, target).backward()
    got = sign * logits.grad[0, 0 if activation == "sigmoid" else missed]
    torch.testing.assert_close(got, torch.full((4,), -10 / 8, dtype=dtype), rtol=1e-5, atol=0)


@pytest.mark.parametrize("channels", [2, 3])
def test_kl_of_one_pixel_does_not_overflow_just_above_the_floor(channels):
    # s = e^−87 is a normal float32 and 1/s too, but 10/s is not; ∂/∂z = ∓τ (1 − s)
    logits = torch.zeros(1, channels, 1)
    logits[:, 0] = -8.7
    logits[:, 2:] = -50
    logits.requires_grad_()
    sw.SizeKL(temperature=10)(logits, torch.zeros(1, 1, dtype=torch.long)).backward()
    torch.testing.assert_close(logits.grad.flatten(), torch.tensor([-10.0, 10.0, 0.0])[:channels], rtol=1e-4, atol=0)


@pytest.mark.parametrize("target", [torch.tensor([[0]]), torch.tensor([[[1.0], [0.0]]])])
def test_focal_keeps_its_digits_near_certainty(target):
    # −(1−p)^γ log p at 1 − p = e^−12 / (1 + e^−12) = 6e-6: from p in float32 it would have one digit in a hundred wrong.
    rest = math.exp(-12) / (1 + math.exp(-12))
    value = sw.Focal(gamma=0.5)(torch.tensor([[[12.0], [0.0]]]), target).item()
    assert value == pytest.approx(rest**0.5 * -math.log1p(-rest), rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", sw.loss_names())
def test_lower_precision_follows_float64(name, activation, dtype):
    one = batch(activation, "ignored and masked labels", "3d", scale=0.5)
    logits, target, mask = one.tensors(dtype)
    criterion = sw.loss(name, ignore_index=one.ignore_index, activation=activation)
    leaf, exact = logits.clone().requires_grad_(), logits.double().requires_grad_()
    loss, reference = criterion(leaf, target, mask), criterion(exact, target, mask)
    loss.backward()
    reference.backward()
    torch.testing.assert_close(loss.double(), reference, rtol=2e-6, atol=1e-7)
    scale = exact.grad.abs().max().item()
    # what rounding the gradient once costs
    rounding = {torch.float32: 1e-6, torch.bfloat16: 2**-8, torch.float16: 2**-10}[dtype]
    torch.testing.assert_close(leaf.grad.double(), exact.grad, rtol=rounding, atol=4e-6 * scale)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_second_derivative_is_a_clear_error(activation):
    one = batch(activation, "labels", "2d")
    logits, target, _ = one.tensors()
    logits.requires_grad_()
    (gradient,) = torch.autograd.grad(sw.loss("RCE", activation=activation)(logits, target), logits, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivative only, and a second one was asked for"):
        gradient.square().sum().backward()


def test_no_gradient_is_taken_to_the_target_or_without_need():
    one = batch("softmax", "probabilities", "1d")
    logits, target, _ = one.tensors()
    assert not sw.loss("RCE")(logits, target).requires_grad
    logits.requires_grad_()
    sw.loss("RCE")(logits, target.requires_grad_()).backward()
    assert target.grad is None
    with torch.no_grad():
        assert not sw.loss("RCE")(logits, target).requires_grad
