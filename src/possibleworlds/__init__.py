"""Propositional entailment: data with guarantees, every network of the paper, and exact answers."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from possibleworlds.errors import UndecidedError, UserError, missing_package
from possibleworlds.logic import (
    Formula,
    count_models,
    countermodel,
    entails,
    equivalent,
    parse,
    to_text,
    truth_table,
)

if TYPE_CHECKING:
    from pathlib import Path

    from possibleworlds.data.files import PairsLike, read
    from possibleworlds.data.generation import generate, stream
    from possibleworlds.data.pairs import Pair, Pairs
    from possibleworlds.data.splits import paper_splits
    from possibleworlds.language.dataset import tasks
    from possibleworlds.language.score import score
    from possibleworlds.models.base import Model
    from possibleworlds.models.registry import ModelTable
    from possibleworlds.training.evaluation import Evaluation
    from possibleworlds.training.pipeline import TrainingResult
    from possibleworlds.training.predictor import Network

    def models() -> ModelTable:
        """List the networks: the package `possibleworlds.models`, called as a function."""


# Importing the package loads only what deciding formulas needs. Functions for data need numpy and
# are imported on first use; training needs torch (the extra `train`), which takes seconds to load,
# so the functions below import it when they are called.
_MODULES = {
    "read": "data.files",
    **dict.fromkeys(("generate", "stream"), "data.generation"),
    **dict.fromkeys(("Pair", "Pairs"), "data.pairs"),
    "paper_splits": "data.splits",
    "score": "language.score",
    "tasks": "language.dataset",
}


def __getattr__(name: str) -> Any:
    """Import a public name, or the package `models`, on first use."""
    if name == "models":
        return import_module(f"{__name__}.models")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def _check_torch() -> None:
    """Raise UserError if torch or safetensors is not installed."""
    for name in ("torch", "safetensors"):
        if find_spec(name) is None:
            raise missing_package(name, "train")


def train(
    model: "str | type[Model]",
    train: "PairsLike",
    validate: "PairsLike | None" = None,
    *,
    epochs: float | None = None,
    seed: int = 0,
    out: "str | Path | None" = None,
    resume: bool = False,
    device: str = "cpu",
    progress: bool | None = None,
    **settings: Any,
) -> "TrainingResult":
    """Train a network on pairs; the weights of the best validation step are kept.

    `model` is a name that `models()` lists, or a subclass of `possibleworlds.models.Model` of
    your own. `train` and `validate` are pairs, lists of (A, B) or (A, B, label), or data files,
    and `train` may be a folder with train.txt and validate.txt; without a validation set, every
    tenth 4-tuple (or row) of the training set is held out for it. `settings` are those of the
    network or of its training, such as `size=64`, `minutes=5`. `out` names a run folder for
    checkpoints, and `resume` continues with one. A progress bar appears in notebooks and
    terminals, or always with `progress=True`. The same seed gives the same weights.

    >>> import possibleworlds as pw
    >>> pairs = pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)
    >>> result = pw.train("treenet", pairs, validate=pairs, epochs=1, seed=0, size=8)
    >>> result.metrics.step, result.metrics.finished
    (2, True)
    """
    _check_torch()
    from possibleworlds.training import pipeline

    return pipeline.train(
        model,
        train,
        validate,
        epochs=epochs,
        seed=seed,
        out=out,
        resume=resume,
        device=device,
        progress=progress,
        **settings,
    )


def evaluate(
    network: "Network | str | Path",
    pairs: "PairsLike",
    *,
    worlds: int | None = None,
    steps: int | None = None,
    budget: int | None = None,
    certify: bool = False,
    progress: bool | None = None,
    trust: bool = False,
) -> "Evaluation":
    """Compute the accuracy of a network on labelled pairs: in total, by size, and of 4-tuples.

    `network` is the result of `load`, the `network` of a training result, or an argument of `load`,
    which is passed `trust`; `pairs` are as for `train`. `worlds` and `steps` change the numbers of
    worlds and of gradient steps, for networks that have them; `budget` is the number of worlds that
    guided worlds may visit for a pair; `certify` counts a "no" only with a checked countermodel.

    >>> import possibleworlds as pw
    >>> pairs = pw.generate(rows=80, variables=(1, 3), operators=(1, 3), seed=0)
    >>> evaluation = pw.evaluate("treenet", pairs)
    >>> evaluation.rows, 0.5 < evaluation.accuracy < 1, evaluation.all_four <= evaluation.accuracy
    (80, True, True)
    """
    _check_torch()
    from possibleworlds.training import pipeline

    return pipeline.evaluate(
        network,
        pairs,
        worlds=worlds,
        steps=steps,
        budget=budget,
        certify=certify,
        progress=progress,
        trust=trust,
    )


def load(
    run: "str | Path", model: "type[Model] | None" = None, *, trust: bool = False
) -> "Network":
    """Load a pretrained network by its name, or the network of a run folder.

    `model` is the class of your own network, as the folder contains only its name. With `trust`,
    that class is imported, which runs its code: do not use it for folders from strangers.

    >>> import possibleworlds as pw
    >>> pw.load("possibleworldnet").decide("p & q", "q").entails
    True
    """
    _check_torch()
    from possibleworlds.training import predictor

    return predictor.load(run, model, trust)


__version__ = "0.2.0"
__all__ = [
    "Formula",
    "Pair",
    "Pairs",
    "UndecidedError",
    "UserError",
    "count_models",
    "countermodel",
    "entails",
    "equivalent",
    "evaluate",
    "generate",
    "load",
    "models",
    "paper_splits",
    "parse",
    "read",
    "score",
    "stream",
    "tasks",
    "to_text",
    "train",
    "truth_table",
]


def __dir__() -> list[str]:
    """List the public names, for tab completion."""
    return [*__all__, "__version__"]
