"""Gomoku as a PettingZoo environment; rules and notation are in `hexenv.games.gomoku`.

| | |
|---|---|
| Actions | ``Discrete(rows * columns)``: the cells row by row from the top left |
| Agents | ``player_0`` (black, moves first), ``player_1`` (white) |
| Observation | ``(rows, columns, 2) int8``: own, opponent |
| Rewards | 1 for the winner, -1 for the loser, 0 for both in a draw, with the last move |

Version history: v0, first version.
"""

from typing import Unpack

from hexenv.aec import BoardEnv, ViewOptions
from hexenv.games import gomoku as rules
from hexenv.wrapper import with_standard_wrapper


def raw_env(
    board_size: int | tuple[int, int] = 15,
    connect: int = 5,
    rule: str = "freestyle",
    forbidden: str = "masked",
    **view: Unpack[ViewOptions],
) -> BoardEnv:
    """Gomoku.

    Args:
        board_size: Side of the board or ``(rows, columns)``, from `connect` (at most 5) to 20.
        connect: Stones in a row that win, 3 to 6.
        rule: ``"freestyle"``: `connect` or more in a row win; ``"standard"``: exactly `connect`;
            ``"renju"``, with five: exactly five for black, who must not make an overline, two fours
            or two threes, five or more for white.
        forbidden: What becomes of forbidden moves in renju: they are no legal actions
            (``"masked"``), or lose at once (``"loses"``).
        **view: How the game is shown; see `hexenv.aec.ViewOptions`.
    """
    return BoardEnv(rules.new(board_size, connect, rule, forbidden), "gomoku_v0", **view)


env = with_standard_wrapper(raw_env)
