"""Propositional entailment: data with guarantees, every network of the paper, and exact answers."""

from typing import TYPE_CHECKING

from possibleworlds.data.files import read
from possibleworlds.data.generation import generate, stream
from possibleworlds.data.pairs import Pair, Pairs
from possibleworlds.data.splits import paper_splits
from possibleworlds.errors import UserError
from possibleworlds.language import score, tasks
from possibleworlds.logic import (
    Formula,
    count_models,
    countermodel,
    entails,
    equivalent,
    parse,
    to_text,
)

if TYPE_CHECKING:
    from pathlib import Path

    from possibleworlds.training.predictor import Network


def load(run: "str | Path") -> "Network":
    """The trained network of a run folder; needs torch (`pip install 'possibleworlds[train]'`)."""
    from possibleworlds.training.predictor import load as load_predictor

    return load_predictor(run)


__version__ = "0.2.0"
__all__ = [
    "Formula",
    "Pair",
    "Pairs",
    "UserError",
    "count_models",
    "countermodel",
    "entails",
    "equivalent",
    "generate",
    "load",
    "paper_splits",
    "parse",
    "read",
    "score",
    "stream",
    "tasks",
    "to_text",
]
