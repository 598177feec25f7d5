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
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.foreign import ForeignGame, ForeignState
from agents.solvers.questions import Clock
from hexenv.compiled import CompiledFunction, compiled, kernel
from hexenv.games import base

UNKNOWN: Final = -(2**20)
"""No score."""
ZERO: Final = 1 << 14
"""What is added to a score so that the table keeps a positive number."""
SLICE: Final = 1 << 15
"""Nodes between two looks at the clock."""


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


class Table(NamedTuple):
    """Bounds of the scores of positions: ``(entries,) int64`` each, a power of two of them."""

    hashes: NDArray[np.int64]
    bounds: NDArray[np.int64]
    """Plies, lower and upper bound in one number; 0 where nothing is kept."""


def new_table(entries: int) -> Table:
    """An empty table of at most so many entries."""
    size = 1 << max(entries.bit_length() - 1, 0)
    return Table(np.zeros(size, np.int64), np.zeros(size, np.int64))


class Stack(NamedTuple):
    """The nodes from the root to where the search is, a row each, so that it can pause there."""

    goal: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    best: NDArray[np.int64]
    """The best score of the actions tried so far."""
    hash: NDArray[np.int64]
    left: NDArray[np.int64]
    """How many actions are still to be tried."""
    actions: NDArray[np.int32]
    """``(depths, num_actions)``: the actions, the one to try next last."""
    history: NDArray[np.int64]
    """``(2, num_actions)``: how often each player's action was good, more for large subtrees."""
    control: NDArray[np.int64]
    """The depth where the search is, and nodes since they were last set to 0."""


def new_stack(depths: int, num_actions: int) -> Stack:
    """A stack for a game."""
    return Stack(
        *(np.zeros(depths, np.int64) for _ in range(6)),
        actions=np.zeros((depths, num_actions), np.int32),
        history=np.zeros((2, num_actions), np.int64),
        control=np.zeros(2, np.int64),
    )


@kernel
def place_of(table: Table, position: int) -> int:
    """Where in the table a position belongs."""
    mixed = position ^ (position >> 32) ^ (position >> 15)
    return mixed & (table.hashes.size - 1)


@kernel
def sort_actions(stack: Stack, depth: int, count: int, player: int) -> None:
    """Bring the first `count` actions into ascending order of their history."""
    row = stack.actions[depth]
    history = stack.history[player]
    for i in range(1, count):
        action = row[i]
        spot = i
        while spot > 0 and history[row[spot - 1]] > history[action]:
            row[spot] = row[spot - 1]
            spot -= 1
        row[spot] = action


@kernel
def list_actions(game: Any, tactics: Any, state: Any, stack: Stack, depth: int) -> None:
    """Write the actions to try into the stack: one that wins, else one that has to be played."""
    player = game.to_play(state)
    row = stack.actions[depth]
    count = game.legal_actions(state, row)
    urgent = -1
    for i in range(count):
        action = int(row[i])
        if tactics.would_win(game, state, player, action):
            urgent = action
            break
        if tactics.would_win(game, state, 1 - player, action):
            urgent = action
    if urgent >= 0:
        row[0] = urgent
        count = 1
    sort_actions(stack, depth, count, player)
    stack.left[depth] = count


