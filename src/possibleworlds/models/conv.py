"""Convolutional encoders (section 3.2.1): 1-D convolutions over symbols, pooled every k layers.

f(X) = MLP(Conv1D(... maxPool(Conv1D(... embed(X) ...)) ...))
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.sequences import N_SYMBOLS, Sequences
from possibleworlds.models.trees import Batch


@dataclass(frozen=True)
class ConvNetSettings:
    """Sizes of a convolutional network."""

    size: int = 64  # of embeddings
    layers: int = 4
    kernel: int = 5
    channels: int = 64
    pooling: int = 3  # a max pooling after so many layers; 0 for none
    mlp_size: int = 64  # of the encoder's and of the classifier's
    mlp_layers: int = 2


class ConvEncoder(nn.Module):
    """A stack of convolutions; the mean of what is left, at any length, goes through an MLP."""

    def __init__(self, settings: ConvNetSettings) -> None:
        super().__init__()
        s = settings
        self.pooling = s.pooling
        self.embedding = nn.Embedding(N_SYMBOLS, s.size)
        widths = [s.size, *[s.channels] * s.layers]
        stack = [nn.Conv1d(a, b, s.kernel, padding="same") for a, b in pairwise(widths)]
        self.convolutions = nn.ModuleList(stack)
        widths = [s.channels, *[s.mlp_size] * s.mlp_layers]
        dense = [nn.Linear(a, b) for a, b in pairwise(widths)]
        self.mlp = nn.Sequential(*(module for layer in dense for module in (layer, nn.ReLU())))
        # With PyTorch's own start the signal dies out on its way up, and nothing is ever learnt.
        for layer in (*stack, *dense):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")  # type: ignore[arg-type]
            nn.init.constant_(layer.bias, 0.0)  # type: ignore[arg-type]

    def forward(self, sequences: Sequences) -> Tensor:
        """Encode each sequence; padding counts as the nothing that is beyond every sequence."""
        lengths = sequences.lengths
        present = sequences.present[:, None]
        x = self.embedding(sequences.symbols).transpose(1, 2) * present
        for i, convolution in enumerate(self.convolutions, 1):
            # After a ReLU nothing is below the zeros of padding, so pooling needs no mask.
            x = nn.functional.relu(convolution(x)) * present
            if self.pooling and i % self.pooling == 0:
                x = nn.functional.max_pool1d(x, 2, ceil_mode=True)
                lengths = (lengths + 1) // 2
                present = Sequences(x[:, 0], lengths).present[:, None]
        return self.mlp(x.sum(2) / lengths[:, None])


class ConvNet(Model):
    """Kalchbrenner et al. 2014, "A Convolutional Neural Network for Modelling Sentences"."""

    settings_class: ClassVar[type] = ConvNetSettings
    may_be_zero: ClassVar[frozenset[str]] = frozenset({"pooling"})
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
        "layers": [4, 6, 8],
        "kernel": [5, 7, 9],
        "channels": [32, 64],
        "pooling": [0, 5, 3, 1],
        "mlp_size": [32, 64],
        "mlp_layers": [2, 3],
    }

    def __init__(self, settings: ConvNetSettings) -> None:
        super().__init__(settings)
        self.encoder = ConvEncoder(settings)
        self.classifier = Classifier(settings.mlp_size, settings.mlp_size, settings.mlp_layers)

    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        codes = self.encoder(batch.sequences)
        return self.classifier(codes[batch.left], codes[batch.right])
