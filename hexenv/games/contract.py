"""The contract of a game: the words, the state and the verbs that every game has.

A *game* is a `typing.NamedTuple` under `@compiled`: its fields are the static parameters, its
methods the rules. A *state* is one NumPy record that the game's verbs fill and change in place.

The contract has three layers. The *core* is enough for searches, matches, records, environments of
one board and of many. The *board*, rows and columns of cells with owners, is for planes and
pictures; a game may show one empty cell. And a *game of stones* (`StoneGame`) says how a position
is built from the stones on it; of any other game a position is kept as the bytes of its state.
Stones may be captured, moves may lead from cell to cell, and a player may move several times in a
row: whose turn it is, `to_play` says. `hexenv.games.own.game` adds what a class leaves out.

A game may also offer two verbs that playouts with decisive moves need: `wins_at(state, player,
action) -> bool`, whether `player` would win at once by playing the legal `action`, were it that
player's turn, and `winning_action`, which finds such an action; see that of `hexenv.games.base`.
A game in which an action may lose at once has `loses_by(state, action) -> bool`: whether the action
that has led here did. Of such an end the stones tell nothing. And a game in which they do not tell
the whole position has `details(state) -> dict[str, int]`, what else there is (nothing where they
do), and `set_up(state, owners, to_play, details)`, which writes into a starting position all but
the stones.

A game that counts more than who has won has `final_score(state, player) -> float`: at the end, the
score of `player` in place of 1, 0 and -1, from -1, the worst there is, to 1, the best; the other
player's is the opposite. Monte-Carlo tree searches then look for the highest score, and prove
nothing; `outcome`, and so the rewards of environments, still say who has won.

Games and the code around them import these names from `hexenv.games.base`, with what games share.

Words used everywhere, each for one idea:

* *player*: 0 or 1, a side of the game; player 0 moves first. (*agent*: what plays for a side.)
* *action*: an integer, ``0 <= action < num_actions()``. *Move*: its text, as people write it.
* *cell*: the number of a place on the board, row by row from the top left.
* *ply*: one action by one player; `state.ply` counts them from the start.
* *outcome*: 1, 0 or -1, always from the view of a named player.

The methods above the line in `Game` compile, so they use only numbers, arrays and records; they do
not check legality. The entry points do: an environment's `step`, an agent's result, `play`.
"""

from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

IN_PLAY: Final = -1
"""`state.winner` while the game goes on."""
DRAW: Final = 2
"""`state.winner` of a drawn game; a won game has the winner, 0 or 1, there."""
EMPTY: Final = -1
"""The owner of an empty cell."""
OUTSIDE: Final = 3
"""The owner of what lies beyond the board."""
NO_ACTION: Final = -1
"""`state.last_action` before the first ply, or where it is not known."""

MOST: Final = 32_767
"""Actions and plies of a game: `state.last_action` and `state.ply` have 16 bits."""

Style = Literal["squares", "points", "holes", "hexagons"]
"""Drawing styles: a grid of squares, crossing lines, a wall of holes, a rhombus of hexagons."""

State: TypeAlias = np.record  # an element of an array of the game's `state_dtype`
Actions = NDArray[np.int32]
Cells = NDArray[np.int8]


