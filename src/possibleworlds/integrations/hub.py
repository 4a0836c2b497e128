"""Trained networks as folders for the Hugging Face Hub, with a model card; pushing is up to you.

from possibleworlds.integrations.hub import HubNetwork, export_network

export_network("guidedworldnet", "OUT")                  # or the folder of a run
network = HubNetwork.from_pretrained("OUT").network()    # or the name of a repository
network.decide("p -> q", "q -> p")

hf upload NAME OUT
"""

from pathlib import Path
from typing import Any

from huggingface_hub import PyTorchModelHubMixin
from torch import Tensor, nn

from possibleworlds.errors import UserError
from possibleworlds.integrations.cards import model_card
from possibleworlds.models.batch import Batch
from possibleworlds.models.registry import names, resolve
from possibleworlds.models.settings import make_settings
from possibleworlds.storage import write_text
from possibleworlds.training.checkpoint import find_run, load_model, read_run
from possibleworlds.training.predictor import Network


class HubNetwork(nn.Module, PyTorchModelHubMixin, library_name="possibleworlds"):  # type: ignore[call-arg]
    """One of our networks as `huggingface_hub` saves and loads it: config.json and safetensors."""

    def __init__(self, model: str, settings: dict[str, Any]) -> None:
        super().__init__()
        if model not in names():
            raise UserError(f"{model!r} is not a network of this package")
        kind = resolve(model)
        self.inner = kind(make_settings(kind, settings))

    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        log_probs: Tensor = self.inner(batch)
        return log_probs

    def network(self) -> Network:
        """Give the network in the form in which `possibleworlds.load` gives it."""
        return Network(self.inner.eval())


def export_network(run: str | Path, out: str | Path) -> Path:
    """Write a pretrained network, or that of a run folder, for the Hub; return the folder."""
    folder, target = find_run(run), Path(out)
    record = read_run(folder)
    module = HubNetwork(model=record.model, settings=record.settings)
    module.inner.load_state_dict(load_model(folder).state_dict())
    PyTorchModelHubMixin.save_pretrained(module, target)
    write_text(target / "README.md", model_card(record))
    return target
