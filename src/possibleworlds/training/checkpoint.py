"""Run folders: a network and all that is needed to use it, or to resume its training.

    run.json                    settings, data, metrics so far, and the names of valid files
    model-STEP.safetensors      the weights of the best validation step
    state-STEP.safetensors      the whole training state of the last checkpoint
    metrics.jsonl               one line per evaluation

A checkpoint becomes valid when run.json is replaced atomically: the files it names are complete
before that, and those of the previous checkpoint are removed afterwards. So a run can be killed at
any moment, and weights, state and metrics always belong together. Nothing is ever unpickled.

Only functions that handle tensors import torch, as the results of a language model are stored like
those of a run.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import possibleworlds
from possibleworlds.errors import EngineError, StorageError, UserError, quoted, reason, shortened
from possibleworlds.logic.alphabet import SYMBOLS
from possibleworlds.models import registry
from possibleworlds.models.settings import LARGEST, make_settings
from possibleworlds.records import Range, from_json
from possibleworlds.storage import (
    atomic_write,
    exclusive_folder,
    file_size,
    read_bounded,
    read_json,
    write_json,
)

if TYPE_CHECKING:
    from torch import Tensor

    from possibleworlds.models.base import Model
    from possibleworlds.training.settings import RunSettings

RUN_FORMAT = 2
RUN, METRICS = "run.json", "metrics.jsonl"
TENSOR_FILE = re.compile(r"(model|state)(-\d{1,19})?\.safetensors")

MAX_TENSOR_BYTES = 512 << 20
"""The largest file of weights that is read; a training state may be larger by its vectors."""
CONSTRUCTION_ERRORS = TypeError, ValueError, RuntimeError, KeyError, AssertionError, ArithmeticError
"""What the constructor of a network may raise if its settings are inconsistent."""

SHIPPED = Path(__file__).parent.parent / "checkpoints"
"""The run folders of the pretrained networks, by name."""

Count = Annotated[int, Range(0, LARGEST)]
Fraction = Annotated[float, Range(0, 1)]
Positive = Annotated[float, Range(0)]


@dataclass(frozen=True)
class Metrics:
    """The metrics of a run at its last checkpoint."""

    step: Count
    seconds: Positive
    pairs_per_second: Positive
    best_step: Count
    validation: Fraction
    """The accuracy on the validation set at the best step."""
    parameters: Count
    finished: bool


@dataclass(frozen=True)
class HistoryLine:
    """An evaluation during training: a line of metrics.jsonl."""

    step: Count
    seconds: Positive
    loss: float
    accuracy: Fraction
    validation: Fraction


@dataclass(frozen=True)
class RunRecord:
    """The content of run.json."""

    format: int
    version: str
    model: str
    """The name of a registered network, or module:Class."""
    settings: dict[str, Any]
    """The network's own settings."""
    training: dict[str, Any]
    seed: Count
    vocabulary: list[str]
    data: dict[str, str]
    """The SHA-256 of each training file, by its name."""
    torch: str
    engine: str = "torch"
    """What computed the training: torch, or the native kernel, which rounds differently."""
    weights: str | None = None
    """The file with the weights of the best step; None before the first evaluation."""
    state: str | None = None
    """The file with the training state; None before the first checkpoint and for shipped runs."""
    metrics: Metrics | None = None
    extended_from: list[dict[str, Positive]] | None = None
    """The lengths, epochs or minutes, at which the run was finished before it was extended."""
    accuracy: dict[str, dict[str, Fraction]] | None = None
    """Measured after training, by data folder and split; only for pretrained networks."""

    @classmethod
    def new(
        cls, model: str, settings: "RunSettings", seed: int, data: dict[str, str], engine: str
    ) -> "RunRecord":
        """Describe a run before it is trained."""
        import torch

        return cls(
            RUN_FORMAT,
            possibleworlds.__version__,
            model,
            asdict(settings.network),
            asdict(settings.training),
            seed,
            list(SYMBOLS),
            data,
            torch.__version__,
            engine,
        )

    def __post_init__(self) -> None:
        if self.format != RUN_FORMAT:
            raise UserError(f"format is {quoted(self.format)}; this version reads {RUN_FORMAT}")
        if self.vocabulary != list(SYMBOLS):
            raise UserError("the vocabulary differs from that of this version")
        for name in self.weights, self.state:
            if name is not None and not TENSOR_FILE.fullmatch(name):
                raise UserError(f"{quoted(name)} is not the name of a file of a run")

    @property
    def flat_settings(self) -> dict[str, Any]:
        """All settings of the network and of its training, by name."""
        return {**self.settings, **self.training}

    @property
    def is_language_model(self) -> bool:
        """Whether it holds the results of a language model, which was trained elsewhere."""
        return not self.torch

    @property
    def finished(self) -> bool:
        """Whether training is complete."""
        return self.metrics is not None and self.metrics.finished

    def write(self, folder: Path) -> None:
        """Write the record into a run folder atomically."""
        write_json(folder / RUN, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Convert the record to JSON values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def find_run(run: str | Path) -> Path:
    """Find the folder of a run by its path, or by the name of a pretrained network."""
    if not isinstance(run, str | Path):
        raise UserError(f"a run is a folder or a name, not {quoted(run)}")
    folder, shipped = Path(run), SHIPPED / run
    if (folder / RUN).exists():
        return folder
    if str(run) in registry.names() and shipped.is_dir():
        return shipped
    if not folder.exists():
        names = ", ".join(name for name in registry.names() if (SHIPPED / name).is_dir())
        where = shortened(str(run))
        raise UserError(f"{where} is neither a run folder nor a pretrained network ({names})")
    return folder


def read_run(folder: Path) -> RunRecord:
    """Read run.json."""
    path = folder / RUN
    if not path.exists():
        raise UserError(f"{folder} is not a run: it has no {RUN}")
    values = read_json(path)
    # First of all, as the rest may differ in another format.
    if values.get("format", RUN_FORMAT) != RUN_FORMAT:
        problem = f"format is {quoted(values['format'])}; this version reads {RUN_FORMAT}"
        raise UserError(f"{path}: {problem}")
    return from_json(values, RunRecord, str(path))


def check_engine(record: RunRecord, engine: str, folder: Path) -> None:
    """Raise EngineError if a run was started with another engine, which rounds differently."""
    if record.engine == engine:
        return
    if record.engine == "torch":
        remedy = "POSSIBLEWORLDS_NATIVE=0 goes on with torch"
    else:
        remedy = "to go on, install the package with its kernel, without POSSIBLEWORLDS_NATIVE=0"
    earlier = shortened(record.engine)
    raise EngineError(f"{folder} was trained by the {earlier} engine, not by {engine}: {remedy}")


def read_history(folder: Path, record: RunRecord) -> list[HistoryLine]:
    """Read the evaluations of a run, up to the checkpoint of its record."""
    path = folder / METRICS
    try:
        lines = [json.loads(line) for line in read_bounded(path).splitlines()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {reason(error)}") from None
    history = from_json(lines, list[HistoryLine], str(path))
    last = record.metrics.step if record.metrics else 0
    return [line for line in history if line.step <= last]


def write_history(folder: Path, history: Iterable[HistoryLine]) -> None:
    """Write the evaluations of a run."""
    with atomic_write(folder / METRICS) as file:
        file.writelines(json.dumps(asdict(line)) + "\n" for line in history)


def remove_superseded(folder: Path, record: RunRecord) -> None:
    """Remove the weights and states of all checkpoints but that of a record."""
    try:
        for path in folder.iterdir():
            if TENSOR_FILE.fullmatch(path.name) and path.name not in (record.weights, record.state):
                path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror}") from None


def copy_trained(run: Path, to: Path, accuracy: dict[str, dict[str, float]]) -> None:
    """Copy a run without its training state, and record its measured accuracies."""
    record = read_run(run)
    assert record.weights is not None
    tensors, metadata = load_tensors(run / record.weights)
    to.mkdir(parents=True, exist_ok=True)
    save_tensors(to / "model.safetensors", tensors, metadata)
    replace(record, weights="model.safetensors", state=None, accuracy=accuracy).write(to)


def pretrained_copy(folder: Path, out: Path) -> Path | None:
    """Copy a pretrained network into a folder of results, where it can be evaluated.

    Return None for any other folder. Nothing is ever written into the package itself.
    """
    is_shipped = SHIPPED in (folder.resolve(), *folder.resolve().parents)
    if not is_shipped and (folder.exists() or not (SHIPPED / folder / RUN).exists()):
        return None
    source = folder if is_shipped else find_run(str(folder))
    target = out / "pretrained" / source.name
    with exclusive_folder(target):
        for file in source.iterdir():
            with atomic_write(target / file.name, binary=True) as copy:
                copy.write(file.read_bytes())
    return target


def save_tensors(path: Path, tensors: "dict[str, Tensor]", metadata: dict[str, str]) -> None:
    """Write a safetensors file atomically."""
    from safetensors.torch import save

    contiguous = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    with atomic_write(path, binary=True) as file:
        file.write(save(contiguous, metadata))


def load_tensors(path: Path, more_bytes: int = 0) -> "tuple[dict[str, Tensor], dict[str, str]]":
    """Read the tensors and the metadata of a safetensors file, up to a size."""
    from safetensors import SafetensorError, safe_open

    try:
        if file_size(path) > (limit := MAX_TENSOR_BYTES + more_bytes):
            raise ValueError(f"it has more than {limit:,} bytes")
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError:
        raise UserError(f"{path.parent} is not a run: it has no {path.name}") from None
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {reason(error)}") from None


def unique_tensors(model: "Model") -> "dict[str, Tensor]":
    """Collect the weights and persistent buffers of a network, tied ones under their first name."""
    tensors: dict[str, Tensor] = {}
    identities: set[int] = set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in identities:
            identities.add(id(tensor))
            tensors[name] = tensor
    return tensors


def check_fit(model: "Model", tensors: "dict[str, Tensor]", path: Path) -> None:
    """Raise UserError unless tensors have the names and shapes of those of a network."""
    expected = {name: tuple(tensor.shape) for name, tensor in unique_tensors(model).items()}
    stored = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | stored.keys()):
        if expected.get(name) != stored.get(name):
            ours, theirs = expected.get(name, "nothing"), stored.get(name, "nothing")
            raise UserError(f"{path}: {shortened(name)} is {theirs} where the network has {ours}")


