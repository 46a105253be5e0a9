"""Trainers for nnU-Net v2, one for each named loss.

nnU-Net searches the folders in ``nnUNet_extTrainer`` for a class by name; ``sizewise nnunet`` prints the line to set.
"""

from sizewise.integrations.nnunet.factory import make_trainer, trainer_folder
from sizewise.integrations.nnunet.names import trainer_names
from sizewise.integrations.nnunet.settings import Settings

__all__ = ["Settings", "make_trainer", "trainer_folder", "trainer_names"]
