"""Nested rollout policy adaptation, for games of two players.

Each player has a weight for every cell, playouts draw their moves by these weights, and after
playouts that went well the weights change towards their moves. Nested levels do this (Rosin 2011):
level 1 adapts its weights after each playout; a higher level runs the level below it several times,
each time from a copy of its own weights, and adapts to the line that this level hands up.

Rosin looks for the one best line of a puzzle; in a game that is a line in which the opponent helps
(``mode="cooperative"``). So by default each player's weights learn from that player's own results
(Sironi et al. 2021, after Cazenave 2015), and the policy is the prior of a small tree over the
first plies: weights by cell cannot tell a move that refutes from one that is often good.

Sources:
    Rosin, "Nested rollout policy adaptation for Monte Carlo tree search", IJCAI 2011.

    Cazenave, "Playout policy adaptation for games", Advances in Computer Games 2015.

    Negrevergne and Cazenave, "Distributed nested rollout policy for SameGame", 2017.

    Sironi, Cazenave and Winands, "Enhancing playout policy adaptation for general game playing",
    Monte Carlo Search 2020 (published 2021): every player's weights learn in proportion to the
    payoff.

    Rosin, "Multi-armed bandits with episode context", 2011: PUCT, the rule with a prior.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from agents.core.agent import OnSlice, SeededAgent, Statistics
from agents.core.budget import ENDLESS, spend
from agents.core.options import Seconds, Simulations, with_default
from agents.planning.environment import View, check_in_play
from agents.planning.view import Assumption, Route, planner_view
from hexenv.common.options import OneOf, Within
from hexenv.compiled import (
    CompiledFunction,
    announced,
    compiled,
    copy_array,
    inlined_kernel,
    kernel,
)
from hexenv.games.base import Actions, Game, State

MODES: Final = ("payoff", "cooperative")
"""Who learns from a line."""

ROOT: Final = 0
NO_ROW: Final = 0
"""In `Rows.below`, where no row is below: none leads to the root."""
NO_LINE: Final = -math.inf
"""The score of a level that has no line yet."""
LEAST_EXPONENT: Final = -300.0
"""Of the odds: no move becomes impossible."""
EVEN_SHARE: Final = 0.5
"""Share of the prior that is the same for all legal moves of a node: a move that the policy avoids
is still tried, as it may be a refutation."""
TREE_ENTRIES: Final = 4_000_000
"""Bound on the tree: rows times actions. An entry takes 16 bytes."""


# ---- the values of a search ----------------------------------------------------------------------


@compiled
class Form(NamedTuple):
    """The parameters of `NRPA` as compiled code reads them."""

    levels: int
    iterations: int
    alpha: float
    is_cooperative: bool
    exploration: float


@compiled
class Nest(NamedTuple):
    """What the L levels have learnt, the lowest first, with weights for C cells."""

    weights: NDArray[np.float64]  # (L, 2, C): by level, player and cell
    odds: NDArray[np.float64]  # (L, 2, C): what its probability is proportional to
    changes: NDArray[np.float64]  # (2, C): what an adaptation will add; zero between adaptations
    lines: NDArray[np.int32]  # (L, max_plies()): each level's latest line; cooperative: its best
    lengths: NDArray[np.int64]  # (L,): the length of the line; 0 if there is none yet
    results: NDArray[np.int64]  # (L,): the outcome of the line for player 0
    line_scores: NDArray[np.float64]  # (L,): how good the line is
    rounds: NDArray[np.int64]  # (L,): iterations done


@compiled
class Rows(NamedTuple):
    """The tree: ``(R, num_actions())``, a row for each of its positions; row 0 is the root's."""

    below: NDArray[np.int32]  # the row of the position after the action, or `NO_ROW`
    plays: NDArray[np.int32]  # playouts that took the action in this position
    gains: NDArray[np.float64]  # the sum of their rewards, 0 to 1, for the player who chose it
    row_count: NDArray[np.int64]  # (1,): rows in use


