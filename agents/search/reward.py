"""Rewards: what the end of a simulation is worth to each player."""

from typing import Any, NamedTuple, Protocol

from hexenv.compiled import compiled


class Reward(Protocol):
    """What a reward offers."""

    def shape(self, game: Any, state: Any, player: int) -> float:
        """The worth, 0 to 1, of the finished game `state` to `player`."""
        ...


@compiled
class WinLoss(NamedTuple):
    """1 for a win, 0 for a loss, and `draw` for a draw."""

    draw: float = 0.5

    def shape(self, game: Any, state: Any, player: int) -> float:
        outcome = game.outcome(state, player)
        if outcome == 0:
            return self.draw
        return 0.5 + 0.5 * outcome
