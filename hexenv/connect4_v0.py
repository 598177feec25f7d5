"""Connect4 as a PettingZoo environment; rules and notation are in `hexenv.games.connect4`.

| | |
|---|---|
| Actions | ``Discrete(columns)``: drop a stone into a column |
| Agents | ``player_0`` (moves first), ``player_1`` |
| Observation | ``(rows, columns, 2) int8``: own, opponent; row 0 on top, as PettingZoo's own |
| Rewards | 1 for the winner, -1 for the loser, 0 for both in a draw, with the last move |

Version history: v0, first version.
"""

from typing import Unpack

from hexenv.common.messages import with_full_signature
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import connect4 as rules

__all__ = ["env", "raw_env"]


@with_full_signature
def raw_env(
    rows: int = 6, columns: int = 7, connect: int = 4, **view: Unpack[ViewOptions]
) -> BoardEnv:
    """Connect4.

    Args:
        rows: Rows of the board; ``(rows + 1) * columns`` is at most 63.
        columns: Columns of the board.
        connect: Stones in a row that win, 2 to 8.
        **view: Those of `hexenv.envs.aec.ViewOptions`.
    """
    return BoardEnv(rules.new(rows, columns, connect), "connect4_v0", **view)


env = with_standard_wrapper(raw_env)
