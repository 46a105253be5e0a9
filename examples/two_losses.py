"""Train a tiny network on synthetic lesions with two losses; compare the sizes it predicts, and its Dice.

Three classes: background, a large organ (about 12 % of the pixels) and a small lesion (about 0.7 %), in noise.
"""

import argparse
import sys
import time

import torch
from torch import nn

import sizewise as sw

NAMES = ("background", "organ", "lesion")


def synthetic(images, size, generator):
    """Noisy images (N, 1, H, W) and labels (N, H, W): an ellipse, and a small disc inside it."""
    rows, columns = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    target = torch.zeros(images, size, size, dtype=torch.long)
    for label in target:
        row, column = (torch.rand(2, generator=generator) * 0.4 + 0.3) * size
        height, width = (torch.rand(2, generator=generator) * 0.1 + 0.14) * size
        organ = ((rows - row) / height) ** 2 + ((columns - column) / width) ** 2 < 1
        angle = torch.rand(1, generator=generator) * 6.283
        lesion_row, lesion_column = row + height * 0.5 * torch.sin(angle), column + width * 0.5 * torch.cos(angle)
        radius = (torch.rand(1, generator=generator) * 0.03 + 0.035) * size
        lesion = (rows - lesion_row) ** 2 + (columns - lesion_column) ** 2 < radius**2
        label[organ] = 1
        label[lesion & organ] = 2
    brightness = torch.tensor([0.0, 1.0, 1.6])[target]
    return (brightness + 0.8 * torch.randn(target.shape, generator=generator)).unsqueeze(1), target


def network():
    """A few convolutions with a wide view: enough to see the shapes through the noise."""
    layers = []
    for channels, dilation in ((1, 1), (16, 2), (16, 4), (16, 8), (16, 1)):
        layers += [nn.Conv2d(channels, 16, 3, padding=dilation, dilation=dilation), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(16, len(NAMES), 1))


def train(criterion, images, target, steps):
    """Train from the same start and in the same order, whatever the loss."""
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        batch = torch.randint(0, len(images), (8,))
        loss = criterion(model(images[batch]), target[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if sys.stderr.isatty():
            print(f"\r  step {step + 1}/{steps}  loss {float(loss.detach()):.3f}  ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r" + " " * 50 + "\r", end="", file=sys.stderr)
    return model.eval()


@torch.no_grad()
def score(model, images, target):
    """Predicted proportion and pooled Dice of each class."""
    predicted = model(images).argmax(1)
    sizes, dice = [], []
    for label in range(len(NAMES)):
        ours, true = predicted == label, target == label
        sizes.append(float(ours.float().mean()))
        dice.append(float(2 * (ours & true).sum() / (ours.sum() + true.sum())))
    return sizes, dice


def main():
    """Two losses, one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", default="Dice,RCE", help=f"two or more of {', '.join(sw.loss_names())}, RCE, RFL")
    parser.add_argument("--steps", type=int, default=250, help="training steps for each loss")
    given = parser.parse_args()
    try:
        criteria = {name: sw.loss(name) for name in given.losses.split(",")}
    except ValueError as error:
        parser.error(str(error))
    generator = torch.Generator().manual_seed(0)
    images, target = synthetic(96, 64, generator)
    test_images, test_target = synthetic(48, 64, generator)
    true = [float((test_target == label).float().mean()) for label in range(len(NAMES))]
    print(f"{'':24s}" + "".join(f"{name:>22s}" for name in NAMES))
    print(f"{'true share of pixels':24s}" + "".join(f"{100 * size:20.2f} %" for size in true))
    for name, criterion in criteria.items():
        start = time.perf_counter()
        sizes, dice = score(train(criterion, images, target, given.steps), test_images, test_target)
        cells = "".join(f"{100 * size:8.2f} %  Dice {value:.3f}" for size, value in zip(sizes, dice, strict=True))
        print(f"{name + ' predicts':24s}{cells}   ({time.perf_counter() - start:.0f} s)")
    print("\nOne seed each: a difference smaller than that between two seeds means nothing.")
    print("Try other losses: .venv/bin/python examples/two_losses.py --losses CE,DiceCE,RCE-KL")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
