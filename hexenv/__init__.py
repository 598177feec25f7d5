"""Hex, Connect4, TicTacToe and Gomoku as PettingZoo environments with action masks.

    >>> from hexenv import hex_v0
    >>> env = hex_v0.env(board_size=5, render_mode="ansi")
    >>> env.reset(options={"moves": "c3 b2"})
    >>> env.agent_selection
    'player_0'

Importing this package also registers the environments with PettingZoo, where it has a registry, as
``pettingzoo.make("aec", "hexenv/hex-v0", board_size=5)``, and with Gymnasium as environments for
one learner against an opponent: ``gymnasium.make("hexenv/Hex-v0", board_size=5)``, and
``gymnasium.make_vec("hexenv/Hex-v0", num_envs=1024)`` for many boards at once.
"""

import gymnasium
import pettingzoo  # pyright: ignore[reportMissingTypeStubs]

from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.games.notation import IllegalActionError

__version__ = "0.1.0"

__all__ = ["IllegalActionError", "connect4_v0", "gomoku_v0", "hex_v0", "tictactoe_v0"]


def _register() -> None:
    registry = getattr(pettingzoo, "aec_registry", None)  # from PettingZoo 1.27 on
    for title, module in {
        "Hex": hex_v0,
        "Connect4": connect4_v0,
        "TicTacToe": tictactoe_v0,
        "Gomoku": gomoku_v0,
    }.items():
        name, version = module.__name__.rpartition(".")[2].split("_")
        if registry is not None and f"hexenv/{name}-{version}" not in registry:
            pettingzoo.register("aec", f"hexenv/{name}-{version}", f"{module.__name__}:env")
        if f"hexenv/{title}-{version}" not in gymnasium.registry:
            gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
                f"hexenv/{title}-{version}",
                entry_point="hexenv.single:SingleEnv",
                vector_entry_point="hexenv.vector:BoardVectorEnv",
                kwargs={"game": f"{module.__name__}:raw_env"},
            )


_register()
