"""Duels of two networks, each playing its policy: does the new one play better?"""

import numpy as np
from numpy.typing import NDArray

from agents.arena.ratings import elo_of
from agents.learning.data.lockstep import Lockstep
from agents.search.evaluator import Evaluator, evaluations
from hexenv.games import base
from hexenv.games.base import Game, State
from hexenv.games.table import Which, new_table


def duel(
    game: Game, players: tuple[Evaluator, Evaluator], games: int, opening_plies: int, seed: int
) -> tuple[float, int]:
    """Play games of two policies, in pairs with the sides swapped, from random openings.

    Each plays its most likely action. An odd game is left out.

    Returns:
        The score of the first, 0 to 1, where a draw counts as half a win; and how many of the games
        are distinct, as a random opening that comes again gives the same two games.
    """
    rng = np.random.default_rng(seed)
    starts = [random_position(game, opening_plies, rng) for _ in range(games // 2)]
    played = Duel(game, players, starts)
    played.to_end()
    distinct = {int(game.position_hash(start)) for start in starts}
    return played.score / max(1, 2 * len(starts)), 2 * len(distinct)


class Duel(Lockstep):
    """Two games from each of some positions, with the sides swapped in the second.

    Attributes:
        score: Of the first player, in games.
    """

    def __init__(
        self, game: Game, players: tuple[Evaluator, Evaluator], starts: list[State]
    ) -> None:
        super().__init__(game, new_table(game, 2 * len(starts)), players)
        for number, state in enumerate(self.table.states):
            game.copy(starts[number // 2], state)
        self.sides[0::2] = 0, 1
        self.sides[1::2] = 1, 0
        self.score = 0.0

    def choose(self, player: int, which: Which) -> NDArray[np.int64]:
        """The most likely actions."""
        states = self.table.states[which]
        priors, _ = evaluations(self.players[player], self.game, states)
        found = np.zeros(len(which), np.int64)
        for place, (state, prior) in enumerate(zip(states, priors, strict=True)):
            legal = base.legal_actions(self.game, state)
            found[place] = legal[int(np.argmax(prior[legal]))]
        return found

    def end(self, number: int, outcome: int) -> None:
        """Count the game, whose first player has the second side in odd ones."""
        self.score += 0.5 + 0.5 * (outcome if number % 2 == 0 else -outcome)
        self.playing[number] = False


def random_position(game: Game, plies: int, rng: np.random.Generator) -> State:
    """A position after random moves in which the game is not over."""
    buffer = np.empty(game.num_actions(), np.int32)
    while True:
        state = base.new_state(game)
        for _ in range(plies):
            count = game.legal_actions(state, buffer)
            if count == 0:
                break
            game.step(state, int(buffer[int(rng.random() * count)]))
        if not game.is_terminal(state):
            return state
        plies -= 1


def elo(score: float, games: int) -> float:
    """The difference in rating that a score means; a clean sweep counts half a game less.

    `games` are the distinct ones.
    """
    bound = 0.5 / max(1, games)
    return elo_of(min(max(score, bound), 1.0 - bound))
