"""Lets these tests import ``torchvision_stub``."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "peers"))
