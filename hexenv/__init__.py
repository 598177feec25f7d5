"""Hex, Connect4, TicTacToe and Gomoku as PettingZoo environments with action masks.

    >>> from hexenv import hex_v0
    >>> env = hex_v0.env(board_size=5, render_mode="ansi")
    >>> env.reset(options={"moves": "c3 b2"})
    >>> env.agent_selection
    'player_0'

Importing this package also registers the environments with PettingZoo, where it has a registry:
``pettingzoo.make("aec", "hexenv/hex-v0", board_size=5)``.
"""

import pettingzoo  # pyright: ignore[reportMissingTypeStubs]

from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.games.notation import IllegalActionError

__version__ = "0.1.0"

__all__ = ["IllegalActionError", "connect4_v0", "gomoku_v0", "hex_v0", "tictactoe_v0"]


def _register() -> None:
    registry = getattr(pettingzoo, "aec_registry", None)  # from PettingZoo 1.27 on
    for module in (hex_v0, connect4_v0, tictactoe_v0, gomoku_v0):
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        if registry is not None and f"hexenv/{name}" not in registry:
            pettingzoo.register("aec", f"hexenv/{name}", f"{module.__name__}:env")


_register()
