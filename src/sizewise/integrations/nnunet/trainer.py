"""What our trainers change in nnU-Net's: the loss, the number of epochs, a record of both, and a second validation."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import sizewise
from sizewise.criterion import Criterion, Loss
from sizewise.integrations.nnunet.reading import TrainerLoss
from sizewise.integrations.nnunet.record import keep_record
from sizewise.integrations.nnunet.settings import Settings, validation_decision
from sizewise.integrations.nnunet.term_means import TermMeans

if TYPE_CHECKING:
    from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer as Trainer
else:
    Trainer = object  # the factory puts the real one behind it; nnU-Net is imported only then


class SizewiseTraining(Trainer):
    """Comes before ``nnUNetTrainer`` among a trainer's bases; the factory sets the class attributes."""

    settings: Settings
    loss_options: dict[str, Any]
    make_criterion: Callable[[str], Criterion]
    decision: str | None = None
    num_epochs: int
    num_iterations_per_epoch: int
    num_val_iterations_per_epoch: int

    # nnU-Net looks up these very argument names.
    def __init__(
        self,
        plans: dict,
        configuration: str,
        fold: int,
        dataset_json: dict,
        device: torch.device = torch.device("cuda"),  # noqa: B008
    ) -> None:
        super().__init__(plans, configuration, fold, dataset_json, device)
        self.decision = validation_decision(type(self).decision)  # now, not after days of training
        self.num_epochs = self.settings.epochs or self.num_epochs
        self.num_iterations_per_epoch = self.settings.iterations or self.num_iterations_per_epoch
        self.num_val_iterations_per_epoch = self.settings.validation_iterations or self.num_val_iterations_per_epoch

    def _build_loss(self) -> TrainerLoss:
        theirs = super()._build_loss()  # for its weights of the levels alone
        regions = self.label_manager.has_regions
        ignored = self.label_manager.ignore_label
        criterion = Loss(
            self.make_criterion(self._scope()),
            activation="sigmoid" if regions else "softmax",
            ignore_index=None if regions else ignored,
        )
        return TrainerLoss(
            criterion,
            level_weights=theirs.weight_factors if self.enable_deep_supervision else None,
            ignore_channel=regions and ignored is not None,
        ).to(self.device)

    def _scope(self) -> str:
        """Where nnU-Net would take Dice over the batch, and over all GPUs, so do we."""
        if self.settings.scope is not None:
            return self.settings.scope
        if self.configuration_manager.batch_dice:
            return "global" if self.is_ddp else "batch"
        return "image"

    def on_train_start(self) -> None:
        if self.local_rank == 0:  # before anything of another run is written over
            keep_record(Path(self.output_folder_base), self.record())
        super().on_train_start()
        self.term_means = TermMeans(self.loss.inner)
        self.print_to_log_file(f"sizewise: {type(self).__name__} trains with {self.loss}")

    def train_step(self, batch: dict) -> dict:
        self.term_means.next_batch()
        return super().train_step(batch)

    def on_train_epoch_end(self, train_outputs: list[dict]) -> None:
        super().on_train_epoch_end(train_outputs)
        means = self.term_means.take()
        if self.local_rank == 0:
            for name, mean in means.items():
                self.print_to_log_file(f"train {name} {mean:.4f}")
                for logger in getattr(self.logger, "loggers", ()):  # W&B, where nnU-Net has it switched on
                    logger.log(f"train_terms/{name}", mean, self.current_epoch)

    def perform_actual_validation(self, save_probabilities: bool = False) -> None:
        super().perform_actual_validation(save_probabilities)
        if self.decision is not None:
            from sizewise.integrations.nnunet.deciding import deciding

            with deciding(self, self.decision) as folder:
                self.print_to_log_file(f"sizewise: the same model, decided for {self.decision}, in {folder}")
                super().perform_actual_validation(False)

    def record(self) -> dict[str, Any]:
        """What ``sizewise.json`` holds. The loss is that of one image: how it is pooled follows from plans and GPUs."""
        return {
            "trainer": type(self).__name__,
            "loss": repr(self.make_criterion("image")),
            "settings": self.loss_options
            | {
                "scope": self.settings.scope or "from the plans",
                "epochs": self.num_epochs,
                "iterations": self.num_iterations_per_epoch,
                "validation_iterations": self.num_val_iterations_per_epoch,
            },
            "versions": {
                "sizewise": sizewise.__version__,
                "nnunetv2": version("nnunetv2"),
                "torch": torch.__version__,
            },
        }