class Game(Protocol):
    """What a game offers. `hexenv.testing.check_game` checks all of it on any game."""

    @property
    def name(self) -> str:
        """The game's name in lower case, as in its environment's module: ``hex`` of ``hex_v0``."""
        ...

    @property
    def style(self) -> str:
        """How the board is drawn: one of `Style`."""
        ...

    @property
    def state_dtype(self) -> np.dtype[np.void]:
        """Structured dtype of a state, with at least the fields of `STATE_FIELDS`."""
        ...

    @property
    def rows(self) -> int:
        """Rows of the board."""
        ...

    @property
    def columns(self) -> int:
        """Columns of the board."""
        ...

    def num_actions(self) -> int:
        """How many actions there are, legal or not; at most `MOST`."""
        ...

    def max_plies(self) -> int:
        """An upper bound on the length of a game; at most `MOST`."""
        ...

    def initial(self, state: State) -> None:
        """Write the starting position into `state`."""

    def copy(self, source: State, into: State) -> None:
        """Copy one state over another, without allocation."""

    def step(self, state: State, action: int) -> None:
        """Apply a legal action, in place."""

    def legal_actions(self, state: State, out: Actions) -> int:
        """Write the legal actions in ascending order into `out`; return how many. None at the end.

        `out` is ``(>= num_actions(),) int32``; what follows the actions is left as it was.
        """
        ...

    def next_actions(self, state: State, actions: Actions, count: int, played: int) -> int:
        """Bring the legal actions up to date after a step, in whatever order is quickest.

        Playouts live on it: mostly all actions stay legal but the one that was played. The first
        `count` of `actions`, ``(>= num_actions(),) int32``, were legal before the step to `state`,
        whose action is at `played`; they are overwritten with those that are legal now. How many
        there are is returned; at the end of the game it is any number.
        """
        ...

    def legal_mask(self, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
        """Write 1 for every legal action and 0 for the others into ``(num_actions(),) int8``.

        `owners` is what the verb of this name says of the position, here and in `observe`.
        """

    def is_terminal(self, state: State) -> bool:
        """Whether the game is over."""
        ...

    def to_play(self, state: State) -> int:
        """The player whose turn it is, 0 or 1 (at the end: who would be next)."""
        ...

    def outcome(self, state: State, player: int) -> int:
        """1 if `player` has won, -1 if the other has, 0 for a draw or a game that goes on."""
        ...

    def position_hash(self, state: State) -> int:
        """A 64-bit hash of the position: equal for equal positions reached by other move orders."""
        ...

    def owner(self, state: State, cell: int) -> int:
        """Whose stone is on `cell`: 0, 1 or `EMPTY`."""
        ...

    def owners(self, state: State, out: Cells) -> None:
        """Write `owner` of every cell into contiguous ``(>= rows * columns,) int8``."""

    def observe(self, state: State, player: int, owners: Cells, out: NDArray[Any]) -> None:
        """Write the planes of `planes` as `player` sees them.

        `out` is ``(rows * columns, >= len(planes()))``: plane 0 gets the player's own stones, plane
        1 the opponent's, as ones; planes beyond the game's own get zeros.
        """

    def last_cell(self, state: State) -> int:
        """The cell of the stone that was placed or moved last, or `NO_ACTION`."""
        ...

    def random_playout(self, state: State, rng: np.random.Generator, buffer: Actions) -> None:
        """Play uniformly random actions to the end; afterwards only `state.winner` has a meaning.

        A game without a faster way takes `play_randomly`. A fast form draws from the same
        distribution, but for what its docstring names, and may use the stream otherwise. `buffer`
        is ``(>= num_actions(),) int32`` of scratch space.
        """

    def cell_of(self, state: State, action: int) -> int:
        """The cell that an action would fill; for an action that fills none, a number of its own.

        By it searches know the same move again in other positions.
        """
        ...

    def num_cells(self) -> int:
        """One more than the greatest number that `cell_of` returns."""
        ...

    # ---- plain Python from here on ----

    def action_text(self, action: int) -> str:
        """The move as people write it."""
        ...

    def parse_action(self, text: str) -> int:
        """The action of a move's text; ValueError if the text is no move on this board."""
        ...

    def why_illegal(self, state: State, action: int) -> str:
        """Why an action of a game in play is not legal: ``e5 is taken``."""
        ...

    def cells_of_action(self, state: State, action: int) -> tuple[int, ...]:
        """The cells that an action is shown on: one, or the two that a piece leaves and enters.

        None for an action without a place on the board, such as a pass. It is legal in `state`.
        """
        ...

    def labels(self) -> tuple[list[str], list[str]]:
        """The names of columns from the left and of rows from the top; none for a bare margin."""
        ...

    def planes(self) -> tuple[str, ...]:
        """The names of the planes that `observe` writes; the first two are own and opponent."""
        ...

    def symmetries(self) -> NDArray[np.int32]:
        """The symmetry group: ``(s, num_actions()) int32``, the identity first.

        Playing ``symmetries()[k, a]`` for every action ``a`` of a game gives the image of the game:
        the same legality and the same outcome at every ply.
        """
        ...

    def winning_cells(self, state: State) -> list[int]:
        """The cells that won, in order along the line or path; empty where no cells have."""
        ...


class StoneGame(Game, Protocol):
    """A game of stones that are placed and stay: its stones tell how a position came about."""

    def place(self, state: State, cell: int, player: int) -> None:
        """Put a stone on an empty cell without judging the position or passing the turn."""

    def completes(self, state: State, cell: int) -> bool:
        """Whether the owner of the stone on `cell` has won, as far as that stone can tell.

        It may look at the whole board, or only at the lines through the cell.
        """
        ...

    def count_plies(self, owners: Cells, to_play: int) -> int:
        """How many plies lead from the start to these stones; ValueError if they cannot come about.

        `owners` is ``(rows, columns) int8`` of 0, 1 and `EMPTY`.
        """
        ...


class OptionalVerbs(Protocol):
    """What a game may offer beside; see the head of this module."""

    def wins_at(self, state: State, player: int, action: int) -> bool:
        """Whether `player` would win at once by the legal `action`, were it that player's turn."""
        ...

    def winning_action(
        self, state: State, player: int, near: int, actions: Actions, count: int
    ) -> int:
        """An action that wins at once, or `NO_ACTION`; see `hexenv.games.base.winning_action`."""
        ...

    def random_action(self, state: State, rng: Any, buffer: Actions) -> int:
        """A uniformly random legal action of a game in play; `buffer` as in `random_playout`.

        A game with many actions, most of them legal, is faster by `hexenv.games.base.draw_cell`, if
        it has ``is_legal(state, action) -> bool``, than by listing them.
        """
        ...

    def adds_stones(self, state: State) -> bool:
        """Whether two cells are all that the last two plies have changed for the player to move.

        Each of their actions was a cell, which has its player's stone now (in planes 0 and 1) and
        is no longer legal; both players have the same legal actions. It is asked only in play,
        after a ply of each player. Vector environments then write no more than that.
        """
        ...

    def loses_by(self, state: State, action: int) -> bool:
        """Whether the action that has led here lost the game."""
        ...

    def final_score(self, state: State, player: int) -> float:
        """At the end: the score of `player`, from -1 to 1."""
        ...

    def details(self, state: State) -> dict[str, int]:
        """What the stones do not tell of the position."""
        ...

    def set_up(self, state: State, owners: Cells, to_play: int, details: dict[str, int]) -> None:
        """Write into a starting position all but the stones."""


PLAIN_VERBS: Final = (
    "action_text", "parse_action", "why_illegal", "labels", "planes", "symmetries",
    "winning_cells", "count_plies", "details", "set_up", "cells_of_action",
)  # fmt: skip
"""The verbs that stay plain Python; compiled code may call all others."""

STATE_FIELDS: Final[list[tuple[str, type[np.signedinteger[Any]]]]] = [
    ("ply", np.int16),
    ("last_action", np.int16),
    ("winner", np.int8),
]
"""The fields every state has; a game's dtype is these and its board."""


def state_dtype(*board: tuple[Any, ...]) -> np.dtype[np.void]:
    """The dtype of a state: the shared fields and the game's own, aligned as in C."""
    return np.dtype([*board, *STATE_FIELDS], align=True)
