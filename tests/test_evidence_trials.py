"""Size penalties of benchmarks/evidence that change over training: by hand, as kernels, and through a killed run."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from data.layouts.image_folder import write_multiclass_folder
from train.test_train_compiling import train_killed
from train.test_train_resume import assert_same_result
from train.tiny_runs import CPU, train_tiny

import sizewise as sw
from sizewise.train import compiled_network
from sizewise.train.checkpoint import load_checkpoint

FOLDER = Path(__file__).parents[1] / "benchmarks" / "evidence"
OVER_TRAINING = ("warm_up", "rising_temperature", "dual")
# p̂ = ½, ½ at any τ; t = ¾, ¼: L1 is ¼
LOGITS, TARGET = torch.zeros(1, 2, 2, 2), torch.tensor([[[0, 0], [0, 1]]])


@pytest.fixture
def size_terms(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(FOLDER)])
    import size_terms

    yield size_terms
    sys.modules.pop("size_terms", None)


def test_the_warm_up_follows_the_share_of_training(size_terms):
    criterion = sw.loss("size_terms:warm_up")
    found = []
    for share in (0, 0.1, 0.2, 0.5, 1):  # (0.2 − 0.1) / 0.4 = ¼
        criterion.at(share)
        found.append(float(criterion.terms(LOGITS, TARGET)["WarmUp"]))
    assert found == [0, 0, 0.0625, 0.25, 0.25]


def test_the_temperature_rises_with_the_share_of_training(size_terms):
    random = torch.Generator().manual_seed(0)
    logits, target = torch.randn(2, 3, 5, 6, generator=random), torch.randint(0, 3, (2, 5, 6), generator=random)
    criterion = sw.loss("size_terms:rising_temperature")
    soft, hard = (sw.SizeL1(temperature=one)(logits, target) for one in (1, 10))
    for share, hardness in ((0, 0), (0.2, 0.25), (1, 1)):
        criterion.at(share)
        found = criterion.terms(logits, target)["RisingTemperature"]
        torch.testing.assert_close(found, (1 - hardness) * soft + hardness * hard)


def test_a_multiplier_grows_while_sizes_are_off_and_shrinks_else(size_terms):
    criterion = sw.loss("size_terms:dual")
    held = criterion.parts["Dual"].multipliers.values
    logits = LOGITS.clone().requires_grad_()
    assert criterion.terms(logits, TARGET)["Dual"].item() == 0
    # off by ¼ of ¾ + 0.01, and of ¼ + 0.01; 0.02 a step for what is above a tenth
    first, second = (0.02 * (0.25 / (share + 0.01) - 0.1) for share in (0.75, 0.25))
    torch.testing.assert_close(held[:3], torch.tensor([first, second, 0]))
    assert criterion.terms(logits, TARGET)["Dual"].item() == pytest.approx(0.25 * (first + second) / 2)
    before = held.clone()
    with torch.no_grad():
        criterion(logits, TARGET)
    criterion.from_stats(criterion.stats(LOGITS, TARGET))  # as validation takes it
    assert torch.equal(held, before)
    right = torch.tensor([[[[50.0, 50], [50, 0]], [[0, 0], [0, 50.0]]]], requires_grad=True)
    criterion(right, TARGET)
    torch.testing.assert_close(held[:2], before[:2] - 0.002)
    held.fill_(3)
    criterion(logits, TARGET)
    assert held[:2].tolist() == [3, 3]  # the most


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, in the interpreter
@pytest.mark.parametrize("trial", OVER_TRAINING)
def test_kernels_take_what_hears_the_share_and_leave_what_learns_to_torch(size_terms, monkeypatch, trial):
    from criterion.fused.test_fused_step import example, plans, same_as_operations
    from kernel_device import DEVICE

    from sizewise.criterion import step

    monkeypatch.setattr(step, "takes_kernels", lambda logits: True)
    criterion = sw.loss(f"size_terms:{trial}").to(DEVICE)
    logits, target = example()
    for share in (0, 0.3, 1):
        criterion.at(share)
        loss = criterion(logits, target)
        if trial != "dual":  # which would go on learning
            same_as_operations(criterion, logits, target, loss)
    assert len(plans(criterion)) == (trial != "dual")


@pytest.fixture
def no_curves(monkeypatch):
    """Leave out the plots of each epoch, which take longer than the training."""
    monkeypatch.setattr("sizewise.train.loop.draw_curves", lambda *given, **named: None)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_multiclass_folder(tmp_path_factory.mktemp("data"))


@pytest.mark.usefixtures("no_curves", "size_terms")
@pytest.mark.parametrize("trial", OVER_TRAINING)
def test_a_killed_run_ends_with_the_same_bits(data, tmp_path, monkeypatch, trial):
    settings = {"loss": f"size_terms:{trial}", "epochs": 2}
    train_tiny(data, tmp_path / "whole", **settings)
    train_killed(data, tmp_path / "run", monkeypatch, **settings)
    train_tiny(data, tmp_path / "run", resume=True, **settings)
    assert_same_result(tmp_path / "run", tmp_path / "whole")
    learned = load_checkpoint(tmp_path / "whole" / "last.pt").get("terms", {})
    assert list(learned) == (["Dual.multipliers.values"] if trial == "dual" else [])
    assert all(one.any() for one in learned.values())


@pytest.mark.usefixtures("no_curves", "size_terms")
def test_a_step_that_is_tried_teaches_a_term_nothing(data, tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_network, "BACKEND", lambda graph, inputs: graph.forward)
    for word in ("off", "on"):
        train_tiny(data, tmp_path / word, runtime=replace(CPU, compile=word), loss="size_terms:dual")
    assert_same_result(tmp_path / "on", tmp_path / "off")
    off, on = (load_checkpoint(tmp_path / word / "last.pt")["terms"] for word in ("off", "on"))
    assert all(torch.equal(on[name], off[name]) for name in off)
