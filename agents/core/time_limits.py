"""The time that a protocol's other side allows, and what of it a move gets."""

from typing import Final

from agents.protocols.gomocup import UNLIMITED

USUAL_MOVES: Final = 30
"""Moves of Gomoku that the time left for a match is shared among: to the usual end,"""
FEWEST_MOVES: Final = 10
"""but never fewer."""
FEWEST_MOVES_HTP: Final = 6
"""Moves of Hex that main time is shared among, at the least."""


class GomocupTime:
    """What a manager of the Gomocup protocol has said, in seconds; None for what it has not said.

    Attributes:
        turn: For a move; 0 for as fast as possible.
        match: For all moves; 0 for no limit.
        used: What our moves have taken since the board was cleared.
    """

    def __init__(self) -> None:
        self.turn: float | None = None
        self.match: float | None = None
        self.used = 0.0
        self._left: float | None = None
        self._told_at = 0.0  # what was used when that was said

    def tell_left(self, seconds: float) -> None:
        """Note what is left of the time for all moves."""
        self._left, self._told_at = seconds, self.used

    def start_game(self) -> None:
        """Count anew; what was said of the time left before the last move is of the last game."""
        if self._told_at < self.used:
            self._left = None
        self.used = self._told_at = 0.0

    def of_move(self, moves: int) -> float | None:
        """Seconds for a move after so many of ours; None for no limit."""
        limits = [] if self.turn is None else [self.turn]
        left = None if self._left is None else self._left - (self.used - self._told_at)
        if left is None and self.match:
            left = self.match - self.used
        if left is not None and (self._left or 0.0) < UNLIMITED / 1000:
            limits.append(left / max(USUAL_MOVES - moves, FEWEST_MOVES))
        return max(min(limits), 0.0) if limits else None


class HTPTime:
    """What a controller of the Hex Text Protocol has said, in seconds."""

    def __init__(self) -> None:
        self.main, self.period, self.stones = 0.0, 0.0, 0
        self.start_game()

    def start_game(self) -> None:
        """Let both colours have all their time."""
        self.used = [0.0, 0.0]
        self.told: list[tuple[float, int] | None] = [None, None]

    def limit(self, colour: int, moves: int) -> float | None:
        """Seconds for a move; None for no limit.

        Args:
            colour: Whose move.
            moves: Moves of this colour that are still to come.
        """
        left, stones = self.main - self.used[colour], 0
        told = self.told[colour]
        if told is not None:
            left, stones = told
        elif self.main <= 0 and (self.period <= 0 or self.stones == 0):
            return None  # nothing was said, or that there is no limit
        elif self.period > 0 and self.stones == 0:
            return None
        if stones > 0:
            return max(left, 0.0) / stones
        by_period = self.period / self.stones if self.stones > 0 else 0.0
        return max(left / max(moves, FEWEST_MOVES_HTP), by_period, 0.0)

    def exchange(self) -> None:
        """Note that the players have exchanged their colours: each keeps its own time."""
        self.used.reverse()
        self.told.reverse()

    def spend(self, colour: int, seconds: float) -> None:
        """Count the time of a move."""
        self.used[colour] += seconds
        told = self.told[colour]
        if told is not None:
            left, stones = told
            self.told[colour] = (left - seconds, max(stones - 1, 0)) if stones != 1 else None
