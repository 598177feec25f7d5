"""Any small game solved exactly: alpha-beta with a table of positions (Knuth and Moore 1975).

The search knows nothing but the contract of a game. It asks one question at a time, "is the score
at least `goal`?", looks every position up in a table, and tries first what was best elsewhere (the
history heuristic: Schaeffer 1989). Where a game tells what would win at once (`wins_at`), a move
that wins is taken, and one that stops the opponent from winning is the only one tried; that is
right for games in which a stone on the winning cell is the only way to stop the other, such as
games of lines.

It runs as machine code over `hexenv`'s games, and the same source interpreted over any environment.

Positions are told apart by the 64 bits of `position_hash` and the number of plies. TicTacToe's and
Connect4's hashes are unique. In Gomoku two of n positions share theirs with a probability of about
n^2 / 2^65: one in four million for 3 million positions.
"""

import copy
from typing import Any, Final, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from agents.planning.foreign import ForeignGame, ForeignState
from agents.solvers.depth_first import UNKNOWN, put_best_last
from agents.solvers.questions import ScoreSolver, score_limit
from hexenv.compiled import compiled, kernel
from hexenv.games import base
from hexenv.games.base import Actions

ZERO: Final = 1 << 14
"""What is added to a score so that the table keeps a positive number."""


class Tactics(Protocol):
    """What a game tells of wins at once."""

    def would_win(self, game: Any, state: Any, player: int, action: int) -> bool:
        """Whether `player` is known to win at once by `action`, were it that player's turn."""
        ...


@compiled
class NoTactics(NamedTuple):
    """For games that tell nothing."""

    unused: int = 0

    def would_win(self, game: Any, state: Any, player: int, action: int) -> bool:
        return False


@compiled
class LineTactics(NamedTuple):
    """For games with `wins_at` in which only a stone on the winning cell stops the opponent."""

    unused: int = 0

    def would_win(self, game: Any, state: Any, player: int, action: int) -> bool:
        return bool(game.wins_at(state, player, action))


class BoundsTable(NamedTuple):
    """A transposition table: ``(entries,)`` each, a power of two of them."""

    hashes: NDArray[np.int64]
    bounds: NDArray[np.int64]
    """Plies, lower and upper bound in one number; 0 for an empty entry."""


def new_table(entries: int) -> BoundsTable:
    """An empty table of at most `entries` entries."""
    size = 1 << max(entries.bit_length() - 1, 0)
    return BoundsTable(np.zeros(size, np.int64), np.zeros(size, np.int64))


@kernel
def place_of(table: BoundsTable, position: int) -> int:
    """Where in the table a position belongs."""
    mixed = position ^ (position >> 32) ^ (position >> 15)
    return mixed & (table.hashes.size - 1)


