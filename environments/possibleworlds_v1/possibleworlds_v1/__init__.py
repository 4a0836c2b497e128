"""Propositional entailment as a verifiers environment."""

from possibleworlds_v1.taskset import EntailmentTaskset

__all__ = ["EntailmentTaskset"]
