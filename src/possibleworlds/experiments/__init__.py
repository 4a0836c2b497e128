"""Sections 4 and 5: the grid search, where its trials run, and the comparison of runs."""
