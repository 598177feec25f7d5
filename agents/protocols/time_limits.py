"""The time limits that a protocol sets, and the share of them for one move."""

from typing import Final

from agents.protocols.gomocup import UNLIMITED

USUAL_MOVES: Final = 30
"""Usual moves of a player in a game of Gomoku, which share the remaining time,"""
FEWEST_MOVES: Final = 10
"""but the time is always divided by at least this number of moves."""
FEWEST_MOVES_HTP: Final = 6
"""Least number of moves of Hex that share the main time."""


class GomocupTime:
    """The limits that a manager of the Gomocup protocol has set, in seconds; None if not set.

    Attributes:
        turn: For a move; 0 for as fast as possible.
        match: For all moves; 0 for no limit.
        used: Time of our moves since the board was cleared.
    """

    def __init__(self) -> None:
        self.turn: float | None = None
        self.match: float | None = None
        self.used = 0.0
        self._left: float | None = None
        self._used_before = 0.0  # `used` when `_left` was set

    def tell_left(self, seconds: float) -> None:
        """Set the time that is left for all moves."""
        self._left, self._used_before = seconds, self.used

    def start_game(self) -> None:
        """Begin a game; a remaining time from before the last move belongs to the last game."""
        if self._used_before < self.used:
            self._left = None
        self.used = self._used_before = 0.0

    def of_move(self, moves: int) -> float | None:
        """Seconds for our move after this number of our moves; None for no limit."""
        limits = [] if self.turn is None else [self.turn]
        left = None if self._left is None else self._left - (self.used - self._used_before)
        if left is None and self.match:
            left = self.match - self.used
        if left is not None and (self._left or 0.0) < UNLIMITED / 1000:
            limits.append(left / max(USUAL_MOVES - moves, FEWEST_MOVES))
        return max(min(limits), 0.0) if limits else None


class HTPTime:
    """The limits that a controller of the Hex Text Protocol has set, in seconds."""

    def __init__(self) -> None:
        self.main, self.period, self.stones = 0.0, 0.0, 0
        self.start_game()

    def start_game(self) -> None:
        """Give both colours their full time."""
        self.used = [0.0, 0.0]
        self.told: list[tuple[float, int] | None] = [None, None]

    def limit(self, colour: int, moves: int) -> float | None:
        """Seconds for a move; None for no limit.

        Args:
            colour: The player to move.
            moves: Remaining moves of this colour.
        """
        left, stones = self.main - self.used[colour], 0
        told = self.told[colour]
        if told is not None:
            left, stones = told
        elif self.stones == 0 and (self.main <= 0 or self.period > 0):
            return None  # not set, or explicitly no limit
        elif self.main <= 0 and self.period <= 0:
            return None
        if stones > 0:
            return max(left, 0.0) / stones
        by_period = self.period / self.stones if self.stones > 0 else 0.0
        return max(left / max(moves, FEWEST_MOVES_HTP), by_period, 0.0)

    def exchange(self) -> None:
        """Exchange the players' colours: each keeps its own time."""
        self.used.reverse()
        self.told.reverse()

    def spend(self, colour: int, seconds: float) -> None:
        """Count the time of a move."""
        self.used[colour] += seconds
        told = self.told[colour]
        if told is not None:
            left, stones = told
            self.told[colour] = (left - seconds, max(stones - 1, 0)) if stones != 1 else None
