"""The paper's grid search (section 4): which trials, where they run, and which one is selected."""
