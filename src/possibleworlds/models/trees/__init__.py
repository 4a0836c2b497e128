"""Batched evaluation of trees: flat arrays of nodes, orders of evaluation, and sat3."""
