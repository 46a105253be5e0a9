"""Speed and memory of our losses against torch, MONAI, nnU-Net and SMP: the command ``sizewise bench``; see --help."""

import sys

from sizewise.cli.main import main

if __name__ == "__main__":
    sys.argv[1:1] = ["bench"]
    main()
