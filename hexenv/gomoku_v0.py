"""Gomoku as a PettingZoo environment, with renju, caro and openings.

Rules and notation are in `hexenv.games.gomoku`, with the modules `renju` and `openings`.

| | |
|---|---|
| Actions | ``Discrete(rows * columns)``: the cells row by row from the top left |
| | then, with the opening `swap` or `swap2`, ``swap``; with `swap2` also ``place_two`` |
| Agents | ``player_0`` (black, moves first), ``player_1`` (white); a swap changes the colours |
| Observation | ``(rows, columns, 2) int8``: own, opponent |
| | with `swap` or `swap2` two planes more: black (is next), swap (is legal) |
| Rewards | 1 for the winner, -1 for the loser, 0 for both in a draw, with the last move |

Version history: v0, first version. Options added since, which change nothing by default:
``rule="renju"`` with `forbidden`, ``rule="caro"``, and `opening`.
"""

from collections.abc import Sequence
from typing import Unpack

from hexenv.common.messages import with_full_signature
from hexenv.envs.aec import BoardEnv, ViewOptions
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import gomoku as rules
from hexenv.games.gomoku import openings

__all__ = ["env", "raw_env"]


@with_full_signature
def raw_env(
    board_size: int | tuple[int, int] = 15,
    connect: int = 5,
    rule: str = "freestyle",
    forbidden: str = "masked",
    opening: str | Sequence[str] | None = None,
    **view: Unpack[ViewOptions],
) -> BoardEnv:
    """Gomoku.

    Args:
        board_size: Side of the board or ``(rows, columns)``, from `connect` (at most 5) to 20.
        connect: Stones in a row that win, 3 to 6.
        rule: ``"freestyle"``: `connect` or more in a row win; ``"standard"``: exactly `connect`;
            ``"renju"``, with five: exactly five for black, who must not make an overline, two fours
            or two threes, five or more for white; ``"caro"``: more than `connect`, or exactly so
            many without a stone of the other player at both ends.
        forbidden: Forbidden moves in renju are not legal (``"masked"``) or lose (``"loses"``).
        opening: ``"swap"``, ``"swap2"``, ``"pro"`` or ``"long_pro"`` of
            `hexenv.games.gomoku.openings`; or move lists such as ``["h8 i9 j8", "h8 h9 g6"]``, one
            of which `reset` draws.
        **view: Those of `hexenv.envs.aec.ViewOptions`.
    """
    if isinstance(opening, str):
        game = openings.new(opening, board_size, connect, rule, forbidden)
        return BoardEnv(game, "gomoku_v0", **view)
    game = rules.new(board_size, connect, rule, forbidden)
    return BoardEnv(game, "gomoku_v0", openings=opening, **view)


env = with_standard_wrapper(raw_env)
