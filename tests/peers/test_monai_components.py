"""CC-Dice on hard predictions is one minus MONAI's Dice per component, where both are defined: binary, with a component.

They differ in the rest: MONAI has two channels, the foreground alone and hard labels; gives 1 or 0 (or NaN) to an image
without a component, where ours has no value; and leaves ties between cells to scipy.
"""

import numpy as np
import pytest
import torch

import sizewise as sw
from sizewise.connected_components import cells_of, label_components

monai_metrics = pytest.importorskip("monai.metrics")


def without_ties(random, shape):
    """A mask whose cells are the same when axes are mirrored: no pixel is as far from two components."""
    while True:
        mask = random.random(shape) < 0.01
        _cells, count = cells_of(mask)
        numbers, _ = label_components(mask)
        if count < 2:
            continue
        far = np.stack([_distance(numbers == number) for number in range(1, count + 1)])
        if (np.sort(far, 0)[0] < np.sort(far, 0)[1]).all():
            return mask


def _distance(region):
    places, sites = np.argwhere(np.ones_like(region)), np.argwhere(region)
    return ((places[:, None] - sites[None]) ** 2).sum(-1).min(1).reshape(region.shape)


@pytest.mark.filterwarnings("ignore:Voronoi computation is running on CPU")
@pytest.mark.parametrize("shape", [(15, 19), (9, 8, 7)])
def test_dice_per_component(shape):
    random = np.random.default_rng(0)
    for _ in range(5):
        target = torch.from_numpy(without_ties(random, shape)).long()[None]
        predicted = torch.from_numpy(random.random(shape) < 0.1).long()[None]
        predicted[target == 1] = torch.from_numpy(random.random(int(target.sum())) < 0.6).long()
        one_hot = [torch.eye(2)[one].movedim(-1, 1) for one in (predicted, target)]
        theirs = monai_metrics.DiceMetric(include_background=False, per_component=True)(*one_hot)
        logits = 200 * one_hot[0].double()
        ours = sw.loss("CC-Dice", smooth=1e-12)(logits, target)
        assert 1 - ours.item() == pytest.approx(float(theirs.mean()), abs=1e-6)
