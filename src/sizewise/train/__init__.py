"""One training run, from settings to scores, and predicting with it."""
