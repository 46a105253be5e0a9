"""The losses by name: what they are made of, and where their options go."""

import inspect

import pytest
import torch

import sizewise as sw

LOGITS = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
TARGET = torch.randint(0, 3, (2, 4, 5), generator=torch.Generator().manual_seed(1))

FORMULAS = {
    "CE": "CrossEntropy()",
    "WCE": "BalancedCrossEntropy()",
    "FL": "Focal()",
    "Dice": "Dice()",
    "LogDice": "LogDice()",
    "DiceCE": "CrossEntropy() + 0.1 * Dice()",
    "LogDiceCE": "CrossEntropy() + 0.1 * LogDice()",
    "DiceFL": "Focal() + 0.1 * Dice()",
    "LogDiceFL": "Focal() + 0.1 * LogDice()",
    "DBCE": "CrossEntropy() + 0.01 * DiceBias()",
    "RCE-L1": "CrossEntropy() + SizeL1()",
    "RCE-KL": "CrossEntropy() + 0.1 * SizeKL()",
    "RFL-L1": "Focal() + SizeL1()",
    "RFL-KL": "Focal() + 0.1 * SizeKL()",
    "JaccardCE": "0.25 * CrossEntropy() + 0.75 * Jaccard(absent='skip')",
    "CC-Dice": "per_component(Dice(classes='foreground'))",
    "CC-DiceCE": "CrossEntropy() + Dice() + per_component(Dice(classes='foreground'))",
}
OVERLAP = {"smooth": 1.0, "scope": "image", "absent": "include", "class_reduction": "mean"}
SIZE = {"temperature": 10.0, "pixels": "valid", "scope": "image", "absent": "include", "class_reduction": "sum"}
DEFAULTS = {
    "CrossEntropy": {"scope": "batch"},
    "BalancedCrossEntropy": {"scope": "image", "class_reduction": "sum"},
    "Focal": {"gamma": 2.0, "scope": "batch"},
    "Dice": OVERLAP,
    "LogDice": OVERLAP,
    "Jaccard": OVERLAP,
    "Tversky": OVERLAP | {"alpha": 0.5, "beta": 0.5},
    "GeneralizedDice": {"smooth": 1.0, "scope": "image", "absent": "include"},
    "DiceBias": OVERLAP | {"temperature": 10.0},
    "SizeL1": SIZE | {"target": "ground_truth", "class_reduction": "mean"},
    "SizeKL": SIZE | {"target": "ground_truth"},
    "SizeBounds": SIZE | {"lower": 0.0, "upper": 1.0},
    "SizeBarrier": SIZE | {"lower": 0.0, "upper": 1.0, "t": 5.0},
}


def test_the_names_and_their_formulas():
    assert set(sw.loss_names()) == set(FORMULAS)
    assert {name: sw.loss(name).formula for name in sw.loss_names()} == FORMULAS
    assert repr(sw.loss("RCE")) == repr(sw.loss("RCE-L1")) == "Loss(CrossEntropy() + SizeL1())"
    assert repr(sw.loss("RFL")) == repr(sw.loss("RFL-L1")) == "Loss(Focal() + SizeL1())"


def test_the_defaults_of_every_term():
    """Read from the signature, which is what a user sees."""
    for name in sw.terms.__all__:
        parameters = inspect.signature(getattr(sw, name)).parameters
        defaults = {option: parameter.default for option, parameter in parameters.items()}
        assert defaults == DEFAULTS[name] | {"classes": "all", "class_weight": None}, name
        keyword_only = [one.kind == one.KEYWORD_ONLY for one in parameters.values() if one.name not in LIMITS]
        assert all(keyword_only), name


LIMITS = ("lower", "upper")  # SizeBounds(lower, upper) reads well without names


def test_unknown_names_get_the_closest_one():
    for wrong, right in {"dicece": "DiceCE", "RCE-L2": "RCE-L1", "rce": "RCE", "logdice": "LogDice"}.items():
        with pytest.raises(
            ValueError, match=rf"there is no loss '{wrong}'; the names are CE, .*Did you mean '{right}'"
        ):
            sw.loss(wrong)
    with pytest.raises(ValueError, match=r"there is no loss None"):
        sw.loss(None)


