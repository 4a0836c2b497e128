"""Convolutional encoders (section 3.2.1): 1-D convolutions over symbols, pooled every k layers.

f(X) = MLP(Conv1D(... maxPool(Conv1D(... embed(X) ...)) ...))
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.init import he_normal, near_identity
from possibleworlds.models.sequences import N_SYMBOLS, Sequences


@dataclass(frozen=True)
class ConvNetSettings:
    """Sizes of a convolutional network."""

    size: int = 64  # of embeddings
    layers: int = 4
    kernel: int = 5
    channels: int = 64
    pooling: int = 3  # a max pooling after every 3 layers; 0 for none
    mlp_size: int = 64  # of the encoder and of the classifier
    mlp_layers: int = 2


class WindowConvolution(nn.Conv1d):
    """A 1-D convolution of windows that are already cut out."""

    def forward(self, windows: Tensor) -> Tensor:
        """Apply the convolution to windows (windows, kernel, in), which gives (windows, out)."""
        weight = self.weight.transpose(1, 2).flatten(1)  # (out, kernel * in)
        return nn.functional.linear(windows.flatten(1), weight, self.bias)


class ConvEncoder(nn.Module):
    """A stack of convolutions, the sum over what is left of the sequence, and an MLP.

    At first, every convolution but one passes on little more than its input. With the sum, which
    counts what occurs, that is close to a bag of words, from which the network can learn more. With
    random convolutions, or with the mean or the maximum over positions, fewer seeds leave 50 %.
    """

    def __init__(self, settings: ConvNetSettings) -> None:
        super().__init__()
        s = settings
        self.kernel, self.pooling = s.kernel, s.pooling
        self.embedding = nn.Embedding(N_SYMBOLS, s.size)
        widths = [s.size, *[s.channels] * s.layers]
        stack = [WindowConvolution(a, b, s.kernel) for a, b in pairwise(widths)]
        self.convolutions = nn.ModuleList(stack)
        widths = [s.channels, *[s.mlp_size] * s.mlp_layers]
        dense = [nn.Linear(a, b) for a, b in pairwise(widths)]
        # A ReLU before each layer, not after: without signs, encodings are all alike at first.
        self.mlp = nn.Sequential(*(module for layer in dense for module in (nn.ReLU(), layer)))

    def forward(self, sequences: Sequences) -> Tensor:
        """Encode each sequence, (sequences, mlp_size).

        All sequences are concatenated without padding, and windows are cut out of them, so that no
        arithmetic is spent on padding.
        """
        lengths = sequences.lengths
        x = self.embedding(sequences.symbols[sequences.present])  # (symbols of all, size)
        near = windows(lengths, self.kernel)
        for i, convolution in enumerate(self.convolutions, 1):
            x = convolution(cut(x, near)).relu()
            if self.pooling and i % self.pooling == 0:
                x, lengths = pool(x, lengths)
                near = windows(lengths, self.kernel)
        owner = torch.repeat_interleave(lengths)
        total = x.new_zeros(len(lengths), x.shape[1]).index_add(0, owner, x)
        return self.mlp(total / self.kernel)  # as each symbol is in so many windows


def pool(x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Max-pool non-negative vectors (symbols, size) over pairs of positions; also halve lengths."""
    # No value is below the zeros beyond the end.
    return cut(x, windows(lengths, 2, stride=2)).amax(1), (lengths + 1) // 2


def windows(lengths: Tensor, width: int, stride: int = 1) -> Tensor:
    """Return the positions in each window, (windows, width), of concatenated sequences.

    The total length stands for positions beyond the ends of a window's own sequence. A sequence of
    two symbols, 0 and 1, and one of a single symbol, 2:

    >>> windows(torch.tensor([2, 1]), width=3).tolist()
    [[3, 0, 1], [0, 1, 3], [3, 2, 3]]
    """
    counts = (lengths + stride - 1) // stride
    owner = torch.repeat_interleave(counts)
    number = torch.arange(len(owner), device=lengths.device) - (counts.cumsum(0) - counts)[owner]
    offsets = torch.arange(width, device=lengths.device) - (width - 1) // 2
    position = number[:, None] * stride + offsets
    beyond = (position < 0) | (position >= lengths[owner, None])
    first = (lengths.cumsum(0) - lengths)[owner]
    return (first[:, None] + position).masked_fill(beyond, int(lengths.sum()))


def cut(x: Tensor, windows: Tensor) -> Tensor:
    """Cut windows out of concatenated sequences (symbols, size): (windows, width, size)."""
    with_zeros = torch.cat((x, x.new_zeros(1, x.shape[1])))
    return with_zeros.index_select(0, windows.flatten()).view(*windows.shape, -1)


class ConvNet(Model):
    """One stack of convolutions that encodes both sides."""

    name: ClassVar[str] = "convnet"
    summary: ClassVar[str] = "convolutions over each side"
    family: ClassVar[str] = "sequences"
    citation: ClassVar[str] = (
        'Kalchbrenner et al. 2014, "A Convolutional Neural Network for Modelling Sentences"'
    )
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
    search_share: ClassVar[float] = 2

    def __init__(self, settings: ConvNetSettings) -> None:
        super().__init__(settings)
        self.encoder = ConvEncoder(settings)
        self.classifier = Classifier(settings.mlp_size, settings.mlp_size, settings.mlp_layers)
        he_normal(self)
        for convolution in self.encoder.convolutions[1:]:
            near_identity(convolution.get_parameter("weight"))

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        encodings = self.encoder(batch.sequences)
        return self.classifier(encodings[batch.left], encodings[batch.right])
