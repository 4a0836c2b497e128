"""Where pairs of formulas come from, how they are kept, checked and described. No torch."""
