"""The syntax and semantics of formulas."""

from possibleworlds.logic.alpha import alpha_equivalent
from possibleworlds.logic.entailment import countermodel, entails, equivalent
from possibleworlds.logic.formula import Formula
from possibleworlds.logic.syntax import FormulaError, parse, to_text
from possibleworlds.logic.table import TruthTable, truth_table
from possibleworlds.logic.truth import count_models

__all__ = [
    "Formula",
    "FormulaError",
    "TruthTable",
    "alpha_equivalent",
    "count_models",
    "countermodel",
    "entails",
    "equivalent",
    "parse",
    "to_text",
    "truth_table",
]
