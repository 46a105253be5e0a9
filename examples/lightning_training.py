"""Lightning: a LightningModule with our loss, and the callback that logs its terms and the sizes to any logger.

pip install '.[lightning]'  # in a checkout
"""

import csv
import logging
import tempfile
import warnings

import torch
from discs import discs
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sizewise as sw
from sizewise.integrations.lightning import SizeLogger  # first: it copes with a torchvision built for another torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Lightning's own, at import
    import lightning.pytorch as pl
    from lightning.pytorch.loggers import CSVLogger


class Segmenter(pl.LightningModule):
    """The loss is an attribute, so that it moves to the device and the callback finds it."""

    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 3, 5, padding=2))
        self.criterion = sw.loss("RCE")

    def training_step(self, batch, _):
        """The loss of a batch."""
        images, labels = batch
        return self.criterion(self.network(images), labels)

    def validation_step(self, batch, _):
        """Likewise; the callback logs what this call was given."""
        images, labels = batch
        self.log("val/loss", self.criterion(self.network(images), labels))

    def configure_optimizers(self):
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    """Train, then show what the callback logged."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")  # advice about workers, for data that is in memory
    pl.seed_everything(0, verbose=False)
    train, validation = (DataLoader(TensorDataset(*discs(32, seed=seed)), batch_size=8) for seed in (0, 1))
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            max_epochs=5,
            accelerator="cpu",
            log_every_n_steps=4,
            logger=CSVLogger(folder),
            callbacks=[SizeLogger(classes=("background", "large", "small"))],
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
        )
        trainer.fit(Segmenter(), train, validation)
        with open(f"{trainer.logger.log_dir}/metrics.csv") as file:
            rows = [row for row in csv.DictReader(file) if row["val/loss"]]
    for name in ("val/term/CrossEntropy", "val/term/SizeL1", "val/size_error/small", "val/log_dice_bias/small"):
        print(f"{name}: {float(rows[0][name]):+.4f} -> {float(rows[-1][name]):+.4f}")


if __name__ == "__main__":
    main()
