"""Run folders: a network and all that is needed to use it, or to go on training it.

    run.json             what was trained how and on what, and the metrics so far
    model.safetensors    the weights of the best validation step
    state.safetensors    the whole state of the last checkpoint, to go on from
    metrics.jsonl        a line for each evaluation

Files are replaced whole, and the state holds all that must fit together, so that a run can be
killed at any moment. Nothing is ever unpickled.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

import possibleworlds
from possibleworlds.errors import UserError, quoted, reason, shortened
from possibleworlds.logic.alphabet import LETTERS, OPERATORS
from possibleworlds.models.base import Model
from possibleworlds.models.registry import names, resolve
from possibleworlds.models.settings import LARGEST, make_settings
from possibleworlds.storage import atomic_write, read_json
from possibleworlds.training.settings import RunSettings

FORMAT = 1
RUN, MODEL, STATE, METRICS = "run.json", "model.safetensors", "state.safetensors", "metrics.jsonl"

UNFIT = TypeError, ValueError, RuntimeError, KeyError, AssertionError, ArithmeticError
"""What the making of a network raises where its settings do not go together."""

SHIPPED = Path(__file__).parent.parent / "checkpoints"
"""The run folders of the ready-trained networks, by their names."""


def find_run(run: str | Path) -> Path:
    """The folder of a run, given by its path or as the name of a ready-trained network."""
    folder, shipped = Path(run), SHIPPED / run
    if (folder / RUN).exists():
        return folder
    if str(run) in names() and shipped.is_dir():
        return shipped
    if not folder.exists():
        ready = ", ".join(name for name in names() if (SHIPPED / name).is_dir())
        raise UserError(f"{run} is neither the folder of a run nor ready-trained, as are {ready}")
    return folder


def describe_run(
    name: str,
    settings: RunSettings,
    seed: int,
    data: dict[str, str],
    engine: str,
) -> dict[str, Any]:
    """What run.json says before anything is trained."""
    return {
        "format": FORMAT,
        "version": possibleworlds.__version__,
        "model": name,
        "settings": asdict(settings.network),
        "training": asdict(settings.training),
        "seed": seed,
        "vocabulary": [*OPERATORS, *LETTERS],
        "data": data,
        "torch": torch.__version__,
        "engine": engine,
    }


def validate_engine(run: dict[str, Any], engine: str, folder: Path) -> None:
    """Raise UserError if a run was begun with another engine, which rounds differently."""
    begun = run.get("engine", "torch")
    if begun == engine:
        return
    if begun == "torch":
        remedy = "POSSIBLEWORLDS_NATIVE=0 goes on with torch"
    else:
        remedy = "to go on, install the package with its kernel, without POSSIBLEWORLDS_NATIVE=0"
    raise UserError(f"{folder} was trained by the {begun} engine, not by {engine}: {remedy}")


def read_run(folder: Path) -> dict[str, Any]:
    """What run.json says, checked."""
    path = folder / RUN
    if not path.exists():
        raise UserError(f"{folder} is not a run: it has no {RUN}")
    run = read_json(path)
    if "format" not in run:
        raise UserError(f"{path} does not describe a run")
    if run["format"] != FORMAT:
        raise UserError(f"{path} has format {quoted(run['format'])}; this version reads {FORMAT}")
    missing = {"model", "settings", "training", "vocabulary", "seed", "data"} - run.keys()
    if missing:
        raise UserError(f"{path} lacks {', '.join(sorted(missing))}")
    kinds = {"model": str, "settings": dict, "training": dict, "seed": int}
    for name, kind in kinds.items():
        if not isinstance(run[name], kind):
            raise UserError(f"{path}: {name} is not {kind.__name__}")
    if not 0 <= run["seed"] <= LARGEST:
        raise UserError(f"{path}: seed cannot be {quoted(run['seed'])}")
    if run["vocabulary"] != [*OPERATORS, *LETTERS]:
        raise UserError(f"{path} has another vocabulary than this version")
    return run


def flat_settings(run: dict[str, Any]) -> dict[str, Any]:
    """Give the value of each setting of a run, of the network and of its training, by its name."""
    return {**run["settings"], **run["training"]}


def make_model(run: dict[str, Any], folder: Path, tensors: dict[str, Tensor]) -> Model:
    """The network that a run describes, with weights as at its start, if the tensors fit it."""
    kind = resolve(run["model"])
    settings = make_settings(kind, run["settings"])
    try:
        # Settings that are not those of the tensors may ask for more memory than there is. So a
        # network without any comes first, unless it is a user's own, which may need it to be made.
        if run["model"] in names():
            with torch.device("meta"):
                check_fit(kind(settings), tensors, folder / MODEL)
        return kind(settings)
    except UNFIT as error:
        problem = f"{folder / RUN} has settings that make no network"
        raise UserError(f"{problem}: {reason(error)}") from None


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Replace a safetensors file."""
    plain = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    with atomic_write(path, binary=True) as file:
        file.write(save(plain, metadata))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file, and its metadata."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError:
        raise UserError(f"{path.parent} is not a run: it has no {path.name}") from None
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {reason(error)}") from None


def own_tensors(model: Model) -> dict[str, Tensor]:
    """The weights and lasting buffers of a network, each by its first name only."""
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found[name] = tensor
    return found


def check_fit(model: Model, tensors: dict[str, Tensor], path: Path) -> None:
    """Complain of tensors with other names or shapes than a network has."""
    wanted = {name: tuple(tensor.shape) for name, tensor in own_tensors(model).items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            expected, has = wanted.get(name, "nothing"), found.get(name, "nothing")
            where = f"{path}: {shortened(name)}"
            raise UserError(f"{where} is {has} where the network has {expected}")


def load_model(folder: Path) -> Model:
    """The network of a run, with the weights of its best validation step."""
    run = read_run(folder)
    tensors, _ = load_tensors(folder / MODEL)
    model = make_model(run, folder, tensors)
    check_fit(model, tensors, folder / MODEL)
    model.load_state_dict(tensors, strict=False)
    return model.eval()
