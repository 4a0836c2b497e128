"""A Transformer encoder as one would write it today.

- Pre-norm with RMSNorm, SwiGLU, no biases, attention by `scaled_dot_product_attention`.
- `positions="rotary"`: the pair as bracketed text A ⊨ B, with rotary position embeddings.
- `positions="tree"`: the nodes of both trees without brackets, each with its path to the root
  (after Shiv & Quirk 2019); sequences are half as long, and the structure is an input.
- The mean over all positions decides.
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
from possibleworlds.models.sequences import N_SYMBOLS, Sequences, pad
from possibleworlds.models.trees.descent import MAX_PATH, paths

GROUPS = 4
"""The number of groups by length that a batch is cut into."""


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

    def forward(self, x: Tensor, mask: Tensor, rotation: tuple[Tensor, Tensor] | None) -> Tensor:
        """Update x, (rows, length, size); mask (rows, 1, 1, length) is true where a key counts."""
        rows, length, size = x.shape
        qkv = self.qkv(self.norm1(x)).view(rows, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (rows, heads, length, size of a head) each
        if rotation is not None:
            q, k = rotate(q, *rotation), rotate(k, *rotation)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(attended.transpose(1, 2).reshape(rows, length, size))
        gate, value = self.gate_and_value(self.norm2(x)).chunk(2, -1)
        return x + self.down(nn.functional.silu(gate) * value)


def rotations(length: int, size: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Compute cosines and sines of rotary position embeddings, (length, size / 2) each."""
    rate = 10_000.0 ** -(torch.arange(0, size, 2, dtype=torch.float64) / size)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * rate
    return angle.cos().to(like), angle.sin().to(like)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the halves of vectors (..., length, size) against each other by their position."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


class ModernTransformer(Model):
    """A pre-norm encoder over the pair, with rotary or tree positions."""

    name: ClassVar[str] = "modern-transformer"
    summary: ClassVar[str] = "pre-norm, SwiGLU, rotary or tree positions"
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
        self.classifier = Classifier(s.size, s.mlp_size, s.mlp_layers, side="left")

    def forward(self, batch: Batch) -> Tensor:
        """Compute log P(A does not entail B) and log P(A entails B) for each pair, (rows, 2)."""
        is_tree = self.settings.positions == "tree"
        sequences = node_sequences(batch) if is_tree else batch.joined
        x, present = self.embedding(sequences.symbols), sequences.present
        if is_tree:
            x[present] = x[present] + self.tree_positions(batch)
        order = sequences.lengths.argsort()
        # Sequences of about one length at a time, so that little is spent on padding.
        means = [self.encode(x[rows], sequences.lengths[rows]) for rows in order.chunk(GROUPS)]
        mean = torch.cat(means)[order.argsort()]
        return self.classifier(mean, mean)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Compute the mean over the positions of each sequence, (rows, size)."""
        x = x[:, : int(lengths.max())]
        present = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        rotation = None
        if self.settings.positions == "rotary":
            rotation = rotations(x.shape[1], self.settings.size // self.settings.heads, x)
        for block in self.blocks:
            x = block(x, present[:, None, None], rotation)
        return (self.norm(x) * present[..., None]).sum(1) / lengths[:, None]

    def tree_positions(self, batch: Batch) -> Tensor:
        """Embed the path of each node to its root, and which side it is of, (nodes, size)."""
        nodes = batch.pair_nodes
        steps = 3 * np.arange(MAX_PATH) + paths(nodes)
        side = torch.from_numpy(nodes.tree % 2).to(batch.device)
        return self.steps(torch.from_numpy(steps).to(batch.device)) + self.side(side)


def node_sequences(batch: Batch) -> Sequences:
    """Write each pair as the nodes of A and of B, without brackets."""
    nodes = batch.pair_nodes
    lengths = np.bincount(nodes.tree // 2, minlength=len(batch.left))
    return pad(nodes.code, lengths, batch.device)
