"""What must be true of the folder of a command, whenever the command was killed."""

import json
from pathlib import Path
from typing import Any

from possibleworlds.data.files import read_pairs
from possibleworlds.data.splits import MANIFEST, read_manifest
from possibleworlds.errors import UserError
from possibleworlds.experiments.sweep import SWEEP, read_sweep
from possibleworlds.experiments.trials import TRIALS
from possibleworlds.storage import is_temporary, sha256
from possibleworlds.training.checkpoint import (
    METRICS,
    RUN,
    load_model,
    load_tensors,
    read_history,
    read_run,
)
from possibleworlds.training.evaluations import EVALUATION

TIMES = ("seconds", "pairs_per_second")
"""What no two runs have in common."""


def check_data(folder: Path) -> None:
    """Read every file of a data set."""
    for path in named(folder):
        if path.name == MANIFEST:
            for split in read_manifest(folder)["splits"].values():
                if sha256(folder / split["file"]) != split["sha256"]:
                    raise UserError(f"{split['file']} is not what {MANIFEST} says")
        else:
            for _ in read_pairs(path):
                pass


def data_outcome(folder: Path) -> dict[str, str]:
    """The hash of every file, whatever its name."""
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}


def check_run(folder: Path) -> None:
    """Load every file of a run, and compare what must belong together."""
    if not (folder / RUN).exists():
        return
    record = read_run(folder)
    history = read_history(folder, record)
    if record.metrics is None:
        return
    if record.weights:
        load_model(folder)
        _, metadata = load_tensors(folder / record.weights)
        if metadata["step"] != str(record.metrics.best_step):
            raise UserError(f"{record.weights} is of another step than {RUN} says")
    _, metadata = load_tensors(folder / str(record.state))
    progress = json.loads(metadata["progress"])
    if progress["step"] != record.metrics.step or len(progress["history"]) != len(history):
        raise UserError(f"{record.state} is of another step than {RUN} or {METRICS}")
    for path in named(folder):
        known = (RUN, METRICS, EVALUATION, record.weights, record.state)
        is_later = path.suffix == ".safetensors"  # of a checkpoint that was not completed
        if path.name not in known and not is_later:
            raise UserError(f"{path.name} has no place in a run")
    if (folder / EVALUATION).exists():
        json.loads((folder / EVALUATION).read_text(encoding="utf-8"))


def run_outcome(folder: Path) -> dict[str, Any]:
    """Weights, state and metrics, but for times."""
    record = read_run(folder)
    values = record.to_json()
    progress = json.loads(load_tensors(folder / str(record.state))[1]["progress"])
    metrics = [values.pop("metrics"), progress, *progress["history"]]
    return {
        "files": sorted(path.name for path in folder.iterdir()),
        RUN: values,
        "metrics": [untimed(line) for line in metrics],
        METRICS: [untimed(line) for line in lines_of(folder / METRICS)],
        "weights": numbers(folder / str(record.weights)),
        "state": numbers(folder / str(record.state)),
    }


def timed_outcome(folder: Path) -> dict[str, Any]:
    """What a run by the clock has in common with any other: that it is finished, and whole."""
    check_run(folder)
    return {"finished": read_run(folder).finished, "files": len(list(folder.iterdir()))}


class CheckSweep:
    """Load every file of a sweep; a trial that was finished once must stay as it was."""

    def __init__(self) -> None:
        self.finished: dict[Path, bytes] = {}

    def __call__(self, folder: Path) -> None:
        """Raise UserError if a file is incomplete, or a finished trial is lost."""
        if (folder / SWEEP).exists():
            read_sweep(folder)
        for trial in named(folder / TRIALS):
            check_run(trial)
            stored = trial / RUN
            if stored.exists() and read_run(trial).finished:
                self.finished.setdefault(stored, stored.read_bytes())
        for stored, content in self.finished.items():
            if stored.is_relative_to(folder) and stored.read_bytes() != content:
                raise UserError(f"{stored} was finished and has changed")


def sweep_outcome(folder: Path) -> dict[str, Any]:
    """Every trial, and what was selected."""
    networks = read_sweep(folder).networks
    return {
        "selections": {name: network.selection for name, network in networks.items()},
        "evaluations": [(p.parent.name, sha256(p)) for p in sorted(folder.rglob(EVALUATION))],
        "trials": {path.name: run_outcome(path) for path in sorted((folder / TRIALS).iterdir())},
    }


def check_reproduction(folder: Path) -> None:
    """Load every file of a reproduction: data, runs, the sweep and the report."""
    for name in ("data", "naive"):
        check_data(folder / name)
    for trial in named(folder / "runs" / TRIALS):
        check_run(trial)
    CheckSweep()(folder / "sweep")
    if (folder / "report" / "report.json").exists():
        json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))


def reproduction_outcome(folder: Path) -> dict[str, Any]:
    """Data, runs, what was selected, and the results of the report, but for times."""
    report = json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))
    runs = sorted((folder / "runs" / TRIALS).iterdir())
    return {
        "data": [data_outcome(folder / name) for name in ("data", "naive")],
        "runs": {path.name: run_outcome(path) for path in runs},
        "sweep": sweep_outcome(folder / "sweep"),
        "report": sorted(path.name for path in (folder / "report").rglob("*")),
        "results": [untimed(row) for row in report["results"]],
    }


def difference(outcome: Any, expected: Any) -> str:
    """Say where two outcomes differ; an empty text if they do not."""
    if isinstance(outcome, dict) and isinstance(expected, dict):
        if outcome.keys() != expected.keys():
            return f"{sorted(outcome)} for {sorted(expected)}"
        places = ((key, difference(outcome[key], expected[key])) for key in outcome)
        return next((f"{key}: {where}" for key, where in places if where), "")
    return "" if outcome == expected else f"{outcome!r:.200} for {expected!r:.200}"


def untimed(line: dict[str, Any]) -> dict[str, Any]:
    """Metrics without times; a history is compared by itself."""
    return {key: value for key, value in line.items() if key not in (*TIMES, "history")}


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def numbers(path: Path) -> dict[str, bytes]:
    """The tensors of a file, bit by bit."""
    tensors, _ = load_tensors(path)
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def named(folder: Path) -> list[Path]:
    """The files under their final names."""
    return [p for p in folder.iterdir() if not is_temporary(p)] if folder.exists() else []
