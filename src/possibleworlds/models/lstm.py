"""LSTMs (section 3.2): as encoders of each side, and traversing A ⊨ B as one sequence."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.sequences import N_SYMBOLS, Sequences
from possibleworlds.models.trees import Batch

GROUPS = 4
"""Into how many groups by length a batch is cut."""


@dataclass(frozen=True)
class LstmSettings:
    """Sizes of a network with LSTMs."""

    size: int = 64  # of cells
    embedding_size: int = 64
    mlp_size: int = 64
    mlp_layers: int = 2


class LstmEncoder(nn.Module):
    """The final state of an LSTM over a sequence, or those of two in opposite directions."""

    def __init__(self, size: int, embedding_size: int, bidirectional: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(N_SYMBOLS, embedding_size)
        self.lstm = nn.LSTM(embedding_size, size, batch_first=True, bidirectional=bidirectional)
        self.size = size * (1 + bidirectional)
        with torch.no_grad():  # gates begin open, so that what was read first is not forgotten
            for name, bias in self.lstm.named_parameters():
                if name.startswith("bias_ih"):
                    bias[size : 2 * size] += 1

    def forward(self, sequences: Sequences) -> Tensor:
        """Encode each sequence; what is read after its end does not count."""
        order = sequences.lengths.argsort()
        codes = []
        # Sequences of about one length at a time: padding is read as well, only to be ignored.
        for rows in order.chunk(GROUPS):
            lengths = sequences.lengths[rows]
            symbols = sequences.symbols[rows, : int(lengths.max())]
            readings = [self.read(symbols, lengths, 0)]
            if self.lstm.bidirectional:
                readings.append(self.read(backwards(symbols, lengths), lengths, 4))
            codes.append(torch.cat(readings, -1))
        return torch.cat(codes)[order.argsort()]

    def read(self, symbols: Tensor, lengths: Tensor, first: int) -> Tensor:
        """The state at the end of each sequence, of the LSTM whose four weights begin there.

        This is the way to have PyTorch use oneDNN's LSTM, which takes no packed sequences and is
        twice as fast as that which does.
        """
        start = torch.zeros(1, len(symbols), self.lstm.hidden_size).to(self.embedding.weight)
        weights: tuple[Tensor, ...] = tuple(self.lstm.parameters())[first : first + 4]
        states, _, _ = torch.lstm(
            self.embedding(symbols),
            (start, start),
            weights,
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=self.training,
            bidirectional=False,
            batch_first=True,
        )
        return states[torch.arange(len(states)), lengths - 1]


def backwards(symbols: Tensor, lengths: Tensor) -> Tensor:
    """Each sequence from its end to its beginning, with its padding still behind it."""
    places = torch.arange(symbols.shape[1], device=symbols.device)
    return symbols.gather(1, (lengths[:, None] - 1 - places) % symbols.shape[1])


class Lstm(Model):
    """Hochreiter & Schmidhuber 1997, "Long Short-Term Memory": one encoder for both sides."""

    settings_class: ClassVar[type] = LstmSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
        "embedding_size": [32, 64],
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }
    bidirectional: ClassVar[bool] = False
    seen_by_classifier: ClassVar[str] = "both"

    def __init__(self, settings: LstmSettings) -> None:
        super().__init__(settings)
        s = settings
        self.encoder = LstmEncoder(s.size, s.embedding_size, self.bidirectional)
        self.classifier = Classifier(
            self.encoder.size, s.mlp_size, s.mlp_layers, self.seen_by_classifier
        )

    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        codes = self.encoder(batch.sequences)
        return self.classifier(codes[batch.left], codes[batch.right])


class BiLstm(Lstm):
    """Schuster & Paliwal 1997, "Bidirectional Recurrent Neural Networks", with LSTM cells."""

    bidirectional: ClassVar[bool] = True


class LstmTraversal(Lstm):
    """Rocktäschel et al. 2015, "Reasoning about Entailment with Neural Attention": A ⊨ B in one."""

    seen_by_classifier: ClassVar[str] = "left"

    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        codes = self.encoder(batch.joined)
        return self.classifier(codes, codes)


class BiLstmTraversal(LstmTraversal):
    """As LstmTraversal, in both directions."""

    bidirectional: ClassVar[bool] = True
