"""A trained network, ready to be asked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data.pairs import Pairs
from possibleworlds.errors import UserError
from possibleworlds.logic.alphabet import LETTERS
from possibleworlds.logic.formula import Formula, variables_of
from possibleworlds.logic.syntax import parse
from possibleworlds.models.base import Model, Options
from possibleworlds.models.possibleworldnet import PossibleWorldNet
from possibleworlds.training import certificate
from possibleworlds.training.batches import Dataset
from possibleworlds.training.checkpoint import find_run, load_model
from possibleworlds.training.evaluation import EVALUATION_SEED, log_probabilities

Formulas = Formula | str


class Decision(NamedTuple):
    """A network's answer to whether A entails B."""

    entails: bool
    probability: float | None
    """What the network itself says; None for a certified answer, which is not its own."""
    assignment: dict[str, bool] | None
    """For a "no" of a network with worlds: the world that convinced it, as an assignment."""
    refutes: bool
    """Whether that assignment was checked to make A true and B false."""


class Network:
    """A network that says how likely A entails B."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.options = Options()

    def look_at(self, worlds: int | None = None, steps: int | None = None) -> "Network":
        """Ask with another number of worlds, or of steps that each is moved."""
        self.options = replace(self.options, worlds=worlds, steps=steps)
        self.model.validate_options(self.options)
        return self

    def decide(
        self, a: Formulas, b: Formulas, certify: bool = False, seed: int = EVALUATION_SEED
    ) -> Decision:
        """Whether A entails B; certified, "no" only with a countermodel that was checked."""
        row, names = in_letters(a, b)
        data = Dataset(Pairs.of([row]))
        if certify:
            (found,) = certificate.certify(self.model, data, seed, options=self.options)
            named = None if found is None else in_names(found, names)
            return Decision(found is None, None, named, found is not None)
        if not isinstance(self.model, PossibleWorldNet):
            probability = float(self.probabilities([(a, b)], seed)[0])
            return Decision(probability > 0.5, probability, None, False)
        (view,) = certificate.views(self.model, data, seed, options=self.options)
        if view.probability > 0.5:
            return Decision(True, view.probability, None, False)
        assignment = in_names(view.assignment, names)
        return Decision(False, view.probability, assignment, view.refutes)

    def answers(
        self,
        data: Dataset,
        certify: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.int64]:
        """1 for each row where the answer is yes, 0 where it is no, its own or certified."""
        if certify:
            found = certificate.certify(self.model, data, progress=progress, options=self.options)
            return np.array([countermodel is None for countermodel in found], dtype=np.int64)
        log_probs = log_probabilities(self.model, data, progress=progress, options=self.options)
        return log_probs.argmax(1)

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
        rows = [in_letters(a, b)[0] for a, b in pairs]
        data = Dataset(Pairs.of(rows))
        return np.exp(log_probabilities(self.model, data, seed, options=self.options)[:, 1])


def in_letters(a: Formulas, b: Formulas) -> tuple[tuple[str, str, int], dict[str, str]]:
    """Write a pair in the network's vocabulary, as a row of data; name what its letters stand for.

    Variables of other names become letters that are still free. A letter that only stands in what
    ⊤ or ⊥ was rewritten into has no name.
    """
    a, b = parse(a), parse(b)
    original = variables_of(a.rpn, b.rpn)
    a, b = a.basic(), b.basic()
    names = variables_of(a.rpn, b.rpn)
    if len(names) > len(LETTERS):
        raise UserError(f"{len(names)} variables; the networks know {len(LETTERS)}")
    free = iter(sorted(set(LETTERS) - set(names)))
    letters = {name: name if len(name) == 1 and name in LETTERS else next(free) for name in names}
    row = "".join(a.rename(letters).rpn), "".join(b.rename(letters).rpn), 0
    return row, {letters[name]: name for name in original}


def in_names(assignment: dict[str, bool], names: dict[str, str]) -> dict[str, bool]:
    """Rename an assignment to letters back to the variables of the formulas."""
    return {names[letter]: value for letter, value in assignment.items() if letter in names}


def load(run: str | Path) -> Network:
    """A ready-trained network by its name, or that of a run folder."""
    return Network(load_model(find_run(run)))
