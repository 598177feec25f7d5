"""The swap of Hex in other programs: the players exchange their colours.

In MoHex, HexGui and their files the first stone stays where it is. White is next after the swap
too, and is then the player who was black. In `hexenv.games.hex` the players keep their colours, and
the stone goes to its mirror cell. From the swap on, one game is the mirror image of the other.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hexenv.games.hex import Hex

COLOURS: Final = ("black", "white")
SWAP: Final = "swap-pieces"
"""The text of the move that takes over the first stone."""


def is_swap(game: Hex, action: int) -> bool:
    """Whether an action is the swap."""
    return action == game.rows * game.columns


def mirrored(cell: int, size: tuple[int, int]) -> int:
    """The number of a cell of a board with so many rows and columns, on the mirrored board."""
    rows, columns = size
    return cell % columns * rows + cell // columns


class SwapView(NamedTuple):
    """How another program sees a game: as it is here, or with colours exchanged by a swap."""

    game: Hex
    is_exchanged: bool = False
    """Whether the second player has taken over the first stone."""

    @classmethod
    def after(cls, game: Hex, actions: Sequence[int]) -> "SwapView":
        """The view of a game from its start, after these actions."""
        return cls(game, any(is_swap(game, action) for action in actions[:2]))

    def colour(self, player: int) -> str:
        """The colour of a player."""
        return COLOURS[player ^ self.is_exchanged]

    def text(self, action: int) -> str:
        """An action in the other program's form."""
        return SWAP if is_swap(self.game, action) else self.game.action_text(self._cell(action))

    def action(self, text: str) -> int:
        """The action of a text; ValueError if there is none."""
        if text == SWAP:
            return self.game.rows * self.game.columns
        action = self.game.parse_action(text)
        return action if is_swap(self.game, action) else self._cell(action)

    def _cell(self, cell: int) -> int:
        """A cell of one board on the other; only square boards have a swap."""
        return mirrored(cell, (self.game.rows, self.game.columns)) if self.is_exchanged else cell
