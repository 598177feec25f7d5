"""AlphaHex with a network, an optimiser and a game of your own, trained from Python.

Worker processes import the parts by name, so they are in a module: this file, beside the game in
`examples/games`. Called again, the run goes on where it ended.

    PYTHONPATH=examples:examples/games python examples/own_training.py runs/breakthrough
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from agents.learning.networks import Board
from agents.learning.training import Run, StoppedError


class Transformer(nn.Module):
    """Every cell attends to every other one; it knows its place by a vector that is learnt.

    Args:
        board: What there is to see and to play: `rows`, `columns`, the names of the `planes`, and
            `num_actions`, which are as many for each cell.
        width: Numbers for each cell.
        layers: How often cells attend to one another.
    """

    def __init__(self, board: Board, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        cells = board.rows * board.columns
        self.seen = nn.Linear(len(board.planes), width)
        self.place = nn.Parameter(torch.randn(cells, width) / width)
        self.layers = nn.Sequential(
            *(
                nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
                for _ in range(layers)
            )
        )
        self.logits = nn.Linear(width, board.num_actions // cells)
        self.value = nn.Linear(width, 1)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Logits ``(N, num_actions)`` and values ``(N,)`` of planes ``(N, rows, columns, K)``."""
        x = self.layers(self.seen(planes.flatten(1, 2)) + self.place)
        values: Tensor = torch.tanh(self.value(x.mean(1)))
        return self.logits(x).flatten(1), values[:, 0]


class Lion(torch.optim.Optimizer):
    """Steps of one length, by the sign of the momentum (Chen et al. 2023)."""

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore
        """Move every parameter; what it keeps, tensors alone, is saved with the run."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                kept = self.state[parameter]
                momentum = kept.setdefault("momentum", torch.zeros_like(parameter))
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.sub_(group["lr"] * momentum.lerp(parameter.grad, 0.1).sign())
                momentum.lerp_(parameter.grad, 0.01)


SETTINGS = {
    "game": "breakthrough:env",
    "options": {"rows": 6, "columns": 4},
    "iterations": 40,
    "network": {"kind": "own_training:Transformer", "arguments": {"width": 32, "layers": 2}},
    "self_play": {"opening_plies": 4},
    "learner": {
        "optimiser": "own_training:Lion",
        "optimiser_arguments": {"weight_decay": 0.01},
        "rate": 0.0003,
    },
}


def show(figures: dict[str, Any]) -> None:
    """Print a line for an iteration."""
    loss = f", policy {figures['policy_loss']:.3f}" if "policy_loss" in figures else ""
    print(f"iteration {figures['iteration']}: {figures['games']} games{loss}")


if __name__ == "__main__":
    run = Run(sys.argv[1], SETTINGS)
    try:
        run.run(show)
    except StoppedError:  # Ctrl-C
        print(f"saved after iteration {run.iteration}")