@kernel
def open_node(
    game: Any, tactics: Any, states: Any, table: Table, stack: Stack, depth: int, ply: int
) -> int:
    """Settle a node, or list its actions.

    Returns:
        A bound that answers the node's question, or `UNKNOWN`: then its actions are to be tried.
    """
    state = states[depth]
    half = score_limit(game)
    if game.is_terminal(state):
        return game.outcome(state, game.to_play(state)) * (half - (ply + 1) // 2)
    goal = int(stack.goal[depth])
    high = half - (ply + 2) // 2
    low = -high
    position = game.position_hash(state)
    place = place_of(table, position)
    bounds = int(table.bounds[place])
    if table.hashes[place] == position and bounds >> 32 == ply + 1:
        low = ((bounds >> 16) & 65535) - ZERO
        high = (bounds & 65535) - ZERO
    if goal <= low:
        return low
    if goal > high:
        return high
    stack.low[depth], stack.high[depth] = low, high
    stack.hash[depth] = position
    stack.best[depth] = UNKNOWN
    list_actions(game, tactics, state, stack, depth)
    return UNKNOWN


@kernel
def score_limit(game: Any) -> int:
    """One more than the most actions of a player in a game."""
    return (game.max_plies() + 1) // 2 + 1


@kernel
def open_child(game: Any, states: Any, stack: Stack, depth: int) -> None:
    """Go on to the next action of a node."""
    left = int(stack.left[depth]) - 1
    stack.left[depth] = left
    game.copy(states[depth], states[depth + 1])
    game.step(states[depth + 1], int(stack.actions[depth, left]))
    goal = int(stack.goal[depth])
    is_mine = game.to_play(states[depth + 1]) == game.to_play(states[depth])
    stack.goal[depth + 1] = goal if is_mine else 1 - goal


@kernel
def close_node(table: Table, stack: Stack, depth: int, ply: int, player: int, score: int) -> bool:
    """Count the score of an action that was tried; whether that, or having tried all, settles it.

    Then the bounds of the node go into the table.
    """
    score = max(score, int(stack.best[depth]))
    stack.best[depth] = score
    left = int(stack.left[depth])
    is_reached = score >= int(stack.goal[depth])
    if not is_reached and left > 0:
        return False
    low = score if is_reached else int(stack.low[depth])
    high = int(stack.high[depth]) if is_reached else score
    place = place_of(table, int(stack.hash[depth]))
    table.hashes[place] = stack.hash[depth]
    table.bounds[place] = (ply + 1) << 32 | (low + ZERO) << 16 | (high + ZERO)
    if is_reached:
        stack.history[player, stack.actions[depth, left]] += 1 + left
    return True


@kernel
def search(
    game: Any, tactics: Any, states: Any, table: Table, stack: Stack, root_ply: int, budget: int
) -> bool:
    """Go on with the search for so many nodes.

    Args:
        game: The game.
        tactics: What it tells of wins at once.
        states: A position for each depth, the root's first.
        table: What is known; it is added to.
        stack: The nodes that are open, with the question in `goal` of row 0.
        root_ply: Plies before the root.
        budget: How many nodes.

    Returns:
        Whether the question is answered; the bound is then `best` of the root.
    """
    depth = int(stack.control[0])
    for _ in range(budget):
        stack.control[1] += 1
        score = open_node(game, tactics, states, table, stack, depth, root_ply + depth)
        while score != UNKNOWN:
            if depth == 0:
                stack.best[0] = score
                return True
            player = game.to_play(states[depth])
            depth -= 1
            above = game.to_play(states[depth])
            if player != above:
                score = -score
            is_closed = close_node(table, stack, depth, root_ply + depth, above, score)
            score = int(stack.best[depth]) if is_closed else UNKNOWN
        open_child(game, states, stack, depth)
        depth += 1
    stack.control[0] = depth
    return False


compiled_search: Final = CompiledFunction(search)


# ---- environments of anybody's -------------------------------------------------------------------


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


def new_states_of(game: Any, depths: int, root: Any) -> Any:
    """A position to work in for each depth."""
    if isinstance(game, ForeignTree):
        return [copy.copy(root) for _ in range(depths)]
    return base.new_states(game, depths)


# ---- the solver ----------------------------------------------------------------------------------


class ExhaustiveSolver:
    """Solves positions of one game; see `agents.solvers.questions.PositionSolver`.

    Args:
        game: A game, or an environment as one (`ForeignTree`).
        tactics: What it tells of wins at once.
        entries: Of the table, 16 bytes each.
        compiles: Whether to run as machine code.
    """

    def __init__(
        self, game: Any, tactics: Tactics, entries: int = 1 << 22, compiles: bool = True
    ) -> None:
        self.game = game
        self.tactics = tactics
        self.compiles = compiles
        self.table = new_table(entries)
        self.stack = new_stack(game.max_plies() + 2, game.num_actions())
        self.states: Any = None
        self._search: Callable[..., bool] | None = None if compiles else search

    def copy_of(self, state: Any) -> Any:
        """An independent copy of a position."""
        if isinstance(state, TreeState):
            copied = copy.copy(state)
            self.game.copy(state, copied)
            return copied
        return base.clone(self.game, state)

    def prepare(self) -> None:
        """Compile the search."""
        if self._search is None:
            arguments = self._arguments(base.new_state(self.game))
            self._search = compiled_search.specialise(*arguments, 1)

    def _arguments(self, root: Any) -> tuple[Any, ...]:
        if self.states is None:
            self.states = new_states_of(self.game, len(self.stack.goal), root)
        return self.game, self.tactics, self.states, self.table, self.stack, int(root.ply)

    def known(self, state: Any) -> tuple[int, int]:
        """The bounds that the number of plies sets; exact at the end."""
        ply, half = int(state.ply), score_limit(self.game)
        if self.game.is_terminal(state):
            score = self.game.outcome(state, self.game.to_play(state)) * (half - (ply + 1) // 2)
            return score, score
        return (ply + 2) // 2 - half, half - (ply + 2) // 2

    def ask(self, state: Any, goal: int, clock: Clock) -> int:
        """A bound on the score for the player to move; see `questions.PositionSolver`."""
        arguments = self._arguments(state)
        self.game.copy(state, self.states[0])
        stack = self.stack
        stack.goal[0] = goal
        stack.control[:] = 0
        self.prepare()
        run = cast("Callable[..., bool]", self._search)
        while not run(*arguments, SLICE if self.compiles else SLICE >> 7):
            clock.count(int(stack.control[1]))
            stack.control[1] = 0
        clock.nodes += int(stack.control[1])
        return int(stack.best[0])
