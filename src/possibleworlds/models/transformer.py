"""The Transformer (section 3.2.3): it reads A and B as one sequence and decodes one symbol."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import log_probabilities
from possibleworlds.models.packed import Packed
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
    summary: ClassVar[str] = "attention over A and B in sequence"
    family: ClassVar[str] = "sequences"
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
        # Pre-norm, as in the authors' code; without it, deep stacks do not train.
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
        encoder_norm, decoder_norm = self.encoder.norm, self.decoder.norm
        assert encoder_norm is not None
        assert decoder_norm is not None
        sequences, is_right = batch.side_by_side
        packed = Packed.of(sequences)
        is_right = is_right[packed.order][packed.owner, packed.positions]
        signals = timing_signals(sequences.symbols.shape[1], self.settings.size)
        x = self.embedding(packed.symbols) * math.sqrt(self.settings.size)  # (tokens, size)
        x = x + signals.to(x)[packed.positions] + is_right[:, None] * self.right_bias
        for layer in self.encoder.layers:
            x = encoder_layer(layer, x, packed)
        memory = encoder_norm(x)
        decoded = self.start[0].expand(len(sequences.lengths), -1)  # (rows, size)
        for layer in self.decoder.layers:
            decoded = decoder_layer(layer, decoded, memory, packed)
        logit = self.logit(decoder_norm(decoded))
        return log_probabilities(packed.unsorted(logit))


def encoder_layer(layer: nn.Module, x: Tensor, packed: Packed) -> Tensor:
    """Apply an nn.TransformerEncoderLayer to tokens without padding, (tokens, size)."""
    assert isinstance(layer, nn.TransformerEncoderLayer)
    attention = layer.self_attn
    qkv = linear(layer.norm1(x), attention.in_proj_weight, attention.in_proj_bias)
    attended = packed.attend(qkv, attention.num_heads, attention.dropout * layer.training)
    x = x + layer.dropout1(attention.out_proj(attended))
    return x + layer.dropout2(feed_forward(layer, layer.norm2(x)))


def decoder_layer(layer: nn.Module, x: Tensor, memory: Tensor, packed: Packed) -> Tensor:
    """Apply an nn.TransformerDecoderLayer to one position, x (rows, size)."""
    assert isinstance(layer, nn.TransformerDecoderLayer)
    token = layer.norm1(x)[:, None]
    x = x + layer.dropout1(layer.self_attn(token, token, token, need_weights=False)[0][:, 0])
    attention, size = layer.multihead_attn, x.shape[1]
    w_q, w_kv = attention.in_proj_weight.split([size, 2 * size])
    b_q, b_kv = attention.in_proj_bias.split([size, 2 * size])
    q, kv = linear(layer.norm2(x), w_q, b_q), linear(memory, w_kv, b_kv)
    attended = packed.attend_from(q, kv, attention.num_heads, attention.dropout * layer.training)
    x = x + layer.dropout2(attention.out_proj(attended))
    return x + layer.dropout3(feed_forward(layer, layer.norm3(x)))


def feed_forward(
    layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, x: Tensor
) -> Tensor:
    """Compute the feed-forward network of an encoder or decoder layer."""
    return layer.linear2(layer.dropout(layer.linear1(x).relu()))


def timing_signals(length: int, size: int) -> Tensor:
    """Compute sines and cosines of wavelengths from 2π to 20,000π, (length, size)."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, size, 2, dtype=torch.float64) * (-math.log(10_000) / size))
    return torch.stack((torch.sin(position * rate), torch.cos(position * rate)), -1).flatten(1)
