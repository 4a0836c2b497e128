"""The Transformer (section 3.2.3): it reads A and B as one sequence and decodes one symbol."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import log_probabilities
from possibleworlds.models.sequences import N_SYMBOLS


@dataclass(frozen=True)
class TransformerSettings:
    """Sizes of a Transformer."""

    size: int = 32
    layers: int = 2  # of the encoder, and as many of the decoder
    heads: int = 2
    filter_size: int = 128
    dropout: float = 0.0


class Transformer(Model):
    """An encoder over A and B, and a decoder that attends to it from one start symbol."""

    name: ClassVar[str] = "transformer"
    summary: ClassVar[str] = "attention over A and B as one sequence"
    citation: ClassVar[str] = 'Vaswani et al. 2017, "Attention Is All You Need"'
    settings_class: ClassVar[type] = TransformerSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [32, 64],
        "layers": [6, 8, 10],
        "dropout": [0.0, 0.1, 0.5],
        "filter_size": [128, 256, 384],
    }
    search_share: ClassVar[float] = 12

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__(settings)
        s = settings
        if s.size % 2:
            raise ValueError("size must be even, for a sine and a cosine of each wavelength")
        self.embedding = nn.Embedding(N_SYMBOLS, s.size)
        nn.init.normal_(self.embedding.weight, std=s.size**-0.5)
        self.right_bias = nn.Parameter(torch.zeros(s.size))
        self.start = nn.Parameter(torch.randn(1, 1, s.size))
        # Pre-norm, as in the authors' own code, without which deep stacks do not train.
        sizes = (s.size, s.heads, s.filter_size, s.dropout)
        encoder = nn.TransformerEncoderLayer(*sizes, batch_first=True, norm_first=True)
        decoder = nn.TransformerDecoderLayer(*sizes, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(
            encoder, s.layers, nn.LayerNorm(s.size), enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(decoder, s.layers, nn.LayerNorm(s.size))
        self.logit = nn.Linear(s.size, 1)

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        sequences, is_right = batch.side_by_side
        # (rows, length, size)
        x = self.embedding(sequences.symbols) * math.sqrt(self.settings.size)
        x = x + timing_signals(*x.shape[1:]).to(x) + is_right[..., None] * self.right_bias
        absent = ~sequences.present
        memory = self.encoder(x, src_key_padding_mask=absent)
        start = self.start.expand(len(x), 1, -1)
        decoded = self.decoder(start, memory, memory_key_padding_mask=absent)  # (rows, 1, size)
        return log_probabilities(self.logit(decoded[:, 0]))


def timing_signals(length: int, size: int) -> Tensor:
    """Compute sines and cosines of wavelengths from 2π to 20,000π, (length, size)."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, size, 2, dtype=torch.float64) * (-math.log(10_000) / size))
    return torch.stack((torch.sin(position * rate), torch.cos(position * rate)), -1).flatten(1)
