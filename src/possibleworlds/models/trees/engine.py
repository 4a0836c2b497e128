"""sat3 in the available engine: the native kernel (native.py) or torch (sat3.py), which agree.

The kernel is built if there is a C compiler, and supports single precision on the CPU. Otherwise,
and if POSSIBLEWORLDS_NATIVE is 0, torch is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from possibleworlds.models.trees import native, sat3

if TYPE_CHECKING:
    from possibleworlds.models.batch import Batch
    from possibleworlds.models.trees.sat3 import Parameters
    from possibleworlds.models.trees.workspace import Workspace


def scores(
    batch: Batch,
    worlds: Tensor,
    parameters: Parameters,
    workspace: Workspace,
    private: bool = False,
) -> Tensor:
    """Compute each tree's term of z as a left and as a right side, (2, trees, n).

    Worlds are (1, n, k), or (pairs, n, k) if each pair has private ones; then trees 2i and 2i + 1
    of the result are those of pair i.
    """
    if native.applies(worlds, *parameters):
        plan = batch.private_plan if private else batch.plan
        return native.scores(plan, worlds, parameters, workspace)
    if not len(batch.left):  # an empty result that still has gradients, of zero
        return worlds.new_zeros(2, 0, worlds.shape[1]) + sum(t.sum() for t in (worlds, *parameters))
    order = batch.private_messages if private else batch.messages
    return sat3.scores(order, worlds, parameters, workspace)


def world_gradients(
    batch: Batch, worlds: Tensor, parameters: Parameters, workspace: Workspace
) -> Tensor:
    """Compute the gradient of each pair's z with respect to its private worlds, (pairs, n, k)."""
    if native.applies(worlds, *parameters):
        return native.world_gradients(batch.private_plan, worlds, parameters, workspace)
    if not len(worlds):
        return torch.zeros_like(worlds)
    return sat3.world_gradients(batch.private_messages, worlds, parameters, workspace)
