"""What the examples train on: noisy images with a large and a small disc, made on the fly."""

import torch


def discs(images, size=32, dims=2, seed=0):
    """Images (N, 1, *S) and labels (N, *S): 0 background, 1 a large disc (in 3D a ball), 2 a small one."""
    generator = torch.Generator().manual_seed(seed)
    grid = torch.stack(torch.meshgrid(*[torch.arange(size)] * dims, indexing="ij"))
    labels = torch.zeros(images, *[size] * dims, dtype=torch.long)
    for label in labels:
        for value, radius in ((1, 0.3 * size), (2, 0.15 * size)):
            centre = (0.25 + 0.5 * torch.rand(dims, generator=generator)) * size
            label[(grid - centre.view(-1, *[1] * dims)).square().sum(0) < radius**2] = value
    noise = 0.5 * torch.randn(labels.shape, generator=generator)
    return (labels.float() + noise).unsqueeze(1), labels
