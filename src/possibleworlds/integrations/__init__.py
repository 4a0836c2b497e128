"""Our items and scores inside other tools: one file per tool, importable where it is installed."""
