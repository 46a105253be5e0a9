"""Composing criteria, their weights, and what a module has to survive."""

import copy
import io
import pickle

import pytest
import torch

import sizewise as sw
from sizewise.criterion import plain_step

LOGITS = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TARGET = torch.randint(0, 3, (2, 4, 5), generator=torch.Generator().manual_seed(1))


def value(criterion):
    return criterion(LOGITS, TARGET).item()


def full():
    """A criterion with every kind of constant."""
    return sw.Loss(
        sw.CrossEntropy(class_weight=[0.1, 0.2, 0.7])
        + 0.3 * sw.Dice(classes=[1, 2])
        + 0.7 * sw.SizeL1(target=[0.1, 0.2, 0.7])
        + sw.SizeBounds(0.1, [0.3, 0.4, 0.9], temperature=3),
        ignore_index=255,
    )


def test_sums_and_multiples_are_what_they_say():
    ce, dice, size = sw.CrossEntropy(), sw.Dice(), sw.SizeL1()
    wanted = value(ce) + 0.5 * value(dice) + 2 * value(size)
    assert value(ce + 0.5 * dice + 2 * size) == pytest.approx(wanted, rel=1e-12)
    assert value(ce + (0.25 * dice + size) * 2) == pytest.approx(wanted, rel=1e-12)
    assert value(sum([ce, 0.5 * dice, 2 * size])) == pytest.approx(wanted, rel=1e-12)
    assert sum([ce]) is ce
    assert value(0 * ce + dice) == value(dice)
    assert repr(ce + 0.5 * (dice + 2 * size)) == "Loss(CrossEntropy() + 0.5 * Dice() + SizeL1())"
    for wrong in (lambda: ce + 1, lambda: 1 + ce, lambda: ce + "Dice", lambda: ce * "2", lambda: "2" * ce):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match=r"Dice: weight must be a number >= 0, got -1"):
        _ = -1 * dice
    with pytest.raises(TypeError, match=r"Dice: weight is λ.*got Tensor. Weights per class go into class_weight"):
        _ = dice * torch.ones(3)


def test_a_sum_takes_one_pass_over_the_union_of_the_fields(monkeypatch):
    calls = []
    original = plain_step.region_sums
    monkeypatch.setattr(plain_step, "region_sums", lambda *a: calls.append(a[-3:-1]) or original(*a))
    criterion = sw.Dice() + sw.LogDice() + sw.Focal(gamma=1) + sw.Focal(gamma=3) + sw.SizeL1() + sw.SizeKL()
    criterion(LOGITS, TARGET)
    # count and pixels always; then overlap, size, two focal sums and the tempered size
    assert calls == [([0, 1, 3, 4, 2, 2, 4], [0.0, 0.0, 0.0, 1.0, 1.0, 3.0, 10.0])]
    assert [str(field) for field in criterion.fields] == [
        "overlap", "size", "focal(gamma=1)", "focal(gamma=3)", "tempered_size(temperature=10)",
    ]  # fmt: skip


def test_equal_names_are_numbered():
    criterion = sw.Dice() + 0.5 * sw.Dice(scope="batch") + (sw.Dice(smooth=2) + sw.CrossEntropy())
    assert criterion.weights.names == tuple(criterion.parts) == ("Dice", "Dice_2", "Dice_3", "CrossEntropy")
    terms = criterion.terms(LOGITS, TARGET)
    assert terms["Dice_2"].item() == value(sw.Dice(scope="batch"))
    assert terms["Dice_3"].item() == value(sw.Dice(smooth=2))
    assert criterion.label == "Dice + Dice_2 + Dice_3 + CrossEntropy"


def test_terms_keep_the_graph_and_total_weighs_them():
    criterion = full()
    leaf, other = LOGITS.clone().requires_grad_(), LOGITS.clone().requires_grad_()
    terms = criterion.terms(leaf, TARGET)
    assert list(terms) == ["CrossEntropy", "Dice", "SizeL1", "SizeBounds"]
    assert all(one.requires_grad and one.shape == () for one in terms.values())
    total = criterion.total(terms)
    wanted = terms["CrossEntropy"] + 0.3 * terms["Dice"] + 0.7 * terms["SizeL1"] + terms["SizeBounds"]
    torch.testing.assert_close(total, wanted, rtol=1e-14, atol=0)
    total.backward()
    criterion(other, TARGET).backward()
    assert torch.equal(leaf.grad, other.grad)
    # from sums that were taken before, and a single term in the same words
    assert torch.equal(criterion.from_stats(criterion.stats(LOGITS, TARGET)), criterion(LOGITS, TARGET))
    dice = sw.Dice()
    assert torch.equal(dice.total(dice.terms(LOGITS, TARGET)), dice(LOGITS, TARGET))
    with pytest.raises(ValueError, match=r"total\(\) needs the value of each term, CrossEntropy, Dice, .* got Dice\."):
        criterion.total({"Dice": terms["Dice"]})


