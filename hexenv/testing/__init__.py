"""Tests that anyone can run on a game: the contract of `hexenv.games.base.Game`, and move counts.

`check_game(game)` plays random games and looks at every position on the way through every verb of
the contract, interpreted and, where the game is under `@compiled`, as machine code beside it. The
move counts of `perft` are the usual test of rules against published numbers or another program.

`check_selection`, `check_playout`, `check_reward` and `check_backup` check parts of a search in the
same way; `grow_tree` searches a game by a variant, without an environment.

    from hexenv import testing
    from hexenv.games import hex

    testing.check_game(hex.new(5, swap=True))
    testing.perft(hex.new(3), 4)  # 9 * 8 * 7 * 6
"""

from collections.abc import Callable
from typing import Any

from hexenv.common.importing import import_on_demand
from hexenv.testing.conformance import check_game
from hexenv.testing.log import GameLog, record_game
from hexenv.testing.move_counts import perft, perft_by_move

__all__ = [
    "GameLog", "check_backup", "check_game", "check_playout", "check_reward", "check_selection",
    "grow_tree", "perft", "perft_by_move", "record_game",
]  # fmt: skip

check_selection: Callable[..., None]
check_playout: Callable[..., None]
check_reward: Callable[..., None]
check_backup: Callable[..., None]
grow_tree: Callable[..., Any]
# Of searches, which `hexenv` does without until they are asked for.
__getattr__ = import_on_demand(
    __name__,
    {
        name: f"agents.search.checks:{name}"
        for name in (
            "check_backup",
            "check_playout",
            "check_reward",
            "check_selection",
            "grow_tree",
        )
    },
)
