"""The place on the board that arrow keys move."""

from agents.play.session import Session


class Cursor:
    """A cell, or one of the choices below the board while there are any.

    Args:
        session: Whose board it is on; the cursor starts in the middle.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._row = session.game.rows // 2
        self._column = session.game.columns // 2
        self._choice: int | None = None

    def move(self, down: int, right: int) -> None:
        """Move by a step, not beyond the board, but from the last row down to the choices."""
        game = self._session.game
        choices = self._session.choices
        if self._choice is not None and choices:
            self._choice = None if down < 0 else _within(self._choice + right, len(choices))
            return
        self._choice = None
        if down > 0 and self._row == game.rows - 1 and choices:
            self._choice = 0
        self._row = _within(self._row + down, game.rows)
        self._column = _within(self._column + right, game.columns)

    @property
    def choice(self) -> int | None:
        """The action of the choice it is on, or None on the board."""
        choices = self._session.choices
        return None if self._choice is None or not choices else choices[self._choice]

    @property
    def action(self) -> int | None:
        """The action it is on, legal or not; None where there is none."""
        if self.choice is not None:
            return self.choice
        return self._session.action_at(self._row * self._session.game.columns + self._column)

    @property
    def cell(self) -> int | None:
        """The cell it is on, in a wall of holes the one that a stone would fill; else None."""
        if self.choice is not None:
            return None
        action = self.action
        if action is not None and action in self._session.legal_actions:
            return self._session.cell_of(action)
        return self._row * self._session.game.columns + self._column


def _within(number: int, count: int) -> int:
    """The nearest of the numbers below a count."""
    return min(max(number, 0), count - 1)
