"""Losses that are written down: what they are, and that nothing in them is run."""

import pytest
import torch

import sizewise as sw
from sizewise.user_code import import_named

LOGITS = torch.randn(2, 3, 6, 5, generator=torch.Generator().manual_seed(0))
TARGET = torch.randint(0, 3, (2, 6, 5), generator=torch.Generator().manual_seed(1))
FORMULAS = {
    "CE + 0.5*Tversky(alpha=0.3, beta=0.7)": lambda: sw.CrossEntropy() + 0.5 * sw.Tversky(alpha=0.3, beta=0.7),
    "CE + Dice(scope='batch')": lambda: sw.CrossEntropy() + sw.Dice(scope="batch"),
    " Jaccard(absent = 'skip') * 0.75 + .25 * CrossEntropy() ": lambda: (
        0.75 * sw.Jaccard(absent="skip") + 0.25 * sw.CrossEntropy()
    ),
    "2 * (RCE-KL + FL(gamma=1))": lambda: 2 * sw.CrossEntropy() + 0.2 * sw.SizeKL() + 2 * sw.Focal(gamma=1),
    "0.5 * RCE-L1(weight=0.2) + Dice(classes=[1, 2])": lambda: (
        0.5 * sw.CrossEntropy() + 0.1 * sw.SizeL1() + sw.Dice(classes=[1, 2])
    ),
    "SizeL1(target=[0.5, 0.25, 0.25])": lambda: sw.SizeL1(target=[0.5, 0.25, 0.25]),
    "CE + CE(class_weight=[1, 2, 3])": lambda: sw.CrossEntropy() + sw.CrossEntropy(class_weight=[1, 2, 3]),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_the_sum_that_it_says(text):
    found, wanted = sw.loss(text, ignore_index=255), sw.Loss(FORMULAS[text](), ignore_index=255)
    assert repr(found) == repr(wanted)
    assert torch.equal(found(LOGITS, TARGET), wanted(LOGITS, TARGET))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("CE +", r"cannot be read: .* Write a sum of terms, as CE \+ 0.5"),
        ("CE + Dyce()", r"has 'Dyce'; the names are CE, .*Tversky. Did you mean 'Dice'\?"),
        ("CE + Dice(1)", r"'Dice\(1\)' where options by name"),
        ("CE + Dice(**{})", r"where options by name"),
        ("CE * Dice", r"'CE \* Dice' where a number times a term was wanted"),
        ("True * CE", r"where a number times a term was wanted"),
        ("CE + Dice - FL", r"where the name of a term or a loss was wanted"),
        ("__import__('os').system('true')", r"where .* was wanted"),
        ("CE + Dice(smooth=open('x'))", r"where a number, a word in quotes or a list was wanted"),
        ("(lambda: 1)() + CE", r"where the name of a term or a loss was wanted"),
        ("CE + Dice(smooth=-1)", r"Dice: smooth must be a number > 0, got -1"),
        ("CE + -1 * Dice", r"where a number times a term was wanted"),
    ],
)
def test_what_is_no_sum_of_terms_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        sw.loss(text)


def test_options_stand_in_the_formula():
    for option in ({"weight": 0.5}, {"temperature": 5.0}, {"class_weight": [1.0, 1.0, 1.0]}):
        with pytest.raises(TypeError, match=rf"{next(iter(option))} goes into the formula where it is meant"):
            sw.loss("CE + Dice()", **option)
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha'"):
        sw.loss("CE + Dice(alpha=1)")


def test_a_loss_of_one_s_own(tmp_path, monkeypatch):
    (tmp_path / "my_losses.py").write_text(
        "import sizewise as sw\n"
        "class Squared(sw.Dice):\n"
        "    def per_region(self, stats, images):\n"
        "        return super().per_region(stats, images) ** 2\n"
        "def both():\n"
        "    return sw.CrossEntropy() + 0.5 * Squared()\n"
        "ready = Squared(smooth=2.0)\n"
        "number = 3\n"
    )
    (tmp_path / "my_broken.py").write_text("import there_is_none\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))  # as it was, afterwards
    assert repr(sw.loss("my_losses:Squared", ignore_index=255)) == "Loss(Squared(), ignore_index=255)"
    assert repr(sw.loss("my_losses:both")) == "Loss(CrossEntropy() + 0.5 * Squared())"
    assert repr(sw.loss("my_losses:ready")) == "Loss(Squared(smooth=2))"
    for place, sentence in (
        ("my_losses:number", "must be a term or a sum of terms, .* got int"),
        ("my_losses:Cubed", "the module my_losses has no Cubed"),
        ("my_loses:Squared", "there is no module my_loses. It must be installed, or lie in the working directory"),
        ("my_losses.inner:Squared", "there is no module my_losses.inner"),
    ):
        with pytest.raises(ValueError, match=sentence):
            sw.loss(place)
    with pytest.raises(ModuleNotFoundError, match="there_is_none"):
        import_named("my_broken:loss")
