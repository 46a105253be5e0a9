"""A Lightning callback that shows, while training, what each term does and where the region sizes go."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from sizewise.criterion.criterion import Criterion
from sizewise.criterion.watch import Watch
from sizewise.deep_supervision import DeepSupervision
from sizewise.models.torchvision_ops import import_with_torchvision
from sizewise.stats.region_stats import RegionStats
from sizewise.theory import decompose

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.utilities.exceptions import MisconfigurationException
else:
    _reason = "sizewise.integrations.lightning"
    Callback = import_with_torchvision("lightning.pytorch.callbacks", extra="lightning", reason=_reason).Callback
    MisconfigurationException = import_with_torchvision(
        "lightning.pytorch.utilities.exceptions", extra="lightning", reason=_reason
    ).MisconfigurationException


class SizeLogger(Callback):
    """Logs each term of the loss, the signed size error per class and the parts of cross-entropy and log-Dice.

    It watches the criterion of a LightningModule, however that calls it, and takes a few more sums along. It logs every
    ``log_every_n_steps`` in training, and the mean over the batches in validation. Of deep supervision it sees the full
    resolution.

    ======================================  ===================================================================
    logged as                               is
    ======================================  ===================================================================
    ``train/term/CrossEntropy``, …          the term's value, unweighted
    ``train/size_error/NAME``               Σ p / |Ω| − the true proportion, mean over images; + is too large
    ``train/ce_matching/NAME``              how far the true region is from being predicted, in cross-entropy
    ``train/ce_bias/NAME``                  the part of cross-entropy that depends on the predicted size alone
    ``train/log_dice_matching/NAME``        the same of log-Dice
    ``train/log_dice_bias/NAME``            the same of log-Dice
    ======================================  ===================================================================

    and the same under ``val/``. See ``sizewise.theory.decompose``. Under DDP the values are means over the ranks.

    Args:
        classes: names of the classes, or of the sigmoid channels; numbers by default.
        criterion: the attribute of the LightningModule that holds the loss, where there are several.

    >>> callback = SizeLogger(classes=("background", "polyp"))
    """

    def __init__(self, *, classes: Sequence[str] | None = None, criterion: str | None = None) -> None:
        self.classes = classes
        self.criterion = criterion
        self._watch: Watch | None = None
        self._seen: tuple[RegionStats, dict[str, Tensor]] | None = None
        self._wanted = False

    def setup(self, trainer: "Trainer", pl_module: "LightningModule", stage: str) -> None:
        """Find the criterion and watch it."""
        self.teardown(trainer, pl_module, stage)
        criterion = _find(pl_module, self.criterion)
        self._watch = criterion.watch(self._look, fields=("nll", "overlap", "size"))

    def teardown(self, trainer: "Trainer", pl_module: "LightningModule", stage: str) -> None:
        """Leave the criterion as it was."""
        if self._watch is not None:
            self._watch.remove()
        self._watch = self._seen = None

    def _look(self, stats: RegionStats, terms: dict[str, Tensor]) -> None:
        if self._wanted and self._seen is None:  # of deep supervision the first, full resolution
            self._seen = (stats, terms)

    def on_train_batch_start(self, trainer: "Trainer", pl_module: "LightningModule", *_: Any) -> None:
        self._wanted = _logs_this_batch(trainer)
        self._seen = None

    def on_train_batch_end(self, trainer: "Trainer", pl_module: "LightningModule", *_: Any) -> None:
        self._log("train", trainer, pl_module, on_step=True)

    def on_validation_batch_start(self, trainer: "Trainer", pl_module: "LightningModule", *_: Any) -> None:
        self._wanted, self._seen = not trainer.sanity_checking, None

    def on_validation_batch_end(self, trainer: "Trainer", pl_module: "LightningModule", *_: Any) -> None:
        self._log("val", trainer, pl_module, on_step=False)

    def _log(self, stage: str, trainer: "Trainer", pl_module: "LightningModule", *, on_step: bool) -> None:
        seen, self._seen, self._wanted = self._seen, None, False
        if seen is None:
            return
        values = {f"{stage}/{name}": value for name, value in self._values(*seen).items()}
        pl_module.log_dict(
            values,
            on_step=on_step,
            on_epoch=not on_step,
            batch_size=seen[0].sums.shape[1],
            sync_dist=trainer.world_size > 1,
        )

    def _values(self, stats: RegionStats, terms: dict[str, Tensor]) -> dict[str, Tensor]:
        found = decompose(stats)
        names = [str(name) for name in (range(found.true.shape[1]) if self.classes is None else self.classes)]
        if len(names) != found.true.shape[1]:
            raise MisconfigurationException(
                f"SizeLogger: classes names {len(names)} classes, {', '.join(names)}, and the network has "
                f"{found.true.shape[1]} channels."
            )
        values = {f"term/{name}": value for name, value in terms.items()}
        counted = (found.pixels > 0).sum(0).clamp(min=1)  # images without a valid pixel hold zeros
        per_region = {
            "size_error": found.size_error,
            "ce_matching": found.cross_entropy.matching,
            "ce_bias": found.cross_entropy.bias,
            "log_dice_matching": found.log_dice.matching,
            "log_dice_bias": found.log_dice.bias,
        }
        for what, regions in per_region.items():
            if found.sigmoid:
                regions = regions[..., 1]  # the foreground of each channel
            means = regions.sum(0) / counted
            values.update({f"{what}/{name}": mean for name, mean in zip(names, means, strict=True)})
        return values


def _logs_this_batch(trainer: "Trainer") -> bool:
    """Whether Lightning hands this batch's values to its loggers: those of other batches are not looked at."""
    every: int = getattr(trainer, "log_every_n_steps", 1)
    batches = getattr(trainer.fit_loop.epoch_loop, "_batches_that_stepped", trainer.global_step)
    return every > 0 and (batches + 1) % every == 0


def _find(pl_module: nn.Module, attribute: str | None) -> Criterion:
    """The outermost criterion: a loss counts, its terms do not."""
    if attribute is not None:
        found = getattr(pl_module, attribute, None)
        inside = [found] if isinstance(found, (Criterion, DeepSupervision)) else []
        if isinstance(found, nn.Module) and not inside:
            inside = _outermost(found)
    else:
        inside = _outermost(pl_module)
    if len(inside) != 1:
        where = f"attribute {attribute!r} of it" if attribute else "it"
        raise MisconfigurationException(
            f"SizeLogger: {type(pl_module).__name__} must hold one sizewise loss as an attribute, as "
            f"self.criterion = sizewise.loss('RCE'), and {where} holds {len(inside)}."
            + (" Name the one to watch: SizeLogger(criterion='criterion')." if len(inside) > 1 else "")
        )
    loss = inside[0]
    return loss.criterion if isinstance(loss, DeepSupervision) else loss


def _outermost(module: nn.Module) -> list[Any]:
    found: list[Any] = []
    for child in module.children():
        found += [child] if isinstance(child, (Criterion, DeepSupervision)) else _outermost(child)
    return found
