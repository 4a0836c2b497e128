"""Initialisation of weights where PyTorch's default is not suitable."""

import math

import torch
from torch import Tensor, nn


def linear_uniform(*shape: int, fan_in: int) -> Tensor:
    """Draw weights like nn.Linear: uniform within ±1 / sqrt(fan_in)."""
    return torch.empty(shape).uniform_(-(fan_in**-0.5), fan_in**-0.5)


def he_normal(module: nn.Module) -> None:
    """Initialise every linear layer and convolution of a module by He et al., with zero bias.

    PyTorch's default shrinks the signal with every layer of ReLUs; a deep stack then maps all
    inputs to almost the same output, and its gradient is too small to leave that state.
    """
    for layer in module.modules():
        if isinstance(layer, nn.Conv1d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.constant_(layer.get_parameter("bias"), 0.0)


@torch.no_grad()
def near_identity(weight: Tensor, noise: float = 0.1) -> None:
    """Add the identity to a fraction of the initial weights of a convolution."""
    identity = nn.init.dirac_(torch.empty_like(weight))
    weight.mul_(noise).add_(identity)


def even_odds_bias(n: int) -> float:
    """Return the bias b at which the product of n sigmoids, sigmoid(b)^n, is about one half.

    For large b, sigmoid(b)^n is about exp(-n exp(-b)), which is exp(-0.7), that is 0.497, for
    b = log(n / 0.7). With any other bias, a product of n sigmoids starts saturated.

    >>> round((1 / (1 + math.exp(-even_odds_bias(128)))) ** 128, 2)
    0.5
    """
    return math.log(n / 0.7)
