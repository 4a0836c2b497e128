"""A Transformer encoder with current architectural choices.

- Pre-norm with RMSNorm, SwiGLU, no biases, attention by `scaled_dot_product_attention`.
- `positions="rotary"`: the pair as bracketed text A ⊨ B, with rotary position embeddings.
- `positions="tree"`: the nodes of both trees without brackets, each with its path to the root
  (after Shiv & Quirk 2019); sequences are half as long, and the structure is an input.
- The mean over all positions is classified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from possibleworlds.models.base import LEARNING_GRID, Model
from possibleworlds.models.batch import Batch
from possibleworlds.models.classifier import Classifier
from possibleworlds.models.packed import Packed
from possibleworlds.models.sequences import N_SYMBOLS, Sequences, pad
from possibleworlds.models.trees.descent import MAX_PATH, paths


@dataclass(frozen=True)
class ModernTransformerSettings:
    """Sizes of a modern Transformer."""

    size: int = 64
    layers: int = 4
    heads: int = 4
    hidden_size: int = 128  # of SwiGLU
    positions: str = "rotary"  # or "tree"
    mlp_size: int = 64
    mlp_layers: int = 2


class Block(nn.Module):
    """Attention and SwiGLU, each with a norm before it and a residual connection around it."""

    def __init__(self, settings: ModernTransformerSettings) -> None:
        super().__init__()
        s = settings
        self.heads = s.heads
        self.norm1, self.norm2 = nn.RMSNorm(s.size), nn.RMSNorm(s.size)
        self.qkv = nn.Linear(s.size, 3 * s.size, bias=False)
        self.out = nn.Linear(s.size, s.size, bias=False)
        self.gate_and_value = nn.Linear(s.size, 2 * s.hidden_size, bias=False)
        self.down = nn.Linear(s.hidden_size, s.size, bias=False)

    def forward(self, x: Tensor, packed: Packed, rotation: tuple[Tensor, Tensor] | None) -> Tensor:
        """Update x, (tokens, size)."""
        qkv = self.qkv(self.norm1(x))
        if rotation is not None:
            q_and_k, v = qkv.view(len(x), 3 * self.heads, -1).split([2 * self.heads, self.heads], 1)
            qkv = torch.cat((rotate(q_and_k, *rotation), v), 1).flatten(1)
        x = x + self.out(packed.attend(qkv, self.heads))
        gate, value = self.gate_and_value(self.norm2(x)).chunk(2, -1)
        return x + self.down(nn.functional.silu(gate) * value)


def rotations(positions: Tensor, size: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Compute cosines and sines of rotary position embeddings, (tokens, 1, size / 2) each."""
    rate = 10_000.0 ** -(torch.arange(0, size, 2, dtype=torch.float64) / size)
    angle = torch.arange(int(positions.max()) + 1, dtype=torch.float64)[:, None] * rate
    return angle.cos().to(like)[positions, None], angle.sin().to(like)[positions, None]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the halves of vectors (tokens, heads, size) against each other by their position."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


class ModernTransformer(Model):
    """A pre-norm encoder over the pair, with rotary or tree positions."""

    name: ClassVar[str] = "modern-transformer"
    summary: ClassVar[str] = "a pre-norm encoder with SwiGLU"
    family: ClassVar[str] = "sequences"
    citation: ClassVar[str] = (
        "Su et al. 2021 (rotary positions), Shazeer 2020 (SwiGLU), "
        'Shiv & Quirk 2019, "Novel positional encodings to enable tree-based transformers"'
    )
    settings_class: ClassVar[type] = ModernTransformerSettings
    search_space: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_GRID,
        "size": [64, 128],
        "layers": [4, 6, 8],
        "positions": ["rotary", "tree"],
    }
    search_share: ClassVar[float] = 12

    def __init__(self, settings: ModernTransformerSettings) -> None:
        super().__init__(settings)
        s = settings
        if s.size % (2 * s.heads):
            raise ValueError("size must be an even multiple of heads")
        if s.positions not in ("rotary", "tree"):
            raise ValueError("positions must be rotary or tree")
        self.embedding = nn.Embedding(N_SYMBOLS, s.size)
        if s.positions == "tree":
            self.steps = nn.EmbeddingBag(3 * MAX_PATH, s.size, mode="sum")
            self.side = nn.Embedding(2, s.size)
            nn.init.normal_(self.steps.weight, std=0.3)
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.norm = nn.RMSNorm(s.size)
        self.classifier = Classifier(s.size, s.mlp_size, s.mlp_layers, encodings=1)

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        s, rotation = self.settings, None
        if s.positions == "tree":
            sequences = node_sequences(batch)
            packed = Packed.of(sequences)
            of_tokens = self.tree_positions(batch).split(sequences.lengths.tolist())
            positions = torch.cat([of_tokens[row] for row in packed.order.tolist()])
            x = self.embedding(packed.symbols) + positions
        else:
            packed = Packed.of(batch.joined)
            x = self.embedding(packed.symbols)
            rotation = rotations(packed.positions, s.size // s.heads, x)
        for block in self.blocks:
            x = block(x, packed, rotation)
        x = self.norm(x)
        total = x.new_zeros(len(batch.left), s.size).index_add(0, packed.owner, x)
        mean = packed.unsorted(total / packed.lengths[:, None])
        return self.classifier(mean)

    def tree_positions(self, batch: Batch) -> Tensor:
        """Embed the path of each node to its root, and its side, (nodes, size)."""
        nodes = batch.pair_nodes
        steps = 3 * np.arange(MAX_PATH) + paths(nodes)
        side = torch.from_numpy(nodes.tree % 2).to(batch.device)
        return self.steps(torch.from_numpy(steps).to(batch.device)) + self.side(side)


def node_sequences(batch: Batch) -> Sequences:
    """Convert each pair to the sequence of nodes of A and B, without brackets."""
    nodes = batch.pair_nodes
    lengths = np.bincount(nodes.tree // 2, minlength=len(batch.left))
    return pad(nodes.code, lengths, batch.device)
