"""Overlays of a position: numbers as coloured discs and arrows, and the numbers of the moves.

Discs are on cells. The number of an action that goes from a cell to another is on an arrow; as
text, such actions are listed below the board, and so are those without a place on it, as a pass.

Discs of positive numbers are purple, those of negative numbers orange, which colour-blind people
can distinguish too. The colour is the stronger, the greater the number.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexenv.common.messages import hundredths
from hexenv.games import base
from hexenv.games.base import EMPTY, Game, State

LEAST_SHARE = 0.005
"""The smallest share with a label; a smaller one would be rounded to 0 %."""


class Disc(NamedTuple):
    """The disc of an overlay on one cell."""

    cell: int
    strength: float
    """-1 to 1: the strength of the colour; the sign selects the colour."""
    label: str
    """The text on it; may be empty."""


class Move(NamedTuple):
    """The number of an action that fills no single cell."""

    text: str
    """The action's."""
    cells: tuple[int, ...]
    """Those it is shown on, `Game.cells_of_action`: two, or none."""
    value: float
    label: str


class Arrow(NamedTuple):
    """The arrow of an overlay from a cell to another; the rest is as in `Disc`."""

    start: int
    end: int
    strength: float
    label: str


@dataclass(frozen=True, eq=False)
class Overlay:
    """Numbers of cells, shown as coloured discs with labels, and of moves, shown as arrows.

    Args:
        values: ``(cells,)`` finite numbers, NaN for a cell without a disc.
        labels: ``(cells,)`` texts to write; None for the numbers themselves.
        limit: The absolute value with the strongest colour; by default the greatest one.
        title: The meaning of the numbers.
        moves: Numbers of actions that fill no single cell.

    Raises:
        ValueError: If the values are not one row of finite numbers, the number of labels differs,
            or the limit is not above 0.
    """

    values: ArrayLike
    labels: Sequence[str] | None = None
    limit: float | None = None
    title: str = ""
    moves: Sequence[Move] = ()

    def __post_init__(self) -> None:
        values = np.asarray(self.values, np.float64)
        if values.ndim != 1 or np.isinf(values).any():
            raise ValueError(f"expected finite numbers of shape (cells,), got {self.values!r}")
        if self.labels is not None and len(self.labels) != len(values):
            raise ValueError(f"expected {len(values)} labels, got {len(self.labels)}")
        if self.limit is not None and not self.limit > 0:
            raise ValueError(f"expected a limit above 0, got {self.limit}")
        object.__setattr__(self, "values", values)

    def discs(self, game: Game) -> list[Disc]:
        """The discs, by cell.

        Raises:
            ValueError: If the game has another number of cells.
        """
        values = _row(self.values, game.rows * game.columns)
        shown = np.flatnonzero(~np.isnan(values)).tolist()
        limit = self._strongest()
        found: list[Disc] = []
        for cell in shown:
            value = float(values[cell])
            label = f"{value:.2g}" if self.labels is None else self.labels[cell]
            if value or label:
                found.append(Disc(cell, min(max(value / limit, -1.0), 1.0), label))
        return found

    def arrows(self) -> list[Arrow]:
        """The arrows, the strongest last."""
        limit = self._strongest()
        found = [
            Arrow(*move.cells, min(max(move.value / limit, -1.0), 1.0), move.label)
            for move in self.moves
            if len(move.cells) == 2
        ]
        return sorted(found, key=lambda arrow: abs(arrow.strength))

    def listed(self) -> str:
        """The moves with labels, the greatest number first: ``a2b3 43, b2b3 12``."""
        labelled = [move for move in self.moves if move.label]
        labelled.sort(key=lambda move: -move.value)
        return ", ".join(f"{move.text} {move.label}" for move in labelled)

    def _strongest(self) -> float:
        """The absolute value with the strongest colour."""
        given = np.abs([*np.asarray(self.values), *(move.value for move in self.moves)])
        return self.limit or float(given[~np.isnan(given)].max(initial=0.0)) or 1.0


def _row(values: ArrayLike, length: int, dtype: Any = np.float64) -> NDArray[Any]:
    """An array of so many numbers, one for each cell or action; refuses others."""
    array: NDArray[Any] = np.asarray(values, dtype)
    if array.shape != (length,):
        raise ValueError(f"expected numbers of shape ({length},), got {array.shape}")
    return array


# ---- overlays of actions -------------------------------------------------------------------------


