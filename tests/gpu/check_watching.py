"""Callbacks see every eager step, change no bit, and say once that a captured step has none; Lightning's logger."""

import warnings

import torch
from gpu.steps import batches, fast, step

import sizewise as sw


def watching() -> None:
    """Callbacks see every eager step, change no bit, and say once that a captured step has none; Lightning's logger."""
    ((logits, target),) = batches(count=1)
    criterion, seen = sw.loss("RCE").cuda(), []
    before = fast(criterion, logits, target)
    with criterion.watch(lambda stats, terms: seen.append((stats, terms)), fields=("nll", "overlap", "size")):
        during = fast(criterion, logits, target)
        criterion.total(criterion.terms(logits, target))
        assert len(seen) == 2
        assert all(torch.equal(*pair) for pair in zip(before, during, strict=True))
        torch.testing.assert_close(seen[0][0].size, sw.region_stats(logits, target).size)
        leaf = logits.clone().requires_grad_()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    step(criterion, leaf, target)
        assert sum("callbacks of watch()" in str(one.message) for one in said) == 1
        assert len(seen) == 2


def lightning_logger() -> None:
    """SizeLogger in a real run on the GPU."""
    try:
        import lightning.pytorch as pl
    except ImportError:
        print("  Lightning is not installed: its logger was not tried")
        return
    from lightning.pytorch.loggers.logger import DummyLogger
    from torch.utils.data import DataLoader, TensorDataset

    from sizewise.integrations.lightning import SizeLogger

    rows = []

    class Kept(DummyLogger):
        def log_metrics(self, metrics, step=None):
            rows.append(metrics)

    class Segmenter(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.criterion = torch.nn.Conv2d(1, 3, 1), sw.loss("RCE")

        def training_step(self, batch, _):
            return self.criterion(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = TensorDataset(torch.randn(4, 1, 8, 8), torch.randint(0, 3, (4, 8, 8)))
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = pl.Trainer(
        max_epochs=1,
        accelerator="cuda",
        devices=1,
        logger=Kept(),
        log_every_n_steps=1,
        callbacks=[SizeLogger()],
        **quiet,
    )
    trainer.fit(Segmenter(), DataLoader(data, batch_size=2))
    found = {name for row in rows for name in row if name.startswith("train/")}
    assert {"train/term/SizeL1", "train/size_error/2", "train/ce_bias/0"} <= found, found
