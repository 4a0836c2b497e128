"""Propositional entailment: data with guarantees, every network of the paper, and exact answers."""

from possibleworlds.errors import UserError
from possibleworlds.logic import (
    Formula,
    count_models,
    countermodel,
    entails,
    equivalent,
    evaluate,
    parse,
    to_text,
)

__version__ = "0.1.0"
__all__ = [
    "Formula",
    "UserError",
    "count_models",
    "countermodel",
    "entails",
    "equivalent",
    "evaluate",
    "parse",
    "to_text",
]
