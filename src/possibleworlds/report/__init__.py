"""Turn the results of runs into tables and figures on one page."""
