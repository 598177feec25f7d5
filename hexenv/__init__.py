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

from typing import TYPE_CHECKING, Final

import gymnasium
import pettingzoo  # pyright: ignore[reportMissingTypeStubs]

from hexenv.common.importing import import_on_demand

if TYPE_CHECKING:  # imported when they are asked for; see `__getattr__`
    from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
    from hexenv.games.notation import IllegalActionError

__version__ = "0.1.0"

__all__ = [
    "IllegalActionError", "connect4_v0", "gomoku_v0", "hex_v0", "register", "tictactoe_v0",
]  # fmt: skip

GAMES: Final = {"connect4": "Connect4", "gomoku": "Gomoku", "hex": "Hex", "tictactoe": "TicTacToe"}
"""The titles of the games by name; the newest version of each is ``hexenv.NAME_v0``."""


__getattr__ = import_on_demand(
    __name__,
    {"IllegalActionError": "hexenv.games.notation:IllegalActionError"}
    | {f"{name}_v0": f"hexenv.{name}_v0:" for name in GAMES},
)


def register(name: str, module: str) -> None:
    """Register an environment with Gymnasium, and with PettingZoo where it has a registry.

    A module of your own does it in one line, below its `raw_env` and `env`::

        hexenv.register("Breakthrough-v0", __name__)

    Then ``gymnasium.make("breakthrough:Breakthrough-v0", opponent="greedy")`` imports the module
    and makes the environment, and so does ``gymnasium.make_vec``; after an import of the module
    ``pettingzoo.make("aec", "breakthrough-v0")`` does too. A name that is known already is left as
    it is.

    Args:
        name: As Gymnasium writes it, ``hexenv/Hex-v0`` or ``Breakthrough-v0``; PettingZoo's is in
            lower case.
        module: The name of the module that has `raw_env` and `env`.
    """
    registry = getattr(pettingzoo, "aec_registry", None)  # from PettingZoo 1.27 on
    if registry is not None and name.lower() not in registry:
        pettingzoo.register("aec", name.lower(), f"{module}:env")
    if name not in gymnasium.registry:
        gymnasium.register(  # pyright: ignore[reportUnknownMemberType]
            name,
            entry_point="hexenv.learners.single:SingleEnv",
            vector_entry_point="hexenv.learners.vector:BoardVectorEnv",
            kwargs={"game": f"{module}:raw_env"},
        )


for _name, _title in GAMES.items():
    register(f"hexenv/{_title}-v0", f"hexenv.{_name}_v0")
