"""Pairs of formulas: generation, storage, verification and statistics, without torch."""