OPTIONS = {
    "class_weight": [1.0, 2.0, 3.0],
    "classes": [0, 2],
    "scope": "batch",
    "absent": "skip",
    "class_reduction": "sum",
    "gamma": 1.5,
    "smooth": 0.25,
    "temperature": 3.0,
    "target": [0.5, 0.2, 0.3],
    "pixels": "all",
}


@pytest.mark.parametrize("name", sw.loss_names())
def test_options_go_to_each_term_that_has_them(name):
    kinds = [type(getattr(term, "term", term)) for term in sw.loss(name).parts.values()]
    for option, value in OPTIONS.items():
        given = {option: value} | ({"target": OPTIONS["target"]} if option == "pixels" else {})
        takers = [kind for kind in kinds if option in kind.option_names()]
        if not takers:
            with pytest.raises(TypeError, match=rf"loss '{name}': no term of it has the option '(target|{option})'"):
                sw.loss(name, **given)
            continue
        made = sw.loss(name, **given)
        for term, kind in zip(made.parts.values(), kinds, strict=True):
            own = {one: what for one, what in given.items() if one in kind.option_names()}
            per_component = hasattr(term, "term")
            named = {"absent": "skip"} if (name, kind) == ("JaccardCE", sw.Jaccard) else {}
            named |= {"classes": "foreground"} if per_component else {}  # its own, unless one is given
            alone = kind(**named | own)
            changed = any((named | own)[one] != DEFAULTS[kind.__name__].get(one) for one in named | own)
            assert (repr(alone) != repr(kind())) == changed
            alone = sw.per_component(alone) if per_component else alone
            assert repr(term) == repr(alone)
            assert torch.equal(term(LOGITS, TARGET), alone(LOGITS, TARGET))
    with pytest.raises(TypeError, match="unexpected keyword argument 'momentum'"):
        sw.loss(name, momentum=0.9)


@pytest.mark.parametrize("name", sw.loss_names())
def test_weight_is_lambda_and_a_number(name):
    if len(sw.loss(name).parts) == 1:
        with pytest.raises(
            TypeError, match=r"weight is λ, which weighs a second term, and this loss has one term only"
        ):
            sw.loss(name, weight=0.5)
    else:
        *main, last = sw.loss(name, weight=0.3).parts
        loss = sw.loss(name, weight=0.3)
        first = 0.25 if name == "JaccardCE" else 1.0
        assert [float(weight) for weight in loss.weights] == [first] * len(main) + [0.3]
        terms = loss.terms(LOGITS, TARGET)
        wanted = sum(first * terms[one] for one in main) + 0.3 * terms[last]
        torch.testing.assert_close(loss(LOGITS, TARGET), wanted)
    for wrong in ([1.0, 2.0], torch.ones(3), torch.tensor(0.5)):
        with pytest.raises(TypeError, match=r"weight is λ, one number >= 0 for a whole term.*class_weight=\.\.\."):
            sw.loss(name, weight=wrong)
    with pytest.raises(ValueError, match=r"weight must be a number >= 0, got -0.1"):
        sw.loss(name, weight=-0.1)


def test_how_the_input_is_read_belongs_to_the_loss():
    loss = sw.loss("DiceCE", ignore_index=255, activation="sigmoid")
    assert (loss.ignore_index, loss.activation) == (255, "sigmoid")
    assert repr(loss) == "Loss(CrossEntropy() + 0.1 * Dice(), ignore_index=255, activation='sigmoid')"
    with pytest.raises(
        ValueError, match=r"Loss: activation must be one of 'softmax', 'sigmoid', got 'softmx'. Did you"
    ):
        sw.loss("CE", activation="softmx")
    with pytest.raises(TypeError, match=r"Loss: ignore_index must be an integer or None, got 1.5"):
        sw.loss("CE", ignore_index=1.5)
