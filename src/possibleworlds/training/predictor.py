"""A trained network that decides whether one formula entails another."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from possibleworlds.data.files import PairsLike, as_pairs
from possibleworlds.data.pairs import Pairs
from possibleworlds.data.user_pairs import to_letters
from possibleworlds.errors import UserError
from possibleworlds.logic.entailment import Premises, read_sequent
from possibleworlds.logic.formula import Formula, conjunction
from possibleworlds.models.base import Model, Options
from possibleworlds.models.possibleworldnet import PossibleWorldNet
from possibleworlds.models.settings import LARGEST
from possibleworlds.records import Range, check_argument
from possibleworlds.training import certificate
from possibleworlds.training.batches import EVALUATION_SEED, Dataset, row_log_probabilities
from possibleworlds.training.checkpoint import find_run, load_model
from possibleworlds.training.evaluation import Evaluation
from possibleworlds.training.loop import single_thread

FormulaLike = Formula | str


class Decision(NamedTuple):
    """A network's decision whether A entails B."""

    entails: bool
    probability: float | None
    """The network's P(A entails B); None for a certified decision."""
    assignment: dict[str, bool] | None
    """For a "no" of a network with worlds: its strongest evidence, as an assignment."""
    refutes: bool
    """Whether that assignment was checked to make A true and B false."""


class Network:
    """A trained network, which predicts the probability that A entails B.

    For a network with worlds, `worlds` and `steps` set numbers of worlds and of gradient steps that
    differ from those in training. `budget` is the number of worlds that guided worlds may visit for
    a pair; what refuted pairs leave of it goes to the other pairs.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def __repr__(self) -> str:
        parameters = sum(weight.numel() for weight in self.model.parameters())
        return f"<Network: {type(self.model).__name__}, {parameters:,} parameters>"

    def options(
        self,
        worlds: int | None,
        steps: int | None,
        budget: int | None = None,
        seed: int = EVALUATION_SEED,
    ) -> Options:
        """Make evaluation options; raise UserError if the network does not support them."""
        check_argument("seed", seed, Annotated[int, Range(0, LARGEST)])
        options = Options(worlds, steps, budget, share_budget=budget is not None)
        self.model.validate_options(options)
        return options

    def decide(
        self,
        a: Premises,
        b: FormulaLike | None = None,
        *,
        worlds: int | None = None,
        steps: int | None = None,
        budget: int | None = None,
        certify: bool = False,
        seed: int = EVALUATION_SEED,
    ) -> Decision:
        """Decide whether A entails B; if certified, "no" only with a checked countermodel.

        A and B are as in `entails`: `decide(["p", "p -> q"], "q")`, `decide("p |= p | q")`.
        """
        options = self.options(worlds, steps, budget, seed)
        premises, conclusion = read_sequent(a, b)
        row, names = to_letters(conjunction(premises), conclusion)
        data = Dataset(Pairs.of([(*row, False)]))

        def rename(assignment: dict[str, bool]) -> dict[str, bool]:
            return {names[v]: value for v, value in assignment.items() if v in names}

        with single_thread():
            if certify:
                (countermodel,) = certificate.certify(self.model, data, seed, options=options)
                if countermodel is None:
                    return Decision(True, None, None, False)
                return Decision(False, None, rename(countermodel), True)
            if not isinstance(self.model, PossibleWorldNet):
                log_probs = row_log_probabilities(self.model, data, seed, options=options)
                probability = float(np.exp(log_probs[0, 1]))
                return Decision(probability > 0.5, probability, None, False)
            (evidence,) = certificate.evidence(self.model, data, seed, options=options)
        if evidence.probability > 0.5:
            return Decision(True, evidence.probability, None, False)
        return Decision(False, evidence.probability, rename(evidence.assignment), evidence.refutes)

    def probability(
        self,
        a: FormulaLike | Sequence[FormulaLike],
        b: FormulaLike | Sequence[FormulaLike],
        *,
        worlds: int | None = None,
        steps: int | None = None,
        budget: int | None = None,
        seed: int = EVALUATION_SEED,
    ) -> float | NDArray[np.float64]:
        """Compute P(A entails B) for a pair, or for each pair of two sequences."""
        options = self.options(worlds, steps, budget, seed)
        if isinstance(a, str | Formula) and isinstance(b, str | Formula):
            return float(self._probabilities([(a, b)], seed, options)[0])
        if isinstance(a, str | Formula) or isinstance(b, str | Formula):
            raise UserError("give two formulas, or two sequences of formulas")
        if len(a) != len(b):
            raise UserError("the two sequences of formulas differ in length")
        return self._probabilities(list(zip(a, b, strict=True)), seed, options)

    def _probabilities(
        self, pairs: list[tuple[FormulaLike, FormulaLike]], seed: int, options: Options
    ) -> NDArray[np.float64]:
        if not pairs:
            return np.empty(0)
        data = Dataset(Pairs.of([(*to_letters(a, b)[0], False) for a, b in pairs]))
        with single_thread():
            return np.exp(row_log_probabilities(self.model, data, seed, options=options)[:, 1])

    def predict(
        self,
        pairs: PairsLike | Dataset,
        *,
        worlds: int | None = None,
        steps: int | None = None,
        budget: int | None = None,
        certify: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.int64]:
        """Predict the label of each pair, by the network itself or by certified decisions."""
        data = as_dataset(pairs)
        options = self.options(worlds, steps, budget)
        with single_thread():
            if certify:
                countermodels = certificate.certify(
                    self.model, data, progress=progress, options=options
                )
                return np.array([c is None for c in countermodels], dtype=np.int64)
            log_probs = row_log_probabilities(self.model, data, progress=progress, options=options)
            return log_probs.argmax(1)

    def evaluate(
        self,
        pairs: PairsLike | Dataset,
        *,
        worlds: int | None = None,
        steps: int | None = None,
        budget: int | None = None,
        certify: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Evaluation:
        """Compute the accuracy on labelled pairs."""
        data = as_dataset(pairs)
        if not len(data):
            raise UserError("no pairs to evaluate on")
        predictions = self.predict(
            data, worlds=worlds, steps=steps, budget=budget, certify=certify, progress=progress
        )
        return Evaluation.of(predictions == data.pairs.label, data.pairs)


def as_dataset(pairs: PairsLike | Dataset) -> Dataset:
    """Prepare pairs for a network, unless they are prepared."""
    return pairs if isinstance(pairs, Dataset) else Dataset(as_pairs(pairs, "pairs"))


def load(run: str | Path, model: type[Model] | None = None, trust: bool = False) -> Network:
    """Load a pretrained network by its name, or the network of a run folder."""
    return Network(load_model(find_run(run), model, trust))
