"""Networks by name: SMP's and MONAI's."""
