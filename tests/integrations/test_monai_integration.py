"""MonaiLoss and RegionMetric inside the real MONAI."""

import json
import math
import re
import warnings
from pathlib import Path

import pytest
import torch
from torchvision_stub import import_peer

import sizewise as sw
from sizewise.integrations.monai import MonaiLoss

monai_losses = import_peer("monai.losses", needs_torchvision=True)
monai_data = import_peer("monai.data")

from monai.inferers import sliding_window_inference  # noqa: E402
from monai.metrics import DiceMetric  # noqa: E402

from sizewise.integrations.monai_metrics import RegionMetric  # noqa: E402
from sizewise.metrics.case import score_channels  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"


def waves(*shape: int) -> torch.Tensor:
    """Uneven numbers, the same on every machine."""
    index = torch.arange(math.prod(shape), dtype=torch.float32)
    return 2 * torch.sin(1.7 * index + 0.013 * index**2).view(shape)


def labels_of(*shape: int, classes: int = 3) -> torch.Tensor:
    return waves(*shape).mul(5).long().abs() % classes


@pytest.mark.parametrize("spatial", [(6, 7), (4, 5, 6)], ids=["2D", "3D"])
def test_float_metatensor_labels_give_the_same_loss_and_gradient_as_integers(spatial):
    labels = labels_of(2, *spatial)
    given = waves(2, 3, *spatial).requires_grad_()
    loss = MonaiLoss("RCE")(given, monai_data.MetaTensor(labels.unsqueeze(1).float()))
    assert type(loss) is torch.Tensor
    loss.backward()
    plain = waves(2, 3, *spatial).requires_grad_()
    expected = sw.loss("RCE")(plain, labels)
    expected.backward()
    assert float(loss.detach()) == float(expected.detach())
    assert torch.equal(given.grad, plain.grad)


def test_one_hot_targets_and_channel_first_metatensor_logits():
    labels = labels_of(2, 6, 7)
    one_hot = torch.nn.functional.one_hot(labels, 3).movedim(-1, 1).float()
    logits = waves(2, 3, 6, 7)
    loss = MonaiLoss("DiceCE")(monai_data.MetaTensor(logits), monai_data.MetaTensor(one_hot))
    assert float(loss) == pytest.approx(float(sw.loss("DiceCE")(logits, labels)), rel=1e-6)
    assert type(loss) is torch.Tensor


def test_sigmoid_with_float_masks_and_ignored_pixels():
    labels = labels_of(2, 1, 6, 7, classes=2)
    logits = waves(2, 1, 6, 7)
    loss = MonaiLoss("RCE", activation="sigmoid")
    assert float(loss(logits, labels.float())) == float(sw.loss("RCE", activation="sigmoid")(logits, labels))
    labels[0, 0, 0] = 255
    ignoring = MonaiLoss("RCE", activation="sigmoid", ignore_index=255)
    expected = sw.loss("RCE", activation="sigmoid", ignore_index=255)(logits, labels)
    assert float(ignoring(logits, labels.float())) == float(expected)


def test_any_criterion_can_be_wrapped():
    loss = MonaiLoss(sw.CrossEntropy() + 0.5 * sw.Dice(), ignore_index=7)
    assert repr(loss.criterion) == "Loss(CrossEntropy() + 0.5 * Dice(), ignore_index=7)"


def test_bad_use_is_told_what_to_do():
    logits = waves(1, 3, 4, 4)
    interpolated = torch.full((1, 1, 4, 4), 0.5)
    with pytest.raises(ValueError, match=re.escape("target holds 0.5, which is no whole label. Labels have to be")):
        MonaiLoss("RCE")(logits, interpolated)
    with pytest.raises(TypeError, match="criterion must be the name of a loss, as 'RCE', or a sizewise loss, got"):
        MonaiLoss(monai_losses.DiceLoss())
    with pytest.raises(ValueError, match="there is no loss 'RCEE'"):
        MonaiLoss("RCEE")
    with pytest.raises(ValueError, match=r"target must have shape .* got \(1, 1, 5, 4\)"):
        MonaiLoss("RCE")(logits, torch.zeros(1, 1, 5, 4))


