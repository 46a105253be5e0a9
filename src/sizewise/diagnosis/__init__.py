"""What limits a model: its decision, its sizes or its network, from predictions, targets and probabilities."""
