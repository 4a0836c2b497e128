"""Batches, the loop, checkpoints, evaluation and predictions."""