def test_a_label_between_classes_becomes_a_stray_label_where_nothing_may_wait():
    """What a GPU does, on the CPU: no check of our own, and the criterion reports the label that no class has."""
    from sizewise.integrations import reading

    fake = torch.tensor([[0.0, 1.5]])
    whole = torch.where(fake.long() == fake, fake.long(), reading.NOT_A_LABEL)
    with pytest.raises(ValueError, match=str(reading.NOT_A_LABEL)):
        sw.loss("CE")(waves(1, 2, 2), whole)


def test_monais_deep_supervision():
    """Weights 1 and 1/2 (not normalised), targets sampled with nearest-exact."""
    labels = labels_of(2, 1, 8, 8).float()
    outputs = [waves(2, 3, 8, 8).requires_grad_(), waves(2, 3, 4, 4).requires_grad_()]
    criterion = MonaiLoss("RCE")
    loss = monai_losses.DeepSupervisionLoss(criterion)(outputs, labels)
    small = labels[:, 0, 1::2, 1::2].long()  # the pixel whose centre is at or after the middle of each 2 x 2
    rce = sw.loss("RCE")
    expected = rce(outputs[0], labels[:, 0].long()) + 0.5 * rce(outputs[1], small)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    loss.backward()
    assert all(float(output.grad.abs().sum()) > 0 for output in outputs)


def test_training_through_a_sliding_window():
    """The windows' logits come back as one MetaTensor, whose graph reaches the network."""
    torch.manual_seed(0)
    network = torch.nn.Conv3d(1, 2, 3, padding=1)
    images = monai_data.MetaTensor(waves(1, 1, 12, 12, 12))
    logits = sliding_window_inference(images, (8, 8, 8), 2, network, overlap=0.5)
    MonaiLoss("RCE")(logits, monai_data.MetaTensor(labels_of(1, 1, 12, 12, 12, classes=2).float())).backward()
    assert float(network.weight.grad.abs().sum()) > 0


def test_the_bundle_example_trains_from_its_json(capsys, monkeypatch):
    """Through MONAI's own parser: every `_target_` resolves, and the loss falls."""
    pytest.importorskip("ignite", reason="MONAI's engines need pytorch-ignite")
    from monai.bundle import ConfigParser

    monkeypatch.syspath_prepend(EXAMPLES)
    config = json.loads((EXAMPLES / "monai_bundle.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MONAI's own
        parser = ConfigParser(config)
        parser.parse()
        loss = parser.get_parsed_content("loss")
        trainer = parser.get_parsed_content("trainer")
        (batch,) = parser.get_parsed_content("trainer").data_loader
        before = float(loss(trainer.network(batch["image"]), batch["label"]))
        parser.get_parsed_content("run")
    assert isinstance(loss, MonaiLoss)
    shown = capsys.readouterr().out
    after = float(re.search(r"loss ([\d.]+)", shown)[1])
    assert after < before


def one_hot(labels: list[list[int]], classes: int = 3) -> torch.Tensor:
    """(N, C, 1, W) of 0 and 1."""
    return torch.nn.functional.one_hot(torch.tensor(labels), classes).movedim(-1, 1).unsqueeze(2).float()


PREDICTED = one_hot([[0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 2]])
TRUE = one_hot([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]])
NAN = float("nan")


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        # image 1: class 1 has 3 pixels for 2, 2 in both; image 2 misses it; image 3 invents class 2 (one pixel)
        ("dsc", [[2 * 2 / 5, NAN], [0, NAN], [NAN, 0]]),
        ("iou", [[2 / 3, NAN], [0, NAN], [NAN, 0]]),
        ("size_error", [[1 / 4, 0], [-2 / 4, 0], [0, 1 / 4]]),
        ("relative_size_error", [[1 / 2, NAN], [-1, NAN], [NAN, NAN]]),
        # surfaces of a row of pixels, 1 mm apart: one end of three is off by 1; diagonal of 1 x 4
        ("hd95", [[None, NAN], [math.hypot(1, 4), NAN], [NAN, math.hypot(1, 4)]]),
    ],
)
def test_scores_by_hand(metric, values):
    found = RegionMetric(metric)(y_pred=PREDICTED, y=TRUE)
    if metric == "hd95":
        scores = score_channels(
            PREDICTED[0, 1:].byte().numpy(), TRUE[0, 1:].byte().numpy(), spacing=(1, 1), nsd_tolerance=1
        )
        values[0][0] = scores[0].values()["hd95"]
        assert values[0][0] > 0
    torch.testing.assert_close(found, torch.tensor(values), equal_nan=True)


