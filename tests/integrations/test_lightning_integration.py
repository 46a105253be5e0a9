"""SizeLogger in real Lightning runs: what reaches a logger, from which calls, and over two processes."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from sampling import EXHAUSTIVE
from torch.utils.data import DataLoader, TensorDataset
from torchvision_stub import import_peer

import sizewise as sw

pl = import_peer("lightning.pytorch", needs_torchvision=True)

from lightning.pytorch.loggers.logger import DummyLogger  # noqa: E402
from lightning.pytorch.utilities.exceptions import MisconfigurationException  # noqa: E402

from sizewise.integrations.lightning import SizeLogger  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own advice about workers and loggers

CLASSES = ("background", "organ", "lesion")


class Kept(DummyLogger):
    """Remembers what it is given, by step."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def log_metrics(self, metrics, step=None):
        self.rows.append((step, metrics))


class Segmenter(pl.LightningModule):
    """One convolution; ``way`` says how the criterion is called."""

    def __init__(self, criterion, way="call", channels=3):
        super().__init__()
        torch.manual_seed(0)
        self.network = torch.nn.Conv2d(1, channels, 3, padding=1)
        self.criterion = criterion
        self.way = way

    def loss(self, batch):
        logits = self.network(batch[0])
        if self.way == "terms":
            return self.criterion.total(self.criterion.terms(logits, batch[1]))
        if self.way == "levels":
            return self.criterion([logits, logits[..., ::2, ::2]], batch[1])
        return self.criterion(logits, batch[1])

    def training_step(self, batch, _):
        return self.loss(batch)

    def validation_step(self, batch, _):
        self.loss(batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)  # so that every step sees the same network


def data(images=4, channels=None):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(images, 1, 8, 8, generator=generator)
    labels = (pixels[:, 0] > 0).long() + (pixels[:, 0] > 1).long()
    if channels:
        labels = torch.stack([labels > channel for channel in range(channels)], 1)
    return TensorDataset(pixels, labels)


def fit(module, *, callback=None, every=1, dataset=None):
    logger = Kept()
    dataset = dataset or data()
    trainer = pl.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=logger,
        log_every_n_steps=every,
        callbacks=[callback or SizeLogger(classes=CLASSES)],
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    trainer.fit(module, DataLoader(dataset, batch_size=2), DataLoader(dataset, batch_size=2))
    return logger.rows


def collected(rows, prefix):
    return {name: value for _, row in rows for name, value in row.items() if name.startswith(prefix)}


@pytest.mark.parametrize("way", ["call", "terms", "levels"])
def test_everything_is_logged_however_the_criterion_is_called(way):
    criterion = sw.loss("RCE")
    module = Segmenter(sw.DeepSupervision(criterion) if way == "levels" else criterion, way)
    found = collected(fit(module), "val/")
    pixels, labels = data().tensors
    logits = module.network(pixels).detach()
    parts = sw.theory.decompose(sw.region_stats(logits, labels))
    expected = {
        "val/term/CrossEntropy": sw.CrossEntropy()(logits, labels),
        "val/term/SizeL1": sw.SizeL1()(logits, labels),
    }
    for index, name in enumerate(CLASSES):
        expected[f"val/size_error/{name}"] = (logits.softmax(1).mean((2, 3)).mean(0) - true_share(labels))[index]
        expected[f"val/ce_matching/{name}"] = parts.cross_entropy.matching.mean(0)[index]
        expected[f"val/ce_bias/{name}"] = parts.cross_entropy.bias.mean(0)[index]
        expected[f"val/log_dice_matching/{name}"] = parts.log_dice.matching.mean(0)[index]
        expected[f"val/log_dice_bias/{name}"] = parts.log_dice.bias.mean(0)[index]
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert float(found[name]) == pytest.approx(float(value), rel=1e-5, abs=1e-6), name
    assert criterion.watches == ()  # left as it was


def true_share(labels):
    return torch.stack([(labels == label).float().mean() for label in range(3)])


def test_training_logs_on_the_steps_that_reach_the_loggers():
    rows = fit(Segmenter(sw.loss("DiceCE")), every=2, dataset=data(images=8))  # four batches
    steps = [step for step, row in rows if "train/size_error/lesion" in row]
    assert steps == [1, 3]
    assert set(collected(rows, "train/term/")) == {"train/term/CrossEntropy", "train/term/Dice"}


def test_sigmoid_channels_log_their_foreground():
    module = Segmenter(sw.loss("RCE", activation="sigmoid"), channels=2)
    dataset = data(channels=2)
    found = collected(fit(module, callback=SizeLogger(), dataset=dataset), "val/size_error")
    pixels, labels = dataset.tensors
    errors = (module.network(pixels).detach().sigmoid() - labels.float()).mean((0, 2, 3)).tolist()
    assert [float(found[f"val/size_error/{channel}"]) for channel in "01"] == pytest.approx(errors, rel=1e-5)


def test_bad_use_is_lightnings_own_error_with_our_sentence():
    with pytest.raises(MisconfigurationException, match=r"must hold one sizewise loss as an attribute, .* it holds 0"):
        fit(Segmenter(torch.nn.CrossEntropyLoss()))
    two = Segmenter(sw.loss("RCE"))
    two.other = sw.loss("CE")
    with pytest.raises(MisconfigurationException, match=r"it holds 2\. Name the one to watch: SizeLogger\(criterion="):
        fit(two)
    assert collected(fit(two, callback=SizeLogger(criterion="criterion")), "val/term/SizeL1")
    with pytest.raises(
        MisconfigurationException, match="classes names 2 classes, a, b, and the network has 3 channels"
    ):
        fit(Segmenter(sw.loss("RCE")), callback=SizeLogger(classes=("a", "b")))


@pytest.mark.skipif(not EXHAUSTIVE, reason="two processes take a while: SIZEWISE_EXHAUSTIVE=1")
def test_two_processes_log_the_mean_over_both(tmp_path):
    """Lightning forks; rank 0 writes what it logged; each rank has half of the images."""
    script = tmp_path / "two.py"
    script.write_text(
        textwrap.dedent(
            """
            import json, sys, warnings
            warnings.simplefilter("ignore")
            sys.path[:0] = sys.argv[1:]
            from test_lightning_integration import *
            from lightning.pytorch.utilities import rank_zero_only
            class Written(Kept):
                @rank_zero_only
                def log_metrics(self, metrics, step=None):
                    if any(name.startswith("val/") for name in metrics):
                        print(json.dumps(metrics), flush=True)
            trainer = pl.Trainer(
                max_epochs=1, accelerator="cpu", devices=2, strategy="ddp_fork", logger=Written(), log_every_n_steps=1,
                callbacks=[SizeLogger(classes=CLASSES)], enable_progress_bar=False, enable_model_summary=False,
                enable_checkpointing=False,
            )
            loader = DataLoader(data(), batch_size=2)
            trainer.fit(Segmenter(sw.loss("RCE")), loader, loader)
            """
        )
    )
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, str(script), str(here), str(here.parent), str(here.parent / "peers")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    alone = collected(fit(Segmenter(sw.loss("RCE"))), "val/")
    both = {name: value for name, value in json.loads(line).items() if name.startswith("val/")}
    assert both == pytest.approx({name: float(value) for name, value in alone.items()}, rel=1e-5, abs=1e-6)