def load_model(
    folder: Path, model_class: "type[Model] | None" = None, trust: bool = False
) -> "Model":
    """Load the network of a run, with the weights of its best validation step.

    Its class is model_class, or the registered one that run.json names. An unregistered class in
    run.json is imported only if the folder is trusted, as that runs its code.
    """
    import torch

    record = read_run(folder)
    if record.weights is None:
        raise UserError(f"{folder} has no weights yet: its first evaluation is still to come")
    path = folder / record.weights
    tensors, _ = load_tensors(path)
    try:
        cls = model_class or registry.resolve(record.model, trust)
    except UserError as error:
        raise UserError(f"{folder / RUN}: {error}") from None
    settings = make_settings(cls, record.settings)
    try:
        # Settings that do not fit the tensors may need more memory than there is. So the network is
        # first built on the device "meta", without memory; except classes from elsewhere, which may
        # not support that, and pretrained networks, as importing torch._dynamo takes a second.
        if registry.is_built_in(record.model) and folder.parent != SHIPPED:
            with torch.device("meta"), torch.random.fork_rng(devices=[]):
                check_fit(cls(settings), tensors, path)
        with torch.random.fork_rng(devices=[]):
            model = cls(settings)
    except CONSTRUCTION_ERRORS as error:
        problem = f"{folder / RUN} has settings that make no network"
        raise UserError(f"{problem}: {reason(error)}") from None
    check_fit(model, tensors, path)
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise UserError(f"{path} has weights that are not numbers")
    model.load_state_dict(tensors, strict=False)
    return model.eval()
