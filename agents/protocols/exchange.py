"""The swap of Hex as the field's programs have it: the players exchange their colours.

To MoHex, HexGui and their files the first stone stays where it is; white is next after the swap
too, and is then who was black. In `hexenv.games.hex` the players keep their colours, and the stone
goes to its mirror cell. The one game is the other mirrored, from the swap on.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hexenv.games.hex import Hex

COLOURS: Final = ("black", "white")
SWAP: Final = "swap-pieces"
"""The move that takes over the first stone."""


def is_swap(game: Hex, action: int) -> bool:
    """Whether an action is no cell."""
    return action == game.rows * game.columns


def mirrored(cell: int, size: tuple[int, int]) -> int:
    """A cell's number on the mirrored board.

    Args:
        cell: Row by row from the top left.
        size: Rows and columns of the board that it is on.
    """
    rows, columns = size
    return cell % columns * rows + cell // columns


class View(NamedTuple):
    """How the other side sees a game: as it is here, or with the colours exchanged by a swap.

    Args:
        game: The rules.
        is_exchanged: Whether the second player has taken over the first stone.
    """

    game: Hex
    is_exchanged: bool = False

    @classmethod
    def after(cls, game: Hex, actions: Sequence[int]) -> "View":
        """The view of a game from its start, after these actions."""
        return cls(game, len(actions) > 1 and is_swap(game, actions[1]))

    def colour(self, player: int) -> str:
        """The colour of a player."""
        return COLOURS[player ^ self.is_exchanged]

    def text(self, action: int) -> str:
        """An action as the other side writes it."""
        return SWAP if is_swap(self.game, action) else self.game.action_text(self._cell(action))

    def action(self, text: str) -> int:
        """The action that a text is.

        Raises:
            ValueError: If it is none.
        """
        if text == SWAP:
            return self.game.rows * self.game.columns
        action = self.game.parse_action(text)
        return action if is_swap(self.game, action) else self._cell(action)

    def _cell(self, cell: int) -> int:
        """A cell of the one board on the other; the swap is for square boards alone."""
        return mirrored(cell, (self.game.rows, self.game.columns)) if self.is_exchanged else cell
