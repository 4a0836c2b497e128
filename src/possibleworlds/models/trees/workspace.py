"""Buffers that are reused from batch to batch."""

from __future__ import annotations

import torch
from torch import Tensor


class Workspace:
    """Memory that is reused by later batches, as fresh memory costs more than the arithmetic."""

    def __init__(self) -> None:
        self._free: list[Tensor] = []

    def take(self, size: int, like: Tensor) -> Tensor:
        """Return a buffer of at least `size` numbers, with the type and device of `like`."""
        # Outside of inference mode, a buffer from inside cannot be written to.
        kind = like.dtype, like.device, torch.is_inference_mode_enabled()
        self._free = [b for b in self._free if (b.dtype, b.device, b.is_inference()) == kind]
        self._free.sort(key=len)
        for i, buffer in enumerate(self._free):
            if len(buffer) >= size:
                return self._free.pop(i)
        del self._free[-1:]  # the largest is too small; drop it
        return like.new_empty(size + size // 4)

    def give_back(self, buffer: Tensor) -> None:
        """Make the buffer available to later batches."""
        self._free.append(buffer)

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # a copy of a model starts without buffers