@compiled
class ExhaustiveNodes(NamedTuple):
    """The nodes from the root to where the search is; see `agents.solvers.depth_first.OpenNodes`.

    Arrays have a row for each depth.
    """

    game: Any
    tactics: Any
    table: BoundsTable
    goal: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    best: NDArray[np.int64]
    """The best score of the actions tried so far."""
    hash: NDArray[np.int64]
    left: NDArray[np.int64]
    """The number of actions that are not tried yet."""
    actions: NDArray[np.int32]
    """``(depths, num_actions)``: the actions, the one to try next last."""
    history: NDArray[np.int64]
    """``(2, num_actions)``: how often each player's action was good, more for large subtrees."""
    control: NDArray[np.int64]
    states: Any = None
    """A position for each depth."""
    root_ply: int = 0

    def open_node(self, depth: int) -> int:
        self.control[1] += 1
        game, state, ply = self.game, self.states[depth], self.root_ply + depth
        half = score_limit(game)
        if game.is_terminal(state):
            return game.outcome(state, game.to_play(state)) * (half - (ply + 1) // 2)
        goal = int(self.goal[depth])
        high = half - (ply + 2) // 2
        low = -high
        position = game.position_hash(state)
        place = place_of(self.table, position)
        bounds = int(self.table.bounds[place])
        if self.table.hashes[place] == position and bounds >> 32 == ply + 1:
            low = ((bounds >> 16) & 65535) - ZERO
            high = (bounds & 65535) - ZERO
        if goal <= low:
            return low
        if goal > high:
            return high
        self.low[depth], self.high[depth] = low, high
        self.hash[depth] = position
        self.best[depth] = UNKNOWN
        self.left[depth] = list_to_try(game, self.tactics, state, self.history, self.actions[depth])
        return UNKNOWN

    def open_child(self, depth: int) -> None:
        game, states = self.game, self.states
        left = int(self.left[depth]) - 1
        self.left[depth] = left
        game.copy(states[depth], states[depth + 1])
        game.step(states[depth + 1], int(self.actions[depth, left]))
        goal = int(self.goal[depth])
        is_mine = game.to_play(states[depth + 1]) == game.to_play(states[depth])
        self.goal[depth + 1] = goal if is_mine else 1 - goal

    def close_child(self, depth: int, score: int) -> int:
        game, states, table = self.game, self.states, self.table
        player = game.to_play(states[depth])
        score = score if game.to_play(states[depth + 1]) == player else -score
        best = max(score, int(self.best[depth]))
        self.best[depth] = best
        left = int(self.left[depth])
        is_reached = best >= int(self.goal[depth])
        if not is_reached and left > 0:
            return UNKNOWN
        low = best if is_reached else int(self.low[depth])
        high = int(self.high[depth]) if is_reached else best
        place = place_of(table, int(self.hash[depth]))
        table.hashes[place] = self.hash[depth]
        table.bounds[place] = (self.root_ply + depth + 1) << 32 | (low + ZERO) << 16 | (high + ZERO)
        if is_reached:
            self.history[player, self.actions[depth, left]] += 1 + left
        return best


def new_nodes(game: Any, tactics: Tactics, entries: int) -> ExhaustiveNodes:
    """The arrays of a search with an empty table, but for the positions."""
    depths, num_actions = game.max_plies() + 2, game.num_actions()
    return ExhaustiveNodes(
        game,
        tactics,
        new_table(entries),
        *(np.zeros(depths, np.int64) for _ in range(6)),
        actions=np.zeros((depths, num_actions), np.int32),
        history=np.zeros((2, num_actions), np.int64),
        control=np.zeros(2, np.int64),
    )


@kernel
def list_to_try(
    game: Any, tactics: Any, state: Any, history: NDArray[np.int64], out: Actions
) -> int:
    """List the actions to try, the one with most history last, or only the one that is urgent.

    An action that wins is urgent, else one that has to be played.
    """
    player = game.to_play(state)
    count = game.legal_actions(state, out)
    urgent = -1
    for i in range(count):
        action = int(out[i])
        if tactics.would_win(game, state, player, action):
            urgent = action
            break
        if tactics.would_win(game, state, 1 - player, action):
            urgent = action
    if urgent >= 0:
        out[0] = urgent
        return 1
    put_best_last(out, count, history[player])
    return count


# ---- foreign environments ------------------------------------------------------------------------


MOST_PLIES: Final = 200
"""How long a game over a foreign environment may be."""


class TreeState(ForeignState):
    """A position of a foreign environment that knows how many plies lead to it from the root."""

    ply: int = 0


class ForeignTree(ForeignGame):
    """A foreign environment as a game that tells positions apart.

    Two positions are one where, after equally many plies, the same agent is to move, both have got
    the same rewards, the same actions are legal, and both agents are shown the same.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._numbers: dict[Any, int] = {}

    def max_plies(self) -> int:
        return MOST_PLIES

    def copy(self, source: Any, into: Any) -> None:
        super().copy(source, into)
        into.ply = source.ply

    def step(self, state: Any, action: int) -> None:
        if state.ply == MOST_PLIES:
            raise ValueError(f"expected a game of at most {MOST_PLIES} plies, got a longer one")
        super().step(state, action)
        state.ply += 1

    def position_hash(self, state: Any) -> int:
        """A number of its own for every position that looks different."""
        env = state.env
        shown = tuple(_frozen(env.observe(agent)) for agent in self.agents)
        legal = tuple(base.legal_actions(cast("Any", self), state))
        key = (state.ply, env.agent_selection, state.rewards, legal, shown)
        return self._numbers.setdefault(key, len(self._numbers))


def _frozen(value: Any) -> Any:
    """An observation as a value that can be looked up."""
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value)
        return tuple((key, _frozen(pairs[key])) for key in pairs)
    array = np.asarray(value)
    return array.dtype.str, array.shape, array.tobytes()


# ---- the solver ----------------------------------------------------------------------------------


class ExhaustiveSolver(ScoreSolver):
    """Solves positions of one game.

    Args:
        game: A game, or an environment as one (`ForeignTree`).
        tactics: What it tells of wins at once.
        entries: Of the table, 16 bytes each.
        compiles: Whether to run as machine code.
    """

    def __init__(
        self, game: Any, tactics: Tactics, entries: int = 1 << 22, compiles: bool = True
    ) -> None:
        super().__init__(game, compiles)
        self.nodes = new_nodes(game, tactics, entries)

    def copy_of(self, state: Any) -> Any:
        if not isinstance(state, TreeState):
            return super().copy_of(state)
        copied = copy.copy(state)
        self.game.copy(state, copied)
        return copied

    def nodes_at(self, state: Any) -> ExhaustiveNodes:
        if self.nodes.states is None:
            depths = len(self.nodes.goal)
            if isinstance(state, TreeState):
                states: Any = [copy.copy(state) for _ in range(depths)]
            else:
                states = base.new_states(self.game, depths)
            self.nodes = self.nodes._replace(states=states)
        self.game.copy(state, self.nodes.states[0])
        return self.nodes._replace(root_ply=int(state.ply))
