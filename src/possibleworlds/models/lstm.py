"""LSTMs (section 3.2): as encoders of each side, and traversing A ⊨ B as one sequence."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.sequences import N_SYMBOLS, Sequences
from possibleworlds.models.trees import Batch


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
        """Encode each sequence; the LSTM stops where the padding begins."""
        packed = pack_padded_sequence(
            self.embedding(sequences.symbols),
            sequences.lengths.cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        _, (final, _) = self.lstm(packed)
        return torch.cat(final.unbind(0), -1)


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
