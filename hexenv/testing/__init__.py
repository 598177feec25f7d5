"""Tests that anyone can run on a game: the contract of `hexenv.games.base.Game`, and move counts.

`check_game(game)` plays random games and looks at every position on the way through every verb of
the contract, interpreted and, where the game is under `@compiled`, as machine code beside it. The
move counts of `perft` are the usual test of rules against published numbers or another program.

    from hexenv import testing
    from hexenv.games import hex

    testing.check_game(hex.new(5, swap=True))
    testing.perft(hex.new(3), 4)  # 9 * 8 * 7 * 6
"""

from hexenv.testing.conformance import check_game
from hexenv.testing.log import GameLog, record_game
from hexenv.testing.move_counts import perft, perft_by_move

__all__ = ["GameLog", "check_game", "perft", "perft_by_move", "record_game"]
