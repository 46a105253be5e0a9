"""The terms of docs/guides/your-own-loss.md, by hand, and on the step that kernels take."""

import math
import re
from pathlib import Path

import pytest
import torch
from four_pixels import near, value

import sizewise as sw

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-loss.md"


@pytest.fixture(scope="module")
def page():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(block, names)
    return names


def test_each_by_hand(page):
    # Dice of classes 0 and 1 is 2/13 and 2/7, see test_dice; Tversky with ½ and ½ and half the smoothing is Dice
    two = (2 / 13, 2 / 7)
    assert value(page["LogCoshDice"]()) == near(sum(math.log(math.cosh(one)) for one in two) / 2)
    assert value(page["FocalTversky"](smooth=0.5)) == near(sum(one**0.75 for one in two) / 2)
    # every pixel is right with p = 3/4 : −log ¾ + (1 − ¾)
    assert value(page["Poly1"]()) == near(-math.log(0.75) + 0.25)
    # τ = 2: 0.05 off for either class, beyond δ: 0.05 − 0.005
    assert value(page["SizeHuber"](temperature=2)) == near(0.045)


def test_within_delta_the_penalty_is_quadratic(page):
    logits = torch.zeros(1, 2, 1000, dtype=torch.float64)
    target = (torch.arange(1000) < 504).long()[None]  # 0.004 off: 0.004² / 0.02
    assert page["SizeHuber"]()(logits, target).item() == near(0.0008)


def test_they_add_up_in_one_pass(page):
    logits = torch.randn(2, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    target = torch.randint(0, 3, (2, 8, 8))
    terms = [page[name]() for name in ("Poly1", "FocalTversky", "LogCoshDice", "SizeHuber")]
    together = sw.Loss(terms[0] + terms[1] + terms[2] + terms[3])(logits, target)
    alone = sum(term(logits, target) for term in terms)
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(
        torch.autograd.grad(together, logits, retain_graph=True), torch.autograd.grad(alone, logits)
    )


def test_one_that_changes_over_training_hears_the_share(page):
    term = page["LateSize"]()
    assert repr(term) == "LateSize()"  # its options are those of the term it is made from
    criterion = sw.CrossEntropy() + term
    found = []
    for share in (0.25, 0.75):  # nothing in the first half; 2 · 0.75 − 1 = ½ of it
        criterion.at(share)
        found.append(value(term))
    assert found[0] == 0
    assert found[1] == near(value(sw.SizeL1()) / 2)
    per_component = sw.per_component(page["LateSize"]())
    per_component.at(1)
    assert float(per_component.term.factor) == 1


def test_one_that_forgets_a_field_or_to_reduce_is_told():
    logits, target = torch.zeros(2, 2, 4, requires_grad=True), torch.zeros(2, 4, dtype=torch.long)

    class Forgetful(sw.Dice):
        def per_region(self, stats, images):
            return stats.nll

    with pytest.raises(ValueError, match=r"nll was asked for, .* A term of your own names it in its fields\."):
        Forgetful()(logits, target)

    class PerImage(sw.Dice):
        def value(self, stats):
            return stats.size.sum(-1)

    class Number(sw.Dice):
        def value(self, stats):
            return 3.0

    for term, got in ((PerImage(), r"shape \(2,\)"), (Number(), "float")):
        for criterion in (term, sw.CrossEntropy() + term):
            with pytest.raises(TypeError, match=rf"value\(stats\) must return one number .*, got {got}\. Reduce it"):
                criterion(logits, target)
