"""Results of runs as tables and figures on one page."""