def test_reductions_lists_and_batches_are_monais():
    whole, parts = (
        RegionMetric("dsc", reduction="mean_batch", get_not_nans=True),
        RegionMetric("dsc", get_not_nans=True),
    )
    whole(y_pred=PREDICTED, y=TRUE)
    for predicted, true in zip(PREDICTED, TRUE, strict=True):
        parts(y_pred=[predicted], y=[monai_data.MetaTensor(true)])
    value, entered = whole.aggregate()
    torch.testing.assert_close(value, torch.tensor([0.4, 0.0]))  # (0.8 + 0) / 2 and 0 / 1
    assert entered.tolist() == [2, 1]
    assert torch.equal(parts.aggregate("mean_batch")[0], value)
    # "mean" takes the mean over the classes of each image first: (0.8 + 0 + 0) / 3
    assert float(parts.aggregate()[0]) == pytest.approx(0.8 / 3)
    parts.reset()
    with pytest.raises(ValueError, match="nothing to aggregate yet"):
        parts.aggregate()


def test_where_both_regions_are_present_dsc_is_monais():
    predicted, true = (
        torch.nn.functional.one_hot(labels_of(2, 9, 8).add(shift) % 3, 3).movedim(-1, 1).float() for shift in (0, 1)
    )
    true[:, :, :4] = predicted[:, :, :4]
    theirs, ours = DiceMetric(reduction="none"), RegionMetric("dsc", include_background=True, reduction="none")
    torch.testing.assert_close(ours(y_pred=predicted, y=true), theirs(y_pred=predicted, y=true))


def test_nsd_takes_the_spacing():
    predicted, true = torch.zeros(1, 1, 12, 12), torch.zeros(1, 1, 12, 12)
    predicted[..., 3:8, 3:8], true[..., 4:9, 3:8] = 1, 1
    near = RegionMetric("nsd", include_background=True, nsd_tolerance_mm=1.0)
    assert float(near(y_pred=predicted, y=true)) == 1.0
    assert float(near(y_pred=predicted, y=true, spacing=(2.0, 1.0))) < 1.0


def test_metric_input_is_checked():
    with pytest.raises(ValueError, match=r"metric must be one of 'dsc', 'iou'.* Did you mean 'dsc'\?"):
        RegionMetric("dcs")
    with pytest.raises(ValueError, match=re.escape("got (3, 3, 1, 4) and (3, 1, 1, 4). Make label maps one-hot")):
        RegionMetric("dsc")(y_pred=PREDICTED, y=TRUE[:, :1])
    with pytest.raises(ValueError, match=r"must hold 0 and 1 alone\. Apply AsDiscrete"):
        RegionMetric("dsc")(y_pred=PREDICTED * 0.7, y=TRUE)


def test_components_under_monai():
    from sizewise.integrations.monai_metrics import RegionMetric

    target, predicted = torch.tensor([[[1, 0, 1, 1, 1, 0]]]), torch.tensor([[[0, 0, 1, 0, 0, 0]]])
    one_hot = [torch.eye(2)[one].movedim(-1, 1) for one in (predicted, target)]
    assert RegionMetric("component_recall")(*one_hot).item() == 0.5
    assert RegionMetric("component_precision")(*one_hot).item() == 1.0
    assert RegionMetric("component_recall_small", component_thirds_px=(1, 2))(*one_hot).item() == 0.0
    with pytest.raises(ValueError, match=r"component_recall_medium needs component_thirds_px"):
        RegionMetric("component_recall_medium")


def test_component_wise_losses_under_monai():
    target = torch.zeros(1, 1, 8, 8)
    target[..., 2, 2] = target[..., 6, 5:7] = 1
    logits = torch.randn(1, 2, 8, 8, requires_grad=True)
    loss = MonaiLoss("CC-DiceCE")(logits, target)
    loss.backward()
    torch.testing.assert_close(loss.detach(), sw.loss("CC-DiceCE")(logits.detach(), target.long()))
