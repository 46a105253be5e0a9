"""The last step: from probabilities to labels."""
