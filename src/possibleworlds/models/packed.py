"""Sequences of different lengths in one tensor without padding, and attention within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from possibleworlds.models.sequences import LENGTH_GROUPS, Sequences


class LengthGroup(NamedTuple):
    """Sequences of similar length, which attention pads to the longest of them."""

    tokens: slice  # their position among all tokens
    padded: Tensor  # the token at each position of a (rows, longest) matrix, flat
    present: Tensor  # the positions that hold a token, flat
    mask: Tensor  # the same, (rows, 1, 1, longest)


@dataclass(frozen=True)
class Packed:
    """Sequences sorted by length and concatenated.

    >>> packed = Packed.of(Sequences(torch.tensor([[5, 6, 7], [8, 0, 0]]), torch.tensor([3, 1])))
    >>> packed.symbols.tolist(), packed.positions.tolist(), packed.order.tolist()
    ([8, 5, 6, 7], [0, 0, 1, 2], [1, 0])
    """

    symbols: Tensor  # of each token
    positions: Tensor  # of each token in its sequence
    owner: Tensor  # the sequence of each token, sorted by length
    order: Tensor  # the sequences, sorted by length
    lengths: Tensor  # in that order
    groups: list[LengthGroup]

    @classmethod
    def of(cls, sequences: Sequences) -> Packed:
        """Sort and concatenate sequences."""
        order = sequences.lengths.argsort(stable=True)
        lengths, symbols = sequences.lengths[order], sequences.symbols[order]
        positions = torch.arange(symbols.shape[1], device=symbols.device)
        present = positions < lengths[:, None]
        owner, position = present.nonzero(as_tuple=True)
        first = lengths.cumsum(0) - lengths
        groups, end = [], 0
        for rows in torch.arange(len(order), device=order.device).chunk(LENGTH_GROUPS):
            longest = int(lengths[rows[-1]])
            is_token = present[rows, :longest]
            start, end = end, end + int(lengths[rows].sum())
            # Padding repeats the first token, and the mask excludes it.
            padded = (first[rows, None] - start + positions[:longest]) * is_token
            tokens, places = slice(start, end), is_token.flatten().nonzero()[:, 0]
            groups.append(LengthGroup(tokens, padded.flatten(), places, is_token[:, None, None]))
        return cls(symbols[present], position, owner, order, lengths, groups)

    def unsorted(self, rows: Tensor) -> Tensor:
        """Restore the original order of rows, one for each sequence."""
        return rows[self.order.argsort()]

    def attend(self, qkv: Tensor, heads: int, dropout: float = 0.0) -> Tensor:
        """Let each token attend to its sequence; takes (tokens, 3 d), returns (tokens, d)."""
        results = []
        for group in self.groups:
            q, k, v = in_heads(qkv, group, 3, heads)
            y = nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=group.mask, dropout_p=dropout
            )
            y = y.transpose(1, 2).reshape(-1, qkv.shape[1] // 3)
            results.append(y.index_select(0, group.present))
        return torch.cat(results)

    def attend_from(self, q: Tensor, kv: Tensor, heads: int, dropout: float = 0.0) -> Tensor:
        """Let one query for each sequence, (rows, d), attend to keys and values (tokens, 2 d)."""
        results = []
        queries = q.view(len(q), heads, 1, -1).split([len(group.mask) for group in self.groups])
        for query, group in zip(queries, self.groups, strict=True):
            k, v = in_heads(kv, group, 2, heads)
            y = nn.functional.scaled_dot_product_attention(
                query, k, v, attn_mask=group.mask, dropout_p=dropout
            )
            results.append(y.flatten(1))
        return torch.cat(results)


def in_heads(x: Tensor, group: LengthGroup, n: int, heads: int) -> tuple[Tensor, ...]:
    """Split a group's tokens (tokens, n d) into n tensors (rows, heads, longest, d / heads)."""
    rows, _, _, longest = group.mask.shape
    padded = x[group.tokens].index_select(0, group.padded)
    return padded.view(rows, longest, n, heads, -1).permute(2, 0, 3, 1, 4).unbind()
