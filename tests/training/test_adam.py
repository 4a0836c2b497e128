"""Adam on one vector of all weights does what PyTorch's does on a tensor for each."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from possibleworlds.errors import UserError
from possibleworlds.training.loop import ALIGNMENT, Adam


@pytest.mark.parametrize("max_grad_norm", [0.0, 0.1, 100.0])
def test_adam_agrees_with_that_of_torch(max_grad_norm: float) -> None:
    torch.manual_seed(0)
    ours = nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1))
    theirs = nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1))
    theirs.load_state_dict(ours.state_dict())
    adam = Adam(dict(ours.named_parameters()))
    optimizer = torch.optim.Adam(theirs.parameters())
    ema = {name: weight.detach().clone() for name, weight in theirs.named_parameters()}
    for step in range(20):
        x, rate = torch.randn(7, 5), 0.01 / (step + 1)
        adam.gradient.zero_()
        ours(x).square().sum().backward()
        adam.step(rate, max_grad_norm)
        adam.update_ema(0.9)
        optimizer.zero_grad()
        theirs(x).square().sum().backward()
        if max_grad_norm:
            nn.utils.clip_grad_norm_(theirs.parameters(), max_grad_norm)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        for name, weight in theirs.named_parameters():
            ema[name].lerp_(weight.detach(), 0.1)
    assert_close(dict(ours.named_parameters()), dict(theirs.named_parameters()))
    assert_close(adam.parts("weight"), {n: w.detach() for n, w in theirs.named_parameters()})
    assert_close(adam.parts("ema"), ema)
    for key in ("exp_avg", "exp_avg_sq"):
        moments = {n: optimizer.state[w][key] for n, w in theirs.named_parameters()}
        assert_close(adam.parts(key), moments)


def test_weights_begin_where_vectors_of_numbers_do() -> None:
    layer = nn.Linear(3, 3)
    Adam(dict(layer.named_parameters()))
    assert layer.bias.data_ptr() - layer.weight.data_ptr() == ALIGNMENT * 4
    assert layer.weight.grad is not None


def test_weights_of_two_types_are_refused() -> None:
    layer = nn.Linear(2, 2)
    layer.bias = nn.Parameter(layer.bias.double())
    with pytest.raises(UserError, match="of one type"):
        Adam(dict(layer.named_parameters()))
