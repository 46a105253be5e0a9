"""One training run: config, loop, checkpoints, the run folder."""
