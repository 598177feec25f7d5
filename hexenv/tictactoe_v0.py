"""TicTacToe as a PettingZoo environment; rules and notation are in `hexenv.games.tictactoe`.

| | |
|---|---|
| Actions | ``Discrete(9)``: the cells row by row (PettingZoo's own numbers them by columns) |
| Agents | ``player_0`` (X, moves first), ``player_1`` (O) |
| Observation | ``(3, 3, 2) int8``: own, opponent |
| Rewards | 1 for the winner, -1 for the loser, 0 for both in a draw, with the last move |

Version history: v0, first version.
"""

from typing import Unpack

from hexenv.common.messages import with_full_signature
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import tictactoe as rules

__all__ = ["env", "raw_env"]


@with_full_signature
def raw_env(**view: Unpack[ViewOptions]) -> BoardEnv:
    """TicTacToe.

    Args:
        **view: Those of `hexenv.envs.aec.ViewOptions`.
    """
    return BoardEnv(rules.new(), "tictactoe_v0", **view)


env = with_standard_wrapper(raw_env)
