"""Networks and optimisers of a user's own, right and wrong, for `test_own_learning`."""

import torch
from torch import nn


class Net(nn.Module):
    """A linear network, with what saving has to bear: shared weights, and a table of indices."""

    def __init__(self, board, units=6):
        super().__init__()
        self.board = board
        size = board.rows * board.columns * len(board.planes)
        self.register_buffer("order", torch.arange(size).flip(0))
        self.hidden = nn.Linear(size, units)
        self.twin = self.hidden
        self.norm = nn.BatchNorm1d(units)
        self.logits = nn.Linear(units, board.num_actions)
        self.value = nn.Linear(units, 1)

    def forward(self, planes):
        x = torch.relu(self.norm(self.twin(planes.flatten(1)[:, self.order])))
        return self.logits(x), torch.tanh(self.value(x))[:, 0]


class BatchBound(Net):
    """Its graph would keep the number of planes that it was traced with."""

    def forward(self, planes):
        logits, values = super().forward(planes)
        return logits + len(planes), values


class ValueAsColumn(Net):
    def forward(self, planes):
        logits, values = super().forward(planes)
        return logits, values[:, None]


class LogitsAlone(Net):
    def forward(self, planes):
        return super().forward(planes)[0]


class CellsForActions(Net):
    def forward(self, planes):
        logits, values = super().forward(planes)
        return logits[:, :-1], values


class ChannelsFirst(Net):
    def __init__(self, board):
        super().__init__(board)
        self.stem = nn.Conv2d(len(board.planes), 4, 3, padding=1)

    def forward(self, planes):
        return self.stem(planes), planes[:, 0, 0, 0]


class NotNumbers(Net):
    def forward(self, planes):
        logits, values = super().forward(planes)
        return logits / 0.0, values


class WithoutGradient(Net):
    def forward(self, planes):
        logits, values = super().forward(planes)
        return logits.detach(), values


class Unreadable(Net):
    """Its state has what a checkpoint cannot hold."""

    def get_extra_state(self):
        return {1, 2}

    def set_extra_state(self, state):
        pass


def no_module(board):
    return board


def nothing_to_learn(board):
    return nn.Flatten()


def momentum(parameters, lr, **options):
    """An optimiser by a function."""
    return torch.optim.SGD(parameters, lr, momentum=0.5, **options)


def no_optimiser(parameters, lr):
    return lr


class Odd(torch.optim.SGD):
    """Keeps what no checkpoint can hold."""

    def step(self, closure=None):
        super().step(closure)
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["seen"] = {1}


class Decaying(torch.optim.Optimizer):
    """Keeps a tensor and a number for each parameter."""

    def __init__(self, parameters, lr, decay=0.9):
        super().__init__(parameters, {"lr": lr, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                kept = self.state[parameter]
                kept["steps"] = kept.get("steps", 0) + 1
                mean = kept.setdefault("mean", torch.zeros_like(parameter))
                mean.mul_(group["decay"]).add_(parameter.grad)
                parameter.sub_(group["lr"] / kept["steps"] ** 0.5 * mean)
