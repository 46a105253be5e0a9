"""segmentation_models.pytorch: its FPN with our loss, in the mode that SMP's own losses would have.

pip install '.[train]'  # in a checkout
"""

import torch
from discs import discs

from sizewise.integrations.smp import SmpLoss
from sizewise.models.smp import import_smp

# Any `import segmentation_models_pytorch as smp` does; this one also works next to a torchvision that was built for
# another torch (a CPU build, say).
smp = import_smp()


def main():
    """Train in each of SMP's three modes."""
    images, labels = discs(8, size=32)
    images = images.expand(-1, 3, -1, -1)  # SMP's encoders see RGB
    # multilabel: the small disc and "any disc" overlap
    targets = {
        "multiclass": (3, labels),
        "binary": (1, (labels == 2).float()),
        "multilabel": (2, torch.stack([labels > 0, labels == 2], 1).float()),
    }
    for mode, (classes, target) in targets.items():
        torch.manual_seed(0)
        model = smp.FPN("resnet18", encoder_weights=None, classes=classes)  # activation=None: raw scores
        criterion = SmpLoss("RCE", mode=mode)  # before: smp.losses.DiceLoss(mode)
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
        values = []
        for _ in range(5):
            loss = criterion(model(images), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            values.append(float(loss.detach()))
        print(f"{mode}: loss {values[0]:.3f} -> {values[-1]:.3f}")


if __name__ == "__main__":
    main()
