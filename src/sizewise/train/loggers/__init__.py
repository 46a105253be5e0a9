"""Experiment trackers: what a run shows to W&B, MLflow, TensorBoard or a program of the user's."""
