"""LSTMs: encoders of each side (section 3.2.1), and over A ⊨ B as one sequence (section 3.2.2)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.recurrence import lstm_states
from possibleworlds.models.sequences import N_SYMBOLS, Sequences
from possibleworlds.models.trees import native
from possibleworlds.models.trees.workspace import Workspace


@dataclass(frozen=True)
class LstmSettings:
    """Sizes of a network with LSTMs."""

    size: int = 64  # of cells
    embedding_size: int = 64
    mlp_size: int = 64
    mlp_layers: int = 2


class LstmEncoder(nn.Module):
    """The final state of an LSTM over a sequence, or of two in opposite directions."""

    def __init__(self, size: int, embedding_size: int, bidirectional: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(N_SYMBOLS, embedding_size)
        self.lstm = nn.LSTM(embedding_size, size, batch_first=True, bidirectional=bidirectional)
        self.size = size * (1 + bidirectional)
        self._workspace = Workspace()
        with torch.no_grad():  # forget gates start open, as usual
            for name, bias in self.lstm.named_parameters():
                if name.startswith("bias_ih"):
                    bias[size : 2 * size] += 1

    def forward(self, sequences: Sequences) -> Tensor:
        """Encode each sequence, (sequences, size), ignoring its padding."""
        weights: tuple[Tensor, ...] = tuple(self.lstm.parameters())
        states = [lstm_states(sequences, self.embedding.weight, weights[:4], self._workspace)]
        if self.lstm.bidirectional:
            reverse = Sequences(backwards(*sequences), sequences.lengths)
            states.append(lstm_states(reverse, self.embedding.weight, weights[4:], self._workspace))
        return torch.cat(states, -1)


def backwards(symbols: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each sequence, leaving its padding at the end.

    >>> backwards(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2])).tolist()
    [[3, 2, 1], [5, 4, 0]]
    """
    positions = torch.arange(symbols.shape[1], device=symbols.device)
    return symbols.gather(1, (lengths[:, None] - 1 - positions) % symbols.shape[1])


class Lstm(Model):
    """One LSTM that encodes both sides."""

    name: ClassVar[str] = "lstm"
    summary: ClassVar[str] = "an LSTM over each side"
    family: ClassVar[str] = "sequences"
    citation: ClassVar[str] = 'Hochreiter & Schmidhuber 1997, "Long Short-Term Memory"'
    settings_class: ClassVar[type] = LstmSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
        "embedding_size": [32, 64],
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }
    search_share: ClassVar[float] = 3
    bidirectional: ClassVar[bool] = False
    n_encodings: ClassVar[int] = 2
    """The encodings of a pair, which the classifier receives."""

    @classmethod
    def engine(cls, device: str, settings: Any) -> str:
        """Name the engine that reads sequences on a device: the native kernel, or torch."""
        return native.engine(device, settings.size)

    def __init__(self, settings: LstmSettings) -> None:
        super().__init__(settings)
        s = settings
        self.encoder = LstmEncoder(s.size, s.embedding_size, self.bidirectional)
        sizes = self.encoder.size, s.mlp_size, s.mlp_layers
        self.classifier = Classifier(*sizes, encodings=self.n_encodings)

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        encodings = self.encoder(batch.sequences)
        return self.classifier(encodings[batch.left], encodings[batch.right])


class BiLstm(Lstm):
    """Like Lstm, in both directions."""

    name: ClassVar[str] = "bilstm"
    summary: ClassVar[str] = "LSTMs in both directions, each side"
    family: ClassVar[str] = "sequences"
    citation: ClassVar[str] = 'Schuster & Paliwal 1997, "Bidirectional Recurrent Neural Networks"'
    search_share: ClassVar[float] = 4
    bidirectional: ClassVar[bool] = True


class LstmTraversal(Lstm):
    """One LSTM that reads A ⊨ B as one sequence."""

    name: ClassVar[str] = "lstm-traversal"
    summary: ClassVar[str] = "an LSTM over A ⊨ B as one sequence"
    family: ClassVar[str] = "sequences"
    citation: ClassVar[str] = (
        'Rocktäschel et al. 2015, "Reasoning about Entailment with Neural Attention"'
    )
    search_share: ClassVar[float] = 5
    n_encodings: ClassVar[int] = 1

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        encodings = self.encoder(batch.joined)
        return self.classifier(encodings)


class BiLstmTraversal(LstmTraversal):
    """Like LstmTraversal, in both directions."""

    name: ClassVar[str] = "bilstm-traversal"
    summary: ClassVar[str] = "LSTMs in both directions over A ⊨ B"
    family: ClassVar[str] = "sequences"
    citation: ClassVar[str] = (
        'Rocktäschel et al. 2015, "Reasoning about Entailment with Neural Attention"'
    )
    search_share: ClassVar[float] = 4
    bidirectional: ClassVar[bool] = True
