"""What data has of each position; and the check that it is of games by the rules.

The *mover* of a position is the player to move there. All that has a side is the mover's:
observation, value and outcome. So 1 is good for who moves, for player 0 and player 1 alike.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, kernel, scratch_array
from hexenv.envs.observation import write_planes
from hexenv.games import base
from hexenv.games.base import Game

RANDOM: Final = -1
"""In place of an agent: the move is a random one of an opening."""
NOTHING_EXTRA: Final = np.zeros(0, np.int8)


class Positions(NamedTuple):
    """P positions of whole games, one after the other, each before the move that was made there.

    A is ``num_actions()`` of the game, K are its planes.

    Examples:
        >>> from agents.learning.data import make_data
        >>> data = make_data("few", "tictactoe", ["random"], games=1)
        >>> data.positions().action_masks.shape[1]
        9
    """

    observations: NDArray[np.int8]
    """``(P, rows, columns, K)``: the planes that the mover sees, as an environment shows them."""
    action_masks: NDArray[np.int8]
    """``(P, A)``: 1 for legal actions, else 0."""
    actions: NDArray[np.int16]
    """``(P,)``: the action that was played."""
    visits: NDArray[np.int32]
    """``(P, A)``: simulations that began with each action. An agent that counts none has 1 at the
    action that it chose; where a random move of an opening was played all are 0."""
    values: NDArray[np.float32]
    """``(P,)``: the agent's value of the position for the mover, -1 to 1: that of the action that
    it found best, or the outcome of the position if it has proven that. NaN: it has none."""
    outcomes: NDArray[np.int8]
    """``(P,)``: of the game, for the mover: 1 won, 0 drawn, -1 lost."""
    players: NDArray[np.int8]
    """``(P,)``: the mover, 0 or 1."""
    agents: NDArray[np.int16]
    """``(P,)``: the number of the agent that moved, or `RANDOM`."""
    games: NDArray[np.int64]
    """``(P,)``: the number of the game."""
    plies: NDArray[np.int16]
    """``(P,)``: the moves made before, from 0."""

    @property
    def policies(self) -> NDArray[np.float32]:
        """``(P, A)``: the visits as probabilities; all 0 where a random move was played."""
        total = np.maximum(self.visits.sum(axis=1, keepdims=True), 1)
        return (self.visits / total).astype(np.float32)

    @property
    def searched(self) -> NDArray[np.bool_]:
        """``(P,)``: whether an agent chose the move: these are learnt from."""
        return self.agents != RANDOM

    @property
    def values_or_outcomes(self) -> NDArray[np.float32]:
        """``(P,)``: the values, and where the agent had none the outcomes."""
        return np.where(np.isnan(self.values), self.outcomes, self.values).astype(np.float32)

    def take(self, which: Any) -> "Positions":
        """Some of them: by an index array, a mask or a slice."""
        columns: list[Any] = [column[which] for column in self]
        return Positions(*columns)

    @staticmethod
    def joined(parts: Sequence["Positions"]) -> "Positions":
        """Positions one after the other."""
        return Positions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @staticmethod
    def shapes(game: Game, count: int) -> dict[str, tuple[tuple[int, ...], Any]]:
        """The shape and the type of each column for a number of positions."""
        num_actions, planes = game.num_actions(), len(game.planes())
        return {
            "observations": ((count, game.rows, game.columns, planes), np.dtype(np.int8)),
            "action_masks": ((count, num_actions), np.dtype(np.int8)),
            "actions": ((count,), np.dtype(np.int16)),
            "visits": ((count, num_actions), np.dtype(np.int32)),
            "values": ((count,), np.dtype(np.float32)),
            "outcomes": ((count,), np.dtype(np.int8)),
            "players": ((count,), np.dtype(np.int8)),
            "agents": ((count,), np.dtype(np.int16)),
            "games": ((count,), np.dtype(np.int64)),
            "plies": ((count,), np.dtype(np.int16)),
        }

    @staticmethod
    def none(game: Game) -> "Positions":
        """No positions."""
        kinds = Positions.shapes(game, 0).values()
        columns: list[Any] = [np.zeros(shape, kind) for shape, kind in kinds]
        return Positions(*columns)


def bytes_of_position(game: Game) -> int:
    """The bytes of a position in memory."""
    kinds = Positions.shapes(game, 1).values()
    return sum(int(np.prod(shape)) * kind.itemsize for shape, kind in kinds)


class Shown(NamedTuple):
    """The columns of `Positions` that follow from the moves."""

    observations: NDArray[np.int8]
    action_masks: NDArray[np.int8]
    outcomes: NDArray[np.int8]
    players: NDArray[np.int8]


@kernel
def show_games(
    game: Any,
    state: Any,
    lengths: NDArray[np.int64],
    actions: NDArray[np.int16],
    extra: NDArray[np.int8],
    shown: Any,
) -> int:
    """Play games again, and write what is shown; its planes are ``(P, cells, K)``.

    Returns:
        -1; or the first game that breaks the rules, is not over, or goes on beyond its end.
    """
    owners = scratch_array(game.rows * game.columns, np.int8)
    ply = 0
    for number in range(lengths.size):
        game.initial(state[0])
        first = ply
        for _ in range(lengths[number]):
            game.owners(state[0], owners)
            game.legal_mask(state[0], owners, shown.action_masks[ply])
            action = int(actions[ply])
            is_legal = 0 <= action < shown.action_masks.shape[1] and not game.is_terminal(state[0])
            if not is_legal or shown.action_masks[ply, action] == 0:
                return number
            shown.players[ply] = game.to_play(state[0])
            write_planes(game, state[0], shown.players[ply], owners, extra, shown.observations[ply])
            game.step(state[0], action)
            ply += 1
        if not game.is_terminal(state[0]):
            return number
        for i in range(first, ply):
            shown.outcomes[i] = game.outcome(state[0], int(shown.players[i]))
    return -1


compiled_show_games: Final = CompiledFunction(show_games, "the positions of games")


def shown_of(game: Game, lengths: NDArray[np.int64], actions: NDArray[np.int16]) -> Shown:
    """What is shown of games with these numbers of plies, whose actions follow each other.

    Raises:
        ValueError: If one breaks the rules.
    """
    kinds = Positions.shapes(game, len(actions))
    columns: list[Any] = [np.zeros(*kinds[name]) for name in Shown._fields]
    shown = Shown(*columns)
    cells = shown.observations.reshape(len(actions), game.rows * game.columns, -1)
    show = compiled_show_games.fitting(game)
    state, into = base.new_states(game, 1), shown._replace(observations=cells)
    wrong = int(show(game, state, lengths, actions, NOTHING_EXTRA, into))
    if wrong >= 0:
        raise ValueError(f"expected moves by the rules in whole games, got others in game {wrong}")
    return shown


def lengths_of(plies: NDArray[np.int16]) -> NDArray[np.int64]:
    """The numbers of plies of games from the plies of their positions, which begin at 0."""
    starts = np.flatnonzero(plies == 0)
    return np.diff(starts, append=len(plies)).astype(np.int64)


def check_positions(positions: Positions, game: Game) -> None:
    """Check that positions fit a game, that moves keep its rules, and that they agree with these.

    Raises:
        ValueError: If not; the message says which column.
    """
    count = len(positions.actions)
    for name, (shape, kind) in Positions.shapes(game, count).items():
        column: NDArray[Any] = getattr(positions, name)
        if column.shape != shape or column.dtype != kind:
            raise ValueError(
                f"expected {name} of {kind} {shape}, got {column.dtype} {column.shape}"
            )
    plies, games = positions.plies, positions.games
    if count and plies[0] != 0:
        raise ValueError(f"expected plies from 0 on, got {plies[0]} first")
    is_next = (plies[1:] == plies[:-1] + 1) & (games[1:] == games[:-1])
    is_first = (plies[1:] == 0) & (games[1:] == games[:-1] + 1)
    if not (is_next | is_first).all():
        raise ValueError("expected the plies of whole games, with numbers that go up by one")
    shown = shown_of(game, lengths_of(plies), positions.actions)
    for name, column in shown._asdict().items():
        if not np.array_equal(column, getattr(positions, name)):
            raise ValueError(f"expected {name} as the moves give them, got others")
    visits, values = positions.visits, positions.values
    if (visits < 0).any() or visits[positions.action_masks == 0].any():
        raise ValueError("expected visits from 0, of legal actions alone")
    agents = positions.agents
    if not np.array_equal(visits.any(axis=1), positions.searched) or (agents < RANDOM).any():
        raise ValueError("expected visits where an agent chose the move, and none elsewhere")
    has_value = ~np.isnan(values)
    if has_value[~positions.searched].any() or (np.abs(values[has_value]) > 1.0).any():
        raise ValueError("expected values from -1 to 1, or NaN where there are none")
