"""Rollouts by a policy: many games are played to the end at once, and give the values."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.planning.foreign import ForeignState
from agents.search.evaluator import Evaluator, evaluations
from hexenv.games import base
from hexenv.games.base import Game


class RolloutEvaluator:
    """Evaluates positions by the end of a game in which a policy plays both sides.

    Args:
        policy: The action with its highest prior is played.
        epsilon: Probability of a random move instead.
        rng: The random stream of these moves.
        mix: Share of the policy's own value in the evaluation.
        is_over: Whether the time is over: games that still go on are then not played to the end,
            and count as the policy's own value of the first position, or 0 if it has none.
    """

    def __init__(
        self,
        policy: Evaluator,
        epsilon: float,
        rng: np.random.Generator,
        mix: float = 0.0,
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        self.policy = policy
        self.epsilon = epsilon
        self.rng = rng
        self.mix = mix
        self.is_over = is_over

    def evaluate(self, game: Game, states: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Equal priors, and the outcomes for the players to move."""
        count = len(states)
        boards = copies_of(game, states)
        is_foreign = isinstance(states[0], ForeignState)
        movers = [int(game.to_play(state)) for state in states]
        own_values: NDArray[Any] | None = None
        playing = list(range(count))
        buffer = np.empty(game.num_actions(), np.int32)
        while playing:
            some = [boards[i] for i in playing] if is_foreign else boards[playing]
            priors, values = evaluations(self.policy, game, some)
            if own_values is None:
                own_values = values
            for i, prior in zip(playing, priors, strict=True):
                legal = buffer[: game.legal_actions(boards[i], buffer)]
                if self.rng.random() < self.epsilon:
                    action = legal[int(self.rng.random() * len(legal))]
                else:
                    action = legal[np.argmax(prior[legal])]
                game.step(boards[i], int(action))
            playing = [i for i in playing if not game.is_terminal(boards[i])]
            if self.is_over is not None and self.is_over():
                break
        outcomes = np.zeros(count)
        for i in range(count):
            if i not in playing:
                outcomes[i] = base.score_of(game, boards[i], movers[i])
            elif own_values is not None:
                outcomes[i] = own_values[i]
        if own_values is not None:
            outcomes += self.mix * (own_values - outcomes)
        return np.ones((count, game.num_actions())), outcomes


def copies_of(game: Any, states: Any) -> Any:
    """Copies of positions: records in an array, or states of a foreign environment in a list."""
    if isinstance(states[0], ForeignState):
        found: list[Any] = []
        for state in states:
            found.append(copy := ForeignState(state.env))
            game.copy(state, copy)
        return found
    boards = base.new_states(game, len(states))
    for state, board in zip(states, boards, strict=True):
        game.copy(state, board)
    return boards
