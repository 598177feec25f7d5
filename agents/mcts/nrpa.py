"""Nested rollout policy adaptation, for games of two players.

A playout policy is learnt while the search runs: every cell has a weight for each player, playouts
draw their moves by these weights, and the weights move towards the playouts that went well. A nest
of levels does this (Rosin 2011): level 1 runs playouts and adapts its weights after each; a level
above it runs whole levels below it, each from a copy of its own weights, and adapts to the line
that each hands up.

Rosin's algorithm looks for the one best line of a puzzle. In a game that line is one in which the
opponent helps. So here, by default, each player's weights learn from that player's own results, as
in playout policy adaptation (Cazenave 2015), and the learnt policy is the prior of a small tree
over the first plies, without which no policy by cells can tell a refutation from a mere reply.

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
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import OnSlice, SeededAgent, Statistics
from agents.core.budget import ENDLESS, spend
from agents.core.options import check_budget, expect_one_of, number_within, whole_number_within
from agents.search.environment import View, check_in_play, check_route, planner_view
from agents.search.nest import MODES, POSITION_CODES, Form, Nest, new_nest
from agents.search.nested import (
    NO_ROW,
    ROOT,
    Rows,
    adapt_policies,
    compiled_adapt_policies,
    new_rows,
)

T = TypeVar("T")

ADAPTS: Final = ("softmax", "additive")
ALPHAS: Final = {"softmax": 0.03, "additive": 0.1}
FINAL_MOVES: Final = ("visits", "value", "sequence")
CODES: Final = ("cell", "position")
SCORES: Final = ("root", "last")
LEARNS: Final = ("always", "improvement")

TREE_ENTRIES: Final = 4_000_000
"""Bound on the tree: rows times actions. An entry takes 16 bytes."""


class NRPA(SeededAgent):
    r"""Nested rollout policy adaptation (Rosin 2011), made sound for two players.

    The defaults were chosen by solved positions of Hex and games against perfect TicTacToe: deeper
    nests, faster learning and cooperation choose worse moves; without the tree Hex is played as
    well, but TicTacToe is lost to single refutations. An option left None has the default of the
    form: sound, or with ``faithful=True`` that of the text this agent goes back to, which plays no
    better than at random. What is wrong there is numbered below, at the option that turns it right.

    Formula:
        $$p(m) = \frac{e^{w_m}}{\sum_{m'} e^{w_{m'}}}$$

        $$w_m \leftarrow w_m + \alpha\, r \left([m \text{ is played}] - p(m)\right)$$

        $p(m)$ is the probability of a legal move $m$ in a playout. After each, every position of
        its line moves the weights $w$ of the player to move there; $r$ is this player's result, 1,
        0 or -1, with ``mode="payoff"``. In the tree: $(W + \frac{1}{2} + c\, P \sqrt{N}) / (1 +
        n)$, with $W$ the sum of the rewards, $n$ and $N - 1$ the playouts of the child and of its
        parent, and $P$ half $p$, half the same for all moves.

    Args:
        simulations: Playouts a move; 1,000 where neither budget is given.
        seconds: Seconds a move, without the first compilation. With both, the first to end counts.
        level: How many levels the nest has: 1 (text: 3).
        iterations: How often a level runs the one below it before it hands up its line. None: as
            many as make the nest last for the simulations; where there are only seconds, 100, and
            without end for the only level of a nest (text: 10). A nest that is through before the
            budget is spent begins anew, unless `keep_policy` says otherwise.
        alpha: How far an adaptation moves a weight: 0.03, for the additive one 0.1 (text: 1).
        adapt: ``"softmax"``: probabilities are proportional to exp(weight), and an adaptation
            follows the gradient (Rosin). ``"additive"``, the text's defect 4: proportional to the
            weights, which only the moves of the line change; the others never lose. (Where lines
            that lost take weight away, as with ``mode="payoff"``, it is as good.)
        mode: Who learns from a line. ``"payoff"``: each player, by the own result, so that what
            lost is avoided and a draw teaches nothing. ``"adversarial"``: only the winner
            (Cazenave 2015). ``"cooperative"``, in the text and for one player: all, from the best
            line of one score, so that the opponent helps.
        final_move: What is played: ``"visits"``: the most played first move; ``"value"``: the one
            with the best mean; ``"sequence"``: that of the top level's line (text).
        tree: Whether the first plies are chosen by a tree, which grows by what it finds and has
            the policy as its prior: True (text: False).
        c: How much the tree explores.
        code: Which moves share a weight. ``"cell"``: those that fill the same cell. ``"position"``,
            defect 3: those that lead to the same position, so that nothing is learnt for others.
        score: What ``mode="cooperative"`` calls good. ``"root"``: what is good for the player to
            move at the root. ``"last"``, defects 1 and 2: what is for the player whose turn it
            would be at the end, who has just lost: a won game never counts, for nobody.
        learn: When a level adapts. ``"always"``: after every iteration, to the latest of the best
            lines. ``"improvement"``, defect 5: only when a line is better than all before, which
            with three results happens twice at most.
        decay: By how much less each further move of a line is learnt: 1, by nothing (text, defect
            6: 0.9).
        keep_policy: Whether a search starts with the weights of the one before: False (text, defect
            7: True, whoever was to move then).
        faithful: Whether the options left None are the text's.
        route: How it plans; see `agents.search.environment.planner_view`.
        seed: Of the random stream; None for an unforeseeable one.
        assume: What to take as given where it is not so; see `route`.

    Attributes:
        statistics: Of the last search.
        on_slice: See `agents.mcts.tree_search.TreeSearchAgent`.

    Raises:
        ValueError: If a budget, a number or a name is out of its range.
    """

    name = "nrpa"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        *,
        level: int | None = None,
        iterations: int | None = None,
        alpha: float | None = None,
        adapt: str | None = None,
        mode: str | None = None,
        final_move: str | None = None,
        tree: bool | None = None,
        c: float = 1.0,
        code: str | None = None,
        score: str | None = None,
        learn: str | None = None,
        decay: float | None = None,
        keep_policy: bool | None = None,
        faithful: bool = False,
        route: str = "auto",
        assume: str | None = None,
        seed: int | None = None,
    ) -> None:
        def either(given: T | None, sound: T, of_the_text: T) -> T:
            default = of_the_text if faithful else sound
            return default if given is None else given

        self.simulations, self.seconds = check_budget(simulations, seconds)
        level = whole_number_within("level", either(level, 1, 3), 1, 32)
        if iterations is None:
            iterations = 10 if faithful else fitting_iterations(self.simulations, level)
        adapt = expect_one_of("adapt", either(adapt, "softmax", "additive"), ADAPTS)
        mode = expect_one_of("mode", either(mode, "payoff", "cooperative"), MODES)
        self.final_move = expect_one_of(
            "final_move", either(final_move, "visits", "sequence"), FINAL_MOVES
        )
        self.form = Form(
            levels=level,
            iterations=whole_number_within("iterations", iterations, 1, ENDLESS),
            alpha=number_within("alpha", either(alpha, ALPHAS[adapt], 1.0), 0.0, 1e6),
            line_decay=number_within("decay", either(decay, 1.0, 0.9), 0.0, 1.0),
            is_softmax=adapt == "softmax",
            learning_mode=MODES.index(mode),
            has_tree=bool(either(tree, True, False)),
            exploration=number_within("c", c, 0.0, 1e6),
            by_position=expect_one_of("code", either(code, "cell", "position"), CODES)
            == "position",
            scores_for_root=expect_one_of("score", either(score, "root", "last"), SCORES) == "root",
            learns_always=expect_one_of("learn", either(learn, "always", "improvement"), LEARNS)
            == "always",
            begins_anew=not either(keep_policy, False, True),
        )
        check_route(route, assume)
        super().__init__(seed)
        self.route = route
        self.assume = assume
        self.on_slice: OnSlice | None = None
        self._nest: Nest | None = None

    def reset(self, seed: int | None = None) -> None:
        """Forget what was learnt; with a seed, start the random stream anew."""
        super().reset(seed)
        self._nest = None

    def act(self, env: Any) -> int:
        """Search from the environment's position and choose an action; see `Agent.act`."""
        started = time.perf_counter()
        view = planner_view(env, self.route, self.assume)
        check_in_play(env)
        nest, tree = self._empty_memory(view)
        before_compiling = time.perf_counter()
        run = self._compiled(view, nest, tree)
        started += time.perf_counter() - before_compiling

        def found(simulations: int, seconds: float) -> Statistics:
            line = best_line(nest) if self.final_move == "sequence" else most_played_line(tree)
            visits = tree.plays[ROOT].astype(np.int64)
            values = root_values(tree)
            return Statistics(visits, values, line, simulations, seconds, assumed=view.assumed)

        def show(simulations: int, seconds: float) -> None:
            if self.on_slice is not None:
                self.on_slice(partial(found, simulations, seconds))

        done = spend(run, started, self.simulations, self.seconds, after_slice=show)
        self._nest = nest
        self.statistics = found(done, time.perf_counter() - started)
        if self.final_move == "sequence":
            return self.statistics.principal_variation[0]
        return choose(tree, self.final_move)

    def prepare(self, env: Any) -> None:
        """Compile what `act` needs in such an environment, so that its first call does not."""
        view = planner_view(env, self.route, self.assume)
        self._compiled(view, *self._empty_memory(view))

    def _empty_memory(self, view: View) -> tuple[Nest, Rows]:
        """A nest to begin with, and a tree with room for the budget."""
        game = view.game
        codes = POSITION_CODES if self.form.by_position else int(game.num_cells())
        nest = new_nest(self.form, codes, int(game.max_plies()))
        kept = self._nest
        if (
            not self.form.begins_anew
            and kept is not None
            and kept.weights.shape == nest.weights.shape
        ):
            nest.weights[:] = kept.weights[-1]
            nest.odds[:] = kept.odds[-1]
        rows = 1
        if self.form.has_tree:
            rows = max(1, TREE_ENTRIES // game.num_actions())
            if self.simulations is not None:
                rows = min(rows, 1 + self.simulations)
        return nest, new_rows(rows, game.num_actions())

    def _compiled(self, view: View, nest: Nest, tree: Rows) -> Callable[[int], int]:
        """The search as a function that runs so many simulations, and says so."""
        states = view.root, view.new_state(), view.new_state()
        arguments = (view.game, *states, nest, tree, self.form)
        run: Callable[..., None] = adapt_policies
        if view.compiles:
            run = compiled_adapt_policies.specialise(*arguments, 0, self._rng)

        def run_some(simulations: int) -> int:
            run(*arguments, simulations, self._rng)
            return simulations

        return run_some

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_nest": None if self.form.begins_anew else self._nest}


def fitting_iterations(simulations: int | None, level: int) -> int:
    """How many iterations make a nest of so many levels last for the simulations."""
    if simulations is None:
        return ENDLESS if level == 1 else 100
    return math.ceil(round(simulations ** (1 / level), 9))


def root_values(tree: Rows) -> NDArray[np.float64]:
    """The mean results of the first moves, -1 to 1; 0 for those never played."""
    plays, gains = tree.plays[ROOT], tree.gains[ROOT]
    return np.where(plays > 0, 2 * gains / np.maximum(plays, 1) - 1, 0.0)


def choose(tree: Rows, final_move: str) -> int:
    """The first move to play; ties go to the value, then to the lower action."""
    plays, values = tree.plays[ROOT], root_values(tree)
    if final_move == "value":
        return int(np.argmax(np.where(plays > 0, values, -2.0)))
    return int(np.argmax(np.where(plays == plays.max(), values, -2.0)))


def most_played_line(tree: Rows) -> list[int]:
    """The line of the most played moves, as far as the tree goes."""
    line = [choose(tree, "visits")]
    row = int(tree.below[ROOT, line[0]])
    while row != NO_ROW and tree.plays[row].any():
        line.append(int(np.argmax(tree.plays[row])))
        row = int(tree.below[row, line[-1]])
    return line


def best_line(nest: Nest) -> list[int]:
    """The line of the highest level that has one."""
    level = int(np.flatnonzero(nest.lengths)[-1])
    return cast("list[int]", nest.lines[level, : nest.lengths[level]].tolist())