@compiled
class Bench(NamedTuple):
    """A game, the position to search, and the scratch space that all playouts use."""

    game: Game
    root: State  # never changed
    state: State
    actions: Actions  # (num_actions(),): the legal actions of `state`
    cells: NDArray[np.int64]  # (num_actions(),): the cells that they fill
    shares: NDArray[np.float64]  # (num_actions(),): their probabilities
    line: Actions  # (max_plies(),): the actions of the playout
    players: NDArray[np.int8]  # (max_plies(),): who played each of them


def new_nest(levels: int, cells: int, plies: int) -> Nest:
    """A nest that has learnt nothing."""
    return Nest(
        weights=np.zeros((levels, 2, cells)),
        odds=np.ones((levels, 2, cells)),
        changes=np.zeros((2, cells)),
        lines=np.empty((levels, plies), np.int32),
        lengths=np.zeros(levels, np.int64),
        results=np.zeros(levels, np.int64),
        line_scores=np.full(levels, NO_LINE),
        rounds=np.zeros(levels, np.int64),
    )


def new_rows(rows: int, num_actions: int) -> Rows:
    """A tree of its root alone. Memory is touched only as rows come into use."""
    return Rows(
        below=np.zeros((rows, num_actions), np.int32),
        plays=np.zeros((rows, num_actions), np.int32),
        gains=np.zeros((rows, num_actions), np.float64),
        row_count=np.ones(1, np.int64),
    )


def new_bench(game: Game, root: State, state: State) -> Bench:
    """Scratch space for a game; `state` is overwritten."""
    count, plies = game.num_actions(), game.max_plies()
    legal = np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count)
    return Bench(game, root, state, *legal, np.empty(plies, np.int32), np.empty(plies, np.int8))


# ---- the policy, and how it adapts ---------------------------------------------------------------


@inlined_kernel
def weigh(bench: Bench, odds: NDArray[np.float64]) -> int:
    """Write the legal actions of `bench.state`, with cells and probabilities; returns the count."""
    game, state = bench.game, bench.state
    actions, cells, shares = bench.actions, bench.cells, bench.shares
    count = game.legal_actions(state, actions)
    player = game.to_play(state)
    total = 0.0
    for i in range(count):
        cells[i] = game.cell_of(state, int(actions[i]))
        shares[i] = odds[player, cells[i]]
        total += shares[i]
    for i in range(count):
        shares[i] /= total
    return count


@inlined_kernel
def draw(shares: NDArray[np.float64], count: int, rng: Generator) -> int:
    """One of `count` at random, each with its share as probability."""
    rest = rng.random()
    for i in range(count - 1):
        rest -= shares[i]
        if rest < 0:
            return i
    return count - 1


@inlined_kernel
def adapt(bench: Bench, nest: Nest, form: Form, level: int) -> None:
    """Move the weights of a level towards its line, or away from moves that lost.

    A move that was played gains the rate, and every legal move loses the rate times its
    probability: the gradient of the log-probability of the line. All probabilities are those of
    the old weights, so the changes are made at the end of the line.
    """
    game, state = bench.game, bench.state
    cells, shares = bench.cells, bench.shares
    result = nest.results[level]
    rates = (form.alpha * result, -form.alpha * result)
    if form.is_cooperative:
        rates = (form.alpha, form.alpha)
    game.copy(bench.root, state)
    for ply in range(nest.lengths[level]):
        action = int(nest.lines[level, ply])
        player: int = game.to_play(state)
        rate = rates[player]
        changes = nest.changes[player]
        if rate != 0.0:
            changes[game.cell_of(state, action)] += rate
            count = weigh(bench, nest.odds[level])
            for i in range(count):
                changes[cells[i]] -= rate * shares[i]
        game.step(state, action)
    for player in range(2):
        if rates[player] != 0.0:
            make_changes(nest, level, player)


