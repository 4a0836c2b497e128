"""A trained network, ready to be asked."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data.arrays import pairs_of
from possibleworlds.errors import UserError
from possibleworlds.logic.formula import LETTERS, Formula, variables_of
from possibleworlds.logic.syntax import parse
from possibleworlds.models.base import Model
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import load_model
from possibleworlds.training.evaluation import EVALUATION_SEED, log_probabilities

Formulas = Formula | str


class Predictor:
    """A network that says how likely A entails B."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def probability(
        self,
        a: Formulas | Sequence[Formulas],
        b: Formulas | Sequence[Formulas],
        seed: int = EVALUATION_SEED,
    ) -> float | NDArray[np.float64]:
        """P(A entails B) of a pair, or of each of many pairs given as two sequences."""
        if isinstance(a, (str, Formula)) != isinstance(b, (str, Formula)):
            raise UserError("give two formulas, or two sequences of formulas")
        if isinstance(a, (str, Formula)) and isinstance(b, (str, Formula)):
            return float(self.probabilities([(a, b)], seed)[0])
        if len(a) != len(b):  # type: ignore[arg-type]
            raise UserError("the two sequences of formulas differ in length")
        return self.probabilities(list(zip(a, b, strict=True)), seed)  # type: ignore[arg-type]

    def probabilities(
        self, pairs: Sequence[tuple[Formulas, Formulas]], seed: int
    ) -> NDArray[np.float64]:
        """P(A entails B) of each pair."""
        if not pairs:
            return np.empty(0)
        rows = [(*renamed(parse(a).basic(), parse(b).basic()), 0) for a, b in pairs]
        return np.exp(log_probabilities(self.model, Dataset(pairs_of(rows)), seed)[:, 1])


def renamed(a: Formula, b: Formula) -> tuple[str, str]:
    """A pair in the network's vocabulary: other names become letters that are still free."""
    names = variables_of(a.rpn, b.rpn)
    if len(names) > len(LETTERS):
        raise UserError(f"{len(names)} variables; the networks know {len(LETTERS)}")
    free = iter(sorted(set(LETTERS) - set(names)))
    letters = {name: name if len(name) == 1 and name in LETTERS else next(free) for name in names}
    return "".join(a.rename(letters).rpn), "".join(b.rename(letters).rpn)


def load(run: str | Path) -> Predictor:
    """The network of a run folder."""
    return Predictor(load_model(Path(run)))
