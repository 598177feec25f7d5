"""Two networks against each other, by their policies alone: for gates and learning curves."""

import math
from typing import Any

import numpy as np

from agents.learning.evaluator import NetworkEvaluator
from hexenv.games import base
from hexenv.games.base import Game


def duel(
    game: Game,
    players: tuple[NetworkEvaluator, NetworkEvaluator],
    games: int,
    opening_plies: int,
    seed: int,
) -> float:
    """Play games in pairs, with the sides swapped, from random openings.

    Args:
        game: The game.
        players: The two; each plays its most likely action.
        games: How many; an odd one is left out.
        opening_plies: Random moves at the start of both games of a pair.
        seed: Of the openings.

    Returns:
        The score of the first, 0 to 1; a draw counts a half.
    """
    rng = np.random.default_rng(seed)
    boards = base.new_states(game, games // 2 * 2)
    for pair in range(games // 2):
        opened = opening(game, opening_plies, rng)
        for board in (2 * pair, 2 * pair + 1):
            game.copy(opened, boards[board])
    score = 0.0
    playing = np.arange(len(boards))
    buffer = np.empty(game.num_actions(), np.int32)
    while len(playing):
        turns = np.array([game.to_play(boards[board]) for board in playing])
        for number, player in enumerate(players):
            # The first player has side 0 on even boards and side 1 on odd ones.
            mine = playing[turns == (playing + number) % 2]
            if len(mine):
                priors, _ = player.evaluate(game, boards[mine])
                for board, prior in zip(mine.tolist(), priors, strict=True):
                    legal = buffer[: game.legal_actions(boards[board], buffer)]
                    game.step(boards[board], int(legal[np.argmax(prior[legal])]))
        is_over = np.array([bool(game.is_terminal(boards[board])) for board in playing])
        for board in playing[is_over].tolist():
            score += 0.5 + 0.5 * game.outcome(boards[board], board % 2)
        playing = playing[~is_over]
    return score / max(1, len(boards))


def opening(game: Game, plies: int, rng: np.random.Generator) -> Any:
    """A position after random moves, in which the game goes on."""
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
    """The difference in rating that a score means; a clean sweep counts as half a game less."""
    bound = 0.5 / max(1, games)
    score = min(max(score, bound), 1.0 - bound)
    return 400.0 * math.log10(score / (1.0 - score))