@kernel
def make_changes(nest: Nest, level: int, player: int) -> None:
    """Add the changes to the weights of a player, and compute the odds anew.

    They are relative to the greatest weight, so that none overflows.
    """
    weights, odds = nest.weights[level, player], nest.odds[level, player]
    greatest = -np.inf
    for cell in range(weights.size):
        weights[cell] += nest.changes[player, cell]
        nest.changes[player, cell] = 0.0
        greatest = max(greatest, weights[cell])
    for cell in range(weights.size):
        odds[cell] = math.exp(max(weights[cell] - greatest, LEAST_EXPONENT))


@inlined_kernel
def hand_up(bench: Bench, nest: Nest, form: Form, length: int, result: int, score: float) -> None:
    """Give the playout to the lowest level, and the line of each finished level to the next.

    A level keeps the latest of its best lines. The finished levels begin again, from the weights of
    the level above them.
    """
    line = bench.line
    level = 0
    while True:
        if score >= nest.line_scores[level]:
            nest.line_scores[level] = score
            nest.results[level] = result
            nest.lengths[level] = length
            for ply in range(length):
                nest.lines[level, ply] = line[ply]
        adapt(bench, nest, form, level)
        nest.rounds[level] += 1
        if nest.rounds[level] < form.iterations or level + 1 == form.levels:
            break
        line, length = nest.lines[level], nest.lengths[level]
        result, score = nest.results[level], nest.line_scores[level]
        level += 1
    for finished in range(level):
        copy_array(nest.weights[level], nest.weights[finished])
        copy_array(nest.odds[level], nest.odds[finished])
        nest.line_scores[finished] = NO_LINE
        nest.rounds[finished] = 0


@kernel
def begin_anew(nest: Nest) -> None:
    """Forget all weights: those of a finished nest change little. The tree keeps its counts."""
    nest.weights[:] = 0.0
    nest.odds[:] = 1.0
    nest.line_scores[:] = NO_LINE
    nest.rounds[:] = 0


# ---- the search ----------------------------------------------------------------------------------


@inlined_kernel
def select(tree: Rows, row: int, bench: Bench, count: int, exploration: float) -> int:
    """Which of the first `count` actions the tree selects: PUCT, with the policy as the prior.

    Every action starts with one imagined draw, so none has to be tried first.
    """
    actions, shares = bench.actions, bench.shares
    total = 1
    for i in range(count):
        total += tree.plays[row, actions[i]]
    bonus = exploration * math.sqrt(total)
    best = 0
    best_score = -np.inf
    for i in range(count):
        prior = (1 - EVEN_SHARE) * shares[i] + EVEN_SHARE / count
        plays = 1 + tree.plays[row, actions[i]]
        score = (tree.gains[row, actions[i]] + 0.5 + bonus * prior) / plays
        if score > best_score:
            best_score = score
            best = i
    return best


@inlined_kernel
def play(bench: Bench, nest: Nest, tree: Rows, form: Form, rng: Generator) -> int:
    """One playout, by the tree and then by the weights of the lowest level; returns its length.

    It is written to `bench.line` and `bench.players`, and ends in `bench.state`.
    """
    game, state, actions, shares = bench.game, bench.state, bench.actions, bench.shares
    line, players = bench.line, bench.players
    game.copy(bench.root, state)
    is_in_tree = not form.is_cooperative
    row = ROOT
    ply = 0
    while not game.is_terminal(state):
        count = weigh(bench, nest.odds[0])
        if is_in_tree:
            pick = select(tree, row, bench, count, form.exploration)
            row = tree.below[row, actions[pick]]
            is_in_tree = row != NO_ROW
        else:
            pick = draw(shares, count, rng)
        line[ply] = actions[pick]
        players[ply] = game.to_play(state)
        ply += 1
        game.step(state, int(actions[pick]))
    return ply


@inlined_kernel
def back_up(tree: Rows, bench: Bench, length: int, result: int) -> None:
    """Count a playout in every row on its way; a position reached again gets a row of its own."""
    line, players = bench.line, bench.players
    row = ROOT
    for i in range(length):
        action = line[i]
        tree.plays[row, action] += 1
        tree.gains[row, action] += (1 + (result if players[i] == 0 else -result)) / 2
        below = tree.below[row, action]
        if below == NO_ROW:
            has_room = tree.row_count[0] < len(tree.below)
            if has_room and tree.plays[row, action] > 1 and i + 1 < length:
                tree.below[row, action] = tree.row_count[0]
                tree.row_count[0] += 1
            break
        row = below


