"""Convolutional encoders (section 3.2.1): 1-D convolutions over symbols, pooled every k layers.

f(X) = MLP(Conv1D(... maxPool(Conv1D(... embed(X) ...)) ...))
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
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
        self.kernel, self.pooling = s.kernel, s.pooling
        self.embedding = nn.Embedding(N_SYMBOLS, s.size)
        widths = [s.size, *[s.channels] * s.layers]
        stack = [nn.Conv1d(a, b, s.kernel, padding="same") for a, b in pairwise(widths)]
        self.convolutions = nn.ModuleList(stack)
        widths = [s.channels, *[s.mlp_size] * s.mlp_layers]
        dense = [nn.Linear(a, b) for a, b in pairwise(widths)]
        # A ReLU before each layer, not after: codes without signs look much alike at first.
        self.mlp = nn.Sequential(*(module for layer in dense for module in (nn.ReLU(), layer)))

    def forward(self, sequences: Sequences) -> Tensor:
        """Encode each sequence; the symbols of all stand in one line, with no padding between."""
        lengths = sequences.lengths
        x = self.embedding(sequences.symbols[sequences.present])
        near = windows(lengths, self.kernel)
        for i, convolution in enumerate(self.convolutions, 1):
            weight = convolution.get_parameter("weight").transpose(1, 2).flatten(1)
            bias = convolution.get_parameter("bias")
            x = nn.functional.linear(seen(x, near).flatten(1), weight, bias).relu()
            if self.pooling and i % self.pooling == 0:
                # After a ReLU nothing is below the zero that is beyond the end.
                x = seen(x, windows(lengths, 2, stride=2)).amax(1)
                lengths = (lengths + 1) // 2
                near = windows(lengths, self.kernel)
        owner = torch.repeat_interleave(lengths)
        total = x.new_zeros(len(lengths), x.shape[1]).index_add(0, owner, x)
        return self.mlp(total / lengths[:, None])


def windows(lengths: Tensor, width: int, stride: int = 1) -> Tensor:
    """What is seen from every so many places of each sequence, [windows, width].

    Places are counted through all sequences; the number of them all stands for what is beyond the
    ends of the own one.
    """
    counts = (lengths + stride - 1) // stride
    owner = torch.repeat_interleave(counts)
    number = torch.arange(len(owner), device=lengths.device) - (counts.cumsum(0) - counts)[owner]
    offsets = torch.arange(width, device=lengths.device) - (width - 1) // 2
    place = number[:, None] * stride + offsets
    beyond = (place < 0) | (place >= lengths[owner, None])
    first = (lengths.cumsum(0) - lengths)[owner]
    return (first[:, None] + place).masked_fill(beyond, int(lengths.sum()))


def seen(x: Tensor, windows: Tensor) -> Tensor:
    """What stands in each window, with zeros beyond the ends, [windows, width, size]."""
    with_zeros = torch.cat((x, x.new_zeros(1, x.shape[1])))
    return with_zeros.index_select(0, windows.flatten()).view(*windows.shape, -1)


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
        # With PyTorch's own start the signal dies out on its way up, and nothing is ever learnt.
        for layer in self.modules():
            if isinstance(layer, nn.Conv1d | nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.constant_(layer.get_parameter("bias"), 0.0)

    def forward(self, batch: Batch) -> Tensor:
        """Give log P(A does not entail B) and log P(A entails B) for each pair, [rows, 2]."""
        codes = self.encoder(batch.sequences)
        return self.classifier(codes[batch.left], codes[batch.right])