def test_weights_are_read_and_set_by_name():
    criterion = sw.loss("RCE")
    weights = criterion.weights
    assert (len(weights), float(weights["SizeL1"])) == (2, 1.0)
    assert (weights["SizeL1"].shape, weights["SizeL1"].dtype) == ((), torch.float64)
    terms = {name: one.item() for name, one in criterion.terms(LOGITS, TARGET).items()}
    storage = weights["SizeL1"].data_ptr()
    weights["SizeL1"] = 0.5
    assert value(criterion) == pytest.approx(terms["CrossEntropy"] + 0.5 * terms["SizeL1"], rel=1e-14)
    weights["SizeL1"] = weights["SizeL1"] * 0.9
    assert float(weights["SizeL1"]) == pytest.approx(0.45, rel=1e-15)
    weights["SizeL1"] *= 2
    assert float(weights["SizeL1"]) == pytest.approx(0.9, rel=1e-15)
    assert weights["SizeL1"].data_ptr() == storage  # in place, so that a captured graph sees it
    assert "SizeL1" in weights
    assert "SizeL2" not in weights
    assert {name: float(one) for name, one in dict(weights).items()} == {"CrossEntropy": 1.0, "SizeL1": 0.9}
    assert repr(weights) == "Weights(CrossEntropy=1, SizeL1=0.9)"
    assert repr(criterion) == "Loss(CrossEntropy() + 0.9 * SizeL1())"
    with pytest.raises(KeyError, match=r"there is no term 'SizeL2'; the terms are CrossEntropy, SizeL1.*'SizeL1'"):
        weights["SizeL2"] = 1
    with pytest.raises(ValueError, match=r"weights\['SizeL1'\]: weight must be a number >= 0, got -1"):
        weights["SizeL1"] = -1
    with pytest.raises(TypeError, match="class_weight"):
        weights["SizeL1"] = torch.ones(3)
    assert float(weights["SizeL1"]) == pytest.approx(0.9)


def test_state_dict_brings_weights_and_constants_back():
    criterion, fresh = full(), full()
    criterion.weights["Dice"] = 0.9
    criterion.parts["CrossEntropy"].choice.class_weight.fill_(2.0)
    criterion.parts["SizeL1"].prior.copy_(torch.tensor([0.6, 0.3, 0.1]))
    assert value(criterion) != value(fresh)
    file = io.BytesIO()
    torch.save(criterion.state_dict(), file)
    file.seek(0)
    fresh.load_state_dict(torch.load(file, weights_only=True))
    assert value(criterion) == value(fresh)
    assert not list(criterion.parameters())


@pytest.mark.parametrize("move", ["half", "bfloat16", "float", "double", "to"])
def test_moving_a_criterion_never_rounds_its_constants(move):
    criterion = full()
    moved = criterion.to(torch.float16) if move == "to" else getattr(criterion, move)()
    assert moved is criterion
    assert {buffer.dtype for buffer in criterion.buffers()} == {torch.float64}
    assert value(criterion) == value(full())
    network = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 1), full()).half()
    assert {buffer.dtype for buffer in network[1].buffers()} == {torch.float64}


def test_lists_are_kept_to_the_last_digit():
    # 0.1 as a float32 is 0.10000000149
    term = sw.SizeL1(target=[0.1, 0.2, 0.7], class_weight=[0.1, 0.2, 0.7])
    assert term.prior.tolist() == term.choice.class_weight.tolist() == [0.1, 0.2, 0.7]
    assert sw.SizeBounds(0.1).lower.item() == 0.1


def test_copies_are_equal_and_independent():
    criterion = full()
    for twin in (copy.deepcopy(criterion), pickle.loads(pickle.dumps(criterion))):
        assert repr(twin) == repr(criterion)
        assert value(twin) == value(criterion)
        twin.weights["Dice"] = 5.0
        assert float(criterion.weights["Dice"]) == 0.3


def test_repr_shows_the_formula_and_what_differs_from_the_defaults():
    assert repr(full()) == (
        "Loss(CrossEntropy(class_weight=[0.1, 0.2, 0.7]) + 0.3 * Dice(classes=(1, 2)) + "
        "0.7 * SizeL1(target=[0.1, 0.2, 0.7]) + SizeBounds(lower=0.1, upper=[0.3, 0.4, 0.9], temperature=3), "
        "ignore_index=255)"
    )
    assert repr(sw.Tversky(alpha=0.3, beta=0.7, absent="skip")) == "Tversky(alpha=0.3, beta=0.7, absent='skip')"
    assert repr(sw.Focal(gamma=2)) == "Focal()"


def test_both_sides_of_a_sum_must_read_their_input_alike():
    plain = sw.Dice()
    masked, other = sw.loss("CE", ignore_index=255), sw.loss("CE", ignore_index=0)
    sigmoid = sw.loss("CE", activation="sigmoid")
    assert (plain + masked).ignore_index == (masked + plain).ignore_index == (2 * masked).ignore_index == 255
    assert (plain + sigmoid).activation == (sigmoid + plain).activation == (2 * sigmoid).activation == "sigmoid"
    with pytest.raises(ValueError, match=r"the two sides read their input differently, ignore_index=255 and .*=0"):
        _ = masked + other


def test_a_loss_around_a_loss_keeps_how_it_reads_its_input():
    inner = sw.loss("RCE", ignore_index=255, activation="sigmoid")
    outer = sw.Loss(inner)
    assert (outer.ignore_index, outer.activation) == (255, "sigmoid")
    assert sw.Loss(sw.Dice() + 0.5 * sw.CrossEntropy(), ignore_index=7).ignore_index == 7
    for wrong in ("RCE", torch.nn.CrossEntropyLoss(), sw.Dice):
        with pytest.raises(
            TypeError, match=r"Loss: criterion must be a term or a sum of terms.*sizewise\.loss\(name\)"
        ):
            sw.Loss(wrong)


def test_messages_open_with_the_criterion_that_was_called():
    with pytest.raises(ValueError, match=r"^Dice: target must have shape"):
        sw.Dice()(LOGITS, TARGET[:1])
    with pytest.raises(ValueError, match=r"^CrossEntropy \+ SizeL1: target must have shape"):
        sw.loss("RCE")(LOGITS, TARGET[:1])