def overlay_of_shares(
    game: Game, state: State, weights: ArrayLike, *, labelled: bool = True, title: str = ""
) -> Overlay:
    """Probabilities of the actions, or visits of a search, in per cent, `labelled` or as colours.

    An action is shown on its `Game.cells_of_action`, nothing at the end of a game. `weights` are
    ``(num_actions,)`` from 0; those of illegal actions are ignored.

    Raises:
        ValueError: If the weights have another shape or a number below 0.
    """
    shares = legal_shares(game, state, weights)

    def label(share: float, _: int) -> str:
        return f"{100 * share:.0f}" if labelled and share >= LEAST_SHARE else ""

    return _overlay(game, state, np.where(shares > 0, shares, np.nan), label, title=title)


def overlay_of_values(
    game: Game,
    state: State,
    values: ArrayLike,
    *,
    proven: Container[int] = (),
    labelled: bool = True,
    title: str = "",
) -> Overlay:
    """Values of the actions for the player to move, in hundredths: from -99 to +99.

    `values` are ``(num_actions,)`` from -1, lost, to 1, won; NaN if unknown. Those of illegal
    actions are ignored. Only the values of the actions that are `proven` are shown as -100 or +100.

    Raises:
        ValueError: If they have another shape or are out of range.
    """
    given = _row(values, game.num_actions())
    if not (np.isnan(given) | (np.abs(given) <= 1)).all():
        raise ValueError(f"expected values from -1 to 1, got {given.tolist()}")
    legal = base.legal_mask_of(game, state) != 0

    def label(value: float, action: int) -> str:
        return f"{hundredths(value, action in proven):+d}" if labelled else ""

    return _overlay(game, state, np.where(legal, given, np.nan), label, limit=1.0, title=title)


def legal_shares(game: Game, state: State, weights: ArrayLike) -> NDArray[np.float64]:
    """Weights over the legal actions: ``(num_actions,)`` with a sum of 1, or 0 at a game's end.

    Raises:
        ValueError: If they have another shape, a number below 0, or only 0 for legal actions.
    """
    given = _row(weights, game.num_actions())
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise ValueError(f"expected numbers from 0, got {given.tolist()}")
    legal = base.legal_mask_of(game, state) != 0
    found = np.where(legal, given, 0.0)
    if legal.any() and not found.any():
        raise ValueError("expected something for a legal action, got none")
    return found / found.sum() if found.any() else found


def _overlay(
    game: Game,
    state: State,
    values: NDArray[np.float64],
    label: Callable[[float, int], str],
    **options: Any,
) -> Overlay:
    """The numbers of legal actions, NaN for others, where `Game.cells_of_action` shows them."""
    found = np.full(game.rows * game.columns, np.nan)
    labels = [""] * len(found)
    moves: list[Move] = []
    for action in np.flatnonzero(~np.isnan(values)).tolist():
        cells, value = game.cells_of_action(state, action), float(values[action])
        if len(cells) == 1:
            found[cells[0]], labels[cells[0]] = value, label(value, action)
        else:
            moves.append(Move(game.action_text(action), cells, value, label(value, action)))
    return Overlay(found, labels, moves=moves, **options)


# ---- the numbers of the moves --------------------------------------------------------------------


def move_numbers(
    game: Game, actions: Iterable[int], start: State | None = None
) -> NDArray[np.int32]:
    """The number of the move that placed each stone: ``(cells,)``, 0 on cells without one.

    The first of the actions from `start`, by default the initial position, is move 1. A stone moved
    by a swap keeps its number.
    """
    state = base.new_state(game) if start is None else base.clone(game, start)

    def states() -> Iterator[State]:
        yield state
        for action in actions:
            game.step(state, action)
            yield state

    *_, last = numbers_in_game(game, states())
    return last


def numbers_in_game(game: Game, states: Iterable[State]) -> Iterator[NDArray[np.int32]]:
    """The `move_numbers` of every position of a game, ``(cells,)`` each; the start comes first."""
    numbers = np.zeros(game.rows * game.columns, np.int32)
    was_empty = np.ones(len(numbers), np.bool_)
    for number, state in enumerate(states):
        is_empty = base.cell_owners(game, state).reshape(-1) == EMPTY
        if number > 0:
            left = numbers[is_empty & ~was_empty]
            numbers[was_empty & ~is_empty] = left if left.size else number
            numbers[is_empty] = 0
        yield numbers.copy()
        was_empty = is_empty


def numbers_of(game: Game, numbers: ArrayLike | None) -> NDArray[np.int64]:
    """The numbers of the moves as ``(cells,)``; all 0 if there are none.

    Raises:
        ValueError: If the game has another number of cells.
    """
    cells = game.rows * game.columns
    return np.zeros(cells, np.int64) if numbers is None else _row(numbers, cells, np.int64)
