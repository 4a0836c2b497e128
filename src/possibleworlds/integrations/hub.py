"""Trained networks as folders for the Hugging Face Hub, with a model card; pushing is up to you.

from possibleworlds.integrations.hub import HubNetwork, export_network

export_network("guidedworldnet", "OUT")                  # or the folder of a run
network = HubNetwork.from_pretrained("OUT").network()    # or the name of a repository
network.decide("p -> q", "q -> p")

huggingface-cli upload NAME OUT
"""

from pathlib import Path
from typing import Any

from huggingface_hub import PyTorchModelHubMixin
from torch import Tensor, nn

from possibleworlds.errors import UserError
from possibleworlds.models.batch import Batch
from possibleworlds.models.registry import names, resolve, summary
from possibleworlds.models.settings import make_settings
from possibleworlds.paper import SPLITS, TABLE_2
from possibleworlds.storage import write_text
from possibleworlds.training.checkpoint import find_run, load_model, read_run
from possibleworlds.training.predictor import Network

CITATION = "https://arxiv.org/abs/1802.08535"


class HubNetwork(nn.Module, PyTorchModelHubMixin, library_name="possibleworlds"):
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
    module.save_pretrained(target)
    write_text(target / "README.md", model_card(record.to_json()))
    return target


def model_card(run: dict[str, Any]) -> str:
    """Write the model card of a run."""
    name = run["model"]
    metrics, accuracy = run.get("metrics", {}), run.get("accuracy", {})
    paper = TABLE_2.get(name, {})
    columns = {
        "published sets": accuracy.get("published", {}),
        "sets of our own": accuracy.get("generated", {}),
        "the paper": {split: value / 100 for split, value in paper.items()},
    }
    columns = {title: values for title, values in columns.items() if values}
    header = " | ".join(["accuracy", *(split.removeprefix("test_") for split in SPLITS)])
    lines = [
        " | ".join([title, *(f"{values[s]:.1%}" if s in values else "" for s in SPLITS)])
        for title, values in columns.items()
    ]
    table = "\n".join(f"| {line} |" for line in (header, "--- |" + " ---: |" * 5 + " ---:", *lines))
    settings = "\n".join(
        f"- `{key}`: {value}" for key, value in {**run["settings"], **run["training"]}.items()
    )
    data = "\n".join(f"- `{file}`: SHA-256 `{digest}`" for file, digest in run["data"].items())
    return f"""---
license: apache-2.0
library_name: possibleworlds
tags:
- logic
- entailment
---
# {name}

{summary(name)[0].upper()}{summary(name)[1:]}: does a propositional formula A entail a formula B?
{metrics.get("parameters", 0):,} parameters.

```python
import possibleworlds as pw

network = pw.load("{name}")
network.decide("p & q", "q")
```

or from this folder: `HubNetwork.from_pretrained(FOLDER).network()`, from
`possibleworlds.integrations.hub`.

## Accuracy

{table}

## Training

Seed {run["seed"]}, version {run.get("version")}, torch {run.get("torch")}; step
{metrics.get("best_step", 0):,} of {metrics.get("step", 0):,} was kept: the best on validation data.

{settings}

Data:

{data}

## Limits

It knows 26 variables and the operators ¬ ∧ ∨ →, and was trained on random formulas of a few
operators. Where an answer matters, `possibleworlds.entails` decides exactly.

## Citation

Evans et al., *Can Neural Networks Understand Logical Entailment?*, ICLR 2018, {CITATION}
"""
