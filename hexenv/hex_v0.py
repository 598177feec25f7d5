"""Hex as a PettingZoo environment; rules and notation are in `hexenv.games.hex`.

| | |
|---|---|
| Actions | ``Discrete(rows * columns)``, one more with `swap` |
| Agents | ``player_0`` (black, top and bottom, moves first), ``player_1`` (white, left and right) |
| Observation | ``(rows, columns, 3) int8``: own, opponent, side to move (1 for ``player_0``); \
with `swap` a fourth: swap available |
| Rewards | 1 for the winner, -1 for the loser, with the last move |

Version history: v0, first version.
"""

from typing import Unpack

from hexenv.common.messages import with_full_signature
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import hex as rules

__all__ = ["env", "raw_env"]


@with_full_signature
def raw_env(
    board_size: int | tuple[int, int] = 11, swap: bool = False, **view: Unpack[ViewOptions]
) -> BoardEnv:
    """Hex.

    Args:
        board_size: Side of the board or ``(rows, columns)``, each from 2 to 19.
        swap: Whether player 1 may take over the first stone; square boards only.
        **view: Those of `hexenv.envs.aec.ViewOptions`.
    """
    return BoardEnv(rules.new(board_size, swap), "hex_v0", **view)


env = with_standard_wrapper(raw_env)
