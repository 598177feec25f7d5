"""Folders of data for learning: as the games of a replay buffer, and as a dataset of PyTorch."""

# PyTorch's types are partly missing.
# pyright: reportUnknownMemberType=false

import os
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from agents.learning.data.folder import Data
from agents.learning.data.positions import Positions, lengths_of
from agents.learning.replay import Games
from hexenv.games.base import Game


def games_of(positions: Positions, decided: bool = True) -> Games:
    """Positions of whole games as self-play would have given them.

    Where an agent had no value, it is the outcome. `decided`: whether positions whose value is 1 or
    -1, as proven ones, are learnt from, too.
    """
    policies = positions.policies
    if not decided:
        policies = np.where(np.abs(positions.values)[:, None] == 1.0, np.float32(0.0), policies)
    lengths = lengths_of(positions.plies)
    starts = np.cumsum(lengths) - lengths
    own, players = positions.outcomes[starts], positions.players[starts]
    return Games(
        lengths.astype(np.int32),
        np.where(players == 0, own, -own).astype(np.int8),
        positions.actions,
        policies,
        positions.values_or_outcomes,
    )


def games_of_folder(path: str | os.PathLike[str], game: Game, decided: bool = True) -> Games:
    """The games in a folder of data; see `games_of`.

    Raises:
        OSError: If a file cannot be read.
        ValueError: If a file is damaged, or the data is of another game.
    """
    data = Data(path)
    if type(data.game) is not type(game) or data.game != game:
        raise ValueError(f"expected data of {game} in {path}, got some of {data.game}")
    none = Games.none(game.num_actions())
    return Games.joined([none, *(games_of(shard, decided) for shard in data.shards())])


class PositionDataset(Dataset[dict[str, Tensor]]):
    """The positions of a folder of data, for a `torch.utils.data.DataLoader`.

    All of them are in memory: ``positions`` has them as arrays. An item is a dictionary of tensors:

    * ``observation`` ``(K, rows, columns)`` float32: the planes that the mover sees;
    * ``action_mask`` ``(A,)`` bool: the legal actions;
    * ``policy`` ``(A,)`` float32: the visits as probabilities;
    * ``value`` and ``outcome`` float32: for the mover, -1 to 1; `value` is the outcome where the
      agent had none;
    * ``action`` int64 and ``player`` int64: what was played, and the mover, 0 or 1.

    Args:
        path: The folder.
        openings: Whether to have the positions of random openings too, whose policies are all 0.

    Raises:
        OSError: If a file cannot be read.
        ValueError: If it is damaged.

    Examples:
        >>> from torch.utils.data import DataLoader
        >>> from agents.learning.data import make_data
        >>> data = make_data("games", "tictactoe", ["uct:simulations=20"], games=3, seed=1)
        >>> batch = next(iter(DataLoader(PositionDataset("games"), batch_size=4, shuffle=True)))
        >>> batch["observation"].shape, batch["policy"].shape
        (torch.Size([4, 2, 3, 3]), torch.Size([4, 9]))
    """

    def __init__(self, path: str | os.PathLike[str], openings: bool = False) -> None:
        data = Data(path)
        self.game = data.game
        kept = (part if openings else part.take(part.searched) for part in data.shards())
        self.positions = Positions.joined([Positions.none(data.game), *kept])

    def __len__(self) -> int:
        return len(self.positions.actions)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {name: tensor[0] for name, tensor in self._batch([index]).items()}

    def __getitems__(self, indices: list[int]) -> list[dict[str, Tensor]]:
        """Several items: PyTorch's loader asks for a batch at once."""
        found = self._batch(indices)
        return [{name: found[name][row] for name in found} for row in range(len(indices))]

    def _batch(self, indices: list[int]) -> dict[str, Tensor]:
        some = self.positions.take(np.asarray(indices))

        def tensor(array: Any, kind: Any = np.float32) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array, kind))

        return {
            "observation": tensor(np.moveaxis(some.observations, -1, 1)),
            "action_mask": tensor(some.action_masks, np.bool_),
            "policy": tensor(some.policies),
            "value": tensor(some.values_or_outcomes),
            "outcome": tensor(some.outcomes),
            "action": tensor(some.actions, np.int64),
            "player": tensor(some.players, np.int64),
        }
