"""Write training metrics as events for TensorBoard."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from possibleworlds.errors import UserError
from possibleworlds.training.checkpoint import HistoryLine


def event_writer(run: Path) -> Callable[[HistoryLine], None]:
    """Return a function that writes the metrics of an evaluation into a run folder."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError("--tensorboard needs tensorboard: pip install tensorboard") from None

    writer = cache(lambda: SummaryWriter(run / "tensorboard"))

    def write(line: HistoryLine) -> None:
        for name in ("loss", "accuracy", "validation"):
            writer().add_scalar(name, getattr(line, name), line.step)
        writer().flush()

    return write
