"""The playground: a page to see entailment, countermodels and networks with worlds at work."""
