"""Bots of OpenSpiel as agents: matches, tournaments and the bench take them like any other.

    python examples/openspiel_bots.py
    cd examples && hexenv match connect4 uct:simulations=1000 openspiel_bots.MCTS:simulations=1000

Needs ``pip install open_spiel``. Both number actions alike; Gomoku has its free rule there.
"""

from typing import Any

import pyspiel

from agents import UCT, Statistics
from agents.arena import play_match, summarise
from hexenv import connect4_v0
from hexenv.envs.aec import BoardEnv

SPIEL: Any = pyspiel  # it has no types
THEIRS = {
    "connect4": "connect_four(rows={0.rows},columns={0.columns},x_in_row={0.connect})",
    "gomoku": "gomoku(size={0.rows},connect={0.connect})",
    "hex": "hex(num_rows={0.rows},num_cols={0.columns},swap={0.swap})",
    "tictactoe": "tic_tac_toe",
}
"""OpenSpiel's texts of games, filled in from our rules."""


class Bot:
    """A bot of OpenSpiel; a class for one gives `new_bot`."""

    statistics: Statistics | None = None

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed or 0
        self._bot: Any = None

    def new_bot(self, game: Any, seed: int) -> Any:
        """A bot for a game of OpenSpiel: anything with ``step(state)``."""
        raise NotImplementedError

    def reset(self, seed: int | None = None) -> None:
        """Begin a new game."""
        self._seed, self._bot = self._seed + 1 if seed is None else seed, None

    def act(self, env: Any) -> int:
        """The bot's action after the game's moves so far."""
        raw: BoardEnv = env.unwrapped
        is_free = getattr(raw.game, "rule", 0) == 0 and raw.game.name in THEIRS
        if not is_free or (raw.game.name == "gomoku" and raw.game.rows != raw.game.columns):
            raise ValueError(f"expected a game that OpenSpiel has, got {raw.game}")
        theirs = THEIRS[raw.game.name].format(raw.game)
        state = SPIEL.load_game(theirs).new_initial_state()
        for action in raw.actions:
            state.apply_action(action)
        if self._bot is None:
            self._bot = self.new_bot(state.get_game(), self._seed % 2**31)
        return self._bot.step(state)


class MCTS(Bot):
    """OpenSpiel's C++ search, with random playouts.

    Args:
        simulations: Of each move.
        c: Weight of exploration, for returns from -1 to 1.
        seed: Of its chance.
    """

    def __init__(self, simulations: int = 1000, c: float = 2.0, seed: int | None = None) -> None:
        super().__init__(seed)
        self._simulations, self._c = simulations, c

    def new_bot(self, game: Any, seed: int) -> Any:
        """OpenSpiel's ``MCTSBot``, which proves what it can."""
        evaluator = SPIEL.RandomRolloutEvaluator(1, seed)
        megabytes = 1000
        return SPIEL.MCTSBot(
            game, evaluator, self._c, self._simulations, megabytes, True, seed, False
        )


if __name__ == "__main__":
    agents = [UCT(simulations=200, seed=1), MCTS(simulations=200, seed=1)]
    print(summarise(list(play_match(connect4_v0.env(), agents, games=10))))
