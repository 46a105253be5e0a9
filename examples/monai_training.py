"""MONAI: the loss is one line of a SupervisedTrainer. 3D, MetaTensors, sliding-window validation, our scores.

pip install '.[monai]'  # in a checkout
"""

import warnings

import torch
from discs import discs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MONAI's own, at import
    from monai.data import DataLoader, Dataset
    from monai.engines import SupervisedEvaluator, SupervisedTrainer
    from monai.handlers import IgniteMetricHandler, ValidationHandler, from_engine
    from monai.inferers import SlidingWindowInferer
    from monai.networks.nets import UNet
    from monai.transforms import AsDiscreted, Compose, ToMetaTensord
    from monai.utils import set_determinism

from sizewise.integrations.monai import MonaiLoss
from sizewise.integrations.monai_metrics import RegionMetric
from sizewise.integrations.monai_transforms import Decided

CLASSES = 3


def loader(cases, size, seed):
    """MONAI's usual: dictionaries with a channel axis; the labels are float MetaTensors (1, *S)."""
    images, labels = discs(cases, size, dims=3, seed=seed)
    data = [{"image": image, "label": label[None].float()} for image, label in zip(images, labels, strict=True)]
    return DataLoader(Dataset(data, ToMetaTensord(["image", "label"])), batch_size=2)


def main():
    """Train, validate, print the scores per class."""
    set_determinism(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = UNet(3, 1, CLASSES, channels=(8, 16), strides=(2,)).to(device)
    output = from_engine(["pred", "label"])
    scores = {
        name: IgniteMetricHandler(RegionMetric(name, reduction="mean_batch"), output_transform=output)
        for name in ("dsc", "size_error")  # for each class
    }
    evaluator = SupervisedEvaluator(
        device,
        loader(4, 24, seed=1),
        network,
        inferer=SlidingWindowInferer(roi_size=16, sw_batch_size=4),
        # before: AsDiscreted("pred", argmax=True, to_onehot=CLASSES)
        postprocessing=Compose([Decided("pred", "dice", to_onehot=CLASSES), AsDiscreted("label", to_onehot=CLASSES)]),
        key_val_metric={"mean_dsc": IgniteMetricHandler(RegionMetric("dsc"), output_transform=output)},
        additional_metrics=scores,
    )
    trainer = SupervisedTrainer(
        device,
        max_epochs=8,
        train_data_loader=loader(16, 16, seed=0),
        network=network,
        optimizer=torch.optim.Adam(network.parameters(), lr=2e-2),
        loss_function=MonaiLoss("RCE"),  # before: DiceCELoss(to_onehot_y=True, softmax=True)
        train_handlers=[ValidationHandler(interval=8, validator=evaluator)],
    )
    # For a network with outputs at several resolutions: monai.losses.DeepSupervisionLoss(MonaiLoss("RCE")).
    trainer.run()
    for name in scores:
        large, small = evaluator.state.metrics[name].tolist()
        print(f"{name}: large {large:.3f}, small {small:.3f}")


if __name__ == "__main__":
    main()