@kernel
def adapt_policies(
    bench: Bench, nest: Nest, tree: Rows, form: Form, simulations: int, rng: Generator
) -> None:
    """Run playouts from `bench.root`. Another call with the same nest continues the search.

    The tree counts the first moves of a cooperative search too, though it does not choose them.
    There the score of a line is its result for the player at the root; in the other mode no line is
    best for both players, and all have one score.
    """
    player = bench.game.to_play(bench.root)
    for _ in range(simulations):
        if nest.rounds[form.levels - 1] >= form.iterations:
            begin_anew(nest)
        length = play(bench, nest, tree, form, rng)
        result = bench.game.outcome(bench.state, 0)
        score = float(bench.game.outcome(bench.state, player)) if form.is_cooperative else 0.0
        back_up(tree, bench, length, result)
        hand_up(bench, nest, form, length, result, score)


compiled_adapt_policies: Final = CompiledFunction(adapt_policies)


# ---- the agent -----------------------------------------------------------------------------------


class NRPA(SeededAgent):
    r"""Nested rollout policy adaptation (Rosin 2011), made sound for two players.

    By solved positions of Hex and games against perfect TicTacToe, more levels, faster learning and
    cooperation choose worse moves; without the tree TicTacToe is lost to single refutations.

    Formula:
        $$p(m) = \frac{e^{w_m}}{\sum_{m'} e^{w_{m'}}}$$

        $$w_m \leftarrow w_m + \alpha\, r \left([m \text{ is played}] - p(m)\right)$$

        $p(m)$ is the probability of a legal move $m$ in a playout. After each, every position of
        its line moves the weights $w$ of the player to move there; $r$ is this player's result, 1,
        0 or -1. In the tree: $(W + \frac{1}{2} + c\, P \sqrt{N}) / (1 + n)$, with $W$ the sum of
        the rewards, $n$ and $N - 1$ the playouts of the child and of its parent, and $P$ half $p$,
        half the same for all moves.

    Args:
        simulations: Playouts a move; 1,000 where neither budget is given.
        seconds: Seconds a move, without the first compilation. With both, the first to end counts.
        level: The number of nested levels.
        iterations: How often a level runs the one below it before it hands up its line. None: as
            often as makes all levels last for the simulations; with seconds alone 100, and without
            end if there is one level. If all levels finish before the budget is spent, they start
            again with new weights.
        alpha: How far an adaptation moves a weight.
        mode: Who learns from a line. ``"payoff"``: each player, by the own result: a loss reduces
            the weights, a draw changes nothing. A tree, with the policy as its prior, chooses the
            first plies, and its most played move is played. ``"cooperative"``, as Rosin has it: all
            ($r$ is 1), from the best line for the player to move, so that the opponent helps. There
            is no tree, and the first move of the best line is played; he has an `alpha` of 1.
        c: Weight of exploration in the tree.
        route: As of `agents.planning.view.planner_view`.
        seed: Of the random stream; None for a random one.
        assume: As of `agents.planning.view.planner_view`.

    Attributes:
        statistics: Of the last search.
        on_slice: As in `agents.mcts.tree_search.TreeSearchAgent`.

    Raises:
        ValueError: If a budget, a number or a name is out of its range.
    """

    name = "nrpa"

    def __init__(
        self,
        simulations: Simulations = None,
        seconds: Seconds = None,
        *,
        level: Annotated[int, Within(1, 32)] = 1,
        iterations: Annotated[int | None, Within(1, ENDLESS)] = None,
        alpha: Annotated[float, Within(0.0, 1e6)] = 0.03,
        mode: Annotated[str, OneOf(MODES)] = "payoff",
        c: Annotated[float, Within(0.0, 1e6)] = 1.0,
        route: Route = "auto",
        assume: Assumption = None,
        seed: int | None = None,
    ) -> None:
        self.simulations, self.seconds = with_default(simulations, seconds), seconds
        if iterations is None:
            iterations = fitting_iterations(self.simulations, level)
        self.form = Form(
            levels=level,
            iterations=iterations,
            alpha=alpha,
            is_cooperative=mode == "cooperative",
            exploration=c,
        )
        super().__init__(seed)
        self.route, self.assume = route, assume
        self.on_slice: OnSlice | None = None

    @announced
    def act(self, env: Any) -> int:
        started = time.perf_counter()
        view = planner_view(env, self.route, self.assume)
        check_in_play(env)
        nest, tree = self._empty_memory(view)
        before_compiling = time.perf_counter()
        run = self._compiled(view, nest, tree)
        started += time.perf_counter() - before_compiling

        def found(simulations: int, seconds: float) -> Statistics:
            line = best_line(nest) if self.form.is_cooperative else most_played_line(tree)
            visits = tree.plays[ROOT].astype(np.int64)
            values = root_values(tree)
            return Statistics(visits, values, line, simulations, seconds, assumed=view.assumed)

        def show(simulations: int, seconds: float) -> None:
            if self.on_slice is not None:
                self.on_slice(partial(found, simulations, seconds))

        done = spend(run, started, self.simulations, self.seconds, after_slice=show)
        self.statistics = found(done, time.perf_counter() - started)
        return self.statistics.principal_variation[0]

    @announced
    def prepare(self, env: Any) -> None:
        """Compile now what `act` needs in such an environment."""
        view = planner_view(env, self.route, self.assume)
        self._compiled(view, *self._empty_memory(view))

    def _empty_memory(self, view: View) -> tuple[Nest, Rows]:
        """A nest that has learnt nothing, and an empty tree with room for the budget."""
        game = view.game
        nest = new_nest(self.form.levels, int(game.num_cells()), int(game.max_plies()))
        rows = 1 if self.form.is_cooperative else max(1, TREE_ENTRIES // game.num_actions())
        if self.simulations is not None:
            rows = min(rows, 1 + self.simulations)
        return nest, new_rows(rows, game.num_actions())

    def _compiled(self, view: View, nest: Nest, tree: Rows) -> Callable[[int], int]:
        """The search as a function of the number of simulations, which it returns."""
        bench = new_bench(view.game, view.root, view.new_state())
        arguments = (bench, nest, tree, self.form)
        run: Callable[..., None] = adapt_policies
        if view.compiles:
            run = compiled_adapt_policies.specialise(*arguments, 0, self._rng)

        def run_some(simulations: int) -> int:
            run(*arguments, simulations, self._rng)
            return simulations

        return run_some


def fitting_iterations(simulations: int | None, level: int) -> int:
    """The iterations with which a nest of `level` levels lasts for the simulations."""
    if simulations is None:
        return ENDLESS if level == 1 else 100
    return math.ceil(round(simulations ** (1 / level), 9))


def root_values(tree: Rows) -> NDArray[np.float64]:
    """The mean results of the first moves, -1 to 1; 0 for a move never played."""
    plays, gains = tree.plays[ROOT], tree.gains[ROOT]
    return np.where(plays > 0, 2 * gains / np.maximum(plays, 1) - 1, 0.0)


def most_played_line(tree: Rows) -> list[int]:
    """The line of the most played moves, to the end of the tree.

    Ties of first moves go to the value, then to the lower action.
    """
    plays = tree.plays[ROOT]
    line = [int(np.argmax(np.where(plays == plays.max(), root_values(tree), -2.0)))]
    row = int(tree.below[ROOT, line[0]])
    while row != NO_ROW and tree.plays[row].any():
        line.append(int(np.argmax(tree.plays[row])))
        row = int(tree.below[row, line[-1]])
    return line


def best_line(nest: Nest) -> list[int]:
    """The line of the highest level that has one."""
    level = int(np.flatnonzero(nest.lengths)[-1])
    return cast("list[int]", nest.lines[level, : nest.lengths[level]].tolist())
