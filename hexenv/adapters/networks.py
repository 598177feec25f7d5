"""A convolutional network for small boards, for every library over PyTorch (extra `torch`).

    network = torch.nn.Sequential(BoardFeatures((6, 7, 2)), torch.nn.Linear(256, 7))
    logits = network(torch.as_tensor(observations["observation"]))

The networks that libraries bring for pictures want 36 pixels and more. This one keeps the size of
the board in every layer.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUntypedBaseClass=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from hexenv.common.options import AtLeastOne, checks_options


class BoardFeatures(nn.Module):
    """Features of a board: convolutions of 3 x 3 that keep its size, then a linear layer.

    It takes planes of any dtype with any number of dimensions before those of the board,
    ``(..., rows, columns, K)``, and gives ``(..., features)`` float32, not negative.

    Examples:
        >>> net = BoardFeatures((6, 7, 2), features=64)
        >>> net(torch.zeros(8, 6, 7, 2)).shape
        torch.Size([8, 64])

    Args:
        shape: Of one observation's planes, as its space has it: ``(rows, columns, K)``.
        features: How many numbers come out.
        channels: Of each convolution.
        layers: The number of convolutions; a stone is seen as far away as there are layers.
        channels_first: Whether the shape is ``(K, rows, columns)``, as in an environment with
            ``channels_first=True``.

    Raises:
        ValueError: If the shape does not have three sizes, or a number is below 1.
    """

    @checks_options
    def __init__(
        self,
        shape: Sequence[int],
        features: AtLeastOne = 256,
        channels: AtLeastOne = 64,
        layers: AtLeastOne = 3,
        channels_first: bool = False,
    ) -> None:
        super().__init__()
        if len(shape) != 3:
            raise ValueError(
                f"expected planes of three dimensions, such as (6, 7, 2), got {tuple(shape)}"
            )
        planes, *board = shape if channels_first else (shape[2], *shape[:2])
        self.channels_first = channels_first
        body: list[Any] = []
        for layer in range(layers):
            body += [nn.Conv2d(channels if layer else planes, channels, 3, padding=1), nn.ReLU()]
        self.body = nn.Sequential(*body, nn.Flatten())
        self.head = nn.Sequential(nn.Linear(channels * board[0] * board[1], features), nn.ReLU())

    def forward(self, planes: Any) -> Any:
        boards = planes.reshape(-1, *planes.shape[-3:]).to(torch.float32)
        if not self.channels_first:
            boards = boards.permute(0, 3, 1, 2)
        features = self.head(self.body(boards))
        return features.reshape(*planes.shape[:-3], -1)
