"""Decide and Decided where AsDiscrete stands, inside the real MONAI."""

import pickle
import re

import numpy as np
import pytest
import torch
from torchvision_stub import import_peer

import sizewise as sw

import_peer("monai.losses", needs_torchvision=True)

from monai.data import MetaTensor, decollate_batch  # noqa: E402
from monai.transforms import Activationsd, AsDiscrete, AsDiscreted, Compose, Flip  # noqa: E402

from sizewise.integrations.monai_metrics import RegionMetric  # noqa: E402
from sizewise.integrations.monai_transforms import Decide, Decided  # noqa: E402

AFFINE = torch.diag(torch.tensor([2.0, 1.0, 3.0, 1.0], dtype=torch.float64))


def scores(*shape, seed=0, scale=2.0):
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def case(classes=3):
    """(K, *S) that was flipped before, with the affine of its file."""
    return Flip(spatial_axis=0)(MetaTensor(scores(classes, 5, 6, 7), affine=AFFINE))


@pytest.mark.parametrize("onehot", [None, 3])
def test_with_argmax_it_is_as_discrete(onehot):
    """Values, shape, dtype, type, affine and applied operations."""
    for given in (case(), scores(3, 5, 6), scores(3, 5, 6).numpy(), scores(3, 9).half()):
        ours = Decide("argmax", to_onehot=onehot)(given)
        theirs = AsDiscrete(argmax=True, to_onehot=onehot)(given)
        assert type(ours) is type(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert torch.equal(torch.as_tensor(ours), torch.as_tensor(theirs))
        assert ours.applied_operations == theirs.applied_operations
        assert torch.equal(ours.affine, theirs.affine)
    assert Decide("argmax")(case()).applied_operations
    assert torch.equal(Decide("dice")(case()).affine, case().affine)


@pytest.mark.parametrize("metric", ["dice", "iou", "size"])
def test_the_labels_are_those_of_decide(metric):
    given = case()
    wanted = sw.decide(given.as_tensor()[None], metric=metric, temperature=1.5, background=None, prune=0.2)
    ours = Decide(metric, temperature=1.5, background=None, prune=0.2)(given)
    assert ours.shape == (1, 5, 6, 7)
    assert torch.equal(ours.as_tensor(), wanted.float())
    probabilities = (given.as_tensor() / 1.5).softmax(0)
    from_probabilities = Decide(metric, background=None, prune=0.2, given="probabilities")(probabilities)
    assert float((from_probabilities == ours).float().mean()) > 0.995  # rounding aside
    assert not torch.equal(wanted[0], given.as_tensor().argmax(0))


def test_sigmoid_gives_a_channel_each():
    given = scores(2, 6, 7)
    ours = Decide("dice", activation="sigmoid", dtype=torch.uint8)(given)
    assert ours.dtype == torch.uint8
    assert torch.equal(ours.as_tensor().bool(), sw.decide(given[None], activation="sigmoid")[0])
    with pytest.raises(ValueError, match="gives one channel per class already"):
        Decide("dice", activation="sigmoid", to_onehot=2)


def test_a_fitted_decision_brings_its_options():
    logits = scores(4, 2, 8, 8, scale=6.0)
    target = (scores(4, 8, 8, seed=1) > 0.5).long()
    fitted = sw.fit_decision([(logits, target)], "dice", scope="batch")
    assert torch.equal(Decide(fitted)(logits[0]).as_tensor(), fitted(logits[:1]).float())
    copied = pickle.loads(pickle.dumps(Decided(["pred"], fitted)))
    assert torch.equal(copied({"pred": logits[0]})["pred"].as_tensor(), fitted(logits[:1]).float())
    with pytest.raises(ValueError, match="brings its own activation, temperature, prune and background"):
        Decide(fitted, temperature=2.0)


def test_in_a_compose_after_decollating():
    """Lists of keys, a missing one, softmax before, a metric after, and a pickled copy of it all."""
    batch = {"pred": MetaTensor(scores(2, 3, 8, 8)), "label": MetaTensor(scores(2, 1, 8, 8).abs().clamp(max=2).floor())}
    steps = Compose(
        [
            Activationsd("pred", softmax=True),
            Decided(["pred", "second"], "dice", given="probabilities", to_onehot=(3, None), allow_missing_keys=True),
            AsDiscreted("label", to_onehot=3),
        ]
    )
    wanted = sw.decide(batch["pred"].as_tensor(), metric="dice")
    metric = RegionMetric("dsc")
    for number, one in enumerate(decollate_batch(batch)):
        for transform in (steps, pickle.loads(pickle.dumps(steps))):
            done = transform(one)
            assert isinstance(done["pred"], MetaTensor)
            assert float((done["pred"].argmax(0) == wanted[number]).float().mean()) > 0.98
            assert set(np.unique(done["pred"])) <= {0, 1}
        metric(y_pred=[done["pred"]], y=[done["label"]])
    assert 0 <= float(metric.aggregate()) <= 1
    with pytest.raises(KeyError, match="second"):
        Decided(["pred", "second"])({"pred": scores(2, 4, 4)})


def test_each_key_has_its_own():
    data = {"a": scores(2, 6, 6), "b": scores(3, 6, 6)}
    done = Decided(["a", "b"], ["argmax", "dice"], to_onehot=[2, None])(data)
    assert done["a"].shape == (2, 6, 6)
    assert torch.equal(done["b"].as_tensor()[0].long(), sw.decide(data["b"][None])[0])
    assert data["a"].shape == (2, 6, 6)
    assert data["a"].dtype == torch.float32


def test_the_labels_can_be_inverted():
    """Back into the geometry that the image had before its transforms."""
    flip, logits = Flip(spatial_axis=0), scores(2, 6, 7)
    decided = Decide("dice")(flip(MetaTensor(logits)))
    inverted = flip.inverse(decided)
    assert inverted.applied_operations == []
    assert torch.equal(inverted.as_tensor(), sw.decide(logits[None]).float())


def test_bad_use_is_told_what_to_do():
    with pytest.raises(ValueError, match=r"metric must be one of 'dice', .* Did you mean 'dice'\?"):
        Decide("dcie")
    with pytest.raises(ValueError, match="given must be one of 'logits', 'probabilities'"):
        Decide(given="softmax")
    with pytest.raises(TypeError, match=re.escape("to_onehot must be the number of classes or None, got True")):
        Decide(to_onehot=True)
    with pytest.raises(ValueError, match=re.escape("(K, *S), channels first, got (4,). It stands after")):
        Decide()(scores(4))
    with pytest.raises(ValueError, match="to_onehot=4 and the case has 3 channels"):
        Decide(to_onehot=4)(scores(3, 4, 4))
    with pytest.raises(ValueError, match="softmax over one class is always 1"):
        Decide()(scores(1, 4, 4))
