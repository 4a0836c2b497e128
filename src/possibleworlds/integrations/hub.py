"""Export trained networks for the Hugging Face Hub, with a model card; uploading is up to you.

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
    """A network in the format of `huggingface_hub`: config.json and safetensors."""

    def __init__(self, model: str, settings: dict[str, Any]) -> None:
        super().__init__()
        if model not in names():
            raise UserError(f"{model!r} is not a network of this package")
        model_class = resolve(model)
        self.inner = model_class(make_settings(model_class, settings))

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        log_probs: Tensor = self.inner(batch)
        return log_probs

    def network(self) -> Network:
        """Return the network as `possibleworlds.load` does."""
        return Network(self.inner.eval())


def export_network(run: str | Path, out: str | Path) -> Path:
    """Write a pretrained network, or that of a run folder, for the Hub; return its folder."""
    folder, target = find_run(run), Path(out)
    record = read_run(folder)
    module = HubNetwork(model=record.model, settings=record.settings)
    module.inner.load_state_dict(load_model(folder).state_dict())
    PyTorchModelHubMixin.save_pretrained(module, target)
    write_text(target / "README.md", model_card(record))
    return target
